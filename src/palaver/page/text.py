"""Untrusted texts, made safe to show and to embed.

Templates and scripts escape; what remains are characters that change how a line is read
(bidirectional overrides, control characters), lengths, and JSON within HTML.
"""

from __future__ import annotations

import json
from typing import Any

#: Longest text, name and word that the page shows, in characters.
MAX_TEXT, MAX_NAME, MAX_WORD = 20_000, 80, 40

_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
#: One character for one, so that positions in a text stay the same.
_VISIBLE = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
_VISIBLE |= {0x7F: 0x2421, **dict.fromkeys(range(128, 160), 9254)}
_VISIBLE |= {ord(character): 0x2426 for character in _BIDI}

_IN_HTML = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def visible(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text with visible marks for invisible characters, cut to a limit."""
    shown = text[:limit].translate(_VISIBLE)
    return shown.encode("utf-8", "replace").decode() if not shown.isascii() else shown


def excerpt(text: str, limit: int) -> str:
    """Return the start of a text, with an ellipsis where there is more."""
    return visible(text, limit) + ("…" if len(text) > limit else "")


def name(text: str, limit: int = MAX_NAME) -> str:
    """Return a name or word on one line, cut with an ellipsis."""
    line = " ".join(visible(text, 4 * limit).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def speaker_name(text: str) -> str:
    """Return the name of a speaker; one or two capitals would look like a class."""
    own = name(text)
    return f"speaker {own}" if len(own) <= 2 and own.isalpha() and own.isupper() else own


def to_json(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever strings it holds."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_IN_HTML)
