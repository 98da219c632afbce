from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse
from support.growth import assert_linear

import palaver as pv

FIXTURES = Path(__file__).parents[2] / "fixtures" / "chatlog"
OPENAI, SHARES = FIXTURES / "openai.jsonl", FIXTURES / "sharegpt.json"
EXPORT = FIXTURES.parent / "chatgpt" / "conversations.json"


def _read(tmp_path: Path, records: list[Any], format: str = "chatlog") -> pv.Corpus:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return pv.read(path, format=format)


def test_only_talk_is_kept_and_tools_have_a_column() -> None:
    corpus = pv.read(OPENAI)
    columns = ("conversation", "id", "reply_to", "role", "text", "name")
    assert corpus.table.select(columns).rows() == [
        ("1", "2", None, "user", 'What is {x} in "role": y?', None),
        ("1", "3", "2", "assistant", "A placeholder.", None),
        ("ticket-7", "1", None, "user", "What is on this photo?", "ann"),
        ("ticket-7", "4", "1", "assistant", "A cat.", None),
    ]
    assert corpus.notes.counts == {"system_message": 1, "tool_output": 2}
    history = pv.read(FIXTURES / "history.json").table
    assert history["tools"].to_list() == [None, ["read"], None]
    assert history["reply_to"].to_list() == [None, "1", "2"]
    table = pv.read(FIXTURES / "lmsys.parquet").table
    assert table["code"].to_list() == [None, ["bake()"], None, None]


@pytest.mark.parametrize(("name", "names"), [("sharegpt.json", ["QWJ_0", "QWJ_1"]),
                                            ("sharegpt.jsonl", ["1", "2"])])  # fmt: skip
def test_sharegpt_as_array_and_as_lines(name: str, names: list[str]) -> None:
    corpus = pv.read(FIXTURES / name)
    assert corpus.format == "chatlog"
    assert corpus.table["conversation"].unique(maintain_order=True).to_list() == names
    assert corpus.table["speaker"].unique().sort().to_list() == ["assistant", "user"]
    assert corpus.table["reply_to"].to_list()[:2] == [None, "1"]


def test_export_is_a_tree_without_what_was_not_said() -> None:
    corpus = pv.read(EXPORT)
    assert corpus.format == "chatgpt"
    columns = ("conversation", "id", "reply_to", "speaker", "text", "current")
    assert corpus.table.select(columns).rows() == [
        ("c-bread", "u1", None, "user", "How long does this bread bake?", True),
        ("c-bread", "a1", "u1", "assistant", "An hour.", True),
        ("c-bread", "u2", "a1", "user", "Thanks!", True),
    ]
    assert corpus.table["time"].dt.epoch("ms").to_list()[0] == 1_700_000_001_250
    assert corpus.table["title"].unique().to_list() == ["Bread"]
    assert corpus.table["model"].to_list() == [None, "gpt-x", None]
    assert corpus.notes.counts == {"system_message": 2, "tool_output": 1}


def test_branches_are_kept(tmp_path: Path) -> None:
    def said(role: str, text: str) -> dict[str, Any]:
        return {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}

    mapping = {
        "root": {"parent": None, "message": None},
        "q": {"parent": "root", "message": said("user", "q")},
        "a": {"parent": "q", "message": said("assistant", "a")},
        "b": {"parent": "q", "message": said("assistant", "again")},
    }
    corpus = _read(tmp_path, [{"mapping": mapping, "current_node": "b"}], "chatgpt")
    assert corpus.table["reply_to"].to_list() == [None, "q", "q"]
    assert corpus.table["current"].to_list() == [True, False, True]
    assert corpus.notes.counts == {}


def test_whole_export_as_folder_and_as_archive(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    shutil.copy(EXPORT, folder)
    (folder / "user.json").write_text("{}")
    (folder / "chat.html").write_text("<html></html>")
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    for path in (folder, tmp_path / "export.zip"):
        corpus = pv.read(path)
        assert corpus.format == "chatgpt"
        assert corpus.table["id"].to_list() == ["u1", "a1", "u2"]


def test_one_conversation_of_the_export_alone(tmp_path: Path) -> None:
    path = tmp_path / "bread.json"
    path.write_text(json.dumps(json.loads(EXPORT.read_text())[0], indent=1))
    assert pv.read(path).table["id"].to_list() == ["u1", "a1", "u2"]


def test_records_of_one_name_stay_apart(tmp_path: Path) -> None:
    record = {"id": "same", "messages": [{"role": "user", "content": "hi"}] * 2}
    corpus = _read(tmp_path, [record, record])
    assert corpus.n_conversations == 2
    assert corpus.table["reply_to"].to_list() == [None, "1", None, "1"]
    assert corpus.notes.counts == {"duplicate_id": 1}


def test_wrong_types_are_counted(tmp_path: Path) -> None:
    good = {"role": "user", "content": {"text": "hi"}, "name": 3}
    records = [
        {"messages": {}}, [1], None, 5, {"messages": None}, {"mapping": []},
        {"id": 0, "messages": []},
        {"messages": [None, "x", {"role": None}, {"role": ["user"]}, good]},
        {"mapping": {"a": None, "b": {"message": {"author": "me"}}, "c": {"parent": 4}}},
        {"messages": [{"role": "user", "content": [{"type": "image_url"}, None, 7]}]},
        {"messages": [{"role": "assistant", "tool_calls": [None, {"function": "f"}, {"function":
            {"name": "f"}}], "function_call": {"name": "g", "arguments": {}}}]},
    ]  # fmt: skip
    corpus = _read(tmp_path, records)
    assert corpus.table.select("id", "speaker", "text").rows() == [
        ("5", "user", "hi"),
        ("1", "user", ""),
    ]
    assert corpus.notes.counts == {
        "bad_line": 7 + 4, "tool_output": 1, "media_omitted": 1, "empty_text": 1,
    }  # fmt: skip


def test_trees_that_are_none(tmp_path: Path) -> None:
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["x"]}}
    hidden = {"author": {"role": "system"}, "content": {}}
    mapping = {
        "a": {"parent": "b", "message": hidden},
        "b": {"parent": "a", "message": hidden},
        "c": {"parent": "a", "message": said},
        "d": {"parent": "gone", "message": said},
        "e": {"parent": "e", "message": said},
    }
    corpus = _read(tmp_path, [{"mapping": mapping, "current_node": "a"}], "chatgpt")
    assert corpus.table["reply_to"].to_list() == [None] * 3
    assert corpus.notes.counts == {"system_message": 2, "missing_parent": 1, "self_parent": 1}


def test_deep_branches_take_linear_time(tmp_path: Path) -> None:
    hidden = {"author": {"role": "system"}}
    said = {"author": {"role": "user"}, "content": {"parts": ["x"]}}

    def read(n_hidden: int) -> None:
        mapping: dict[str, Any] = {"0": {"parent": None, "message": said}}
        for number in range(1, n_hidden + 1):
            mapping[str(number)] = {"parent": str(number - 1), "message": hidden}
        for number in range(n_hidden):
            mapping[f"end{number}"] = {"parent": str(n_hidden), "message": said}
        corpus = _read(tmp_path, [{"mapping": mapping}], "chatgpt")
        assert corpus.table["reply_to"].to_list() == [None] + ["0"] * n_hidden

    assert_linear(read, 1_000)


def test_deep_content_is_no_recursion(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    deep = "[" * 5_000 + '"x"' + "]" * 5_000
    record = '{"messages": [{"role": "user", "content": ' + deep + "}]}\n"
    path.write_text(record + OPENAI.read_text())
    corpus = pv.read(path, format="chatlog")
    assert corpus.n_conversations in (2, 3)  # Python's JSON may or may not go that deep


def test_cut_files(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    text = SHARES.read_text()
    path.write_text(text[: text.index("Be kind")])
    corpus = pv.read(path)
    assert corpus.table["conversation"].unique().to_list() == ["QWJ_0"]
    assert corpus.notes.counts["truncated"] == 1
    path.write_text(OPENAI.read_text()[:-200])
    corpus = pv.read(path)
    assert corpus.n_conversations == 1
    assert corpus.notes.places["bad_line"] == ["line 2"]
    path.write_text(json.dumps(json.loads(EXPORT.read_text())[0], indent=1)[:-100])
    assert pv.read(path, format="chatgpt").notes.counts == {"truncated": 1}


def test_wide_and_marked_encodings(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for encoding in ("utf-16", "utf-8-sig"):
        path.write_text(OPENAI.read_text(), encoding=encoding)
        corpus = pv.read(path)
        assert corpus.format == "chatlog"
        assert corpus.n_messages == 4


def test_a_first_record_longer_than_the_head(tmp_path: Path) -> None:
    long = {"messages": [{"role": "user", "content": "x " * 50_000}]}
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps(long) + "\n" + json.dumps(long) + "\n")
    corpus = pv.read(path)
    assert (corpus.format, corpus.n_conversations) == ("chatlog", 2)


@pytest.mark.parametrize("path", [OPENAI, SHARES], ids=lambda path: path.name)
def test_broken_bytes(path: Path) -> None:
    @settings(max_examples=40, deadline=None)
    @given(mutations(path.read_bytes()))
    def check(data: bytes) -> None:
        read_or_refuse(data, path.name, format="chatlog")
        read_or_refuse(data, path.name)

    check()
