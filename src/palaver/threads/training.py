"""Learning from known replies: selecting messages, fitting ranker and temperature."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.threads.evidence import Gathered
from palaver.threads.pairs import CandidatePairs, joined
from palaver.threads.ranker import Ranker, fit_ranker, fit_temperature, fresh_ranker, spread_of

#: Called with the share of the work done since the last call.
Progress = Callable[[float], None]

#: Most iterations without the messages held out for the temperature, and then with all.
_ITERATIONS, _HIDDEN_ITERATIONS = (200, 200), (100, 30)
_FOLDS = 5  # one of them is for the temperature
_BLOCK = 100


def known_parents(corpus: Corpus, gathered: Gathered) -> NDArray[np.int64]:
    """Return the known parents of a corpus, by place, -1 for a start; (n_messages,)."""
    old = np.asarray(corpus.parents)[gathered.rows]
    return np.where(old < 0, -1, gathered.places[np.maximum(old, 0)])


def known_pairs(
    parts: Iterable[CandidatePairs],
    parents: NDArray[np.int64],
    wanted: Callable[[CandidatePairs], NDArray[np.bool_]],
) -> tuple[CandidatePairs, NDArray[np.bool_]]:
    """Return the wanted messages whose parent is among the candidates.

    Parameters
    ----------
    parts : iterable of CandidatePairs
    parents : array of int64, shape (n_messages,)
        Places of the parents, -1 for a start.
    wanted : callable
        Returns which messages of a batch to use.

    Returns
    -------
    pairs : CandidatePairs
    right : array of bool, shape (n_pairs,)
        The true parent, one per message.
    """
    taken, found = [], []
    for pairs in parts:
        right = pairs.candidates == parents[pairs.messages][pairs.owners]
        kept = wanted(pairs) & (np.add.reduceat(right, pairs.offsets[:-1]) > 0)
        taken.append(pairs.only(kept))
        found.append(right[np.repeat(kept, np.diff(pairs.offsets))])
    return joined(taken), np.concatenate(found)


def fit_calibrated(
    gathered: Gathered,
    pairs: CandidatePairs,
    right: NDArray[np.bool_],
    *,
    penalty: float,
    n_units: int,
    seed: int,
    progress: Progress,
) -> tuple[Ranker, float]:
    """Fit a ranker, and its temperature on a fifth of the data that is held out at first.

    Parameters
    ----------
    gathered : Gathered
    pairs, right : as returned by :func:`known_pairs`
    penalty : float
    n_units : int
        Number of hidden units.
    seed : int
        Initializes the hidden units.
    progress : callable
        Called with shares that sum to one.
    """
    spread = spread_of(pairs.features)
    ranker = fresh_ranker(spread, n_units, rng.generator(seed, "hidden units"))
    temperature = 1.0
    first, again = _HIDDEN_ITERATIONS if n_units else _ITERATIONS
    left = 1.0

    def on_iteration() -> None:
        nonlocal left
        step = min(1.0 / (first + again), left)
        left -= step
        progress(step)

    held = _folds(gathered, pairs) == 0
    if held.any() and not held.all():
        owned = np.repeat(~held, np.diff(pairs.offsets))
        ranker = fit_ranker(
            pairs.only(~held), right[owned], penalty, spread, ranker, first, on_iteration
        )
        judged = pairs.only(held)
        temperature = fit_temperature(ranker.scores(judged), judged.offsets, right[~owned])
    else:
        again += first
    ranker = fit_ranker(pairs, right, penalty, spread, ranker, again, on_iteration)
    progress(left)
    return ranker, temperature


def _folds(gathered: Gathered, pairs: CandidatePairs) -> NDArray[np.int64]:
    """Return the fold of each message: by conversation, or if these are few, by blocks."""
    offsets = gathered.evidence.conversation_offsets
    if len(offsets) > _FOLDS:
        return (np.searchsorted(offsets, pairs.messages, side="right") - 1) % _FOLDS
    return pairs.messages // _BLOCK % _FOLDS
