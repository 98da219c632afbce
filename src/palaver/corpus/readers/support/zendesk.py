"""Zendesk: tickets with their comments, comments of one ticket, and chats.

The column ``role`` tells customers and agents apart; ``public`` is false for notes that customers
do not see.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.folders import stem
from palaver.corpus.readers.mail_text import cut_quotes
from palaver.corpus.readers.markup import plain_html
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_SYSTEM = "-1"  # the author of what Zendesk writes itself
_ROLES = {"end-user": "customer", "end_user": "customer", "visitor": "customer",
          "agent": "agent", "admin": "agent", "trigger": "bot"}  # fmt: skip


def looks_like(source: Source) -> bool:
    """Whether records are tickets or comments with authors, or chats with a history."""
    keys = shape(source)
    for at in ("", "ticket.", "tickets.", "chats."):
        if {f"{at}comments.author_id", f"{at}comments.created_at"} <= keys:
            return True
        if {f"{at}requester_id", f"{at}description", f"{at}subject"} <= keys:
            return True
        if {f"{at}history.msg", f"{at}history.timestamp"} <= keys:
            return True
    return False


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all tickets and chats; each message answers the one before it."""
    rows = Rows(notes)
    for place, value in json_records(source, notes):
        record = as_dict(value)
        people = {as_word(as_dict(user).get("id")): as_dict(user)
                  for user in as_list(record.get("users"))}  # fmt: skip
        lists = [record[key] for key in ("tickets", "chats") if isinstance(record.get(key), list)]
        held = lists[0] if lists else [record.get("ticket") or record]
        for number, item in enumerate(held, 1):
            ticket, where = as_dict(item), f"{place} item {number}" if len(held) > 1 else place
            if isinstance(ticket.get("history"), list):
                _add_chat(ticket, where, rows, notes)
            elif "comments" in ticket or "description" in ticket:
                name = as_word(ticket.get("id")) or as_word(ticket.get("ticket_id"))
                _add_ticket(ticket, name or stem(source.path.name), people, where, rows, notes)
            else:
                notes.add("bad_line", [where])
    return rows.table()


def _add_ticket(
    ticket: dict[str, Any], name: str, people: dict[str | None, dict[str, Any]], place: str,
    rows: Rows, notes: Notes,
) -> None:  # fmt: skip
    held = ticket.get("comments")
    comments = held if isinstance(held, list) else as_list(as_dict(held).get("comments"))
    requester = as_word(ticket.get("requester_id"))
    if not comments:
        comments = [{"author_id": requester, "plain_body": ticket.get("description"),
                     "created_at": ticket.get("created_at")}]  # fmt: skip
    before = None
    requester = requester or as_word(as_dict(comments[0]).get("author_id"))
    for number, item in enumerate(comments, 1):
        comment, where = as_dict(item), f"{place} comment {number}"
        author = as_word(comment.get("author_id"))
        if not comment or author == _SYSTEM:
            notes.add("system_message" if comment else "bad_line", [where])
            continue
        text, kinds = _text(comment)
        for kind in kinds:
            notes.add(kind, [where])
        notes.add("media_omitted", [where] * (not text and bool(comment.get("attachments"))))
        person = people.get(author, as_dict(comment.get("author")))
        role = _ROLES.get(as_word(person.get("role")) or "")
        own = as_word(comment.get("id")) or where
        rows.add(
            conversation=name,
            id=own,
            reply_to=before,
            speaker=as_word(person.get("name")) or author,
            time=as_word(comment.get("created_at")),
            text=text,
            role=role or ("customer" if author == requester else "agent"),
            bot=role == "bot",
            public=comment.get("public") is not False,
            title=as_word(ticket.get("subject")),
            status=as_word(ticket.get("status")),
            place=where,
        )
        before = own


def _text(comment: dict[str, Any]) -> tuple[str, set[str]]:
    """Return what was written, without quoted mails and signatures."""
    text = as_word(comment.get("plain_body")) or as_word(comment.get("body"))
    if text is None:
        text = plain_html(as_word(comment.get("html_body")) or "")[0]
    return cut_quotes(text.replace("\r\n", "\n").replace("&nbsp;", " "))


def _add_chat(chat: dict[str, Any], place: str, rows: Rows, notes: Notes) -> None:
    name = as_word(chat.get("id")) or as_word(chat.get("chat_id")) or place
    before = None
    for number, item in enumerate(as_list(chat.get("history")), 1):
        entry, where = as_dict(item), f"{place} message {number}"
        text = as_word(entry.get("msg"))
        kind = as_word(entry.get("type")) or "chat.msg"
        if text is None or kind != "chat.msg":
            notes.add("system_message" if entry else "bad_line", [where])
            continue
        sender = (as_word(entry.get("sender_type")) or as_word(entry.get("nick")) or "").lower()
        role = next((role for key, role in _ROLES.items() if sender.startswith(key)), None)
        rows.add(
            conversation=name,
            id=str(number),
            reply_to=before,
            speaker=as_word(entry.get("name")),
            time=as_word(entry.get("timestamp")),
            text=text,
            role=role,
            bot=role == "bot",
            public=True,
            title=None,
            status=None,
            place=where,
        )
        before = str(number)


FORMAT = Format("zendesk", "tickets and chats of Zendesk, JSON", looks_like, read)
