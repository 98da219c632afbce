"""One policy for chats with AI assistants: what counts as talk, and who says it.

Roles are ``user`` and ``assistant``, whatever a log calls them. Instructions to the model,
thoughts, calls of tools and their output are left out and counted; a reply to what is left out
becomes a reply to its parent. Fenced blocks of code move from the text to a column ``code``.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Rows, scrubbed
from palaver.corpus.readers.markup import without_code
from palaver.corpus.readers.order import by_time
from palaver.corpus.readers.records import as_dict, as_list, as_word

#: What logs call the roles.
_ROLES = {
    "user": ("user", "human", "prompter", "customer", "input"),
    "assistant": ("assistant", "gpt", "chatgpt", "bing", "bard", "ai", "model", "bot", "chatbot",
                  "claude", "gemini", "agent", "output"),
    "system": ("system", "developer", "instructions", "info", "error", "warning"),
    "tool": ("tool", "function", "tool_result", "tool_use", "ipython", "observation", "environment",
             "function_call", "function-call", "function_response", "function-response",
             "tool_call", "tool-call", "tool_response", "tool-response"),
}  # fmt: skip
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names}
#: Parts of a message that nobody said.
_UNSAID = frozenset((
    "thinking", "redacted_thinking", "reasoning", "thoughts", "tool_use", "tool_result",
    "tool_call", "function_call", "server_tool_use", "web_search_tool_result", "image", "image_url",
    "input_image", "document", "file", "input_audio", "image_asset_pointer", "token_budget",
    "audio_transcription_pointer", "audio_asset_pointer", "video_container_asset_pointer",
))  # fmt: skip


def role_of(name: Any) -> str | None:
    """Return the role that a log's name stands for; other names are kept, in lower case."""
    word = as_word(name)
    return None if word is None else _ROLE_OF.get(word.strip().lower(), word.strip().lower())


def said(content: Any) -> str:
    """Return the words of a message's content: a string, parts, or an object that holds them."""
    waiting, found = [content], []
    while waiting:  # a stack, because hostile content may be deeply nested
        part = waiting.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, list):
            waiting.extend(reversed(part))
        elif isinstance(part, dict) and _UNSAID.isdisjoint(
            map(as_word, (part.get("type"), part.get("content_type")))
        ):
            keys = ("parts", "text", "content", "value")
            waiting.append(next((part[key] for key in keys if part.get(key)), None))
    return "\n\n".join(part.strip() for part in found if part.strip())


def tools_of(content: Any) -> list[str]:
    """Return the names of the tools that the parts of a message call."""
    parts = [as_dict(part) for part in as_list(content)]
    called = [as_word(part.get("name")) for part in parts
              if part.get("type") in ("tool_use", "server_tool_use")]  # fmt: skip
    return [name for name in called if name]


class Talk:
    """Collects the messages of chats with an assistant."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self._rows = Rows(notes)
        self._above: dict[tuple[str, str], str | None] = {}  # parents of what was left out

    def __len__(self) -> int:
        return len(self._rows)

    def leave_out(
        self, kind: str, conversation: str | None, id: str | None, parent: str | None, place: str
    ) -> None:
        """Count something that is not talk; replies to it will answer its parent."""
        self.notes.add(kind, [place])
        if id is not None:
            self._above[conversation or "", id] = parent

    def skip(self, conversation: str | None, id: str) -> None:
        """Pass over a root that holds nothing; replies to it are starts."""
        self._above[conversation or "", id] = None

    def add(
        self,
        *,
        conversation: str | None,
        id: str | None,
        parent: str | None,
        role: str | None,
        text: str,
        tools: list[str] | None = None,
        place: str,
        has_media: bool = False,
        **columns: Any,
    ) -> bool:
        """Add a message if it is talk; return whether it was."""
        words, code = without_code(text)
        is_silent = not words.strip() and not code and not has_media
        if role == "system":
            self.leave_out("system_message", conversation, id, parent, place)
        elif role == "tool" or (is_silent and tools):
            self.leave_out("tool_output", conversation, id, parent, place)
        else:
            self.notes.add("code_cut", [place] * bool(code))
            self.notes.add("media_omitted", [place] * (has_media and not words.strip()))
            self._rows.add(
                conversation=conversation,
                id=id,
                reply_to=parent,
                speaker=role,
                time=columns.pop("time", None),
                text=words,
                role=role,
                code=code or None,
                tools=tools or None,
                **columns,
                place=place,
            )
            return True
        return False

    def table(self) -> pl.DataFrame:
        """Return the messages; replies lead to messages that were kept."""
        table = self._rows.table()
        if "role" not in table.columns:
            return table
        blank = pl.lit(None, pl.List(pl.String))
        table = table.with_columns(
            blank.alias(name) for name in ("code", "tools") if table[name].dtype == pl.String
        )
        if not self._above:
            return table
        pairs = table.select(pl.col("conversation").fill_null(""), "reply_to").iter_rows()
        kept = [scrubbed(self._nearest(conversation, name)) for conversation, name in pairs]
        return table.with_columns(pl.Series("reply_to", kept, dtype=pl.String))

    def _nearest(self, conversation: str, name: str | None) -> str | None:
        """Return the first ancestor that was kept, or is not in the file."""
        passed = []
        while name is not None and (conversation, name) in self._above:
            passed.append(name)
            name = self._above[conversation, name]
            if len(passed) > len(self._above):  # a cycle
                name = None
        for one in passed:  # so that each is passed once
            self._above[conversation, one] = name
        return name


def in_turn(table: pl.DataFrame) -> pl.DataFrame:
    """Order messages by time, and make each reply to the one before it in its conversation."""
    if not table.height:
        return table
    before = pl.col("id").shift(1).over("conversation")
    return by_time(table).with_columns(before.alias("reply_to"))
