"""ConvoKit corpora, current and legacy, as folders and zips."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fuzz import mutations, read_tree_or_refuse

import palaver as pv
from palaver.errors import FormatError

FIXTURES = Path(__file__).parents[2] / "fixtures"
CORPUS = FIXTURES / "convokit"
FILES = {file.name: file.read_bytes() for file in CORPUS.iterdir()}


def zipped(folder: Path, target: Path, prefix: str = "") -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, prefix + file.name)
    return target


def test_reads_a_folder() -> None:
    corpus = pv.read(CORPUS)
    assert corpus.format == "convokit"
    table = corpus.table
    assert table.columns == [
        "conversation", "id", "reply_to", "speaker", "time", "text",
        "act", "score", "meta_speaker", "parsed", "tags", "detail",
        "conversation_topic", "conversation_solved", "speaker_town", "politeness",
    ]  # fmt: skip
    assert table["conversation"].to_list() == ["c1", "c1", "c1", "c2"]
    assert table["id"].to_list() == ["u1", "u2", "u3", "u4"]
    assert table["reply_to"].to_list() == [None, "u1", "u2", None]
    assert table["speaker"].to_list() == ["ana", "ben", "ana", "cleo"]
    assert table["time"].dt.epoch("s").to_list() == [1700000000, 1700000060, 1700000120, None]
    assert table["text"][3] == "Is anyone awake? 🌙"
    assert table["act"].to_list() == ["question", "answer", "thanks", None]
    assert table["score"].to_list() == [3, 5, None, None]
    assert table["meta_speaker"].to_list() == ["guest", None, None, None]
    assert table["tags"].to_list() == [None, ["kitchen", "power"], None, None]
    assert json.loads(table["detail"][2]) == {"mood": "glad"}
    assert table["conversation_solved"].to_list() == [True, True, True, False]
    assert table["speaker_town"].to_list() == ["Lund", "Graz", "Lund", None]
    assert table["politeness"].to_list() == [0.25, None, 0.75, None]


def test_never_opens_pickles() -> None:
    corpus = pv.read(CORPUS)
    assert corpus.notes.counts == {"pickle_skipped": 1}
    assert corpus.table["parsed"].to_list() == [None] * 4


def test_reads_legacy_keys() -> None:
    corpus = pv.read(FIXTURES / "convokit_legacy")
    assert corpus.format == "convokit"
    table = corpus.table
    assert table["conversation"].to_list() == ["1", "1"]
    assert table["reply_to"].to_list() == [None, "1"]
    assert table["speaker"].to_list() == ["ana", "ben"]
    assert table["time"].dt.to_string("%H:%M").to_list() == ["10:00", "10:01"]
    assert table["speaker_age"].to_list() == [31, None]
    assert table["conversation_title"].to_list() == ["old", "old"]


@pytest.mark.parametrize("prefix", ["", "kettle-corpus/"])
def test_reads_a_zip(tmp_path: Path, prefix: str) -> None:
    corpus = pv.read(zipped(CORPUS, tmp_path / "corpus.zip", prefix))
    assert corpus.format == "convokit"
    assert corpus.table.equals(pv.read(CORPUS).table)


def test_reads_the_file_of_utterances_alone(tmp_path: Path) -> None:
    path = shutil.copy(CORPUS / "utterances.jsonl", tmp_path)
    corpus = pv.read(path)
    assert corpus.format == "convokit"
    assert corpus.table["act"].to_list() == ["question", "answer", "thanks", None]


def test_repairs_bad_parents() -> None:
    records = [
        {"id": "a", "conversation_id": "c", "text": "a", "reply-to": "a"},
        {"id": "b", "conversation_id": "c", "text": "b", "reply-to": "gone"},
        {"id": "d", "conversation_id": "c", "text": "d", "reply-to": "e"},
        {"id": "e", "conversation_id": "c", "text": "e", "reply-to": "d"},
    ]
    data = "\n".join(map(json.dumps, records)).encode()
    corpus = read_tree_or_refuse({"utterances.jsonl": data})
    assert corpus is not None
    assert corpus.notes.of("repair") == {"self_parent": 1, "missing_parent": 1, "cyclic_parent": 1}


def test_keeps_what_it_can_of_wrong_types() -> None:
    lines = [
        '{"id": 7, "conversation_id": 1, "text": null, "speaker": {"id": "x"}, "meta": []}',
        '{"id": "self", "text": ["a"], "meta": {"self": 1, "": 2, "id": 3, "place": 4}}',
        "[1, 2]",
        '{"id": "cut", "te',
    ]
    files = {
        "utterances.jsonl": "\n".join(lines).encode(),
        "conversations.json": b"[",
        "users.json": b"[]",
    }
    corpus = read_tree_or_refuse(files)
    assert corpus is not None
    assert corpus.n_messages == 2
    assert corpus.notes.counts["bad_line"] == 2
    assert corpus.notes.places["bad_line"] == ["utterances.jsonl line 3", "utterances.jsonl line 4"]
    assert corpus.notes.counts["bad_file"] == 1
    assert corpus.table.filter(id="self").select("meta_self", "meta", "meta_id", "meta_place").row(
        0
    ) == (1, 2, 3, 4)


def test_keeps_the_start_of_a_truncated_array() -> None:
    data = (FIXTURES / "convokit_legacy" / "utterances.json").read_bytes()
    corpus = read_tree_or_refuse({"utterances.json": data[:-30]})
    assert corpus is not None
    assert corpus.table["id"].to_list() == ["1"]
    assert corpus.notes.counts["truncated"] == 1


def test_many_fields_share_a_column() -> None:
    lines = [json.dumps({"id": str(i), "text": "x", "meta": {f"f{i}": i}}) for i in range(300)]
    corpus = read_tree_or_refuse({"utterances.jsonl": "\n".join(lines).encode()})
    assert corpus is not None
    assert len(corpus.labels) == 201
    assert json.loads(corpus.table["meta"][299]) == {"f299": 299}


def test_info_of_nothing_is_counted() -> None:
    files = {**FILES, "info.mood.jsonl": b'{"id": "nobody", "value": 1}\n'}
    corpus = read_tree_or_refuse(files)
    assert corpus is not None
    assert corpus.notes.counts["bad_file"] == 1


def test_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(FormatError, match=r"no utterances.jsonl"):
        pv.read(tmp_path, format="convokit")


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_only_palaver_errors_escape(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FILES)))
    read_tree_or_refuse({**FILES, name: data.draw(mutations(FILES[name]))})


@given(mutations((FIXTURES / "convokit_legacy" / "utterances.json").read_bytes()))
@settings(max_examples=30, deadline=None)
def test_only_palaver_errors_escape_legacy(data: bytes) -> None:
    read_tree_or_refuse({"utterances.json": data})
