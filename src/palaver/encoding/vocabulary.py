"""The vocabulary: which words to keep, and their numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.act_view import is_mark
from palaver.errors import CorpusError
from palaver.params import check, either, nothing, one_of, real, whole

_LIMITS = {
    "min_count": either(whole(1), one_of("auto")),
    "max_share": real(above=0, high=1),
    "max_size": either(whole(1), nothing()),
}

#: Rare words say little about acts and cost memory, but small corpora cannot do without them.
_AUTO_MIN_COUNT = ((20_000, 1), (200_000, 2))


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Words in order of their numbers, the most frequent first.

    Attributes
    ----------
    words : list of str
    counts : array of int64, shape (n_words,)
        How often each word occurred when the vocabulary was created.
    """

    words: list[str]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.words)

    def check(self, name: str) -> None:
        """Refuse words that are no list, or do not match their counts.

        Raises
        ------
        CorpusError
        """
        if not isinstance(self.words, list) or len(self.words) != len(self.counts):
            raise CorpusError(f"{name}: must be a list of words with one count each")

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def view(self) -> str:
        """Which tokens messages are made of: "words", or "acts" if beginnings and ends count."""
        return "acts" if any(is_mark(word) for word in self.words) else "words"

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} words: {', '.join(self.words[:5])}, ...)"


def select_words(
    words: Sequence[str],
    counts: NDArray[np.int64],
    message_counts: NDArray[np.int64],
    n_messages: int,
    *,
    min_count: int | Literal["auto"] = "auto",
    max_share: float = 1.0,
    max_size: int | None = None,
    stop_words: Collection[str] = (),
) -> Vocabulary:
    """Select the words to keep.

    Parameters
    ----------
    words, counts, message_counts : sequences, shape (n_types,)
        The types, how often each occurs, and in how many messages.
    n_messages : int
    min_count : int or "auto"
        Drop words that occur less often. "auto" is 1 below 20,000 tokens, 2 below 200,000, else 5.
    max_share : float
        Drop words that occur in more than this share of the messages.
    max_size : int, optional
        Keep at most this many of the most frequent words.
    stop_words : collection of str
        Words to drop; none by default, because function words distinguish acts.
    """
    check(
        "encode",
        _LIMITS,
        {"min_count": min_count, "max_share": max_share, "max_size": max_size},
    )
    if min_count == "auto":
        total = int(counts.sum())
        lowest = next((value for limit, value in _AUTO_MIN_COUNT if total < limit), 5)
    else:
        lowest = min_count
    keep = (counts >= lowest) & (message_counts <= max_share * n_messages)
    stopped = frozenset(stop_words)
    kept = [i for i in np.flatnonzero(keep).tolist() if words[i] not in stopped]
    chosen = sorted(kept, key=lambda i: (-counts[i], words[i]))[:max_size]
    if len(words) and not chosen:
        raise CorpusError(
            f"none of {len(words):,} words is left: lower min_count ({lowest}) or raise "
            f"max_share ({max_share:g})"
        )
    return Vocabulary([words[i] for i in chosen], counts[chosen].astype(np.int64))
