"""Microsoft Teams and Skype: messages of the Graph interface, or the export of an account.

In a channel, a post with its replies is a conversation; a chat is one.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.markup import plain_html
from palaver.corpus.readers.order import by_time
from palaver.corpus.readers.records import (
    as_dict,
    as_list,
    as_word,
    json_records,
    parsed,
    unwrapped,
)
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_QUOTE = re.compile(r"<quote\b[^<>]*>", re.IGNORECASE)
_QUOTED = re.compile(r'messageid="(\d+)"')


def looks_like(source: Source) -> bool:
    """Whether records are messages of Graph, or conversations with a list of messages."""
    if source.is_tree:
        files = [name for name in source.names if _is_messages(name.lower())]
        return any(_fits(shape(source, name)) for name in files[:3])
    return _fits(shape(source))


def _is_messages(name: str) -> bool:
    return name.rpartition("/")[2] in ("messages.json", "endpoints.json", "chats.json")


def _fits(keys: frozenset[str]) -> bool:
    if {"conversations.MessageList", "conversations.id"} <= keys:
        return True
    needed = ("id", "createdDateTime", "body.content", "from")
    return any({f"{at}{key}" for key in needed} <= keys for at in ("", "value."))


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all messages, in the order of time within each conversation."""
    rows = Rows(notes)
    for place, record in unwrapped(
        json_records(source, notes, _is_messages), "value", "conversations"
    ):
        if isinstance(record.get("MessageList"), list):
            name = as_word(record.get("displayName"))
            for number, item in enumerate(reversed(record["MessageList"]), 1):
                _add_skype(as_dict(item), as_word(record.get("id")), name,
                           f"{place} message {number}", rows, notes)  # fmt: skip
        else:
            _add_graph(record, place, rows, notes)
            for number, reply in enumerate(as_list(record.get("replies")), 1):
                _add_graph(as_dict(reply), f"{place} reply {number}", rows, notes)
    return by_time(rows.table())


def _add_graph(record: dict[str, Any], place: str, rows: Rows, notes: Notes) -> None:
    kind, body = as_word(record.get("messageType")), as_dict(record.get("body"))
    if kind not in (None, "message") or not record:
        notes.add("system_message" if record else "bad_line", [place])
        return
    name, parent = as_word(record.get("id")), as_word(record.get("replyToId"))
    text = as_word(body.get("content")) or ""
    is_html = as_word(body.get("contentType")) != "text"
    attached = [as_dict(item) for item in as_list(record.get("attachments"))]
    quoted = [as_dict(parsed(item.get("content"))).get("messageId") for item in attached
              if item.get("contentType") == "messageReference"]  # fmt: skip
    text = plain_html(text)[0] if is_html else text
    if attached and not text.strip():
        notes.add("media_omitted", [place])
    sender = as_dict(record.get("from"))
    who = as_dict(sender.get("user")) or as_dict(sender.get("application"))
    channel = as_dict(record.get("channelIdentity"))
    is_post = bool(as_word(channel.get("channelId")))
    rows.add(
        conversation=(parent or name) if is_post else as_word(record.get("chatId")),
        id=name,
        reply_to=parent or next(map(as_word, quoted), None),
        speaker=as_word(who.get("displayName")) or as_word(who.get("id")),
        time=as_word(record.get("createdDateTime")),
        text=text,
        bot=bool(as_dict(sender.get("application"))) and not as_dict(sender.get("user")),
        channel=as_word(channel.get("channelId")),
        title=as_word(record.get("subject")),
        place=place,
    )


def _add_skype(
    item: dict[str, Any], chat: str | None, title: str | None, place: str, rows: Rows, notes: Notes
) -> None:
    """Add a message of an account's export."""
    kind = as_word(item.get("messagetype")) or ""
    if kind.split("/")[0] not in ("RichText", "Text") or "ScheduledCallInvite" in kind:
        notes.add("system_message" if item else "bad_line", [place])
        return
    text, parent, was_cut = _without_quotes(as_word(item.get("content")) or "")
    notes.add("quote_cut", [place] * was_cut)
    is_media = "Media" in kind or "UriObject" in kind
    text = "" if is_media else plain_html(text)[0]
    notes.add("media_omitted", [place] * is_media)
    who = as_word(item.get("displayName")) or as_word(item.get("from"))
    rows.add(
        conversation=chat,
        id=as_word(item.get("id")),
        reply_to=parent,
        speaker=None if who is None else who.removeprefix("8:"),
        time=as_word(item.get("originalarrivaltime")),
        text=text,
        bot=False,
        channel=None,
        title=title,
        place=place,
    )


def _without_quotes(text: str) -> tuple[str, str | None, bool]:
    """Return a text without what it quotes, and the message that it quotes."""
    parent, parts, at = None, [], 0
    for opening in _QUOTE.finditer(text):
        if opening.start() < at:
            continue
        end = text.find("</quote>", opening.end())
        if end < 0:
            break
        found = _QUOTED.search(opening[0])
        parent = parent or (found[1] if found else None)
        parts.append(text[at : opening.start()])
        at = end + len("</quote>")
    return "".join([*parts, text[at:]]), parent, at > 0


FORMAT = Format("teams", "Microsoft Teams (Graph JSON) or Skype export", looks_like, read)
