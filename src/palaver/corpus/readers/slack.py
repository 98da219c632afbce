"""Slack exports: a zip or folder with ``users.json`` and a folder of day files per channel.

A thread is a conversation (``channel/ts`` of its first message). Messages outside threads
form one conversation per channel and day (``channel/2024-01-02``), as in Slack's own files.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows, parse_json
from palaver.corpus.readers.records import as_dict, as_list, as_word, stream_items
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_DAY = re.compile(r"(?:(?:.*/)?([^/]+)/)?(\d{4}-\d{2}-\d{2})\.json")
_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_MARKUP = re.compile(r"<([^<>\s|][^<>|]*)(?:\|([^<>]*))?>")
#: Subtypes of messages written by people or bots; all others are system notices.
_WRITTEN = frozenset((
    None, "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment",
    "slackbot_response", "tombstone",
))  # fmt: skip


def looks_like(source: Source) -> bool:
    """Whether there are day files and a list of users or channels."""
    tops = {name.rpartition("/")[2] for name in source.names}
    return not tops.isdisjoint(("users.json", *_LISTS)) and any(map(_DAY.fullmatch, source.names))


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all day files, channel by channel."""
    messages = _Messages(_Names(source, notes), notes)
    failed: FormatError | None = None
    n_read = 0
    for name in source.names:
        found = _DAY.fullmatch(name)
        if found is None:
            continue
        folder, day = found[1] or source.path.name, found[2]
        try:
            with source.open(name) as stream:
                for number, item in enumerate(stream_items(stream, notes, name), 1):
                    messages.add(item, folder, day, f"{folder}/{day}.json message {number}")
            n_read += 1
        except FormatError as error:
            notes.add("bad_file", [name])
            failed = error
    if not n_read:
        raise failed or FormatError(f"{source}: contains no day files such as 2024-01-02.json")
    return messages.table()


class _Messages:
    """The messages read so far."""

    def __init__(self, names: _Names, notes: Notes) -> None:
        self._rows = Rows(notes)
        self._names, self._notes = names, notes

    def add(self, message: Any, folder: str, day: str, place: str) -> None:
        """Add a message, unless it is a notice without replies."""
        if not isinstance(message, dict):
            self._notes.add("bad_line", [place])
            return
        time = as_word(message.get("ts"))
        thread = as_word(message.get("thread_ts"))
        subtype = as_word(message.get("subtype"))
        if subtype not in _WRITTEN and (thread is None or thread != time):
            self._notes.add("system_message", [place])
            return
        deleted = subtype == "tombstone"
        text = "" if deleted else self._names.text(message)
        if not text.strip() and message.get("files"):
            self._notes.add("media_omitted", [place])
        self._rows.add(
            conversation=f"{folder}/{thread or day}",
            id=time,
            reply_to=None if thread == time else thread,
            speaker=None if deleted else self._names.speaker(message),
            time=time,
            text=text,
            channel=self._names.titles.get(folder, folder),
            bot=subtype == "bot_message" or as_word(message.get("bot_id")) is not None,
            place=place,
            folder=folder,
        )

    def table(self) -> pl.DataFrame:
        """Return the table; older exports do not mark messages that have replies."""
        table = self._rows.table()
        if not table.height:
            return table
        own, thread = (
            pl.concat_str("folder", pl.lit("/"), pl.col(name).cast(pl.String))
            for name in ("id", "reply_to")
        )
        threads = table.select(thread).to_series().unique().implode()
        is_start = own.is_in(threads) & pl.col("reply_to").is_null()
        conversation = pl.when(is_start).then(own).otherwise("conversation")
        return table.with_columns(conversation.alias("conversation")).drop("folder")


class _Names:
    """Names of people and channels, which replace ids in texts."""

    def __init__(self, source: Source, notes: Notes) -> None:
        self._users: dict[str, str] = {}
        self._channels: dict[str, str] = {}
        self.titles: dict[str, str] = {}  # of folders named after an id
        listed = {name.rpartition("/")[2]: name for name in reversed(source.names)}
        self._add_users(_list(source, listed.get("users.json"), notes))
        for file in _LISTS:
            for channel in _list(source, listed.get(file), notes):
                identity, name = as_word(channel.get("id")), as_word(channel.get("name"))
                members = [as_word(user) or "" for user in as_list(channel.get("members"))]
                if identity and name:
                    self._channels[identity] = name
                elif identity and members:
                    self.titles[identity] = ", ".join(self._users.get(m, m) for m in members)

    def _add_users(self, users: list[dict[str, Any]]) -> None:
        """Name each user as shown in Slack; if two share a name, add the id."""
        owners: dict[str, str] = {}
        for user in users:
            identity = as_word(user.get("id"))
            name = _shown_name(as_dict(user.get("profile"))) or _shown_name(user)
            if identity is None or name is None:
                continue
            same = owners.setdefault(name, identity) != identity
            self._users[identity] = f"{name} ({identity})" if same else name

    def speaker(self, message: dict[str, Any]) -> str | None:
        """Return who wrote a message: a user, a guest (from the profile), or a bot."""
        identity = as_word(message.get("user"))
        if identity is not None and identity in self._users:
            return self._users[identity]
        bot = as_dict(message.get("bot_profile"))
        shown = as_word(message.get("username")) or as_word(bot.get("name"))
        guest = _shown_name(as_dict(message.get("user_profile")))
        return guest or shown or identity or as_word(message.get("bot_id"))

    def text(self, message: dict[str, Any]) -> str:
        """Return the text as people saw it, or the attachments of a bot's message without text."""
        text = as_word(message.get("text"))
        if text is None:
            parts = map(as_dict, as_list(message.get("attachments")))
            shown = (as_word(p.get("text")) or as_word(p.get("fallback")) for p in parts)
            text = "\n".join(part for part in shown if part)
        text = _MARKUP.sub(self._markup, text)
        return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

    def _markup(self, found: re.Match[str]) -> str:
        target, label = found[1], (found[2] or "").strip()
        kind, identity = target[0], target[1:]
        if kind == "@":
            return "@" + self._users.get(identity, label.removeprefix("@") or identity)
        if kind == "#":
            return "#" + (label or self._channels.get(identity, identity))
        if kind == "!":
            return label or "@" + identity.partition("^")[0]
        if not label or label in target:  # Slack turned typed text into a link
            return label if target.startswith(("mailto:", "tel:")) and label else target
        return f"{label} {target}"


def _shown_name(record: dict[str, Any]) -> str | None:
    fields = ("display_name", "real_name", "name")
    return next((name for name in map(as_word, map(record.get, fields)) if name), None)


def _list(source: Source, name: str | None, notes: Notes) -> list[dict[str, Any]]:
    """Return the records of one of the lists next to the channels."""
    if name is None:
        return []
    try:
        records = as_list(parse_json(source.read_text(notes, name), name))
    except FormatError:
        notes.add("bad_file", [name])
        return []
    return [record for record in records if isinstance(record, dict)]


FORMAT = Format("slack", "Slack export, a zip or folder", looks_like, read)
