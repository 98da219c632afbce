"""Splitting texts into words, as in the M4 paper (section 5.1).

Words are in lower case. A run of punctuation is one token, because ``?!`` and ``...`` distinguish
acts. Web and mail addresses become one type each; emoji are words; scripts without spaces are
split into characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

#: A function that splits a text into words.
Tokenizer = Callable[[str], Iterable[str]]

URL, MAIL, PHONE = "<url>", "<email>", "<phone>"

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LETTER = rf"[\p{{L}}\p{{M}}\p{{N}}_--[{_UNSPACED}]]"
_PICTURE = r"\p{Extended_Pictographic}"
_PATTERN = "|".join(
    (
        f"{URL}|{MAIL}|{PHONE}",  # placeholders in anonymized texts
        r"(?:https?://|www\.)[^\s<>\"]+",
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        rf"[{_UNSPACED}]\p{{M}}*",
        rf"{_LETTER}+(?:['’]{_LETTER}+)*",
        rf"{_PICTURE}[\x{{FE0F}}\x{{200D}}\p{{Emoji_Modifier}}{_PICTURE}]*",
        rf"[^\p{{L}}\p{{M}}\p{{N}}_\s{_PICTURE}]+",
    )
)


def split_words(texts: pl.Series) -> pl.Series:
    """Split a column of texts into lists of words, in compiled code.

    Addresses are still intact here; :func:`word_type` folds them, once per type.
    """
    return texts.str.to_lowercase().str.extract_all(_PATTERN)


def word_type(word: str) -> str:
    """Return the type of a word: all web addresses share one, and so do all mail addresses."""
    if word.startswith(("http://", "https://", "www.")):
        return URL
    if "@" in word[1:-1] and word[0] not in "@<":
        return MAIL
    return word
