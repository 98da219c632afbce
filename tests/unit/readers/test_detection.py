"""Every fixture is recognized without ``format=``, and look-alikes are distinguished."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import palaver as pv
from palaver.corpus.readers import FORMATS, find_format
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

FIXTURES = Path(__file__).parents[2] / "fixtures"
#: Files that identify a folder, so that the folder is the source rather than its files.
OF_FOLDERS = {"utterances.jsonl", "utterances.json", "channels.json", "users.json"}
#: Files that are read along with another file.
COMPANIONS = ("vocab.", "labels.", "bad_", "broken_", "README")


def _sources() -> list[tuple[str, Path]]:
    """Return each format's name with its sources, from the folders <format> and <format>_*."""
    found = []
    for known in FORMATS:
        for folder in sorted([*FIXTURES.glob(known.name), *FIXTURES.glob(f"{known.name}_*")]):
            children = sorted(folder.iterdir())
            if any(child.name in OF_FOLDERS for child in children):
                children = [folder]
            for child in children:
                if not child.name.startswith(COMPANIONS) and ".annotation." not in child.name:
                    found.append((known.name, child))
    return found


@pytest.mark.parametrize(
    ("name", "path"), _sources(), ids=lambda value: value if isinstance(value, str) else value.name
)
def test_fixtures_are_known_for_what_they_are(name: str, path: Path) -> None:
    corpus = pv.read(path)
    assert corpus.format == name
    assert corpus.n_messages > 0
    assert corpus.source == str(path)


#: What anything may be written in: these may recognize a file of a format with a shape of its own.
GENERAL = {"parquet", "csv", "jsonl"}


@pytest.mark.parametrize(
    ("name", "path"), _sources(), ids=lambda value: value if isinstance(value, str) else value.name
)
def test_no_reader_takes_the_files_of_another(name: str, path: Path) -> None:
    """Recognition does not depend on the order of the readers, but for the general ones."""
    claimed = {known.name for known in FORMATS if known.looks_like(Source(path))}
    assert name in claimed
    assert claimed - {name} <= GENERAL


def test_every_format_has_a_fixture() -> None:
    plain = {"csv", "jsonl", "parquet"}  # the tests of these write their own files
    assert {name for name, _ in _sources()} == {known.name for known in FORMATS} - plain


def test_every_name_is_used_once() -> None:
    names = [known.name for known in FORMATS]
    assert len(set(names)) == len(names)


def _format(tmp_path: Path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return find_format(Source(path)).name


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"id": "a", "text": 'he wrote {"messages": [{"role": "user"}]}'}, "jsonl"),
        ({"id": "a", "text": "x", "messages": 3}, "jsonl"),
        ({"id": "a", "text": "x", "mapping": [1]}, "jsonl"),
        ({"id": "a", "text": "x", "start": 1, "end": 2}, "jsonl"),
        ({"id": "a", "text": "x", "conversations": ["c1"], "value": 4}, "jsonl"),
        ({"segments": [{"start": 0.5, "end": 1, "text": "x"}]}, "whisperx"),
        ({"conversations": [{"from": "human", "value": "x"}]}, "chatlog"),
        ({"tools": [], "messages": [{"content": "x", "role": "user"}]}, "chatlog"),
    ],
)  # fmt: skip
def test_json_lines(tmp_path: Path, record: dict[str, object], expected: str) -> None:
    for name in ("x.jsonl", "x.json"):
        assert _format(tmp_path, name, json.dumps(record) + "\n" + json.dumps(record)) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.csv", "speaker|text|act\nA|hi|fp\n", "csv"),
        ("x.tsv", "id\ttext\n1\ta\n\n2\tb\n", "csv"),
        ("x.csv", "conversation_no,caller,text\n1,A,hi\n", "csv"),
        ("x.csv", '"swda_filename","conversation_no","act_tag","caller","text"\n', "switchboard"),
        ("x.txt", "A|hi there|fp\nB|hello|fp\n", "switchboard"),
        ("x.txt", "[10:01] <ann> hi\n[10:02] <bob> hello\n", "irc"),
        ("x.log", "10:01 <ann> 1 -1 x\n10:02 <bob> 2 1 y\n", "irc"),
        ("x.txt", "1\n00:00:01,000 --> 00:00:02,000\nAnn: hi\n", "webvtt"),
        ("x.txt", "WEBVTT\n\n00:01.000 --> 00:02.000\nhi\n", "webvtt"),
        ("x", "@UTF8\n@Begin\n*CHI:\thi .\n@End\n", "chat"),
        ("x.txt", "0 -1 a my words\n1 0 b more words\n", "m4text"),
        ("x.txt", "I PRP\nran VBD\n\nYou PRP\nran VBD\n", "conll"),
        ("x.txt", "# sent_id = 1\n1\tHi\thi\tINTJ\tUH\t_\t0\troot\t_\t_\n", "conll"),
        ("docword.x.txt", "1\n1\n1\n1 1 1\n", "bagofwords"),
    ],
)
def test_plain_text(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert _format(tmp_path, name, text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Once upon a time there was a queue.\nIt was long.\n\nThe end.\n", "plain text"),
        ("\n\n".join(f"one{n} two{n}\nand{n} so{n} on" for n in range(40)), "plain text"),
        ("\n\n".join(f"one{n} two{n}\nthree{n} four{n}" for n in range(40)), "plain text"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", "plain text"),
        ("3\n4\n5\n1 2 2\n1 4 1\n", "plain text"),
        ("a|b|c d e f\ng|h|i j k\n", "plain text"),
        ("Ann: hi\nBob: hello\n", "plain text"),
        ("", "empty"),
        ("[1, 2, 3]", "JSON array"),
        ("\x00\x01\x02" * 50, "binary"),
    ],
)  # fmt: skip
def test_what_is_no_format_is_described(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        _format(tmp_path, "x.txt", text)


def test_folders_of_other_things(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words\n")
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(FormatError, match="a folder of 2 files"):
        pv.read(tmp_path)


def test_an_unknown_name_is_answered_with_what_the_known_ones_are(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(
        FormatError, match=r"(?s)no format 'slak'.*\n  slack +Slack export"
    ) as caught:
        pv.read(tmp_path / "a.jsonl", "slak")
    assert len(str(caught.value).splitlines()) == 1 + len(FORMATS)
