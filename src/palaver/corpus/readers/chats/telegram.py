"""Telegram's ``result.json``: one chat, or all chats of an account.

A private chat is a conversation. In groups and channels, messages linked by replies form a
conversation, and all others one per chat and day.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.days import by_replies_and_days
from palaver.corpus.readers.folders import members, peek
from palaver.corpus.readers.records import as_dict, as_list, as_word, parsed, stream_arrays
from palaver.corpus.readers.shape import shape_of
from palaver.corpus.readers.source import Source

_MESSAGES = re.compile(r'"messages"\s*:\s*\[')
_FIELD = re.compile(r'"(name|type|id)"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+|null)')
_PRIVATE = ("personal_chat", "bot_chat", "saved_messages", "replies", "verification_codes")
_KEYS = ("id", "type", "date")
_MEDIA = ("photo", "file", "media_type", "location_information", "contact_information", "poll")


def looks_like(source: Source) -> bool:
    """Whether messages have what Telegram writes, or a folder contains such a ``result.json``."""
    if source.is_tree:
        return any(_fits(peek(source, name)) for name in source.names if _is_result(name.lower()))
    return _fits(source.head_text)


def _fits(head: str) -> bool:
    keys = shape_of(head)
    return any(
        {f"{at}.{key}" for key in _KEYS} <= keys
        and (f"{at}.from_id" in keys or f"{at}.actor_id" in keys or f"{at}.text_entities" in keys)
        for at in ("messages", "chats.list.messages", "left_chats.list.messages")
    )


def _is_result(name: str) -> bool:
    return name.rpartition("/")[2] == "result.json"


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the messages as a stream; files can be larger than memory."""
    rows, notices = Rows(notes), Rows(notes)
    for member, name in members(source, _is_result):
        with source.open(member) as stream:
            chats = stream_arrays(stream, notes, name, _MESSAGES)
            head = source.head_text if member is None else peek(source, member)
            is_account = "chats" in shape_of(head)
            for before, messages in chats:
                chat = _chat(before)
                for number, message in enumerate(messages, 1):
                    place = f"message {number}"
                    if is_account:
                        place = f"{chat['chat'] or chat['channel_id']} {place}"
                    prefix = f"{chat['channel_id']}/" if is_account else ""
                    _add(message, chat, prefix, place, rows, notices, notes)
    return by_replies_and_days(rows.table(), notices)


def _chat(before: str) -> dict[str, Any]:
    """Return what is said about a chat in front of its messages."""
    found = {match[1]: match[0] for match in _FIELD.finditer(before[-2_000:])}
    given = as_dict(parsed("{" + ", ".join(found.values()) + "}"))
    name, kind = as_word(given.get("name")), as_word(given.get("type"))
    return {
        "chat": name,
        "chat_type": kind,
        "channel_id": as_word(given.get("id")) or name or "chat",
        "is_thread": kind in _PRIVATE,
    }


def _add(
    message: Any, chat: dict[str, Any], prefix: str, place: str, rows: Rows, notices: Rows,
    notes: Notes,
) -> None:  # fmt: skip
    if not isinstance(message, dict):
        notes.add("bad_line", [place])
        return
    name = as_word(message.get("id"))
    name = None if name is None else prefix + name
    if as_word(message.get("type")) not in (None, "message"):
        notes.add("system_message", [place])
        notices.add(id=name)
        return
    text = _text(message.get("text"))
    if message.get("forwarded_from") or message.get("forwarded_from_id"):
        notes.add("quote_cut", [place])
        text = ""
    elif not text.strip() and any(map(message.get, _MEDIA)):
        notes.add("media_omitted", [place])
    parent = as_word(message.get("reply_to_message_id"))
    if parent is None or message.get("reply_to_peer_id") is not None:  # in another chat
        parent = None
    rows.add(
        conversation=None,
        id=name,
        reply_to=None if parent is None else prefix + parent,
        speaker=as_word(message.get("from")) or as_word(message.get("from_id")),
        time=as_word(message.get("date_unixtime")) or as_word(message.get("date")),
        day=as_word(message.get("date")),
        text=text,
        **chat,
        place=place,
    )


def _text(value: Any) -> str:
    """Return the text of a message, which may come in parts with formats."""
    if isinstance(value, str):
        return value
    parts = [part.get("text") if isinstance(part, dict) else part for part in as_list(value)]
    return "".join(part for part in parts if isinstance(part, str))


FORMAT = Format("telegram", "Telegram export (result.json)", looks_like, read)
