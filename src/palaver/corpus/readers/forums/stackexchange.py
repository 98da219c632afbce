"""Stack Exchange dumps: Posts.xml and Comments.xml, each alone or together in a folder.

A question with its answers and all comments is a conversation. Files are read as a stream; entities
that a file declares itself are refused, so that it cannot unpack to more than it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.folders import members, peek
from palaver.corpus.readers.markup import plain_html
from palaver.corpus.readers.order import by_time, without_absent
from palaver.corpus.readers.safe_xml import xml_events
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_KINDS = {"1": "question", "2": "answer"}


def looks_like(source: Source) -> bool:
    """Whether the file is a table of posts or comments, or a folder contains one."""
    if source.is_tree:
        return any(_fits(peek(source, name)) for name in source.names if _is_table(name.lower()))
    return _fits(source.head_text)


def _is_table(name: str) -> bool:
    return name.rpartition("/")[2] in ("posts.xml", "comments.xml")


def _fits(head: str) -> bool:
    start = head.lstrip("\ufeff \t\r\n")[:2_000]
    return start.startswith("<") and ("<posts>" in start or "<comments>" in start) and (
        "<row " in head
    )  # fmt: skip


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read posts, then comments, whose conversations are those of their posts."""
    posts, comments = Rows(notes), Rows(notes)
    for member, name in sorted(members(source, _is_table), key=lambda pair: pair[1].lower()[-9:],
                               reverse=True):  # fmt: skip
        for number, row in enumerate(_rows(source, member, name, notes), 1):
            place = f"row {number}" if member is None else f"{name} row {number}"
            if "PostTypeId" in row:
                _add_post(row, place, posts, notes)
            elif "PostId" in row:
                comments.add(**_comment(row, place))
            else:
                notes.add("bad_line", [place])
    above, below = posts.table(), comments.table()
    if below.height and above.height:
        questions = above.select(reply_to="id", question="conversation")
        below = below.join(questions, on="reply_to", how="left", maintain_order="left")
        own = pl.coalesce("question", "conversation").alias("conversation")
        below = below.with_columns(own).drop("question")
    tables = [table for table in (above, below) if table.height]
    if not tables:
        return above
    return by_time(without_absent(pl.concat(tables, how="diagonal_relaxed", rechunk=False)))


def _rows(source: Source, member: str | None, name: str, notes: Notes) -> Iterator[dict[str, str]]:
    """Yield the attributes of each row; a file that breaks counts as truncated."""
    n_rows = 0
    with source.open(member) as stream:
        try:
            for tag, attributes, _ in xml_events(stream, name):
                if tag == "row" and attributes is not None:
                    n_rows += 1
                    yield attributes
        except FormatError:
            if not n_rows:
                raise
            notes.add("truncated", [name])


def _add_post(row: dict[str, str], place: str, rows: Rows, notes: Notes) -> None:
    kind = _KINDS.get(row.get("PostTypeId", ""))
    if kind is None:  # wikis of tags, elections
        notes.add("system_message", [place])
        return
    text, code = plain_html(row.get("Body", ""))
    notes.add("code_cut", [place] * bool(code))
    name = row.get("Id")
    question = name if kind == "question" else row.get("ParentId")
    rows.add(
        conversation=question,
        id=name,
        reply_to=None if kind == "question" else question,
        speaker=row.get("OwnerUserId") or row.get("OwnerDisplayName"),
        time=row.get("CreationDate"),
        text="\n\n".join(filter(None, (row.get("Title"), text))),
        kind=kind,
        score=_number(row.get("Score")),
        code=code or None,
        tags=row.get("Tags"),
        place=place,
    )


def _comment(row: dict[str, str], place: str) -> dict[str, Any]:
    post = row.get("PostId")
    return {
        "conversation": post,
        "id": f"comment {row.get('Id', place)}",
        "reply_to": post,
        "speaker": row.get("UserId") or row.get("UserDisplayName"),
        "time": row.get("CreationDate"),
        "text": row.get("Text", ""),
        "kind": "comment",
        "score": _number(row.get("Score")),
        "place": place,
    }


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text[:18])
    except ValueError:
        return None


FORMAT = Format("stackexchange", "Stack Exchange dump (Posts.xml, Comments.xml)", looks_like, read)
