"""Traces exported from Langfuse, as JSON lines or one JSON array.

A session is a conversation, or a trace if there are no sessions. A trace has the last message of
its input that the user wrote, and its output, which the assistant wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.records import as_dict, as_list, as_word, object_of, stream_items
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_MARKS = ("sessionId", "userId", "projectId", "traceId", "session_id", "user_id", "trace_id")
_WRAPPED = ("messages", "input", "output", "content", "text", "query", "question", "prompt",
            "answer", "response", "completion", "generations", "choices", "message")  # fmt: skip
_DEEPEST = 6


def looks_like(source: Source) -> bool:
    """Whether the file begins with a record that has an input, an output and a session or user."""
    start = source.head_text.lstrip("\ufeff \t\r\n")[:20_000]
    return (
        start.startswith(("{", "["))
        and '"input"' in start
        and '"output"' in start
        and any(f'"{mark}"' in start for mark in _MARKS)
    )


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all traces, in the order of the file."""
    rows = Rows(notes)
    n_records = 0
    for place, record in _records(source, notes):
        n_records += 1
        _add(record, place, rows, notes)
    if n_records and not len(rows):
        raise FormatError(
            f"{source}: looks like an export of Langfuse, but none of its {n_records:,} records "
            "has texts in input or output; export traces with input and output"
        )
    return rows.table()


def _records(source: Source, notes: Notes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the places and records of a file."""
    if source.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        with source.open() as stream:
            items = stream_items(stream, notes, str(source))
            for number, item in enumerate(items, 1):
                if isinstance(item, dict):
                    yield f"record {number}", item
                else:
                    notes.add("bad_line", [f"record {number}"])
        return
    line = 1
    for block in source.blocks():
        for number, data in enumerate(block.split(b"\n"), line):
            record = object_of(data, notes, f"line {number}")
            if record is not None:
                yield f"line {number}", record
        line += block.count(b"\n")


def _add(record: dict[str, Any], place: str, rows: Rows, notes: Notes) -> None:
    """Add the question and the answer of a trace."""
    trace = as_word(record.get("id")) or place
    session = as_word(record.get("sessionId")) or as_word(record.get("session_id"))
    time = next(
        (found for key in ("timestamp", "startTime", "createdAt", "start_time")
         if (found := as_word(record.get(key)))), None,
    )  # fmt: skip
    common = {"conversation": session or as_word(record.get("traceId")) or trace, "time": time,
              "name": as_word(record.get("name")), "place": place}  # fmt: skip
    asked, said = _told(record.get("input"), "user"), _told(record.get("output"), "assistant")
    if asked:
        rows.add(id=f"{trace}/input", speaker="user", text=asked, reply_to=None, **common)
    if said:
        parent = f"{trace}/input" if asked else None
        rows.add(id=f"{trace}/output", speaker="assistant", text=said, reply_to=parent, **common)
    if not asked and not said:
        notes.add("system_message", [place])


def _told(value: Any, role: str, depth: int = 0) -> str:
    """Return the last text of a role within an input or output of whatever form."""
    if depth > _DEEPEST:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        parts = [item for item in as_list(value) if _role(item) in (None, role)]
        blocks = [as_word(as_dict(item).get("text")) for item in parts
                  if as_dict(item).get("type") == "text"]  # fmt: skip
        if any(blocks):
            return "\n\n".join(filter(None, blocks))
        return next(
            (text for item in reversed(parts) if (text := _told(item, role, depth + 1))), ""
        )
    record = as_dict(value)
    if _role(record) not in (None, role):
        return ""
    inner = (record[key] for key in _WRAPPED if key in record)
    return next((text for item in inner if (text := _told(item, role, depth + 1))), "")


def _role(value: Any) -> str | None:
    found = as_word(as_dict(value).get("role")) or as_word(as_dict(value).get("type"))
    names = {"human": "user", "ai": "assistant", "model": "assistant"}
    known = names.get(found or "", found)
    return known if known in ("user", "assistant", "system", "tool", "function") else None


FORMAT = Format("langfuse", "traces exported from Langfuse, JSON or JSON lines", looks_like, read)
