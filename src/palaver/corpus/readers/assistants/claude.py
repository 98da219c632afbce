"""The data export of Claude: ``conversations.json``, also in its zip or folder."""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.assistants.talk import Talk, role_of, said, tools_of
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records, unwrapped
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_NOBODY = "00000000-0000-4000-8000-000000000000"  # the parent of first messages


def looks_like(source: Source) -> bool:
    """Whether conversations have messages with senders."""
    if source.is_tree:
        files = [name for name in source.names if _is_export(name.lower())]
        return any(_fits(shape(source, name)) for name in files[:1])
    return _fits(shape(source))


def _fits(keys: frozenset[str]) -> bool:
    return any({f"{at}chat_messages", f"{at}uuid"} <= keys for at in ("", "conversations."))


def _is_export(name: str) -> bool:
    return name.rpartition("/")[2] == "conversations.json"


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all conversations, with all of their branches."""
    talk = Talk(notes)
    for place, record in unwrapped(json_records(source, notes, _is_export), "conversations"):
        if not isinstance(record.get("chat_messages"), list):
            notes.add("bad_line", [place])
            continue
        before = None
        for number, item in enumerate(as_list(record["chat_messages"]), 1):
            message = as_dict(item)
            if not message:
                notes.add("bad_line", [f"{place} message {number}"])
                continue
            name = as_word(message.get("uuid")) or str(number)
            _add(talk, record, message, name, before, f"{place} message {number}")
            before = name
    return talk.table()


def _add(
    talk: Talk, record: dict[str, Any], message: dict[str, Any], name: str, before: str | None,
    place: str,
) -> None:  # fmt: skip
    parent = as_word(message.get("parent_message_uuid")) or before
    content = message.get("content")
    talk.add(
        conversation=as_word(record.get("uuid")) or place.partition(" message")[0],
        id=name,
        parent=None if parent == _NOBODY else parent,
        role=role_of(message.get("sender")),
        time=as_word(message.get("created_at")),
        text=said(content) or said(message.get("text")),
        tools=tools_of(content),
        has_media=bool(message.get("attachments") or message.get("files")),
        title=as_word(record.get("name")),
        place=place,
    )


FORMAT = Format("claude", "data export of Claude (conversations.json)", looks_like, read)
