from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse

import palaver as pv

FORUM = Path(__file__).parents[2] / "fixtures" / "m4text" / "forum.txt"


def _read(tmp_path: Path, text: str) -> pv.Corpus:
    path = tmp_path / "x.txt"
    path.write_text(text, encoding="utf-8")
    return pv.read(path, format="m4text")


def test_table() -> None:
    corpus = pv.read(FORUM)
    assert corpus.format == "m4text"
    columns = ("conversation", "id", "reply_to", "name", "text", "tokens")
    assert corpus.table.select(columns).rows() == [
        ("0", "0", None, "t1.post1", "my screen stays dark", ["my", "screen", "stays", "dark"]),
        ("0", "1", "0", "t1.post2", "is it plugged in ?", ["is", "it", "plugged", "in", "?"]),
        ("0", "2", "1", "t1.post3", "yes , of course", ["yes", ",", "of", "course"]),
        ("0", "3", "0", "t1.post4", "", []),
        ("7", "7", None, "t2.post1", "thanks <URL> 42", ["thanks", "<URL>", "42"]),
    ]
    assert corpus.notes.counts == {"empty_text": 1, "no_conversation": 5}


def test_texts_without_replies_are_conversations_of_their_own(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "1 -1 a x y\n2 -1 b z\n")
    assert corpus.table["conversation"].to_list() == ["1", "2"]


def test_bad_lines_and_parents_are_counted(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "0 -1 a x\none 0 b y\n2 0\n\n3\t0  c\tz\n4 9 d w\n5 5 e v\n")
    assert corpus.table.select("id", "reply_to", "conversation").rows() == [
        ("0", None, "0"),
        ("3", "0", "0"),
        ("4", None, "4"),
        ("5", None, "5"),
    ]
    assert corpus.notes.places["bad_line"] == ["line 2", "line 3"]
    assert corpus.notes.counts["missing_parent"] == 1
    assert corpus.notes.counts["self_parent"] == 1


def test_truncated(tmp_path: Path) -> None:
    corpus = _read(tmp_path, FORUM.read_text()[:-25])
    assert corpus.n_messages == 4
    assert corpus.notes.counts["bad_line"] == 1


def test_empty(tmp_path: Path) -> None:
    assert _read(tmp_path, "").n_messages == 0


@settings(max_examples=60, deadline=None)
@given(mutations(FORUM.read_bytes()))
def test_broken_bytes(data: bytes) -> None:
    read_or_refuse(data, "forum.txt", format="m4text")
    read_or_refuse(data, "forum.txt")
