"""Sessions of the Codex command line: JSON lines, with a payload in newer versions."""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.assistants.talk import Talk, role_of, said
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.folders import stem
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

#: Texts of the program under the user's name.
_PROGRAM = ("<environment_context>", "<user_instructions>", "<permissions", "<turn_aborted>",
            "<INSTRUCTIONS>", "<collaboration_mode>", "# AGENTS.md instructions",
            "<skills_instructions>")  # fmt: skip
_TALK = frozenset(("input_text", "output_text", "text"))


def looks_like(source: Source) -> bool:
    """Whether records have a payload like those of a session, or are parts of a response."""
    if source.is_tree:
        files = [name for name in source.names if _is_session(name)]
        return any(_fits(shape(source, name)) for name in files[:3])
    return _fits(shape(source))


def _fits(keys: frozenset[str]) -> bool:
    if {"timestamp", "type", "payload.type"} <= keys:
        return "payload.cwd" in keys or "payload.content.text" in keys
    return {"type", "role", "content.type", "content.text", "timestamp", "id"} <= keys and (
        "instructions" in keys
    )


def _is_session(name: str) -> bool:
    return name.lower().endswith(".jsonl") and "rollout" in name.lower()


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all sessions; each message answers the one before it."""
    talk = Talk(notes)
    session, last, number = stem(source.path.name), None, 0
    for place, value in json_records(source, notes, _is_session):
        record = as_dict(value)
        payload = as_dict(record.get("payload")) or record
        kind = as_word(payload.get("type"))
        if record.get("type") == "session_meta" or "instructions" in payload:
            session = as_word(payload.get("id")) or f"{session} ({place})"
            last, number = None, 0
        elif kind == "message" and record.get("type") in ("response_item", "message"):
            number += 1
            if _add(talk, record, payload, session, str(number), last, place):
                last = str(number)
        elif record.get("type") == "response_item" or kind in ("reasoning", "function_call"):
            talk.leave_out("tool_output", session, None, None, place)
        else:
            talk.leave_out("system_message", session, None, None, place)
    return talk.table()


def _add(
    talk: Talk, record: dict[str, Any], payload: dict[str, Any], session: str, name: str,
    last: str | None, place: str,
) -> bool:  # fmt: skip
    parts = [as_dict(part) for part in as_list(payload.get("content"))]
    text = said([part for part in parts if as_word(part.get("type")) in _TALK])
    role = role_of(payload.get("role"))
    if role == "user" and text.startswith(_PROGRAM):
        role = "system"
    return talk.add(
        conversation=session,
        id=name,
        parent=last,
        role=role,
        time=as_word(record.get("timestamp")),
        text=text,
        has_media=any(part.get("type") == "input_image" for part in parts),
        place=place,
    )


FORMAT = Format("codex", "sessions of Codex (rollout-*.jsonl)", looks_like, read)
