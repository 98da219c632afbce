"""Mastodon: statuses of its interface, also as a context, and the ``outbox.json`` of an archive."""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.markup import plain_html
from palaver.corpus.readers.order import by_time, without_absent
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_LISTS = ("ancestors", "descendants", "statuses", "orderedItems")


def looks_like(source: Source) -> bool:
    """Whether there are statuses, or an outbox with notes."""
    if source.is_tree:
        files = [name for name in source.names if _is_outbox(name.lower())]
        return any(_fits(shape(source, name)) for name in files[:1])
    return _fits(shape(source))


def _is_outbox(name: str) -> bool:
    return name.rpartition("/")[2] == "outbox.json"


def _fits(keys: frozenset[str]) -> bool:
    needed = ("id", "created_at", "content", "account.acct", "in_reply_to_id")
    if any({f"{at}{key}" for key in needed} <= keys for at in ("", *(f"{n}." for n in _LISTS[:3]))):
        return True
    return {"orderedItems", "orderedItems.actor", "orderedItems.object"} <= keys


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all statuses, in the order of time."""
    rows = Rows(notes)
    for place, value in json_records(source, notes, _is_outbox):
        record = as_dict(value)
        held = [item for key in _LISTS for item in as_list(record.get(key))]
        is_wrapped = any(isinstance(record.get(key), list) for key in _LISTS)
        for number, item in enumerate(held if is_wrapped else [record], 1):
            where = f"{place} item {number}" if is_wrapped else place
            status = as_dict(item)
            if "object" in status and "actor" in status:
                _add_note(status, where, rows, notes)
            elif "account" in status:
                _add_status(status, where, rows, notes)
            else:
                notes.add("bad_line", [where])
    return by_time(without_absent(rows.table()))


def _add_status(status: dict[str, Any], place: str, rows: Rows, notes: Notes) -> None:
    account = as_dict(status.get("account"))
    is_boost = bool(as_dict(status.get("reblog")))
    _add(
        rows, notes, place, as_word(status.get("id")), as_word(status.get("in_reply_to_id")),
        as_word(account.get("acct")), as_word(status.get("created_at")),
        "" if is_boost else as_word(status.get("content")), is_boost,
        bool(status.get("media_attachments")), status, account.get("bot") is True,
    )  # fmt: skip


def _add_note(activity: dict[str, Any], place: str, rows: Rows, notes: Notes) -> None:
    """Add an activity of an outbox: a note, or somebody else's that was announced."""
    note = as_dict(activity.get("object"))
    if activity.get("type") not in ("Create", "Announce"):
        notes.add("system_message", [place])
        return
    is_boost = activity.get("type") == "Announce"
    actor = as_word(activity.get("actor")) or ""
    _add(
        rows, notes, place, as_word(note.get("id")) or as_word(activity.get("id")),
        as_word(note.get("inReplyTo")), actor.rstrip("/").rpartition("/")[2].lstrip("@") or None,
        as_word(note.get("published")) or as_word(activity.get("published")),
        as_word(note.get("content")), is_boost, bool(note.get("attachment")), note, False,
    )  # fmt: skip


def _add(
    rows: Rows, notes: Notes, place: str, name: str | None, parent: str | None, speaker: str | None,
    time: str | None, content: str | None, is_boost: bool, has_media: bool, record: dict[str, Any],
    is_bot: bool,
) -> None:  # fmt: skip
    text = plain_html(content or "")[0]
    warning = as_word(record.get("spoiler_text")) or as_word(record.get("summary"))
    text = "\n\n".join(filter(None, (warning, text)))
    if is_boost:
        notes.add("quote_cut", [place])
    elif has_media and not text:
        notes.add("media_omitted", [place])
    rows.add(
        conversation=None,
        id=name,
        reply_to=parent,
        speaker=speaker,
        time=time,
        text=text,
        language=as_word(record.get("language")),
        bot=is_bot,
        place=place,
    )


FORMAT = Format("mastodon", "Mastodon statuses (JSON) or outbox.json", looks_like, read)
