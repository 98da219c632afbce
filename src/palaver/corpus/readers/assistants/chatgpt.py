"""ChatGPT's data export: ``conversations.json``, also in its zip or folder.

A conversation is a tree: a question that was edited, or an answer that was asked for again, starts
a branch. All are kept; the column ``current`` tells which one was seen last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.assistants.talk import Talk, role_of, said
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.folders import peek
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records
from palaver.corpus.readers.shape import shape, shape_of
from palaver.corpus.readers.source import Source

_EXPORT = re.compile(r"(?:[^/]+/)?conversations(?:-\d+)?\.json")
#: Kinds of content that are internal to the model or only set it up.
_HIDDEN = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")


def looks_like(source: Source) -> bool:
    """Whether conversations have a mapping of nodes."""
    if source.is_tree:
        files = [name for name in source.names if _is_export(name.lower())]
        return any(_fits(shape_of(peek(source, name))) for name in files[:1])
    return _fits(shape(source))


def _fits(keys: frozenset[str]) -> bool:
    nodes = {key.removeprefix("mapping.") for key in keys if key.startswith("mapping.")}
    inner = {".".join(key.split(".")[1:]) for key in nodes}
    return "mapping" in keys and bool(inner & {"message", "parent", "children"})


def _is_export(name: str) -> bool:
    return _EXPORT.fullmatch(name) is not None


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all conversations."""
    talk = Talk(notes)
    seen: set[str] = set()
    for number, (place, value) in enumerate(json_records(source, notes, _is_export), 1):
        record = as_dict(value)
        if not isinstance(record.get("mapping"), dict):
            notes.add("bad_line", [place])
            continue
        name = as_word(record.get("conversation_id")) or as_word(record.get("id")) or str(number)
        if name in seen:  # otherwise the two would be merged
            notes.add("duplicate_id", [place])
            name = f"{name} ({place})"
        seen.add(name)
        _add_tree(talk, record, name, place)
    return talk.table()


def _add_tree(talk: Talk, record: dict[str, Any], conversation: str, place: str) -> None:
    """Add the messages of a tree that were shown."""
    mapping = record["mapping"]
    parents = {key: as_word(as_dict(node).get("parent")) for key, node in mapping.items()}
    current = set(_path(parents, as_word(record.get("current_node"))))
    for key, node in mapping.items():
        where = f"{place} node {key}"
        if not isinstance(node, dict):
            talk.notes.add("bad_line", [where])
            continue
        message = as_dict(node.get("message"))
        if not message:
            if parents[key] is not None:
                talk.leave_out("system_message", conversation, key, parents[key], where)
            else:
                talk.skip(conversation, key)
            continue
        content = message.get("content")
        talk.add(
            conversation=conversation,
            id=key,
            parent=parents[key],
            role=_role(message),
            time=_time(message.get("create_time")),
            text=said(content),
            tools=_calls(message),
            has_media=_has_media(content),
            title=as_word(record.get("title")),
            model=as_word(as_dict(message.get("metadata")).get("model_slug")),
            current=key in current if current else None,
            place=where,
        )


def _role(message: dict[str, Any]) -> str | None:
    """Return who said something; ``system`` if it was not shown, ``tool`` if it calls one."""
    role = role_of(as_dict(message.get("author")).get("role"))
    if as_dict(message.get("metadata")).get("is_visually_hidden_from_conversation"):
        return "system"
    if as_word(as_dict(message.get("content")).get("content_type")) in _HIDDEN or role is None:
        return "system"
    return "tool" if _calls(message) else role


def _calls(message: dict[str, Any]) -> list[str]:
    """Return the tool that a message is addressed to, if any."""
    recipient = as_word(message.get("recipient"))
    return [] if recipient in (None, "all") else [recipient]


def _time(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _has_media(content: Any) -> bool:
    parts = as_list(as_dict(content).get("parts"))
    return any(isinstance(part, dict) and "pointer" in str(part.get("content_type"))
               for part in parts)  # fmt: skip


def _path(parents: dict[str, str | None], node: str | None) -> Iterator[str]:
    """Yield a node and its ancestors, once each."""
    seen: set[str] = set()
    while node in parents and node not in seen:
        seen.add(node)
        yield node
        node = parents[node]


FORMAT = Format("chatgpt", "ChatGPT's data export (conversations.json)", looks_like, read)
