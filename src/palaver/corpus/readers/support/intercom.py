"""Conversations of Intercom: one, a list, or lines of them.

The column ``role`` tells customers, agents and bots apart; ``public`` is false for notes that
customers do not see.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.markup import plain_html
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records, unwrapped
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_ROLES = {"user": "customer", "lead": "customer", "contact": "customer", "admin": "agent",
          "team": "agent", "bot": "bot"}  # fmt: skip


def looks_like(source: Source) -> bool:
    """Whether records are conversations with parts."""
    keys = shape(source)
    return any(
        f"{at}conversation_parts" in keys and f"{at}source" in keys
        for at in ("", "conversations.", "data.")
    )


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all conversations; each message answers the one before it."""
    rows = Rows(notes)
    for place, record in unwrapped(json_records(source, notes), "conversations", "data"):
        name = as_word(record.get("id")) or place
        held = record.get("conversation_parts")
        parts = held if isinstance(held, list) else as_list(
            as_dict(held).get("conversation_parts"))  # fmt: skip
        first = as_dict(record.get("source"))
        times = {"created_at": record.get("created_at")}
        title = as_word(record.get("title")) or as_word(first.get("subject"))
        before = None
        for number, item in enumerate([{**times, **first, "part_type": "comment"}, *parts]):
            part, where = as_dict(item), f"{place} part {number}"
            if _add(part, name, before, title, where, rows, notes):
                before = as_word(part.get("id")) or where
    return rows.table()


def _add(
    part: dict[str, Any], conversation: str, before: str | None, title: str | None, place: str,
    rows: Rows, notes: Notes,
) -> bool:  # fmt: skip
    """Add a part that somebody wrote; return whether it was one."""
    text = plain_html(as_word(part.get("body")) or "")[0]
    files = as_list(part.get("attachments"))
    if not text and not files:
        notes.add("system_message" if part else "bad_line", [place])
        return False
    notes.add("media_omitted", [place] * (not text))
    author = as_dict(part.get("author"))
    kind = as_word(author.get("type")) or ""
    is_bot = kind == "bot" or author.get("from_ai_agent") is True
    rows.add(
        conversation=conversation,
        id=as_word(part.get("id")) or place,
        reply_to=before,
        speaker=as_word(author.get("name")) or as_word(author.get("id")) or (kind or None),
        time=as_word(part.get("created_at")),
        text=text,
        role="bot" if is_bot else _ROLES.get(kind, kind or None),
        bot=is_bot,
        public=as_word(part.get("part_type")) != "note",
        title=title,
        place=place,
    )
    return True


FORMAT = Format("intercom", "conversations of Intercom, JSON", looks_like, read)
