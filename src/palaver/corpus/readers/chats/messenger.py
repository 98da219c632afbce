"""Messenger and Instagram: ``message_1.json`` files, one, or a folder or zip with all chats.

Both write UTF-8 as if it were Latin-1; that is undone. Messages come newest first, and a long chat
is spread over several files.
"""

from __future__ import annotations

import io
import re
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows, scrubbed
from palaver.corpus.readers.folders import members, peek
from palaver.corpus.readers.order import by_time
from palaver.corpus.readers.records import as_dict, as_word, parsed, stream_items
from palaver.corpus.readers.shape import shape_of
from palaver.corpus.readers.source import HEAD_BYTES, Source, decode

_MESSAGES = re.compile(r'"messages"\s*:\s*\[')
_FILE = re.compile(r"(?:.*/)?message_\d+\.json")
_TITLE = re.compile(r'"(?:title|threadName)"\s*:\s*("(?:[^"\\]|\\.)*")')
_MEDIA = ("photos", "videos", "audio_files", "files", "gifs", "sticker", "share", "media")
#: What Messenger writes in a person's name, in any language: reactions, calls, polls.
_CALLS = ("call_duration", "missed")
_NOTICES = frozenset(("Subscribe", "Unsubscribe", "Call"))


def looks_like(source: Source) -> bool:
    """Whether messages have what Messenger writes, or a folder contains such files."""
    if source.is_tree:
        files = [name for name in source.names if _FILE.fullmatch(name.lower())]
        return any(_fits(peek(source, name)) for name in files[:3])
    return _fits(source.head_text)


def _fits(head: str) -> bool:
    keys = shape_of(head)
    old = {"messages.sender_name", "messages.timestamp_ms"} <= keys
    return old or {"messages.senderName", "messages.timestamp", "participants"} <= keys


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all chats; each is a conversation, in the order of time."""
    rows = Rows(notes)
    titles: dict[str, str | None] = {}
    for member, name in members(source, lambda name: _FILE.fullmatch(name) is not None):
        before = "" if member is None else f"{name} "
        with source.open(member) as stream:
            ends = _Ends(stream)
            for number, item in enumerate(stream_items(ends, notes, name, _MESSAGES), 1):
                _add(item, name, f"{before}message {number}", rows, notes)
            titles[scrubbed(name)] = scrubbed(ends.title())
    table = rows.table()
    if not table.height:
        return table
    title = pl.col("file").replace_strict(titles, default=None, return_dtype=pl.String)
    own = (
        pl.coalesce("conversation", title, "file") if source.is_tree else pl.coalesce(title, "file")
    )
    return by_time(table.with_columns(own.alias("conversation"), title.alias("title")).drop("file"))


class _Ends:
    """A stream that remembers its start and its end, where the name of a chat is."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream, self._head, self._tail = stream, b"", b""

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        data = self._stream.read(size)
        self._head = self._head or data[:HEAD_BYTES]
        self._tail = (self._tail + data)[-HEAD_BYTES:]
        return data

    def title(self) -> str | None:
        """Read on to the end, and return the name of the chat."""
        while self.read(1 << 20):
            pass
        found = None
        for match in _TITLE.finditer(decode(self._head) + decode(self._tail)):
            found = as_word(as_dict(parsed(f'{{"title": {match[1]}}}')).get("title"))
        return None if found is None else repaired(found)


def _add(item: Any, name: str, place: str, rows: Rows, notes: Notes) -> None:
    if not isinstance(item, dict):
        notes.add("bad_line", [place])
        return
    kind = as_word(item.get("type"))
    given = as_word(item.get("content")) or as_word(item.get("text")) or ""
    if kind in _NOTICES or any(key in item for key in _CALLS):
        notes.add("system_message", [place])
        return
    text = repaired(given)
    notes.add("mojibake", [place] * (text != given))
    is_gone = item.get("is_unsent") is True or item.get("isUnsent") is True
    has_media = any(map(item.get, _MEDIA))
    if has_media and not text.strip():
        notes.add("media_omitted", [place])
    speaker = as_word(item.get("sender_name")) or as_word(item.get("senderName"))
    rows.add(
        conversation=name.rpartition("/")[0].rpartition("/")[2] or None,
        id=None,
        reply_to=None,
        speaker=None if speaker is None else repaired(speaker),
        time=as_word(item.get("timestamp_ms")) or as_word(item.get("timestamp")),
        text="" if is_gone else text,
        file=name,
        place=place,
    )


def repaired(text: str) -> str:
    """Decode text again if it is UTF-8 that was read as Latin-1."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return text


FORMAT = Format("messenger", "Messenger or Instagram (message_1.json)", looks_like, read)
