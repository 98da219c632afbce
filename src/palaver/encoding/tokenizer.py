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
_DOMAIN = r"@[\w-]+(?:\.[\w-]+)+"
_ADDRESSES = (
    f"{URL}|{MAIL}|{PHONE}",  # placeholders in anonymized texts
    r"(?:https?://|www\.)[^\s<>\"]+",
)
_WORDS = (
    rf"[{_UNSPACED}]\p{{M}}*",
    rf"{_LETTER}+(?:['’]{_LETTER}+)*",
    rf"{_PICTURE}[\x{{FE0F}}\x{{200D}}\p{{Emoji_Modifier}}{_PICTURE}]*",
    rf"[^\p{{L}}\p{{M}}\p{{N}}_\s{_PICTURE}]+",
)
_PATTERN = "|".join((*_ADDRESSES, rf"[\w.+-]+{_DOMAIN}", *_WORDS))
# Each word of "a.a.a..." may be the start of a mail address, which only the end of the run shows:
# in long runs, these patterns keep the search short. The second is several times slower.
_LONG_RUN = r"\S{256}"
_WITHOUT_MAIL = "|".join((*_ADDRESSES, *_WORDS))
_SHORT_MAIL = "|".join((*_ADDRESSES, rf"[\w.+-]{{1,64}}{_DOMAIN}", *_WORDS))


def split_words(texts: pl.Series) -> pl.Series:
    """Split a column of texts into lists of words, in compiled code.

    Addresses are still intact here; :func:`word_type` folds them, once per type.
    """
    lower = texts.str.to_lowercase()
    is_long = lower.str.contains(_LONG_RUN).fill_null(False)
    if not is_long.any():
        return lower.str.extract_all(_PATTERN)
    has_at = lower.str.contains("@", literal=True).fill_null(False)
    parts = [
        lower.to_frame("words").with_row_index().filter(rows).with_columns(
            pl.col("words").str.extract_all(pattern)
        )
        for rows, pattern in (
            (~is_long, _PATTERN),
            (is_long & ~has_at, _WITHOUT_MAIL),
            (is_long & has_at, _SHORT_MAIL),
        )
    ]  # fmt: skip
    return pl.concat(parts).sort("index")["words"].alias(texts.name)


def word_type(word: str) -> str:
    """Return the type of a word: all web addresses share one, and so do all mail addresses."""
    if word.startswith(("http://", "https://", "www.")):
        return URL
    if "@" in word[1:-1] and word[0] not in "@<":
        return MAIL
    return word
