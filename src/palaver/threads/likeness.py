"""How alike two corpora are, judged by their messages alone, without their replies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.threads.kernels import features as columns
from palaver.threads.kernels.features import FEATURES
from palaver.threads.pairs import CandidatePairs
from palaver.threads.ranker import normalized

#: Distances up to which what was learned is trusted, and from which it is not. Between parts of
#: one corpus (training parts, 60 messages and more) they are 0 to 0.41, between corpora of
#: different kinds 0.61 to 1.1.
ALIKE, UNLIKE = 0.45, 0.6
#: What is no channel: shorter than this, with fewer people or longer messages than these.
CHANNEL_LENGTH, CHANNEL_PEOPLE, CHANNEL_WORDS = 100, 4, 20.0
_MOST = 20_000  # messages that are looked at
_FEWEST = 50  # from which anything can be said
_LARGEST = 4.0  # that one feature can count, in squared deviations
_STILL = 1e-6  # variance of a feature that does not vary
#: Features that depend on what was learned.
_LEARNED = np.array([name == "model" or "leaning" in name for name in FEATURES])
#: Features that also depend on the size of a corpus: which words are rare.
_SIZED = np.array(
    [any(part in name for part in ("similarity", "rare", "nearest", "quoted")) for name in FEATURES]
)


@dataclass(frozen=True, eq=False)
class Portrait:
    """What messages look like beside the previous and the first message.

    Attributes
    ----------
    means, variances : array of float64, shape (2 * n_features,)
        Of the features of the previous message as a candidate, then of the first one.
    n_messages : int
        Number of messages with a choice.
    """

    means: NDArray[np.float64]
    variances: NDArray[np.float64]
    n_messages: int

    @classmethod
    def of(cls, parts: Iterable[CandidatePairs]) -> Self:
        """Return the portrait of the first messages that have several candidates."""
        sums = np.zeros((2, 2 * len(FEATURES)))
        n_messages = 0
        for pairs in parts:
            seen = _beside(pairs)
            sums += seen.sum(axis=0), (seen**2).sum(axis=0)
            n_messages += len(seen)
            if n_messages >= _MOST:
                break
        means, squares = sums / max(n_messages, 1)
        return cls(means, squares - means**2, n_messages)

    def distance(self, other: Portrait) -> float | None:
        """Return the root mean squared difference of means, in standard deviations.

        What differs by chance is subtracted. None: too few messages to say.
        """
        if min(self.n_messages, other.n_messages) < _FEWEST:
            return None
        variance = (self.variances + other.variances) / 2
        varies = (variance > _STILL) & ~np.tile(_LEARNED | _SIZED, 2)
        if not varies.any():
            return None
        by_chance = self.variances / self.n_messages + other.variances / other.n_messages
        differences = ((self.means - other.means) ** 2 - by_chance)[varies] / variance[varies]
        return float(np.sqrt(max(np.minimum(differences, _LARGEST).mean(), 0.0)))


def _beside(pairs: CandidatePairs) -> NDArray[np.float64]:
    """Return the features of the previous and the first message, for messages with a choice."""
    n_features = pairs.features.shape[1]
    seen = np.zeros((len(pairs.messages), 2 * n_features))
    owners = pairs.owners
    for begin, mark in ((0, columns.PREVIOUS), (n_features, columns.FIRST)):
        there = pairs.features[:, mark] > 0
        seen[owners[there], begin : begin + n_features] = pairs.features[there]
    return seen[np.diff(pairs.offsets) > 2]


def separate(corpus: Corpus) -> str | None:
    """Say what makes conversations look separate, not like channels; None if nothing does.

    The conversation of a typical message decides. Pieces of a channel, even of ten lines, have more
    people than dialogues and shorter messages than forums.
    """
    facts = corpus.table.select(
        size=pl.len().over("conversation"),
        people=pl.col("speaker").drop_nulls().n_unique().over("conversation"),
        words=pl.col("text").str.count_matches(r"\w+"),
    ).median()
    size, people, words = (float(value or 0) for value in facts.row(0))
    if size >= CHANNEL_LENGTH or (people >= CHANNEL_PEOPLE and words < CHANNEL_WORDS):
        return None
    return f"typically {size:.0f} messages of {words:.0f} words by {people:.0f} people"


def trust(distance: float | None) -> float:
    """Return how much to rely on what was learned at a distance, between 0 and 1."""
    if distance is None:
        return 1.0
    return float(np.clip((UNLIKE - distance) / (UNLIKE - ALIKE), 0.0, 1.0))


def unlearned(pairs: CandidatePairs) -> CandidatePairs:
    """Return the pairs without features that depend on what was learned."""
    features = pairs.features.copy()
    features[:, _LEARNED] = 0.0
    return CandidatePairs(features, pairs.offsets, pairs.candidates, pairs.messages)


def blended(
    learned: NDArray[np.float64],
    default: NDArray[np.float64],
    share: float,
    offsets: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the normalized weighted geometric mean of two probabilities of each candidate."""
    tiny = np.finfo(float).tiny
    scores = share * np.log(np.maximum(learned, tiny))
    scores += (1 - share) * np.log(np.maximum(default, tiny))
    return normalized(scores, offsets)
