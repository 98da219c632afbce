"""Sessions of Claude Code: one JSON object per line; a file, several in one, or a folder of them.

What people and the assistant said is the text. In side chains the assistant talks to agents of its
own: the role there is ``subagent``.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.assistants.talk import Talk, role_of, said, tools_of
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.mail_text import without_between
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_KEYS = frozenset(("parentUuid", "sessionId", "uuid"))
#: Texts of the program under the user's name.
_PROGRAM = ("<command-", "<local-command-", "<bash-", "<task-notification>", "<user-prompt-submit-",
            "[Request interrupted", "Caveat: The messages below")  # fmt: skip


def looks_like(source: Source) -> bool:
    """Whether the start has messages of a session, or a folder contains such a file."""
    if source.is_tree:
        return any(shape(source, name) >= _KEYS for name in _files(source)[:3])
    return shape(source) >= _KEYS


def _files(source: Source) -> list[str]:
    return [name for name in source.names if name.lower().endswith(".jsonl")]


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the messages of all sessions."""
    talk = Talk(notes)
    for place, record in json_records(source, notes, lambda name: name.endswith(".jsonl")):
        if isinstance(record, dict):
            _add(record, place, talk)
    return talk.table()


def _add(record: dict[str, Any], place: str, talk: Talk) -> None:
    """Add a message that somebody wrote; remember the parent of anything else."""
    message = as_dict(record.get("message"))
    session, name = as_word(record.get("sessionId")), as_word(record.get("uuid"))
    parent = as_word(record.get("parentUuid")) or as_word(record.get("logicalParentUuid"))
    role = role_of(message.get("role") or record.get("type"))
    content = message.get("content")
    text, tools = _without_reminders(said(content)), tools_of(content)
    is_side = record.get("isSidechain") is True
    is_program = role == "user" and text.startswith(_PROGRAM)
    if role not in ("user", "assistant") or is_program or any(
        record.get(mark) is True for mark in ("isMeta", "isCompactSummary", "isApiErrorMessage")
    ):  # fmt: skip
        if name is not None:
            talk.leave_out("system_message", session, name, parent, place)
    elif not text and not _has_images(content):
        talk.leave_out("tool_output", session, name, parent, place)
    else:
        talk.add(
            conversation=session,
            id=name,
            parent=parent,
            role="subagent" if is_side else role,
            time=as_word(record.get("timestamp")),
            text=text,
            tools=tools,
            has_media=_has_images(content),
            model=as_word(message.get("model")),
            sidechain=is_side,
            place=place,
        )


def _without_reminders(text: str) -> str:
    """Remove what the program adds to a message of the user."""
    return without_between(text, "<system-reminder>", "</system-reminder>").strip()


def _has_images(content: Any) -> bool:
    return any(as_dict(part).get("type") == "image" for part in as_list(content))


FORMAT = Format("claude-code", "sessions of Claude Code, JSON lines", looks_like, read)
