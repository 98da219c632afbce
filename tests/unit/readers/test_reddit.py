"""Reddit dumps: comments and submissions, compressed, deleted, with absent posts."""

from __future__ import annotations

import json
from pathlib import Path

import zstandard
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse

import palaver as pv

DUMP = Path(__file__).parents[2] / "fixtures" / "reddit" / "both.ndjson"
DATA = DUMP.read_bytes()


def test_reads_comments_and_submissions() -> None:
    corpus = pv.read(DUMP)
    assert corpus.format == "reddit"
    assert corpus.table.drop("time", "subreddit").rows() == [
        ("t3_p1", "t3_p1", None, "ann_bakes",
         "Bread does not rise\n\nYeast & water, 20 < 30 degrees?", 12),
        ("t3_p1", "t1_k1", "t3_p1", "ben_oven", "Is the yeast fresh?", 5),
        ("t3_p1", "t1_k2", "t1_k1", None, "", None),
        ("t3_p1", "t1_k3", "t1_k2", "ann_bakes", "> fresh?\n\nYes", 1),
        ("t3_absent", "t1_k9", None, "cleo", "Elsewhere", 2),
        ("t3_absent", "t1_k10", None, "ben_oven", "Answer to a comment that is absent", 2),
    ]  # fmt: skip
    assert corpus.labels == ["subreddit", "score"]
    seconds = corpus.table["time"].dt.epoch("s").to_list()
    assert seconds == [1700000000 + 100 * i for i in range(6)]


def test_an_absent_post_is_no_problem_but_an_absent_comment_is() -> None:
    notes = pv.read(DUMP).notes
    assert notes.counts == {"empty_text": 1, "missing_parent": 1}
    assert notes.places["missing_parent"] == ["line 6"]


def test_reads_zst_of_several_frames(tmp_path: Path) -> None:
    cut = DATA.index(b"\n") + 1
    compress = zstandard.ZstdCompressor().compress
    path = tmp_path / "RC_2024-01.zst"
    path.write_bytes(compress(DATA[cut:]) + compress(DATA[:cut]))  # comments first
    corpus = pv.read(path)
    assert corpus.format == "reddit"
    assert sorted(corpus.table["id"]) == sorted(pv.read(DUMP).table["id"])
    assert corpus.table["reply_to"][1] == "t3_p1"
    assert corpus.notes.counts["reordered"] == 1


def test_line_by_line_gives_the_same_table() -> None:
    corpus = read_or_refuse(b"\n" + DATA.replace(b"\n", b"\n\n") + b'{"id": "cut', "x.ndjson")
    assert corpus is not None
    assert corpus.format == "reddit"
    assert corpus.table.equals(pv.read(DUMP).table)
    assert corpus.notes.counts["bad_line"] == 1
    assert corpus.notes.places["missing_parent"] == ["line 12"]


def test_utf16_gives_the_same_table() -> None:
    corpus = read_or_refuse(DATA.decode().encode("utf-16"), "x.ndjson")
    assert corpus is not None
    assert corpus.format == "reddit"
    assert corpus.table.equals(pv.read(DUMP).table)


def test_records_that_are_no_messages_are_counted() -> None:
    lines = [
        json.dumps({"display_name": "ExampleBaking", "subscribers": 3}),
        json.dumps({"id": 5, "body": ["x"], "author": None, "link_id": None, "parent_id": True}),
        json.dumps([1]),
        json.dumps({"id": "z", "title": "T", "selftext": "[deleted]", "author": "[deleted]"}),
    ]
    corpus = read_or_refuse(DATA + "\n".join(lines).encode(), "x.ndjson")
    assert corpus is not None
    assert corpus.notes.counts["bad_line"] == 3
    last = corpus.table.filter(id="t3_z")
    assert last.select("speaker", "text").row(0) == (None, "T")


def test_mixed_encodings_and_surrogates() -> None:
    line = (
        b'{"id":"e","author":"x","body":"caf\xe9 \\ud83d","link_id":"t3_p1","parent_id":"t3_p1"}\n'
    )
    corpus = read_or_refuse(DATA + line, "x.ndjson")
    assert corpus is not None
    assert corpus.table.filter(id="t1_e")["text"].item().startswith("café")
    assert corpus.notes.counts["decoded"] == 1


@given(mutations(DATA))
@settings(max_examples=60, deadline=None)
def test_only_palaver_errors_escape(data: bytes) -> None:
    read_or_refuse(data, "x.ndjson", format="reddit")
