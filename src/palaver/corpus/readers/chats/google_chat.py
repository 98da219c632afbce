"""Google Chat from Takeout: ``messages.json`` of one group, or the folder or zip with all.

A topic is a thread in which messages answer the first one. A direct message is one conversation;
other messages form one per group and day.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows, parse_json
from palaver.corpus.readers.chats.months import month_of
from palaver.corpus.readers.days import by_replies_and_days
from palaver.corpus.readers.folders import members, peek
from palaver.corpus.readers.records import as_dict, as_list, as_word, stream_items
from palaver.corpus.readers.shape import shape_of
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_MESSAGES = re.compile(r'"messages"\s*:\s*\[')
_CLOCK = re.compile(r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?\s*([AaPp])?")
_YEAR, _DAY = re.compile(r"\b(\d{4})\b"), re.compile(r"(?<!\d)(\d{1,2})(?!\d|[:.]\d)")
_WORD = re.compile(r"[^\W\d_]+")


def looks_like(source: Source) -> bool:
    """Whether messages have a creator and a topic, or a folder contains such files."""
    if source.is_tree:
        files = [name for name in source.names if _is_messages(name.lower())]
        return any(_fits(peek(source, name)) for name in files[:3])
    return _fits(source.head_text)


def _fits(head: str) -> bool:
    keys = shape_of(head)
    return {"messages.creator", "messages.created_date"} <= keys and bool(
        keys & {"messages.topic_id", "messages.message_id"}
    )


def _is_messages(name: str) -> bool:
    return name.rpartition("/")[2] == "messages.json"


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the messages of all groups."""
    rows, notices = Rows(notes), Rows(notes)
    for member, name in members(source, _is_messages):
        folder = name.rpartition("/")[0] or source.path.resolve().parent.name
        group = folder.rpartition("/")[2]
        common = {
            "channel": _group_name(source, folder) if member else group,
            "channel_id": group,
            "is_thread": group.startswith("DM "),
        }
        first: dict[str, str] = {}  # message of each topic
        with source.open(member) as stream:
            before = "" if member is None else f"{group} "
            for number, item in enumerate(stream_items(stream, notes, name, _MESSAGES), 1):
                place = f"{before}message {number}"
                if isinstance(item, dict):
                    rows.add(**_message(item, first, place, notes), **common)
                else:
                    notes.add("bad_line", [place])
    return by_replies_and_days(rows.table(), notices)


def _group_name(source: Source, folder: str) -> str:
    """Return what a group is called, or else its folder."""
    name = f"{folder}/group_info.json"
    if name in source.names:
        try:
            info = as_dict(parse_json(source.read_text(name=name), name))
            return as_word(info.get("name")) or folder.rpartition("/")[2]
        except FormatError:
            pass
    return folder.rpartition("/")[2]


def _message(
    item: dict[str, Any], first: dict[str, str], place: str, notes: Notes
) -> dict[str, Any]:
    creator = as_dict(item.get("creator"))
    name, topic = as_word(item.get("message_id")), as_word(item.get("topic_id"))
    text = as_word(item.get("text")) or ""
    if not text.strip() and as_list(item.get("attached_files")):
        notes.add("media_omitted", [place])
    parent = first.get(topic) if topic is not None else None
    if topic is not None and name is not None:
        first.setdefault(topic, name)
    quoted = as_word(as_dict(item.get("quoted_message_metadata")).get("message_id"))
    when = as_word(item.get("created_date"))
    time = iso_time(when) or when
    return {
        "conversation": None,
        "id": name,
        "reply_to": quoted or parent,
        "speaker": as_word(creator.get("name")) or as_word(creator.get("email")),
        "time": time,
        "day": time,
        "text": text,
        "bot": creator.get("user_type") == "Bot",
        "place": place,
    }


def iso_time(text: str | None) -> str | None:
    """Read ``Tuesday, March 7, 2023 at 3:01:12 PM UTC``, also in other languages."""
    if text is None:
        return None
    year, clock = _YEAR.search(text), _CLOCK.search(text)
    month = next((m for word in _WORD.findall(text) if (m := month_of(word))), None)
    if year is None or clock is None or month is None:
        return None
    day = _DAY.search(text[: clock.start()])
    if day is None:
        return None
    hour = int(clock[1])
    if clock[4] and hour <= 12:
        hour = hour % 12 + 12 * (clock[4] in "Pp")
    return f"{year[1]}-{month:02}-{int(day[1]):02}T{hour:02}:{clock[2]}:{clock[3] or '00'}"


FORMAT = Format("google-chat", "Google Chat from Takeout (messages.json)", looks_like, read)
