"""GitHub: issues, pull requests, discussions and their comments, as its interfaces return them.

Read are lists of the REST interface (issues and comments may be in one file), what ``gh issue list
--json`` prints, and answers of GraphQL. An issue or discussion is a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.mail_text import cut_quotes, without_between
from palaver.corpus.readers.markup import without_code
from palaver.corpus.readers.order import by_time, without_absent
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records, unwrapped
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_ADDRESS = re.compile(
    r"(?:repos/|github\.com/)([^/\s]+/[^/\s]+)/(?:issues|pulls?|discussions)/(\d+)"
)
_GROUPS = ("issues", "discussions", "pullRequests", "issue", "discussion", "pullRequest")


def looks_like(source: Source) -> bool:
    """Whether records are issues, discussions or comments."""
    keys = shape(source)
    if any(key.startswith("data.repository.") and key.endswith("author.login") for key in keys):
        return True
    return any(map(keys.issuperset, (
        ("issue_url", "body", "user.login"),
        ("pull_request_url", "body", "user.login"),
        ("number", "title", "body", "user.login"),
        ("number", "title", "author.login"),
        ("number", "title", "comments.author.login"),
        ("items.number", "items.title", "items.user.login"),
    )))  # fmt: skip


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all records, in the order of time."""
    rows = Rows(notes)
    for place, record in unwrapped(json_records(source, notes), "items"):
        for number, (post, repository) in enumerate(_posts(record), 1):
            _add_post(post, repository, place if number == 1 else f"{place}.{number}", rows, notes)
    return by_time(without_absent(rows.table(), "post "))


def _posts(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Yield a record, or the issues and discussions in an answer of GraphQL."""
    repository = as_dict(as_dict(record.get("data")).get("repository"))
    if not repository:
        yield record, None
        return
    name = as_word(repository.get("nameWithOwner"))
    for key in _GROUPS:
        group = as_dict(repository.get(key))
        nodes = group.get("nodes")
        for node in nodes if isinstance(nodes, list) else [group] * bool(group):
            yield as_dict(node), name


def _add_post(
    post: dict[str, Any], repository: str | None, place: str, rows: Rows, notes: Notes
) -> None:
    """Add an issue with the comments inside it, or a comment of its own."""
    above = as_word(post.get("issue_url")) or as_word(post.get("pull_request_url"))
    if above is not None and as_word(post.get("title")) is None:
        name = _conversation(above, None, repository)
        parent = as_word(post.get("in_reply_to_id"))
        _add(post, name, as_word(post.get("id")), parent or f"post {name}", place, rows, notes)
        return
    address = as_word(post.get("html_url")) or as_word(post.get("url")) or ""
    name = _conversation(address, as_word(post.get("number")), repository)
    if name is None:
        notes.add("bad_line", [place])
        return
    _add(post, name, f"post {name}", None, place, rows, notes)
    _add_comments(post, name, f"post {name}", place, rows, notes)


def _add_comments(
    above: dict[str, Any], conversation: str, parent: str, place: str, rows: Rows, notes: Notes
) -> None:
    """Add comments, and the replies to them."""
    for key in ("comments", "replies", "reviews"):
        held = above.get(key)
        items = held if isinstance(held, list) else as_list(as_dict(held).get("nodes"))
        for number, item in enumerate(items, 1):
            comment, where = as_dict(item), f"{place} {key} {number}"
            if not comment:
                notes.add("bad_line", [where])
                continue
            name = as_word(comment.get("id")) or as_word(comment.get("url")) or where
            _add(comment, conversation, name, parent, where, rows, notes)
            if key != "replies":
                _add_comments(comment, conversation, name, where, rows, notes)


def _conversation(address: str, number: str | None, repository: str | None) -> str | None:
    """Return ``owner/name#12``, or as much as is known of it."""
    found = _ADDRESS.search(address)
    if found is not None:
        return f"{found[1]}#{found[2]}"
    return None if number is None else f"{repository or ''}#{number}"


def _add(
    record: dict[str, Any], conversation: str | None, name: str | None, parent: str | None,
    place: str, rows: Rows, notes: Notes,
) -> None:  # fmt: skip
    author = as_dict(record.get("user")) or as_dict(record.get("author"))
    login = as_word(author.get("login"))
    body = as_word(record.get("body")) or as_word(record.get("bodyText")) or ""
    body, code = without_code(without_between(body.replace("\r\n", "\n"), "<!--", "-->"))
    text, cut = cut_quotes(body)
    for kind in cut:
        notes.add(kind, [place])
    notes.add("code_cut", [place] * bool(code))
    title = as_word(record.get("title")) if parent is None else None
    kinds = (as_word(author.get("type")), as_word(author.get("__typename")))
    times = ("created_at", "createdAt", "submitted_at", "submittedAt")
    rows.add(
        conversation=conversation,
        id=name,
        reply_to=parent,
        speaker=login,
        time=next((t for key in times if (t := as_word(record.get(key)))), None),
        text="\n\n".join(filter(None, (title, text))),
        code=code or None,
        bot="Bot" in kinds or author.get("is_bot") is True or (login or "").endswith("[bot]"),
        association=as_word(record.get("author_association"))
        or as_word(record.get("authorAssociation")),
        place=place,
    )


FORMAT = Format("github", "GitHub issues, pull requests, discussions: JSON", looks_like, read)
