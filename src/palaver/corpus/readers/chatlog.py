"""Logs of chats with a language model: OpenAI messages, ShareGPT, and ChatGPT's data export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows, parse_json
from palaver.corpus.readers.folders import members
from palaver.corpus.readers.records import as_list, object_of, stream_items
from palaver.corpus.readers.source import Source

_KEY = r'(?<!\\)"{}"\s*:\s*'
_MESSAGES = re.compile(_KEY.format("messages") + r"\[")
_ROLE = re.compile(_KEY.format("role") + r'"(?:system|user|assistant|developer|tool|function)"')
_SHARES = re.compile(_KEY.format("conversations?") + r"\[")
_FROM = re.compile(_KEY.format("(?:from|value)") + '"')
_MAPPING = re.compile(_KEY.format("mapping") + r"\{")
_EXPORT = re.compile(r"(?:[^/]+/)?conversations(?:-\d+)?\.json$")

_LISTS = ("messages", "conversations", "conversation")
_NAMES = ("id", "conversation_id", "uuid", "custom_id")
# kinds of content that are internal to the model or only set it up
_HIDDEN = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")


def looks_like(source: Source) -> bool:
    """Whether the records have messages with roles, or a mapping of nodes."""
    if source.is_tree:
        names = source.names
        return any(map(_EXPORT.match, names)) and not any("utterances." in n for n in names)
    head = source.head_text.lstrip("\ufeff \t\r\n")
    if not head.startswith(("{", "[")):
        return False
    return bool(
        (_MESSAGES.search(head) and _ROLE.search(head))
        or (_SHARES.search(head) and _FROM.search(head))
        or _MAPPING.search(head)
    )


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read records in any of the forms; each message replies to the previous one."""
    rows = Rows(notes)
    seen: set[str] = set()
    for place, number, record in _records(source, notes):
        mapping = record.get("mapping") if isinstance(record, dict) else None
        messages = _first(record, _LISTS, list)
        if not isinstance(mapping, dict) and messages is None:
            notes.add("bad_line", [place])
            continue
        own_name = _first(record, _NAMES, str | int)
        conversation = str(number if own_name is None else own_name)
        if conversation in seen:  # otherwise the two would be merged
            notes.add("duplicate_id", [place])
            conversation = f"{conversation} ({place})"
        seen.add(conversation)
        if isinstance(mapping, dict):
            _add_tree(rows, record, mapping, conversation, place, notes)
        else:
            _add_list(rows, messages or [], conversation, place, notes)
    table = rows.table()
    calls = [name for name in ("tool_calls",) if name in table.columns]
    return table.with_columns(pl.col(calls).cast(pl.List(pl.String)))


def _first(record: Any, keys: tuple[str, ...], kind: Any) -> Any:
    """Return the first field of the wanted type, or None."""
    if isinstance(record, dict):
        for key in keys:
            value = record.get(key)
            if isinstance(value, kind) and not isinstance(value, bool) and value != "":
                return value
    return None


def _records(source: Source, notes: Notes) -> Iterator[tuple[str, int, Any]]:
    """Yield place, number and record: items of an array, lines, or a single object."""
    head = source.head_text.lstrip("\ufeff \t\r\n")
    if source.is_tree or head.startswith("["):
        for member, name in members(source, lambda name: _EXPORT.match(name) is not None):
            with source.open(member) as stream:
                for number, item in enumerate(stream_items(stream, notes, name), 1):
                    yield f"{name} conversation {number}", number, item
    elif _is_lines(head):
        yield from _lines(source, notes)
    else:
        text = source.read_text(notes).removeprefix("\ufeff")
        yield "the file", 1, parse_json(text, str(source))


def _is_lines(head: str) -> bool:
    """Whether the first line is, or may be, a complete object."""
    first, newline, _ = head.partition("\n")
    return first.rstrip().endswith("}") or not newline


def _lines(source: Source, notes: Notes) -> Iterator[tuple[str, int, Any]]:
    number = 0
    for block in source.blocks():
        for line in block.removesuffix(b"\n").split(b"\n"):
            number += 1
            place = f"line {number}"
            record = object_of(line, notes, place)
            if record is not None:
                yield place, number, record


def _add_list(rows: Rows, messages: list[Any], conversation: str, place: str, notes: Notes) -> None:
    before = None
    for number, message in enumerate(messages, 1):
        where = f"{place} message {number}"
        speaker = _first(message, ("role", "from"), str)
        if speaker is None:
            notes.add("bad_line", [where])
            continue
        content = message.get("content", message.get("value"))
        calls = _calls(message)
        rows.add(
            conversation=conversation,
            id=str(number),
            reply_to=before,
            speaker=speaker,
            time=_first(message, ("timestamp", "created_at", "create_time"), str | int | float),
            text=_text(content),
            name=_first(message, ("name",), str),
            tool_calls=calls,
            place=where,
        )
        if content and not _text(content) and not calls:
            notes.add("media_omitted", [where])
        before = str(number)


def _add_tree(
    rows: Rows,
    record: dict[str, Any],
    mapping: dict[str, Any],
    conversation: str,
    place: str,
    notes: Notes,
) -> None:
    """Add the visible messages of a tree; each replies to its nearest visible ancestor."""
    parents = {key: _first(node, ("parent",), str) for key, node in mapping.items()}
    said = {key: _is_visible(node) for key, node in mapping.items()}
    current = set(_path(parents, _first(record, ("current_node",), str)))
    answers: dict[str | None, str | None] = {}
    for key, node in mapping.items():
        message = _first(node, ("message",), dict)
        if message is None:
            if not isinstance(node, dict):
                notes.add("bad_line", [f"{place} node {key}"])
            continue
        if not said[key]:
            notes.add("system_message", [f"{place} node {key}"])
            continue
        content = _first(message, ("content",), dict | list | str)
        recipient = _first(message, ("recipient",), str)
        calls = [recipient] if recipient not in (None, "all") else None
        rows.add(
            conversation=conversation,
            id=key,
            reply_to=_answered(parents[key], parents, said, answers),
            speaker=_first(message.get("author"), ("role",), str),
            time=_first(message, ("create_time",), int | float),
            text=_text(content),
            name=_first(message.get("author"), ("name",), str),
            tool_calls=calls,
            title=_first(record, ("title",), str),
            model=_first(message.get("metadata"), ("model_slug",), str),
            current=key in current if current else None,
            place=f"{place} node {key}",
        )


def _is_visible(node: Any) -> bool:
    """Whether a node holds a message that was shown, rather than one that only set up the model."""
    message = _first(node, ("message",), dict)
    if message is None or _first(message.get("author"), ("role",), str) in (None, "system"):
        return False
    metadata = message.get("metadata")
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return False
    return _first(message.get("content"), ("content_type",), str) not in _HIDDEN


def _path(parents: dict[str, str | None], node: str | None) -> Iterator[str]:
    """Yield a node and its ancestors, once each."""
    seen: set[str] = set()
    while node in parents and node not in seen:
        seen.add(node)
        yield node
        node = parents[node]


def _answered(
    node: str | None,
    parents: dict[str, str | None],
    said: dict[str, bool],
    known: dict[str | None, str | None],
) -> str | None:
    """Return the nearest visible node from ``node`` upwards; cleaning counts missing ones."""
    passed: list[str | None] = []
    here = node
    while here is not None and here not in known and not said.get(here, True):
        known[here] = None  # breaks a cycle of hidden nodes
        passed.append(here)
        here = parents[here]
    answer = known.get(here, here)
    known.update(dict.fromkeys(passed, answer))
    return answer


def _text(content: Any) -> str:
    """Return the text of a message's content: a string, parts, or an object that contains them."""
    waiting, parts = [content], []
    while waiting:  # a stack, because hostile content may be deeply nested
        part = waiting.pop()
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, list):
            waiting.extend(reversed(part))
        elif isinstance(part, dict):
            waiting.append(
                _first(part, ("parts", "text", "content", "result", "value"), str | list)
            )
    return "\n".join(part for part in parts if part)


def _calls(message: dict[str, Any]) -> list[str] | None:
    """Return the tool calls of a message, each as ``name(arguments)``."""
    calls = [message.get("function_call")]
    for call in as_list(message.get("tool_calls")):
        calls.append(call.get("function") if isinstance(call, dict) else None)
    for part in as_list(message.get("content")):
        if isinstance(part, dict) and part.get("type") == "tool_use":
            calls.append(part)
    written = [
        f"{_first(call, ('name',), str)}({_first(call, ('arguments',), str) or ''})"
        for call in calls
        if isinstance(call, dict)
    ]
    return written or None


FORMAT = Format(
    "chatlog",
    "chats with a language model: OpenAI messages, ShareGPT, ChatGPT export",
    looks_like,
    read,
)
