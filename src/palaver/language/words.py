"""Words of a language model and their numbers, including the unknown word and the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN, START, END = "<unk>", "<s>", "</s>"


@dataclass(frozen=True, eq=False)
class WordNumbers:
    """Words that can be predicted, in the order of their numbers; number 0 is the unknown word.

    The start of a sentence is never predicted; as a parent, its number is ``len(words)``.
    """

    words: list[str]
    end: bool

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    @classmethod
    def choose(cls, sentences: Sequence[Sequence[str]], min_count: int, end: bool) -> WordNumbers:
        """Keep sufficiently frequent words, the most frequent first."""
        counts = Counter(chain.from_iterable(sentences))
        special = [UNKNOWN, END] if end else [UNKNOWN]
        kept = [w for w, n in counts.items() if n >= min_count and w not in (*special, START)]
        return cls([*special, *sorted(kept, key=lambda w: (-counts[w], w))], end)

    def encode(
        self, sentences: Sequence[Sequence[str]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of all words, including ends, and the offsets of sentences."""
        get, end = self.index.get, self.index[END] if self.end else 0
        numbers: list[int] = []
        offsets = [0]
        for sentence in sentences:
            numbers += [get(word, 0) for word in sentence]
            if self.end:
                numbers.append(end)
            offsets.append(len(numbers))
        return np.array(numbers, np.int64), np.array(offsets, np.int64)

    def context(self, word: str) -> int:
        """Return the number of a word as a parent."""
        return len(self.words) if word == START else self.index.get(word, 0)


def word_parents(order: int) -> list[str]:
    """Return the names of the preceding words in an n-gram: word (the nearest), word2, ..."""
    return ["word", *(f"word{n}" for n in range(2, order))][: order - 1]


def number_words(values: Iterable[Any]) -> dict[Any, int]:
    """Assign numbers to values in order of first appearance; None gets no number."""
    kept = (value for value in dict.fromkeys(values) if value is not None)
    return {value: number for number, value in enumerate(kept)}
