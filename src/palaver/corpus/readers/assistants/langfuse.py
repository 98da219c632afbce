"""Traces exported from Langfuse, as JSON lines or one JSON array.

A session is a conversation, or a trace if there are no sessions. A trace has the last message of
its input that the user wrote, and its output, which the assistant wrote.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.assistants.talk import Talk, in_turn
from palaver.corpus.readers.assistants.traces import told
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.records import as_word, json_records, unwrapped
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_MARKS = frozenset(
    ("sessionId", "userId", "projectId", "traceId", "session_id", "user_id", "trace_id")
)


def looks_like(source: Source) -> bool:
    """Whether records have an input, an output and a session or user."""
    keys = shape(source)
    return any(
        {f"{at}input", f"{at}output"} <= keys and any(f"{at}{mark}" in keys for mark in _MARKS)
        for at in ("", "data.")
    )


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all traces, in the order of the file."""
    talk = Talk(notes)
    n_records = 0
    for place, record in unwrapped(json_records(source, notes), "data"):
        n_records += 1
        _add(record, place, talk)
    if n_records and not len(talk):
        raise FormatError(
            f"{source}: looks like an export of Langfuse, but none of its {n_records:,} records "
            "has texts in input or output; export traces with input and output"
        )
    return in_turn(talk.table())


def _add(record: dict[str, Any], place: str, talk: Talk) -> None:
    """Add the question and the answer of a trace."""
    trace = as_word(record.get("id")) or place
    session = as_word(record.get("sessionId")) or as_word(record.get("session_id"))
    conversation = session or as_word(record.get("traceId")) or trace
    time = next(
        (found for key in ("timestamp", "startTime", "createdAt", "start_time")
         if (found := as_word(record.get(key)))), None,
    )  # fmt: skip
    person = as_word(record.get("userId")) or as_word(record.get("user_id"))
    asked, answer = told(record.get("input"), "user"), told(record.get("output"), "assistant")
    if not asked and not answer:
        talk.leave_out("system_message", conversation, None, None, place)
    for role, text, kind in (("user", asked, "input"), ("assistant", answer, "output")):
        if text:
            talk.add(
                conversation=conversation, id=f"{trace}/{kind}", parent=None, role=role, text=text,
                time=time, user=person, name=as_word(record.get("name")), place=place,
            )  # fmt: skip


FORMAT = Format("langfuse", "traces exported from Langfuse, JSON or JSON lines", looks_like, read)
