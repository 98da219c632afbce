"""Words, pairs, beginnings, ends and character n-grams of messages, as numbers in flat arrays.

A word has its number in the tagger's vocabulary; ``V`` is any other word, ``V + 1`` the end and
``V + 2`` the start of a message. Several words in a row are one number to the base ``V + 3``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from palaver.encoding import Encoded, Vocabulary

Numbers = NDArray[np.int64]
Occurrences = tuple[Numbers, Numbers]  # messages, codes

#: Lengths of character n-grams; the ends of a word count as characters.
GRAMS = (2, 3, 4, 5)
_WORD_START, _WORD_END = "\x02", "\x03"


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
    return np.repeat(np.arange(len(numbered.lengths)), numbered.lengths), numbered.tokens


def pairs(numbered: Numbered) -> Occurrences:
    """Return pairs of neighbouring words; the start and the end of a message count as words."""
    messages, tokens = words(numbered)
    full = np.flatnonzero(numbered.lengths > 0)
    before = np.full(len(tokens), numbered.start, np.int64)
    before[1:] = tokens[:-1]
    before[numbered.offsets[full]] = numbered.start
    last = tokens[numbered.offsets[full + 1] - 1]
    codes = np.concatenate((before * numbered.base + tokens, last * numbered.base + numbered.end))
    return np.concatenate((messages, full)), codes


def edges(numbered: Numbered) -> dict[str, Occurrences]:
    """Return the first three words, the last two, and the first with the last."""
    full = np.flatnonzero(numbered.lengths > 0)
    n, base = numbered.lengths[full], numbered.base
    first, last = numbered.offsets[full], numbered.offsets[full + 1] - 1
    start = [numbered.at(first + i, n > i, numbered.end) for i in range(3)]
    end = [numbered.at(last - i, n > i, numbered.start) for i in range(2)]
    return {
        "beginnings": (full, (start[0] * base + start[1]) * base + start[2]),
        "ends": (full, end[1] * base + end[0]),
        "frames": (full, start[0] * base + end[0]),
    }


def grams_of(word: str) -> set[str]:
    """Return the character n-grams of a word."""
    marked = f"{_WORD_START}{word}{_WORD_END}"
    return {
        marked[i : i + size] for size in GRAMS for i in range(len(marked) - size + 1)
    }  # fmt: skip


def shown(gram: str) -> str:
    """Return an n-gram as people read it, with bars for the ends of a word."""
    return gram.replace(_WORD_START, "|").replace(_WORD_END, "|")


def characters(encoded: Encoded, known: dict[str, int]) -> sparse.csr_array:
    """Return which known character n-grams each message has, (n_messages, n_grams).

    Python loops over the different words alone.
    """
    rows, columns = [], []
    for number, word in enumerate(encoded.vocabulary.words):
        found = [known[gram] for gram in grams_of(word) if gram in known]
        rows += [number] * len(found)
        columns += found
    shape = (len(encoded.vocabulary), len(known))
    ones = np.ones(len(rows), np.float32)
    of_words = sparse.csr_array((ones, (np.array(rows, np.int64), np.array(columns, np.int64))),
                                shape)  # fmt: skip
    return _present(sparse.csr_array(_word_table(encoded) @ of_words))


def learn_grams(encoded: Encoded, min_count: int) -> list[str]:
    """Return the character n-grams of at least ``min_count`` occurrences, in order."""
    counts: dict[str, int] = {}
    occurrences = np.bincount(
        np.asarray(encoded.tokens)[np.asarray(encoded.tokens) >= 0],
        minlength=len(encoded.vocabulary),
    )
    for word, count in zip(encoded.vocabulary.words, occurrences.tolist(), strict=True):
        for gram in grams_of(word):
            counts[gram] = counts.get(gram, 0) + count
    return sorted(gram for gram, count in counts.items() if count >= min_count)


def _word_table(encoded: Encoded) -> sparse.csr_array:
    tokens = np.asarray(encoded.tokens)
    kept = tokens >= 0
    offsets = np.concatenate(([0], np.cumsum(kept)))[encoded.message_offsets]
    ones = np.ones(int(kept.sum()), np.float32)
    shape = (encoded.n_messages, len(encoded.vocabulary))
    return sparse.csr_array((ones, tokens[kept], offsets), shape)


def present(occurrences: Occurrences, known: Numbers, n_messages: int) -> sparse.csr_array:
    """Return which known codes each message has, (n_messages, n_known), as zeros and ones.

    Parameters
    ----------
    occurrences : (messages, codes)
    known : array of int64, shape (n_known,)
        In order.
    n_messages : int
    """
    messages, codes = occurrences
    columns = np.searchsorted(known, codes)
    columns[columns == len(known)] = 0
    found = known[columns] == codes if len(known) else np.zeros(len(codes), bool)
    ones = np.ones(int(found.sum()), np.float32)
    shape = (n_messages, len(known))
    table = sparse.csr_array((ones, (messages[found], columns[found])), shape)
    return _present(table)


def _present(table: sparse.csr_array) -> sparse.csr_array:
    table.sum_duplicates()
    table.data[:] = 1
    return table


def frequent(occurrences: Occurrences, min_count: int) -> Numbers:
    """Return the codes that occur often enough, in order."""
    codes, counts = np.unique(occurrences[1], return_counts=True)
    return codes[counts >= min_count]
