"""What people type into the search field: words, phrases and beginnings of words.

``"thank you" driv* -bot`` finds messages with the phrase and with a word that begins with
``driv``, and without ``bot``. The last word is the beginning of one until a space follows, so that
hits appear while it is typed. Case and accents do not matter. Scripts without spaces between words
are indexed character by character, with their order: a word is a phrase of characters there, so
that words of one and two characters are found, too, which an index of three would miss.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Characters of scripts that put no spaces between words: Thai, Lao, Myanmar, Khmer, Chinese and
#: Japanese.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_CHARACTER = re.compile(f"([{_UNSPACED}])")
_PART = re.compile(r'(-?)(?:"([^"]*)("|$)|(\S+))')
_WORD = re.compile(r"[^\W_]")
MOST_PARTS, LONGEST = 20, 400


def spaced(text: str) -> str:
    """Return a text as it is indexed: characters of scripts without spaces stand apart."""
    return text if text.isascii() else _CHARACTER.sub(r" \1 ", text)


def has_unspaced(text: str) -> bool:
    """Whether a text has characters of scripts without spaces."""
    return not text.isascii() and _CHARACTER.search(text) is not None


@dataclass(frozen=True)
class Part:
    """A word or phrase that was asked for.

    Attributes
    ----------
    text : str
    is_beginning : bool
        Whether its last word may continue.
    is_excluded : bool
    """

    text: str
    is_beginning: bool = False
    is_excluded: bool = False

    @property
    def match(self) -> str:
        """The part as FTS5 wants it; nothing in it is syntax."""
        quoted = spaced(self.text).replace('"', '""').replace("\x00", " ")
        return f'"{quoted}"' + (" *" if self.is_beginning else "")


def parts_of(typed: str) -> list[Part]:
    """Return what a search field asks for; parts without a letter or digit are left out."""
    found = []
    typed = typed[:LONGEST]
    for match in _PART.finditer(typed):
        minus, phrase, closed, word = match.groups()
        text = phrase if phrase is not None else word
        is_open = match.end() == len(typed) and not closed
        begins = text.endswith("*") or (is_open and not text[-1:].isspace())
        text = text.rstrip("*").strip()
        if _WORD.search(text):
            found.append(Part(text, begins, bool(minus)))
    return found[:MOST_PARTS]


def first_place(text: str, parts: list[Part]) -> int:
    """Return about where a text has what was asked for; 0 if that is not clear."""
    lower = text.lower()
    if len(lower) != len(text):
        return 0
    places = (lower.find(part.text.lower()) for part in parts if not part.is_excluded)
    return min((place for place in places if place >= 0), default=0)
