"""Sessions of Claude Code: one JSON object per line, messages of the user and of the assistant.

What people and the assistant said is the text; thoughts, calls of tools and their results are not.
Replies to what is left out become replies to its parent.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.records import as_dict, as_list, as_word, object_of
from palaver.corpus.readers.source import Source

_SPOKEN = ("user", "assistant")


def looks_like(source: Source) -> bool:
    """Whether one of the first lines is a message of a session."""
    return any(
        line.lstrip().startswith("{")
        and all(f'"{key}"' in line for key in ("parentUuid", "sessionId", "uuid"))
        for line in source.head_text.lstrip("\ufeff").split("\n", 20)[:20]
    )


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the messages of all sessions in a file."""
    rows = Rows(notes)
    parents: dict[str, str | None] = {}  # of what was left out
    line = 1
    for block in source.blocks():
        for number, data in enumerate(block.split(b"\n"), line):
            record = object_of(data, notes, f"line {number}")
            if record is not None:
                _add(record, number, rows, parents, notes)
        line += block.count(b"\n")
    table = rows.table()
    if not table.height:
        return table
    kept = [_nearest(name, parents) for name in table["reply_to"]]
    return table.with_columns(pl.Series("reply_to", kept, dtype=pl.String))


def _add(
    record: dict[str, Any], number: int, rows: Rows, parents: dict[str, str | None], notes: Notes
) -> None:
    """Add a message that somebody wrote; remember the parent of anything else."""
    message = as_dict(record.get("message"))
    name, parent = as_word(record.get("uuid")), as_word(record.get("parentUuid"))
    role = as_word(message.get("role")) or as_word(record.get("type"))
    text, tools = _content(message.get("content"))
    if role not in _SPOKEN or record.get("isMeta") is True or not text.strip():
        if name is not None:
            parents[name] = parent
            notes.add("system_message", [f"line {number}"])
        return
    rows.add(
        conversation=as_word(record.get("sessionId")),
        id=name,
        reply_to=parent,
        speaker=role,
        time=as_word(record.get("timestamp")),
        text=text,
        tools=tools,
        sidechain=record.get("isSidechain") is True,
        place=number,
    )


def _content(content: Any) -> tuple[str, list[str]]:
    """Return what was written, and the names of the tools that were called."""
    if isinstance(content, str):
        return content, []
    parts = [as_dict(part) for part in as_list(content)]
    texts = [as_word(part.get("text")) for part in parts if part.get("type") == "text"]
    tools = [as_word(part.get("name")) for part in parts if part.get("type") == "tool_use"]
    return "\n\n".join(filter(None, texts)), list(filter(None, tools))


def _nearest(name: str | None, parents: dict[str, str | None]) -> str | None:
    """Return the first ancestor that was kept, or is not in the file."""
    passed = []
    while name is not None and name in parents:
        passed.append(name)
        name = parents[name]
        if len(passed) > len(parents):  # a cycle
            name = None
    for one in passed:  # so that each is passed once
        parents[one] = name
    return name


FORMAT = Format("claude-code", "sessions of Claude Code, JSON lines", looks_like, read)
