from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse

import palaver as pv
from palaver.errors import FormatError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "whisperx"
STANDUP = FIXTURES / "standup.json"


def _rows(corpus: pv.Corpus) -> list[tuple[object, ...]]:
    table = corpus.table.with_columns(corpus.table["time"].dt.epoch("ms"))
    return table.select("id", "speaker", "time", "end", "text").rows()


def test_segments_of_one_speaker_become_turns() -> None:
    corpus = pv.read(STANDUP)
    assert corpus.format == "whisperx"
    assert _rows(corpus) == [
        ("1", "SPEAKER_00", 30, 4.0, "Good morning, everyone. Shall we begin?"),
        ("2", "SPEAKER_01", 4200, 5.1, "Yes."),  # only the word has a speaker
        ("3", "SPEAKER_01", 7000, 9.0, "The build is green again."),  # after a pause
        ("4", None, 9100, 9.4, "(door)"),
        ("5", None, 9500, 9.9, "(steps)"),
        ("6", "SPEAKER_00", 10000, 11.25, "Très bien."),
    ]
    assert corpus.table["conversation"].unique().to_list() == ["standup"]
    assert corpus.notes.counts == {}


def test_plain_whisper_and_lists_of_segments() -> None:
    plain = pv.read(FIXTURES / "whisper.json")
    assert plain.format == "whisperx"
    assert plain.table["text"].to_list() == ["We meet at noon.", 'Bring the "segments" list.']
    listed = pv.read(FIXTURES / "diarized.json")
    assert listed.format == "whisperx"
    assert _rows(listed) == [
        ("1", "A", 1500, 2.0, "Hello?"),
        ("2", "B", 2200, 4.0, "Hi, this is the garage. How can I help?"),
    ]


def test_a_long_text_in_front_of_the_segments(tmp_path: Path) -> None:
    path = tmp_path / "hours.json"
    segments = [{"start": 0, "end": 1, "text": "a"}, {"start": 1, "end": 2, "text": "b"}]
    path.write_text(json.dumps({"text": "word " * 20_000, "segments": segments}))
    corpus = pv.read(path)
    assert corpus.format == "whisperx"
    assert corpus.table["text"].to_list() == ["a", "b"]


def test_folder_of_recordings(tmp_path: Path) -> None:
    for file in FIXTURES.glob("*.json"):
        shutil.copy(file, tmp_path)
    (tmp_path / "other.json").write_text('{"language": "en"}')
    corpus = pv.read(tmp_path)
    assert corpus.format == "whisperx"
    assert corpus.table["conversation"].unique(maintain_order=True).to_list() == [
        "diarized",
        "standup",
        "whisper",
    ]
    assert corpus.notes.places["truncated"] == ["other.json"]


def test_odd_values_are_counted_and_lose_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(
        '{"segments": [{"start": "soon", "end": 1, "text": "a", "speaker": 3}, "rubbish", '
        '{"start": NaN, "end": null, "text": null, "words": "none"}, {"text": ["b"]}, '
        '{"start": 5, "end": 6, "text": "c", "words": [null, {"speaker": "B"}]}]}'
    )
    corpus = pv.read(path)
    assert corpus.table.select("speaker", "text").rows() == [("3", "a"), (None, ""), ("B", "c")]
    assert corpus.notes.counts == {"bad_line": 2, "bad_time": 2, "empty_text": 1}
    assert corpus.notes.places["bad_time"] == [
        "odd.json segment 1 start",
        "odd.json segment 3 start",
    ]


def test_a_cut_file_keeps_its_whole_segments(tmp_path: Path) -> None:
    data = STANDUP.read_bytes()
    path = tmp_path / "cut.json"
    path.write_bytes(data[: data.index(b"(steps)")])
    corpus = pv.read(path)
    assert corpus.n_messages == 4
    assert corpus.notes.counts == {"truncated": 1}


def test_no_segments(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"segments": [], "language": "en"}')
    assert pv.read(path, format="whisperx").n_messages == 0
    path.write_text('{"language": "en"}')
    with pytest.raises(FormatError, match="no list of segments"):
        pv.read(path, format="whisperx")


@settings(max_examples=50, deadline=None)
@given(mutations(STANDUP.read_bytes()))
def test_broken_bytes(data: bytes) -> None:
    read_or_refuse(data, "standup.json", format="whisperx")
    read_or_refuse(data, "standup.json")
