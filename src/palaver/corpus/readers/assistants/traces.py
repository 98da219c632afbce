"""Traces of applications: what the user asked and the assistant said, in whatever form."""

from __future__ import annotations

from typing import Any

from palaver.corpus.readers.assistants.talk import role_of
from palaver.corpus.readers.records import as_dict, as_word, parsed

_WRAPPED = ("messages", "input", "inputs", "output", "outputs", "content", "kwargs", "text",
            "query", "question", "prompt", "human_input", "user_input", "chat_input", "answer",
            "response", "result", "completion", "generations", "choices", "message", "data",
            "parts", "contents", "candidates", "return_values")  # fmt: skip
_DEEPEST = 10
_KINDS = {"HumanMessage": "user", "AIMessage": "assistant", "AIMessageChunk": "assistant",
          "HumanMessageChunk": "user", "SystemMessage": "system", "ToolMessage": "tool",
          "FunctionMessage": "tool"}  # fmt: skip


def told(value: Any, role: str, depth: int = 0) -> str:
    """Return the last text of a role within an input or output; empty if there is none."""
    if depth > _DEEPEST:
        return ""
    if isinstance(value, str):
        return _from_string(value, role, depth)
    if isinstance(value, list):
        parts = [item for item in value if _role(item) in (None, role)]
        blocks = [
            as_word(as_dict(item).get("text"))
            for item in parts
            if as_dict(item).get("type") in ("text", "output_text", "input_text")
        ]
        if any(blocks):
            return "\n\n".join(filter(None, blocks))
        return next((text for item in reversed(parts) if (text := told(item, role, depth + 1))), "")
    record = as_dict(value)
    if _role(record) not in (None, role):
        return ""
    inner = (record[key] for key in _WRAPPED if key in record)
    return next((text for item in inner if (text := told(item, role, depth + 1))), "")


def _from_string(value: str, role: str, depth: int) -> str:
    """Return a text, or what is told in it if it is JSON with roles."""
    text = value.strip()
    inside = parsed(text)
    if isinstance(inside, str):
        return text
    return told(inside, role, depth + 1) or ("" if _has_role(text) else text)


def _has_role(text: str) -> bool:
    return '"role"' in text or '"messages"' in text


def _role(value: Any) -> str | None:
    """Return the role of a message, also as LangChain writes it; None if it has none."""
    record = as_dict(value)
    name = record.get("id")
    if isinstance(name, list) and name and as_word(name[-1]) in _KINDS:
        return _KINDS[name[-1]]
    kwargs = as_dict(record.get("kwargs"))
    for given in (record.get("role"), record.get("type"), kwargs.get("type")):
        role = role_of(given)
        if role in ("user", "assistant", "system", "tool"):
            return role
    return None
