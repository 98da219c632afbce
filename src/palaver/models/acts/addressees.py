"""Addressees: in channels, messages begin with the name of whom they are for ("ann: try this").

How a message begins tells much about its act, and a name tells nothing. So a unit begins behind
its addressee: words of speakers' names, or unknown words, up to a colon or comma, or behind an @.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Encoded

#: Tokens of an addressee at most, its colon among them.
_LONGEST = 6
_MARKS = (":", ",")
_PARTS = re.compile(r"\w+|[^\w\s]")
_WORD, _MARK, _AT, _OTHER = range(4)


def behind_addressees(
    data: Encoded, tokens: NDArray[np.int32], bounds: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return where each unit begins, behind its addressee if it has one.

    Parameters
    ----------
    data : Encoded
    tokens : array of int32, shape (n_tokens,)
        Word numbers, -1 for unknown words.
    bounds : array of int64, shape (n_units + 1,)
        Units among the tokens.

    Returns
    -------
    array of int64, shape (n_units,)
        Positions among the tokens; a unit that is nothing but an addressee begins with it.
    """
    starts, stops = bounds[:-1], bounds[1:]
    kinds = _kinds(data)
    padded = np.append(tokens, -1)
    begins = starts.copy()
    searching = np.ones(len(starts), bool)
    named, called = np.zeros(len(starts), bool), np.zeros(len(starts), bool)
    for step in range(_LONGEST):
        at = starts + step
        searching &= at + 1 < stops  # something must be left to say
        kind = kinds[padded[np.where(searching, at, -1)]]
        ends = searching & named & ((kind == _MARK) | (called & (step == 2)))
        begins = np.where(ends, at + (kind == _MARK), begins)
        searching &= ~ends & (kind != _OTHER) & (kind != _MARK)
        called |= searching & (kind == _AT) & (step == 0)
        named |= searching & (kind == _WORD)
    return begins


def _kinds(data: Encoded) -> NDArray[np.int8]:
    """Return what each word of the vocabulary can be in an addressee; the last is any unknown."""
    words = data.vocabulary.words
    names = {part for name in data.speakers.names for part in _PARTS.findall(name.lower())}
    kinds = np.full(len(words) + 1, _OTHER, np.int8)
    for number, word in enumerate(words):
        if word in _MARKS:
            kinds[number] = _MARK
        elif word == "@":
            kinds[number] = _AT
        elif word in names and (len(word) > 1 or not word.isalnum()):
            kinds[number] = _WORD
    kinds[-1] = _WORD
    return kinds
