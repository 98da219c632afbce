"""Discord JSON written by DiscordChatExporter: one file per channel, or a folder of them.

Messages linked by replies form a conversation. All others form one conversation per channel
and day (``channel id/2024-01-02``). A thread, forum post or private chat is one conversation.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.days import by_replies_and_days
from palaver.corpus.readers.folders import peek
from palaver.corpus.readers.records import as_dict, as_word, object_after, stream_items
from palaver.corpus.readers.source import Source, decode
from palaver.errors import FormatError

_MESSAGES = re.compile(r'"messages"\s*:\s*\[')
_HEAD = re.compile(r'"(guild|channel)"\s*:\s*\{')
_NAME = re.compile(r".*\[\d{15,20}\].*\.json", re.IGNORECASE)
#: Types of messages written by people or bots (the exporter gives a number to types that it
#: does not know: commands are 20 and 23); all others are notices of the system.
_WRITTEN = frozenset(("Default", "Reply", "0", "19", "20", "23"))


def looks_like(source: Source) -> bool:
    """Whether the file starts with a guild and a channel, or a folder contains such files."""
    if source.is_tree:
        return any(_is_export(peek(source, name)) for name in _files(source)[:3])
    return _is_export(source.head_text)


def _is_export(head: str) -> bool:
    return {found[1] for found in _HEAD.finditer(head[:20_000])} == {"guild", "channel"}


def _files(source: Source) -> list[str]:
    return [name for name in source.names if _NAME.fullmatch(name)]


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the messages as a stream; files can be larger than memory."""
    rows, notices = Rows(notes), Rows(notes)
    if not source.is_tree:
        _read_file(source, None, rows, notices, notes)
        return by_replies_and_days(rows.table(), notices)
    for name in _files(source) or [n for n in source.names if n.lower().endswith(".json")]:
        try:
            _read_file(source, name, rows, notices, notes)
        except FormatError:
            notes.add("bad_file", [name])
    if not len(rows):
        raise FormatError(f"{source}: contains no JSON file written by DiscordChatExporter")
    return by_replies_and_days(rows.table(), notices)


def _read_file(source: Source, name: str | None, rows: Rows, notices: Rows, notes: Notes) -> None:
    """Add the messages of one channel, and the ids of notices to ``notices``."""
    label = name or source.path.name
    with source.open(name) as stream:
        head = decode(stream.peek(1 << 16)[: 1 << 16])
        if _MESSAGES.search(head) is None and not _is_export(head):
            raise FormatError(f"{label}: not a JSON file written by DiscordChatExporter")
        guild = object_after(head, r'"guild"\s*:\s*')
        channel = object_after(head, r'"channel"\s*:\s*')
        channel_id = as_word(channel.get("id")) or label
        kind = as_word(channel.get("type")) or ""
        common = {
            "channel": as_word(channel.get("name")),
            "guild": as_word(guild.get("name")),
            "channel_id": channel_id,
            "is_thread": "Thread" in kind or kind.startswith("Direct"),
        }
        for number, message in enumerate(stream_items(stream, notes, label, _MESSAGES), 1):
            place = f"message {number}" if name is None else f"{name} message {number}"
            if not isinstance(message, dict):
                notes.add("bad_line", [place])
            elif (as_word(message.get("type")) or "Default") not in _WRITTEN:
                notes.add("system_message", [place])
                notices.add(id=as_word(message.get("id")))
            else:
                rows.add(**_message(message, channel_id, place, notes), **common)


def _message(message: dict[str, Any], channel_id: str, place: str, notes: Notes) -> dict[str, Any]:
    """Return the columns of a message; forwards and crossposts are references, not replies."""
    reference = as_dict(message.get("reference"))
    is_forward = as_word(reference.get("type")) in ("Forward", "1")
    is_reply = not is_forward and as_word(reference.get("channelId")) in (None, channel_id)
    text = as_word(message.get("content")) or ""
    if is_forward or message.get("forwardedMessage"):
        notes.add("quote_cut", [place])
    elif not text.strip() and any(map(message.get, ("attachments", "stickers", "embeds"))):
        notes.add("media_omitted", [place])
    author = as_dict(message.get("author"))
    return {
        "conversation": None,
        "id": as_word(message.get("id")),
        "reply_to": as_word(reference.get("messageId")) if is_reply else None,
        "speaker": _handle(author),
        "time": as_word(message.get("timestamp")),
        "day": as_word(message.get("timestamp")),
        "text": text,
        "nickname": as_word(author.get("nickname")),
        "bot": author.get("isBot") is True,
        "place": place,
    }


def _handle(author: dict[str, Any]) -> str | None:
    """Return a unique name; old accounts need their number for that."""
    name, number = as_word(author.get("name")), as_word(author.get("discriminator"))
    if name is None or number is None or not number.strip("0"):
        return name or as_word(author.get("id"))
    return f"{name}#{number}"


FORMAT = Format("discord", "DiscordChatExporter JSON, a file or a folder", looks_like, read)
