"""Character n-grams of words, by arrays.

Known n-grams are a tree: those of one size are numbered in order of their key, the number of the
n-gram without its last character times the size of the alphabet, plus that character. So keys never
outgrow 64 bits, and the n-grams of all words are found size by size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

#: Sizes of n-grams; the ends of a word count as characters.
SIZES = (2, 3, 4, 5)
_WORD_START, _WORD_END = "\x02", "\x03"


def grams_of(word: str) -> set[str]:
    """Return the character n-grams of a word."""
    marked = f"{_WORD_START}{word}{_WORD_END}"
    return {
        marked[i : i + size] for size in SIZES for i in range(len(marked) - size + 1)
    }  # fmt: skip


def shown(gram: str) -> str:
    """Return an n-gram as people read it, with bars for the ends of a word."""
    return gram.replace(_WORD_START, "|").replace(_WORD_END, "|")


def learn_grams(words: Sequence[str], counts: Sequence[int], min_count: int) -> list[str]:
    """Return the n-grams of words that occur at least ``min_count`` times, in order."""
    found: dict[str, int] = {}
    for word, count in zip(words, counts, strict=True):
        for gram in grams_of(word):
            found[gram] = found.get(gram, 0) + count
    return sorted(gram for gram, count in found.items() if count >= min_count)


class GramTree:
    """Known n-grams, to be found in words.

    Parameters
    ----------
    grams : sequence of str
        Their columns are their places.
    """

    def __init__(self, grams: Sequence[str]) -> None:
        texts = sorted({gram[:size] for gram in grams for size in range(1, len(gram) + 1)},
                       key=lambda text: (len(text), text))  # fmt: skip
        columns = {gram: column for column, gram in enumerate(grams)}
        places = np.array([columns.get(text, -1) for text in texts], np.int64)
        sizes = np.array([len(text) for text in texts], np.int64)
        self._alphabet = np.unique(_codes(texts))
        characters = self._numbered(_codes(texts))
        last = characters[np.cumsum(sizes) - 1]
        first = np.cumsum(sizes) - sizes
        #: Keys and columns of each size, from 1 on.
        self._levels: list[tuple[Numbers, Numbers]] = []
        for size in range(1, int(sizes.max(initial=0)) + 1):
            rows = np.flatnonzero(sizes == size)
            keys = self._find(characters, first[rows], size - 1) * self._base + last[rows]
            order = np.argsort(keys)
            self._levels.append((keys[order], places[rows][order]))

    @property
    def _base(self) -> int:
        return len(self._alphabet) + 1

    def _numbered(self, codes: Numbers) -> Numbers:
        """Return the numbers of characters in the alphabet, 0 for unknown ones."""
        places = np.searchsorted(self._alphabet, codes)
        places[places == len(self._alphabet)] = 0
        return np.where(self._alphabet[places] == codes, places + 1, 0)

    def _find(self, characters: Numbers, first: Numbers, size: int) -> Numbers:
        """Return the numbers of the n-grams of a size that start at some places."""
        found = np.zeros(len(first), np.int64)
        for i, (keys, _) in enumerate(self._levels[:size]):
            found = np.searchsorted(keys, found * self._base + characters[first + i])
        return found

    def __call__(self, words: Sequence[str]) -> tuple[Numbers, Numbers]:
        """Return the columns of each word's known n-grams: offsets and columns, in no order."""
        if not self._levels or not words:
            return np.zeros(len(words) + 1, np.int64), np.zeros(0, np.int64)
        lengths = np.array([len(word) for word in words], np.int64) + 2
        characters = self._numbered(_codes([f"{_WORD_START}{w}{_WORD_END}" for w in words]))
        owner = np.repeat(np.arange(len(words)), lengths)
        places, number = np.arange(len(owner)), np.zeros(len(owner), np.int64)
        owners, columns = [], []
        for i, (keys, own) in enumerate(self._levels):
            if i:
                inside = places + i < len(owner)
                inside[inside] = owner[places[inside]] == owner[places[inside] + i]
                places, number = places[inside], number[inside]
            wanted = number * self._base + characters[places + i]
            number = np.searchsorted(keys, wanted)
            number[number == len(keys)] = 0
            known = keys[number] == wanted
            places, number = places[known], number[known]
            there = own[number] >= 0
            owners.append(owner[places[there]])
            columns.append(own[number[there]])
        owner, column = np.concatenate(owners), np.concatenate(columns)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(words)))))
        return offsets, column[np.argsort(owner, kind="stable")]


def _codes(texts: Sequence[str]) -> Numbers:
    """Return the code points of texts in a row."""
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4").astype(
        np.int64
    )
