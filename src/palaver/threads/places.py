"""Rebuilding without any known replies: where parents usually are, and what words and names say.

The probability of a candidate is that of its place (the previous message, the first one, ...) given
who speaks, times the evidence of its content::

    P(i replies to j)  ∝  shares[kind of speaker, place of j] / candidates there * exp(w x(i, j))

with features ``x`` of the content. Shares and ``w`` are in :class:`Defaults`. What differs most
between corpora, namely whether messages reply to the previous one or to the first one, is not among
them: EM estimates it from the content of the corpus itself, as the shares of places that make its
shared words, quotations and names most likely.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from palaver.threads.kernels import features as columns
from palaver.threads.kernels.features import FEATURES
from palaver.threads.kernels.links import find_places
from palaver.threads.pairs import CandidatePairs
from palaver.threads.ranker import scores_of

PLACES = ("previous", "first", "after mine", "my last", "second", "elsewhere", "start")
KINDS = ("unknown", "returning", "newcomer", "asker")

#: What naming somebody means; writing conventions, not learned.
CONVENTIONS = {
    "mentioned": 1.5, "mentioned, last of speaker": 0.5, "addressed": 0.5, "mentions me": 0.5,
    "addresses the same": -2.0, "one handle more": 1.0,
}  # fmt: skip

#: Shared content, whose weights are learned (palaver.threads.learn).
CONTENT = ("similarity", "rare words", "quoted")

#: Share of messages that start a conversation in a channel, by kind of speaker; set by hand.
CHANNEL_STARTS = np.array([0.1, 0.03, 0.4, 0.03])

#: Pauses in a channel longer than this many usual gaps suggest a start; set by hand.
CHANNEL_PAUSE = 3.0

_FILE = Path(__file__).with_name("defaults.json")
_COLUMNS = np.array(
    [
        columns.PREVIOUS, columns.FIRST, columns.AFTER_MINE, columns.SAME, columns.SPOKEN_SINCE,
        columns.SECOND, columns.LOG_DISTANCE, columns.LAST_OF_SPEAKER, columns.NEWCOMER_PREVIOUS,
        columns.ASKER_PREVIOUS,
    ]
)  # fmt: skip
_MOST_TILT = 4.0  # first over previous; content exaggerates what all messages share
_ITERATIONS, _CLOSE = 300, 1e-5
_FEW = 1e-9


@dataclass(frozen=True, eq=False)
class Defaults:
    """What is known about replies in general.

    Attributes
    ----------
    content : dict of str to float
        Weights of :data:`CONTENT`.
    shares : array of float64, shape (4, 6)
        Where parents are (:data:`PLACES` except the start), by kind of speaker.
    temperature : float
        Divisor of the scores.
    """

    content: dict[str, float]
    shares: NDArray[np.float64]
    temperature: float = 1.0

    @classmethod
    def load(cls) -> Self:
        """Return the numbers that ship with Palaver."""
        found = cls.from_json(json.loads(_FILE.read_text("utf-8")))
        shares = found.shares / found.shares.sum(
            axis=1, keepdims=True
        )  # those in the file are rounded
        return replace(found, shares=shares)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return the defaults that :meth:`to_json` wrote."""
        return cls(content["content"], np.array(content["shares"]), content["temperature"])

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        shares = self.shares.tolist()
        return {"content": self.content, "shares": shares, "temperature": self.temperature}

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of all features: conventions and content, and zero for the rest."""
        weights = np.zeros(len(FEATURES))
        for name, weight in {**CONVENTIONS, **self.content}.items():
            weights[FEATURES.index(name)] = weight
        return weights


@dataclass(frozen=True, eq=False)
class Sorted:
    """Candidates by place, messages by kind; see :func:`find_places`."""

    places: NDArray[np.int8]
    kinds: NDArray[np.int8]
    spread: NDArray[np.float64]


def sort_places(pairs: CandidatePairs, is_channel: bool) -> Sorted:
    """Sort candidates by place and messages by kind of speaker."""
    n_pairs, n_messages = len(pairs.candidates), len(pairs.messages)
    found = Sorted(np.empty(n_pairs, np.int8), np.empty(n_messages, np.int8), np.empty(n_pairs))
    find_places(pairs.features, _COLUMNS, pairs.offsets, pairs.candidates, is_channel,
                found.places, found.kinds, found.spread)  # fmt: skip
    return found


def infer_tilt(pairs: CandidatePairs, content: NDArray[np.float64]) -> float:
    """Return how many messages reply to the first one for each that replies to the previous one.

    EM over four places (the previous message, the first, the one before last, any other), with the
    likelihood ratio ``exp(content)`` of each candidate.

    Parameters
    ----------
    pairs : CandidatePairs
        Messages with too few candidates are left out.
    content : array of float64, shape (n_pairs,)
        Scores of the content that messages share.
    """
    counts = np.diff(pairs.offsets)
    owners = pairs.owners
    used = (pairs.candidates >= 0) & (counts[owners] > 3)
    if not used.any():
        return 1.0
    marks = pairs.features[used][:, [columns.PREVIOUS, columns.FIRST, columns.SECOND]] > 0
    places = np.where(marks.any(axis=1), marks.argmax(axis=1), 3)
    _, owners = np.unique(owners[used], return_inverse=True)
    there = np.bincount(owners * 4 + places, minlength=4 * (owners[-1] + 1))
    evidence = np.exp(content[used]) / there[owners * 4 + places]
    shares = np.full(4, 0.25)
    for _ in range(_ITERATIONS):
        chances = evidence * shares[places]
        chances /= np.bincount(owners, chances)[owners]
        new = np.bincount(places, chances, 4) / len(there) * 4
        done = np.abs(new - shares).max() < _CLOSE
        shares = new
        if done:
            break
    tilt = shares[1] / max(shares[0], _FEW)
    return float(np.clip(tilt, 1 / _MOST_TILT, _MOST_TILT))


def tilted(defaults: Defaults, tilt: float | None) -> NDArray[np.float64]:
    """Return the log shares of places by kind of speaker, (4, 7), for a corpus.

    Parameters
    ----------
    defaults : Defaults
    tilt : float or None
        The result of :func:`infer_tilt`. It shifts the shares of new or unknown speakers; others
        mostly reply to the previous message everywhere. None for channels, where nobody replies to
        the first message and conversations may start anywhere.
    """
    shares = np.column_stack((defaults.shares, np.zeros(len(KINDS))))
    if tilt is None:
        shares[:, 1] = 0.0
        shares[3] = shares[1]
        shares *= ((1 - CHANNEL_STARTS) / shares.sum(axis=1))[:, None]
        shares[:, 6] = CHANNEL_STARTS
    else:
        for kind in (0, 2):
            both = shares[kind, 0] + shares[kind, 1]
            shares[kind, :2] = both / (1 + tilt), both * tilt / (1 + tilt)
    return np.log(np.maximum(shares, 1e-30))


def place_scores(
    pairs: CandidatePairs, defaults: Defaults, log_shares: NDArray[np.float64], is_channel: bool
) -> NDArray[np.float64]:
    """Return the score of each candidate, (n_pairs,)."""
    found = sort_places(pairs, is_channel)
    kinds = np.repeat(found.kinds, np.diff(pairs.offsets))
    scores = log_shares[kinds, found.places] + np.log(found.spread)
    if is_channel:
        pauses = pairs.features[:, columns.START_TIME] - np.log1p(CHANNEL_PAUSE)
        scores += np.maximum(pauses, 0.0)
    return np.asarray((scores + scores_of(pairs, defaults.weights)) / defaults.temperature)
