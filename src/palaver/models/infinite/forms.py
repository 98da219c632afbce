"""Forms of words, in any script: how they end, and what kinds of characters they are made of."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

_ENDING = 3  # letters
_LONGEST = 4  # stretches of characters of one kind in a shape


def _kind(character: str) -> str:
    """Return the kind of a character: a capital, another letter, a digit; marks are themselves."""
    category = unicodedata.category(character)
    if category in ("Lu", "Lt"):
        return "X"
    if category[0] in "LM":
        return "x" if category == "Ll" else "o"  # scripts without capitals are a kind of their own
    return "0" if category[0] == "N" else character


def shape(word: str) -> str:
    """Return the kinds of the first characters of a word, each stretch of one kind once.

    Examples
    --------
    >>> shape("U.S."), shape("McDonald's"), shape("1,200")
    ('X.X.', 'XxXx', '0,0')
    """
    kinds: list[str] = []
    for character in word:
        kind = _kind(character)
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
        if len(kinds) == _LONGEST:
            break
    return "".join(kinds)


def folded(word: str) -> str:
    """Return a word in small letters with all digits alike."""
    return "".join("0" if _kind(c) == "0" else c for c in word.casefold())


#: Each form of a word: its last letters, its last letter, its shape.
FORMS: tuple[Callable[[str], str], ...] = (
    lambda word: folded(word)[-_ENDING:],
    lambda word: folded(word)[-1:],
    shape,
)


def word_forms(words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the forms of words as numbers.

    Parameters
    ----------
    words : sequence of str

    Returns
    -------
    forms : array of int32, shape (n_words, n_forms)
    n_values : array of int64, shape (n_forms,)
        How many values each form takes.
    """
    forms = np.empty((len(words), len(FORMS)), np.int32)
    n_values = np.empty(len(FORMS), np.int64)
    for f, form in enumerate(FORMS):
        numbers: dict[str, int] = {}
        for w, word in enumerate(words):
            forms[w, f] = numbers.setdefault(form(word), len(numbers))
        n_values[f] = len(numbers)
    return forms, n_values
