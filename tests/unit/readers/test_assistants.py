"""Logs of AI assistants: who said what, without tools, thoughts and system prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse

import palaver as pv
from palaver.errors import FormatError

FIXTURES = Path(__file__).parents[2] / "fixtures"
SESSION = FIXTURES / "claude-code" / "session.jsonl"
TRACES = FIXTURES / "langfuse" / "traces.jsonl"


def test_a_session_of_claude_code() -> None:
    corpus = pv.read(SESSION)
    assert corpus.format == "claude-code"
    assert corpus.table.select("id", "reply_to", "speaker", "text").rows() == [
        ("u22", None, "user", "Why does my test fail?"),
        ("u333", "u22", "assistant", "I will run it."),
        ("u55555", "u333", "assistant", "The yeast is missing.\n\nAdd it in line 3."),
        ("u666666", "u55555", "user", "thanks, that works"),
    ]
    assert corpus.table["tools"].to_list() == [None, ["Bash"], None, None]
    assert corpus.notes.counts == {"system_message": 1, "tool_output": 1}
    assert corpus.n_conversations == 1


def test_a_session_whose_messages_go_in_a_circle(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in SESSION.read_text().splitlines()]
    lines[1]["parentUuid"] = "u4444"  # both are left out
    lines[4]["parentUuid"] = "u1"
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert pv.read(path).n_messages == 4


def expected() -> list[tuple[str, str | None, str, str]]:
    return [
        ("tr1/input", None, "user", "How long does bread rise?"),
        ("tr1/output", "tr1/input", "assistant", "About an hour."),
        ("tr2/input", "tr1/output", "user", "And rye?"),
        ("tr2/output", "tr2/input", "assistant", "Longer: three hours."),
        ("tr3/input", None, "user", "summarise"),
        ("tr3/output", "tr3/input", "assistant", "Done."),
    ]


def test_traces_of_langfuse() -> None:
    corpus = pv.read(TRACES)
    assert corpus.format == "langfuse"
    assert corpus.table.select("id", "reply_to", "speaker", "text").rows() == expected()
    assert corpus.table["conversation"].to_list() == ["s1"] * 4 + ["tr3"] * 2
    assert corpus.notes.counts == {"system_message": 1}


def test_traces_in_one_array(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_text(json.dumps([json.loads(line) for line in TRACES.read_text().splitlines()]))
    corpus = pv.read(path)
    assert corpus.format == "langfuse"
    assert corpus.table.select("id", "reply_to", "speaker", "text").rows() == expected()


def test_traces_without_texts_are_refused_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    record = {"id": "1", "sessionId": "s", "input": {"n": 3}, "output": None}
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(FormatError, match=r"looks like an export of Langfuse.*export traces with"):
        pv.read(path)


@settings(max_examples=40)
@given(data=mutations(SESSION.read_bytes()))
def test_broken_sessions(data: bytes) -> None:
    read_or_refuse(data, "x.jsonl")
    read_or_refuse(data, "x.jsonl", format="claude-code")


@settings(max_examples=40)
@given(data=mutations(TRACES.read_bytes()))
def test_broken_traces(data: bytes) -> None:
    read_or_refuse(data, "x.jsonl")
    read_or_refuse(data, "x.jsonl", format="langfuse")
