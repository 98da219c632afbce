"""Comments on YouTube: its interface, yt-dlp (``.info.json``), youtube-comment-downloader."""

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
    stream_items,
    unwrapped,
)
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_COMMENTS = re.compile(r'"comments"\s*:\s*\[')


def looks_like(source: Source) -> bool:
    """Whether records are threads of comments, or comments."""
    keys = shape(source)
    if any(f"{at}snippet.topLevelComment" in keys for at in ("", "items.")):
        return True
    if {"cid", "text", "author", "channel"} <= keys:
        return True
    if {"comments.parent", "comments.author_id", "comments.text"} <= keys:
        return True
    return source.name.endswith(".info.json") and {"webpage_url", "channel_id"} <= keys


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all comments; a comment with its replies is a conversation."""
    rows = Rows(notes)
    keys = shape(source)
    if "cid" not in keys and ("comments.parent" in keys or source.name.endswith(".info.json")):
        with source.open() as stream:
            items = stream_items(stream, notes, source.path.name, _COMMENTS)
            for number, item in enumerate(items, 1):
                _add_flat(as_dict(item), f"comment {number}", rows, notes)
        return by_time(rows.table())
    for place, record in unwrapped(json_records(source, notes), "items", "comments"):
        if "cid" in record:
            _add_downloaded(record, place, rows, notes)
            continue
        thread = as_dict(record.get("snippet"))
        top = as_dict(thread.get("topLevelComment")) or record
        _add(top, None, as_word(thread.get("videoId")), place, rows, notes)
        for reply in as_list(as_dict(record.get("replies")).get("comments")):
            _add(as_dict(reply), as_word(top.get("id")), None, place, rows, notes)
    return by_time(rows.table())


def _add(
    comment: dict[str, Any], above: str | None, video: str | None, place: str, rows: Rows,
    notes: Notes,
) -> None:  # fmt: skip
    snippet, name = as_dict(comment.get("snippet")), as_word(comment.get("id"))
    if not snippet or name is None:
        notes.add("bad_line", [place])
        return
    text = as_word(snippet.get("textOriginal"))
    if text is None:
        text = plain_html(as_word(snippet.get("textDisplay")) or "")[0]
    parent = as_word(snippet.get("parentId")) or above
    rows.add(
        conversation=parent or name,
        id=name,
        reply_to=parent,
        speaker=as_word(snippet.get("authorDisplayName")),
        time=as_word(snippet.get("publishedAt")),
        text=text,
        video=as_word(snippet.get("videoId")) or video,
        place=place,
    )


def _add_flat(comment: dict[str, Any], place: str, rows: Rows, notes: Notes) -> None:
    name, parent = as_word(comment.get("id")), as_word(comment.get("parent"))
    if name is None:
        notes.add("bad_line", [place])
        return
    parent = None if parent == "root" else parent
    rows.add(
        conversation=parent or name,
        id=name,
        reply_to=parent,
        speaker=as_word(comment.get("author")) or as_word(comment.get("author_id")),
        time=as_word(comment.get("timestamp")),
        text=as_word(comment.get("text")) or "",
        place=place,
    )


def _add_downloaded(comment: dict[str, Any], place: str, rows: Rows, notes: Notes) -> None:
    """Add a comment whose id contains that of the comment it answers: ``above.own``."""
    name = as_word(comment.get("cid"))
    if name is None:
        notes.add("bad_line", [place])
        return
    above, dot, _ = name.partition(".")
    rows.add(
        conversation=above,
        id=name,
        reply_to=above if dot else None,
        speaker=as_word(comment.get("author")),
        time=as_word(comment.get("time_parsed")),
        text=as_word(comment.get("text")) or "",
        place=place,
    )


FORMAT = Format("youtube", "YouTube comments, JSON", looks_like, read)
