"""Signal: backups as text and JSON that programs make of its encrypted ones.

Read are the official plaintext history (``main.jsonl``), signal-cli's JSON, and what signal-export
writes for Signal Desktop (``data.json`` or ``chat.md`` in a folder per chat). A chat is a
conversation; a message that quotes another replies to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.folders import members, peek, stem
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records
from palaver.corpus.readers.shape import shape_of
from palaver.corpus.readers.source import Source, decode

_LINE = re.compile(
    r"\[(\d{4}-\d{2}-\d{2}),? (\d{2}:\d{2}(?::\d{2})?)\] ([^:\n]{1,100}?): ?(.*)", re.DOTALL
)
_MEDIA = re.compile(r"!?\[[^\]\n]*\]\([^)\n]*\)")
_FILES = ("data.json", "chat.md", "main.jsonl", "index.md")


def looks_like(source: Source) -> bool:
    """Whether lines have one of the forms, or a folder contains such files."""
    if source.is_tree:
        files = [name for name in source.names if _is_chat(name.lower())]
        return any(_fits(peek(source, name)) for name in files[:3])
    return _fits(source.head_text, source.suffix)


def _is_chat(name: str) -> bool:
    return name.rpartition("/")[2] in _FILES


def _fits(head: str, suffix: str = ".md") -> bool:
    keys = shape_of(head)
    if not keys:
        return suffix in (".md", ".markdown") and any(map(_LINE.match, head.split("\n", 5)[:5]))
    return (
        {"envelope.timestamp", "envelope.source"} <= keys
        or {"envelope.timestamp", "envelope.sourceNumber"} <= keys
        or {"date", "sender", "body", "reactions", "attachments"} <= keys
        or {"conversationId", "sent_at", "body"} <= keys
        or "chatItem.dateSent" in keys
        or ("backupTimeMs" in keys and "version" in keys)
    )


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all chats."""
    rows = Rows(notes)
    names: dict[str, str] = {}  # of recipients and chats
    marked = members(source, lambda name: _is_chat(name) and name.endswith(".md"))
    if source.is_tree or source.suffix in (".md", ".markdown"):
        for member, name in marked:
            chat = name.rpartition("/")[0].rpartition("/")[2] or stem(name)
            for place, found, more in _lines(source, member):
                _add_line(found, more, chat, f"{chat} {place}" if member else place, rows, notes)
    if source.suffix in (".md", ".markdown"):
        return rows.table()
    for place, value in json_records(source, notes, lambda n: _is_chat(n) and "json" in n):
        folder = place.rpartition("/")[0].rpartition("/")[2]
        folder = folder or source.path.resolve().parent.name
        message = _message(as_dict(value), names, folder)
        if message is None:
            notes.add("system_message", [place])
        elif message:
            has_media = message.pop("has_media")
            notes.add("media_omitted", [place] * (has_media and not message["text"].strip()))
            rows.add(**message, place=place)
    return rows.table()


def _lines(source: Source, member: str | None) -> Iterator[tuple[str, re.Match[str], list[str]]]:
    """Yield the place and match of each first line, with the lines that continue it."""
    start: tuple[str, re.Match[str]] | None = None
    more: list[str] = []
    number = 0
    for block in source.blocks(name=member):
        for line in decode(block).removesuffix("\n").split("\n"):
            number += 1
            found = _LINE.match(line.rstrip("\r"))
            if found is None:
                more.append(line.rstrip("\r"))
                continue
            if start is not None:
                yield *start, more
            start, more = (f"line {number}", found), []
    if start is not None:
        yield *start, more


def _add_line(
    found: re.Match[str], more: list[str], chat: str, place: str, rows: Rows, notes: Notes
) -> None:
    """Add a message of a text file; what it quotes, and files, are cut."""
    lines = [found[4], *more]
    kept = [line for line in lines if not line.startswith(">")]
    text = "\n".join(kept)
    words = _MEDIA.sub("", text).strip()
    if len(kept) < len(lines):
        notes.add("quote_cut", [place])
    if not words and text.strip():
        notes.add("media_omitted", [place])
    rows.add(
        conversation=chat,
        id=None,
        reply_to=None,
        speaker=found[3].strip(),
        time=f"{found[1]}T{found[2]}",
        text=words,
        place=place,
    )


def _message(record: dict[str, Any], names: dict[str, str], chat: str) -> dict[str, Any] | None:
    """Return the columns of a message; nothing for what is not one, None for a notice."""
    if "envelope" in record:
        return _from_envelope(as_dict(record["envelope"]), as_word(record.get("account")))
    if "chatItem" in record:
        return _from_item(as_dict(record["chatItem"]), names)
    if "recipient" in record or "chat" in record:
        _learn(record, names)
        return {}
    if "sender" in record:
        quote = as_word(record.get("quote"))
        return _row(chat, None, None, record.get("sender"), record.get("date"),
                    record.get("body"), record.get("attachments"), quote)  # fmt: skip
    if "conversationId" in record:
        if record.get("type") not in ("incoming", "outgoing"):
            return None
        who = "me" if record["type"] == "outgoing" else record.get("source") or record.get(
            "sourceUuid") or record.get("sourceServiceId")  # fmt: skip
        quote = as_word(as_dict(record.get("quote")).get("id"))
        time = record.get("sent_at")
        return _row(record["conversationId"], time, quote, who, time, record.get("body"),
                    record.get("attachments"))  # fmt: skip
    return {} if "version" in record or "account" in record else None


def _row(
    chat: Any, name: Any, parent: Any, speaker: Any, time: Any, text: Any, files: Any,
    quoted: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    return {
        "conversation": as_word(chat),
        "id": as_word(name),
        "reply_to": as_word(parent),
        "speaker": as_word(speaker),
        "time": as_word(time),
        "text": _without(as_word(text) or "", quoted),
        "has_media": bool(files),
    }


def _without(text: str, quoted: str | None) -> str:
    """Remove a quote that an export repeats in front of the text."""
    lead = (quoted or "").lstrip("> \n")
    return text.removeprefix(quoted or "").strip() if lead else text


def _from_envelope(envelope: dict[str, Any], account: str | None) -> dict[str, Any] | None:
    """Return a message that signal-cli received, or that another device of its account sent."""
    sent = as_dict(as_dict(envelope.get("syncMessage")).get("sentMessage"))
    data = as_dict(envelope.get("dataMessage")) or sent
    edit = as_dict(as_dict(envelope.get("editMessage")).get("dataMessage"))
    data = data or edit
    text, files = as_word(data.get("message")), as_list(data.get("attachments"))
    if text is None and not files:
        return None
    source = as_word(envelope.get("sourceNumber")) or as_word(envelope.get("source"))
    group = as_word(as_dict(data.get("groupInfo")).get("groupId"))
    other = as_word(sent.get("destinationNumber")) or as_word(sent.get("destination"))
    quote = as_word(as_dict(data.get("quote")).get("id"))
    time = as_word(data.get("timestamp")) or as_word(envelope.get("timestamp"))
    name = as_word(envelope.get("sourceName")) or source
    return _row(
        group or (other if sent else source) or account, time, quote, name, time, text, files
    )


def _learn(record: dict[str, Any], names: dict[str, str]) -> None:
    """Remember the name of a person or group, and whom a chat is with."""
    person, chat = as_dict(record.get("recipient")), as_dict(record.get("chat"))
    if person:
        contact, group = as_dict(person.get("contact")), as_dict(person.get("group"))
        given = [as_word(contact.get(key)) for key in ("profileGivenName", "profileFamilyName")]
        name = " ".join(filter(None, given)) or as_word(contact.get("e164"))
        name = name or _title(group) or ("me" * ("self" in person))
        names[f"r{as_word(person.get('id'))}"] = name or f"recipient {as_word(person.get('id'))}"
    if chat:
        names[f"c{as_word(chat.get('id'))}"] = f"r{as_word(chat.get('recipientId'))}"


def _title(group: dict[str, Any]) -> str | None:
    snapshot = as_dict(group.get("snapshot"))
    return as_word(as_dict(snapshot.get("title")).get("title")) or as_word(snapshot.get("title"))


def _from_item(item: dict[str, Any], names: dict[str, str]) -> dict[str, Any] | None:
    message = as_dict(item.get("standardMessage"))
    if not message:
        return None
    chat = as_word(item.get("chatId"))
    with_whom = names.get(f"c{chat}", "")
    quote = as_word(as_dict(message.get("quote")).get("targetSentTimestamp"))
    who = as_word(item.get("authorId"))
    text = as_word(as_dict(message.get("text")).get("body"))
    time = item.get("dateSent")
    return _row(names.get(with_whom) or chat, time, quote, names.get(f"r{who}") or who, time, text,
                message.get("attachments"))  # fmt: skip


FORMAT = Format("signal", "Signal: plaintext history, signal-cli, signal-export", looks_like, read)
