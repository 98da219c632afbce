"""Words, pairs, beginnings and ends of messages, as numbers in flat arrays.

A word has its number in the tagger's vocabulary; ``V`` is any other word, ``V + 1`` the end and
``V + 2`` the start of a message. Several words in a row are one number to the base ``V + 3``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Encoded, Vocabulary
from palaver.models.taggers.features.rows import Block, distinct

Numbers = NDArray[np.int64]
Occurrences = tuple[Numbers, Numbers]  # offsets of messages, codes


@dataclass(frozen=True, eq=False)
class Numbered:
    """The words of a corpus as numbers of a tagger's vocabulary.

    Attributes
    ----------
    tokens : array of int64, shape (n_tokens,)
    offsets : array of int64, shape (n_messages + 1,)
    n_words : int
        Size of the vocabulary, ``V``.
    """

    tokens: Numbers
    offsets: Numbers
    n_words: int

    @classmethod
    def of(cls, encoded: Encoded, vocabulary: Vocabulary) -> Numbered:
        """Give the tokens of a corpus their numbers in a vocabulary."""
        index, n_words = vocabulary.index, len(vocabulary)
        numbers = [index.get(word, n_words) for word in encoded.vocabulary.words]
        tokens = np.array([*numbers, n_words], np.int64)[encoded.tokens]
        return cls(tokens, np.asarray(encoded.message_offsets), n_words)

    @property
    def base(self) -> int:
        """Number of symbols: words, the unknown one, the end, the start."""
        return self.n_words + 3

    @property
    def end(self) -> int:
        """Symbol of the end of a message."""
        return self.n_words + 1

    @property
    def start(self) -> int:
        """Symbol of the start of a message."""
        return self.n_words + 2

    @property
    def lengths(self) -> Numbers:
        """Number of words of each message, (n_messages,)."""
        return np.diff(self.offsets)

    def at(self, places: Numbers, inside: NDArray[np.bool_], otherwise: int) -> Numbers:
        """Return the words at some places, ``otherwise`` where these are not inside."""
        if not len(self.tokens):
            return np.full(len(places), otherwise, np.int64)
        found = self.tokens[np.clip(places, 0, len(self.tokens) - 1)]
        return np.where(inside, found, otherwise)


def words(numbered: Numbered) -> Occurrences:
    """Return the words of messages."""
    return numbered.offsets, numbered.tokens


def pairs(numbered: Numbered) -> Occurrences:
    """Return pairs of neighbouring words; the start and the end of a message count as words."""
    offsets, base = numbered.offsets, numbered.base
    full = np.flatnonzero(numbered.lengths > 0)
    before = np.concatenate(([numbered.start], numbered.tokens[:-1]))[: len(numbered.tokens)]
    before[offsets[full]] = numbered.start
    last = numbered.tokens[offsets[full + 1] - 1] * base + numbered.end
    codes = np.insert(before * base + numbered.tokens, offsets[full + 1], last)
    return offsets + _counted(numbered.lengths > 0), codes


def edges(numbered: Numbered) -> dict[str, Occurrences]:
    """Return the first three words, the last two, and the first with the last."""
    full = np.flatnonzero(numbered.lengths > 0)
    n, base = numbered.lengths[full], numbered.base
    first, last = numbered.offsets[full], numbered.offsets[full + 1] - 1
    start = [numbered.at(first + i, n > i, numbered.end) for i in range(3)]
    end = [numbered.at(last - i, n > i, numbered.start) for i in range(2)]
    offsets = _counted(numbered.lengths > 0)
    return {
        "beginnings": (offsets, (start[0] * base + start[1]) * base + start[2]),
        "ends": (offsets, end[1] * base + end[0]),
        "frames": (offsets, start[0] * base + end[0]),
    }


def _counted(there: NDArray[np.bool_]) -> Numbers:
    return np.concatenate(([0], np.cumsum(there)))


def present(occurrences: Occurrences, known: Numbers) -> Block:
    """Return which known codes each message has, (n_messages, n_known), as ones.

    Parameters
    ----------
    occurrences : (offsets, codes)
    known : array of int64, shape (n_known,)
        In order.
    """
    offsets, codes = occurrences
    if not len(known):
        return distinct(np.zeros_like(offsets), codes[:0], _alone(0), 0)
    columns = np.searchsorted(known, codes)
    columns[columns == len(known)] = 0
    return distinct(offsets, np.where(known[columns] == codes, columns, -1),
                    _alone(len(known)), len(known))  # fmt: skip


def _alone(n: int) -> tuple[Numbers, Numbers]:
    """Return lists of one column each."""
    return np.arange(n + 1), np.arange(n)


def frequent(occurrences: Occurrences, min_count: int) -> Numbers:
    """Return the codes that occur often enough, in order."""
    codes, counts = np.unique(occurrences[1], return_counts=True)
    return codes[counts >= min_count]
