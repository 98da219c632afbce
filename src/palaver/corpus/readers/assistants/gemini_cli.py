"""Sessions of the Gemini command line: one JSON object with all messages, or a folder of these."""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.assistants.talk import Talk, role_of, said
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_KEYS = frozenset(("sessionId", "projectHash", "messages"))


def looks_like(source: Source) -> bool:
    """Whether the file is a session, or a folder contains one."""
    if source.is_tree:
        files = [name for name in source.names if _is_session(name.lower())]
        return any(shape(source, name) >= _KEYS for name in files[:3])
    return shape(source) >= _KEYS


def _is_session(name: str) -> bool:
    return name.endswith(".json") and "session" in name


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all sessions; each message answers the one before it."""
    talk = Talk(notes)
    for place, value in json_records(source, notes, _is_session):
        record = as_dict(value)
        session, last = as_word(record.get("sessionId")) or place, None
        for number, item in enumerate(as_list(record.get("messages")), 1):
            where = f"{place} message {number}"
            if not isinstance(item, dict):
                notes.add("bad_line", [where])
            elif _add(talk, item, session, str(number), last, where):
                last = str(number)
    return talk.table()


def _add(
    talk: Talk, message: dict[str, Any], session: str, name: str, last: str | None, place: str
) -> bool:
    calls = [as_word(as_dict(call).get("name")) for call in as_list(message.get("toolCalls"))]
    return talk.add(
        conversation=session,
        id=name,
        parent=last,
        role=role_of(message.get("type")),
        time=as_word(message.get("timestamp")),
        text=said(message.get("displayContent") or message.get("content")),
        tools=[call for call in calls if call],
        model=as_word(message.get("model")),
        place=place,
    )


FORMAT = Format("gemini-cli", "sessions of the Gemini command line, JSON", looks_like, read)
