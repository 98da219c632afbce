"""Logs of chats with a language model: OpenAI messages, ShareGPT, LMSYS and WildChat.

A record is a conversation with a list of messages, on a line, in an array, or in a row of a
Parquet table. Files that are nothing but a list of messages are one conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.assistants.talk import Talk, role_of, said, tools_of
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.folders import stem
from palaver.corpus.readers.parquet_rows import parquet_records, parquet_schema
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records, parsed
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_LISTS = ("messages", "conversations", "conversation")
_SIDES = ("conversation_a", "conversation_b")  # two models that were compared
_NAMES = ("id", "conversation_id", "conversation_hash", "question_id", "uuid", "custom_id",
          "thread_id", "session_id")  # fmt: skip
_TIMES = ("timestamp", "created_at", "create_time", "created", "tstamp")
_PEOPLE = ("user", "user_id", "hashed_ip", "judge")
_ROLE = re.compile(
    r'"(?:role|from)"\s*:\s*"(?:system|user|assistant|developer|tool|function|human|gpt|chatgpt'
    r'|bing|bard|model)"'
)


def looks_like(source: Source) -> bool:
    """Whether records have lists of messages with roles, or are such messages."""
    if source.is_tree:
        return False
    schema = parquet_schema(source)
    if schema is not None:
        return any(map(_is_chats, schema.values()))
    if not _ROLE.search(source.head_text):
        return False
    keys = shape(source)
    pairs = (("role", "content"), ("from", "value"))
    paths = (
        "",
        *(f"{name}." for name in (*_LISTS, *_SIDES)),
        "request.messages.",
        "body.messages.",
    )
    return any({f"{at}{who}", f"{at}{what}"} <= keys for at in paths for who, what in pairs)


def _is_chats(dtype: Any) -> bool:
    """Whether a column holds lists of messages."""
    if not isinstance(dtype, pl.List) or not isinstance(dtype.inner, pl.Struct):
        return False
    fields = {field.name for field in dtype.inner.fields}
    return {"role", "content"} <= fields or {"from", "value"} <= fields


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read records in any of the forms; each message replies to the previous one."""
    talk = Talk(notes)
    seen: set[str] = set()
    loose: dict[
        str, str | None
    ] = {}  # last message of each conversation whose messages are records
    for number, (place, record) in enumerate(_records(source, notes), 1):
        chats = list(_chats(record))
        if not chats and _is_message(record):
            _add_loose(talk, as_dict(record), source, number, loose, place)
            continue
        if not chats:
            notes.add("bad_line", [place])
        for side, messages in chats:
            name = next((word for key in _NAMES if (word := as_word(record.get(key)))), None)
            name = f"{name or number}{side}"
            if name in seen:  # otherwise the two would be merged
                notes.add("duplicate_id", [place])
                name = f"{name} ({place})"
            seen.add(name)
            _add_list(talk, as_dict(record), messages, name, side, place)
    return talk.table()


def _records(source: Source, notes: Notes) -> Iterator[tuple[str, Any]]:
    schema = parquet_schema(source)
    if schema is None:
        yield from json_records(source, notes)
        return
    chats = [name for name, dtype in schema.items() if _is_chats(dtype)]
    kept = {*_NAMES, *_TIMES, *_PEOPLE, "model", "model_a", "model_b", "language", "winner"}
    yield from parquet_records(source, [*chats, *(n for n in schema if n in kept)])


def _chats(record: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of messages of a record, with a mark where there are two."""
    if not isinstance(record, dict):
        return
    for key in _SIDES:
        if isinstance(record.get(key), list):
            yield f"/{key[-1]}", record[key]
    for holder in (record, as_dict(record.get("request")), as_dict(record.get("body"))):
        for key in _LISTS:
            messages = parsed(holder.get(key))
            if isinstance(messages, list):
                answers = record if holder is record else as_dict(record.get("response"))
                yield "", [*messages, *_choices(answers)]
                return


def _choices(record: dict[str, Any]) -> list[Any]:
    """Return the answer that a log of requests keeps apart from the messages."""
    body = as_dict(record.get("body")) or record
    choices = [as_dict(choice).get("message") for choice in as_list(body.get("choices"))[:1]]
    return [choice for choice in choices if isinstance(choice, dict)]


def _is_message(record: Any) -> bool:
    keys = as_dict(record)
    return role_of(keys.get("role") or keys.get("from")) is not None and (
        "content" in keys or "value" in keys
    )


def _add_list(
    talk: Talk, record: dict[str, Any], messages: list[Any], name: str, side: str, place: str
) -> None:
    before = None
    about = {
        "model": as_word(record.get(f"model_{side[1:]}" if side else "model")),
        "language": as_word(record.get("language")),
        "user": next((w for key in _PEOPLE if (w := as_word(record.get(key)))), None),
        "winner": as_word(record.get("winner")),
    }
    about = {key: value for key, value in about.items() if value is not None}
    time = next((w for key in _TIMES if (w := _time(record.get(key)))), None)
    for number, message in enumerate(messages, 1):
        where = f"{place} message {number}"
        if not _is_message({"content": None, **as_dict(message)}):
            talk.notes.add("bad_line", [where])
        elif _add(talk, message, name, str(number), before, where, about, time):
            before = str(number)


def _add_loose(
    talk: Talk, record: dict[str, Any], source: Source, number: int,
    last: dict[str, str | None], place: str,
) -> None:  # fmt: skip
    names = ("conversation_id", "conversation", "thread_id", "session_id", "chat_id")
    name = next((w for key in names if (w := as_word(record.get(key)))), stem(source.path.name))
    if _add(talk, record, name, str(number), last.get(name), place, {}, None):
        last[name] = str(number)


def _add(
    talk: Talk, message: dict[str, Any], conversation: str, name: str, parent: str | None,
    place: str, about: dict[str, Any], time: Any,
) -> bool:  # fmt: skip
    content = message.get("content", message.get("value"))
    own = next((t for key in _TIMES if (t := _time(message.get(key)))), None)
    text = said(content)
    return talk.add(
        conversation=conversation,
        id=name,
        parent=parent,
        role=role_of(message.get("role") or message.get("from"))
        if text or not _is_result(content)
        else "tool",
        time=own or time,
        text=text,
        tools=[*_calls(message), *tools_of(content)],
        has_media=_has_media(content),
        name=as_word(message.get("name")),
        **about,
        place=place,
    )


def _time(value: Any) -> Any:
    return value if not isinstance(value, dict | list | bool) else None


def _calls(message: dict[str, Any]) -> list[str]:
    """Return the names of the tools that a message calls."""
    calls = [as_dict(message.get("function_call"))]
    calls += [as_dict(as_dict(call).get("function")) for call in as_list(message.get("tool_calls"))]
    return [name for call in calls if (name := as_word(call.get("name")))]


def _is_result(content: Any) -> bool:
    """Whether a message under the user's name is what a tool returned."""
    return any(as_dict(part).get("type") == "tool_result" for part in as_list(content))


def _has_media(content: Any) -> bool:
    kinds = ("image_url", "image", "input_image", "input_audio", "file", "document")
    return any(as_dict(part).get("type") in kinds for part in as_list(content))


FORMAT = Format(
    "chatlog",
    "chats with a language model: OpenAI messages, ShareGPT, LMSYS, WildChat",
    looks_like,
    read,
)
