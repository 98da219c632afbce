"""What a language model answered about a run: kept beside it, so that nothing is asked twice."""

from __future__ import annotations

import hashlib
import json
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from palaver.endpoint.client import Endpoint, Messages
from palaver.errors import PalaverWarning
from palaver.store.atomic import replace_file

FILE = "answers.json"
VERSION = 1


class Answers:
    """The file ``answers.json`` of a run: address, model, prompt, answer and time; no key.

    Parameters
    ----------
    folder : path
        The run's.
    name : str
        Of the file.
    """

    def __init__(self, folder: str | Path, name: str = FILE) -> None:
        self._path = Path(folder) / name
        self._mark: tuple[int, int] | None = None
        self._known: list[dict[str, Any]] = []

    def get(self, endpoint: Endpoint, messages: Messages) -> str | None:
        """Return what was answered before to the same question; None if nothing was."""
        wanted = _key(endpoint, messages)
        found = [entry["answer"] for entry in self._entries() if entry["key"] == wanted]
        return found[-1] if found else None

    def keep(self, endpoint: Endpoint, messages: Messages, answer: str) -> None:
        """Write an answer down."""
        own = {
            "key": _key(endpoint, messages),
            "url": endpoint.url,
            "model": endpoint.model,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "messages": [dict(message) for message in messages],
            "answer": answer,
        }
        others = [entry for entry in self._entries() if entry["key"] != own["key"]]
        content = {"palaver": "answers", "version": VERSION, "entries": [*others, own]}
        with replace_file(self._path) as target:
            text = json.dumps(content, indent=1, ensure_ascii=False)
            target.write_bytes(text.encode("utf-8", "replace"))

    def _entries(self) -> list[dict[str, Any]]:
        """Return what the file holds; it is read again only if it has changed."""
        if not self._path.is_file():
            return []
        found = self._path.stat()
        mark = (found.st_mtime_ns, found.st_size)
        if mark != self._mark:
            self._mark, self._known = mark, self._read()
        return self._known

    def _read(self) -> list[dict[str, Any]]:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            entries: list[dict[str, Any]] = content["entries"]
            texts = [entry[name] for entry in entries for name in ("key", "answer")]
            if content["version"] != VERSION or not all(isinstance(text, str) for text in texts):
                raise ValueError
        except (ValueError, LookupError, TypeError, RecursionError, OSError):
            warnings.warn(f"{self._path}: cannot be understood and is started over", PalaverWarning,
                          stacklevel=4)  # fmt: skip
            return []
        return list(entries)


def _key(endpoint: Endpoint, messages: Messages) -> str:
    asked = [endpoint.url, endpoint.model, [dict(message) for message in messages]]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
