"""Learning from known replies: which messages, and how ranker and temperature are fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.threads.evidence import Gathered
from palaver.threads.pairs import Pairs, joined
from palaver.threads.ranker import Ranker, fit_ranker, fit_temperature, fresh_ranker, spread_of

#: Told the share of the work that was done since it was last told.
Progress = Callable[[float], None]

#: At most, without the messages for the temperature, then on with all.
_ITERATIONS, _HIDDEN_ITERATIONS = (200, 200), (100, 30)
_FOLDS = 5  # one of which is for the temperature
_BLOCK = 100


def known_parents(corpus: Corpus, gathered: Gathered) -> NDArray[np.int64]:
    """Return the parents that a corpus gives, by place, -1 for a start; (n_messages,)."""
    old = np.asarray(corpus.parents)[gathered.rows]
    return np.where(old < 0, -1, gathered.places[np.maximum(old, 0)])


def known_pairs(
    parts: Iterable[Pairs],
    parents: NDArray[np.int64],
    wanted: Callable[[Pairs], NDArray[np.bool_]],
) -> tuple[Pairs, NDArray[np.bool_]]:
    """Return the wanted messages whose parent is among the candidates.

    Parameters
    ----------
    parts : iterable of Pairs
    parents : array of int64, shape (n_messages,)
        By place, -1 for a start.
    wanted : callable
        Says of each message of a part whether to take it.

    Returns
    -------
    pairs : Pairs
    right : array of bool, shape (n_pairs,)
        The true parent, one a message.
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
    pairs: Pairs,
    right: NDArray[np.bool_],
    *,
    penalty: float,
    n_units: int,
    seed: int,
    progress: Progress,
) -> tuple[Ranker, float]:
    """Fit a ranker, and the temperature on a fifth that is first left out.

    Parameters
    ----------
    gathered : Gathered
    pairs, right : as of :func:`known_pairs`
    penalty : float
    n_units : int
        Hidden units.
    seed : int
        Of the hidden units' start.
    progress : callable
        Told shares that sum to one.
    """
    spread = spread_of(pairs.features)
    ranker = fresh_ranker(spread, n_units, rng.generator(seed, "hidden units"))
    temperature = 1.0
    first, again = _HIDDEN_ITERATIONS if n_units else _ITERATIONS
    left = 1.0

    def told() -> None:
        nonlocal left
        step = min(1.0 / (first + again), left)
        left -= step
        progress(step)

    held = _folds(gathered, pairs) == 0
    if held.any() and not held.all():
        owned = np.repeat(~held, np.diff(pairs.offsets))
        ranker = fit_ranker(pairs.only(~held), right[owned], penalty, spread, ranker, first, told)
        judged = pairs.only(held)
        temperature = fit_temperature(ranker.scores(judged), judged.offsets, right[~owned])
    else:
        again += first
    ranker = fit_ranker(pairs, right, penalty, spread, ranker, again, told)
    progress(left)
    return ranker, temperature


def _folds(gathered: Gathered, pairs: Pairs) -> NDArray[np.int64]:
    """Return the fold of each message: by conversation, of few ones by blocks of messages."""
    offsets = gathered.evidence.conversation_offsets
    if len(offsets) > _FOLDS:
        return (np.searchsorted(offsets, pairs.messages, side="right") - 1) % _FOLDS
    return pairs.messages // _BLOCK % _FOLDS
