from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse

import palaver as pv

FIXTURES = Path(__file__).parents[2] / "fixtures" / "webvtt"
MEETING, CALL, FILM, ROLLING = (
    FIXTURES / name for name in ("meeting.vtt", "call.vtt", "film.srt", "rolling.vtt")
)


def _rows(corpus: pv.Corpus) -> list[tuple[object, ...]]:
    table = corpus.table.with_columns(corpus.table["time"].dt.epoch("ms"))
    return table.select("id", "speaker", "time", "end", "text").rows()


def _read(tmp_path: Path, text: str, name: str = "x.vtt") -> pv.Corpus:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return pv.read(path)


def test_voice_tags() -> None:
    corpus = pv.read(MEETING)
    assert corpus.format == "webvtt"
    assert _rows(corpus) == [
        ("1", "Ada Moss", 1000, 5.0, "Good morning, everyone & welcome. Shall we start?"),
        ("2", "Bo", 5200, 7.0, "Yes."),
        ("3", "Ada Moss", 5200, 7.0, "Fine."),
        ("4", None, 8500, 9.0, "<applause>"),
    ]
    assert corpus.notes.counts == {}


def test_name_prefixes() -> None:
    assert _rows(pv.read(CALL)) == [
        ("1", "Ada Moss", 0, 2.0, "Can you hear me?"),
        ("2", "Bo", 2500, 6.0, "Yes: loud and clear. And I can see you too."),
        ("3", "Bo", 8000, 9.0, "Note that it is late."),
    ]


def test_subrip_with_blank_lines_and_odd_tags() -> None:
    corpus = pv.read(FILM)
    assert corpus.format == "webvtt"
    assert _rows(corpus) == [
        ("1", "SPEAKER_00", 1000, 3.0, "Where is the ladder? The long one."),
        ("2", "SPEAKER_01", 4100, 5.0, "In the shed, 3 < 4 m."),
    ]


def test_rolling_captions_say_each_line_once() -> None:
    corpus = pv.read(ROLLING)
    assert corpus.table["text"].to_list() == ["welcome to the show", "today we bake"]
    assert corpus.notes.counts == {"repeated_line": 2}


def test_a_line_said_twice_stays_where_captions_do_not_roll(tmp_path: Path) -> None:
    cues = "".join(f"00:0{n}.000 --> 00:0{n}.500\nNo.\n\n" for n in range(3))
    assert _read(tmp_path, "WEBVTT\n\n" + cues).table["text"].to_list() == ["No."] * 3


def test_a_word_with_a_colon_is_not_always_a_speaker(tmp_path: Path) -> None:
    cues = [f"00:{n:02}.000 --> 00:{n:02}.900\nsome words\n\n" for n in range(9)]
    cues[4] = cues[4].replace("some words", "Question: why?")
    corpus = _read(tmp_path, "WEBVTT\n\n" + "".join(cues))
    assert corpus.table["speaker"].null_count() == 9
    assert corpus.table["text"][4] == "Question: why?"


def test_several_speakers_in_one_cue(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "1\n00:00:01,0 --> 00:00:02,0\n- Ada: Go?\n- Bo: Go!\n", "x.srt")
    assert corpus.table.select("speaker", "text").rows() == [("Ada", "Go?"), ("Bo", "Go!")]


def test_cues_without_blank_lines_between(tmp_path: Path) -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\none\n2\n00:00:09,000 --> 00:00:10,000\ntwo"
    assert _read(tmp_path, text, "x.srt").table["text"].to_list() == ["one", "two"]


def test_detected_by_content_and_in_folders(tmp_path: Path) -> None:
    assert _read(tmp_path, CALL.read_text(), "captions.txt").format == "webvtt"
    assert _read(tmp_path, FILM.read_text(), "captions.text").format == "webvtt"
    (tmp_path / "captions.txt").rename(tmp_path / "a.vtt")
    (tmp_path / "captions.text").rename(tmp_path / "b.SRT")
    corpus = pv.read(tmp_path)
    assert corpus.format == "webvtt"
    assert corpus.table["conversation"].unique(maintain_order=True).to_list() == ["a", "b"]


@pytest.mark.parametrize("timing", ["00:05.000 --> 00:0", "00:05 --> 00:06", "a --> b"])
def test_broken_timing_lines_are_counted(tmp_path: Path, timing: str) -> None:
    corpus = _read(tmp_path, CALL.read_text() + f"\n{timing}\nlost\n")
    assert corpus.n_messages == 3
    assert corpus.notes.places["bad_line"] == ["x.vtt line 19"]


def test_words_behind_a_broken_timing_line_are_nobodys(tmp_path: Path) -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nx --> y\n\n2\n00:00:03 --> 00:00:04\nlost\n"
    corpus = _read(tmp_path, text, "x.srt")
    assert corpus.table["text"].to_list() == ["x --> y"]
    assert corpus.notes.counts == {"bad_line": 1}


def test_hours_beyond_a_day(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "WEBVTT\n\n100:00:00.250 --> 100:00:01.000\nstill here\n")
    assert _rows(corpus) == [("1", None, 360_000_250, 360_001.0, "still here")]


def test_header_alone(tmp_path: Path) -> None:
    assert _read(tmp_path, "WEBVTT\n").n_messages == 0


@pytest.mark.parametrize("path", [MEETING, CALL, FILM, ROLLING], ids=lambda path: path.name)
def test_broken_bytes(path: Path) -> None:
    @settings(max_examples=25, deadline=None)
    @given(mutations(path.read_bytes()))
    def check(data: bytes) -> None:
        read_or_refuse(data, path.name)

    check()
