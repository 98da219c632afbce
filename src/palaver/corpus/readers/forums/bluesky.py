"""Bluesky: threads, feeds and lists of posts of its interface, and events of its stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.order import by_time, without_absent
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_POST = "app.bsky.feed.post"


def looks_like(source: Source) -> bool:
    """Whether there are posts with records, or events with commits."""
    keys = shape(source)
    places = ("", "post.", "posts.", "feed.post.", "thread.post.")
    if any({f"{at}uri", f"{at}record.text", f"{at}author.handle"} <= keys for at in places):
        return True
    return {"did", "commit.collection", "commit.operation", "time_us"} <= keys


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all posts, in the order of time; a post that comes twice counts once."""
    rows = Rows(notes)
    seen: set[str] = set()
    for place, value in json_records(source, notes):
        record = as_dict(value)
        if "commit" in record:
            _add_event(record, place, rows, notes)
            continue
        for post in _posts(record):
            name = as_word(post.get("uri"))
            if name is not None and name not in seen:
                seen.add(name)
                _add_post(post, name, place, rows, notes)
    return by_time(without_absent(rows.table()))


def _posts(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the posts of a thread, feed, list or record, parents first."""
    waiting: list[Any] = [record]
    while waiting:  # a stack, because threads may be deep
        item = as_dict(waiting.pop())
        if "record" in item and "uri" in item:
            yield item
            continue
        below = [item.get("parent"), item.get("post"), as_dict(item.get("reply")).get("parent"),
                 item.get("thread"), *as_list(item.get("feed")), *as_list(item.get("posts")),
                 *as_list(item.get("replies"))]  # fmt: skip
        waiting.extend(reversed([one for one in below if isinstance(one, dict)]))


def _add_post(post: dict[str, Any], name: str, place: str, rows: Rows, notes: Notes) -> None:
    author = as_dict(post.get("author"))
    who = as_word(author.get("handle")) or as_word(author.get("did"))
    _add(as_dict(post.get("record")), name, who, place, rows, notes)


def _add_event(event: dict[str, Any], place: str, rows: Rows, notes: Notes) -> None:
    commit, who = as_dict(event.get("commit")), as_word(event.get("did"))
    if commit.get("collection") != _POST or commit.get("operation") != "create":
        notes.add("system_message", [place])
        return
    name = f"at://{who}/{_POST}/{as_word(commit.get('rkey'))}"
    _add(as_dict(commit.get("record")), name, who, place, rows, notes)


def _add(
    record: dict[str, Any], name: str, who: str | None, place: str, rows: Rows, notes: Notes
) -> None:
    reply = as_dict(record.get("reply"))
    text = as_word(record.get("text")) or ""
    if not text and record.get("embed"):
        notes.add("media_omitted", [place])
    languages = [word for item in as_list(record.get("langs")) if (word := as_word(item))]
    rows.add(
        conversation=as_word(as_dict(reply.get("root")).get("uri")) or name,
        id=name,
        reply_to=as_word(as_dict(reply.get("parent")).get("uri")),
        speaker=who,
        time=as_word(record.get("createdAt")),
        text=text,
        language=languages[0] if languages else None,
        place=place,
    )


FORMAT = Format("bluesky", "Bluesky posts, threads and events, JSON", looks_like, read)
