"""Hacker News: items of its own interface, or results and trees of Algolia's."""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.markup import plain_html
from palaver.corpus.readers.order import by_time, without_absent
from palaver.corpus.readers.records import as_list, as_word, json_records, unwrapped
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_TEXTS = ("text", "comment_text", "story_text")


def looks_like(source: Source) -> bool:
    """Whether records are items."""
    keys = shape(source)
    if {"by", "id", "type", "time"} <= keys and keys & {"kids", "parent", "descendants", "text"}:
        return True
    if {"id", "author", "children", "created_at_i"} <= keys:
        return True
    return any(
        {f"{at}objectID", f"{at}author", f"{at}created_at_i"} <= keys for at in ("", "hits.")
    )


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all items; stories start conversations."""
    rows = Rows(notes)
    for place, record in unwrapped(json_records(source, notes), "hits"):
        waiting = [(record, as_word(record.get("story_id")))]
        while waiting:  # a stack, because trees may be deep
            item, story = waiting.pop()
            _add(item, story, place, rows, notes)
            own = story or as_word(item.get("id")) or as_word(item.get("objectID"))
            for child in reversed(as_list(item.get("children"))):
                if isinstance(child, dict):
                    waiting.append((child, own))
    return by_time(without_absent(rows.table()))


def _add(item: dict[str, Any], story: str | None, place: str, rows: Rows, notes: Notes) -> None:
    kind = as_word(item.get("type"))
    name = as_word(item.get("objectID")) or as_word(item.get("id"))
    if name is None or kind in ("job", "pollopt"):
        notes.add("bad_line" if name is None else "system_message", [place])
        return
    body = next((text for key in _TEXTS if (text := as_word(item.get(key)))), "")
    text, code = plain_html(body)
    notes.add("code_cut", [place] * bool(code))
    parent = as_word(item.get("parent")) or as_word(item.get("parent_id"))
    title = as_word(item.get("title")) if parent is None else None
    is_story = parent is None and (kind in ("story", "poll") or title is not None)
    rows.add(
        conversation=name if is_story else story,
        id=name,
        reply_to=parent,
        speaker=as_word(item.get("by")) or as_word(item.get("author")),
        time=as_word(item.get("time")) or as_word(item.get("created_at_i")),
        text="\n\n".join(filter(None, (title, text))),
        code=code or None,
        url=as_word(item.get("url")),
        place=place,
    )


FORMAT = Format("hackernews", "Hacker News items, its own or Algolia's JSON", looks_like, read)
