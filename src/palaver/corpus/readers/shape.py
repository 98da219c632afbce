"""The shape of JSON: which keys a file has where, known from its start, to recognize exports.

Words inside texts are never mistaken for keys, and the start of a record is enough.
"""

from __future__ import annotations

import re
from functools import lru_cache

from palaver.corpus.readers.folders import peek
from palaver.corpus.readers.source import Source

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)("?)|([{}\[\]:,])', re.DOTALL)
_DEEPEST = 16


def shape(source: Source, name: str | None = None) -> frozenset[str]:
    """Return the keys at the start of a JSON file, such as ``messages.author.name``.

    Arrays do not count: ``{"a": [{"b": 1}]}`` has ``a`` and ``a.b``. Empty for anything but JSON.
    """
    text = source.head_text if name is None else peek(source, name)
    return shape_of(text)


@lru_cache(maxsize=4)  # every format looks at the same start
def shape_of(text: str) -> frozenset[str]:
    """Return the keys of JSON text, which may be cut off anywhere."""
    text = text.lstrip("\ufeff \t\r\n")
    if not text.startswith(("{", "[")):
        return frozenset()
    found: set[str] = set()
    path: list[str | None] = []  # of every open bracket, the key before it
    word: str | None = None  # the last string
    key: str | None = None  # the key whose value comes next
    for token in _TOKEN.finditer(text):
        mark = token[3]
        if mark is None:
            if not token[2]:
                break  # cut off
            word = token[1]
        elif mark == ":" and word is not None:
            key, word = word, None
            if len(path) <= _DEEPEST:
                found.add(".".join([*filter(None, path), key]))
        elif mark in "{[":
            path.append(key)
            key = word = None
        elif mark in "}]":
            if path:
                path.pop()
            key = word = None
        else:
            key = word = None
    return frozenset(found)
