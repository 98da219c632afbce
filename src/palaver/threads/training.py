"""Learning from known replies: selecting messages, fitting rankers and temperatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.threads.evidence import Gathered
from palaver.threads.kernels.features import FEATURES
from palaver.threads.kernels.links import keep_likeliest
from palaver.threads.pairs import CandidatePairs, joined
from palaver.threads.ranker import (
    Ranker,
    fit_ranker,
    fit_temperature,
    fresh_ranker,
    normalized,
    spread_of,
)
from palaver.threads.second import SecondLook
from palaver.threads.steps import Scale, averaged, divided, fit_in_steps

#: Called with the share of the work done since the last call.
Progress = Callable[[float], None]

#: Candidates of a message to learn hidden units from: the likeliest by a linear ranker.
SHORTLIST = 30
_ITERATIONS = 200
_FOLDS = 5  # one of them is for the temperature
_BLOCK = 100
_PARTS = 3  # each is judged by a ranker learned from the others, as if it were new
_RANKERS = 3  # of the second look; their scores are averaged


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


@dataclass(frozen=True, eq=False)
class Looks:
    """What was learned.

    Attributes
    ----------
    ranker : Ranker
        The first look.
    temperature : float
        Divisor of its scores.
    second : Ranker or None
        The second look, already divided by its temperature.
    """

    ranker: Ranker
    temperature: float
    second: Ranker | None = None


def fit_linear(
    gathered: Gathered,
    pairs: CandidatePairs,
    right: NDArray[np.bool_],
    *,
    penalty: float,
    progress: Progress = lambda _: None,
) -> Looks:
    """Fit a linear ranker, and its temperature on a fifth of the data that is held out at first.

    Parameters
    ----------
    gathered : Gathered
    pairs, right : as returned by :func:`known_pairs`
    penalty : float
    progress : callable
        Called with shares that sum to one.
    """
    spread = spread_of(pairs.features)
    ranker = fresh_ranker(spread, 0, rng.generator(0, "hidden units"))
    temperature, left = 1.0, 1.0

    def on_iteration() -> None:
        nonlocal left
        step = min(0.5 / _ITERATIONS, left)
        left -= step
        progress(step)

    held = _folds(gathered, pairs, _FOLDS) == 0
    if held.any() and not held.all():
        owned = np.repeat(~held, np.diff(pairs.offsets))
        ranker = fit_ranker(
            pairs.only(~held), right[owned], penalty, spread, ranker, _ITERATIONS, on_iteration
        )
        judged = pairs.only(held)
        temperature = fit_temperature(ranker.scores(judged), judged.offsets, right[~owned])
    ranker = fit_ranker(pairs, right, penalty, spread, ranker, _ITERATIONS, on_iteration)
    progress(left)
    return Looks(ranker, temperature)


def shortlisted(
    parts: Iterable[CandidatePairs],
    parents: NDArray[np.int64],
    wanted: Callable[[CandidatePairs], NDArray[np.bool_]],
    ranker: Ranker | None,
) -> tuple[CandidatePairs, NDArray[np.bool_]]:
    """Return the wanted messages with their likeliest candidates and their parents.

    Parameters
    ----------
    parts, parents, wanted : as for :func:`known_pairs`
    ranker : Ranker or None
        Says which candidates are likely; None keeps all.
    """
    taken, found = [], []
    for part in parts:
        pairs, right = known_pairs([part], parents, wanted)
        if ranker is not None and len(right):
            kept = np.empty(len(right), bool)
            keep_likeliest(ranker.scores(pairs), pairs.offsets, SHORTLIST, kept)
            kept |= right
            pairs, right = pairs.these(kept), right[kept]
        taken.append(pairs)
        found.append(right)
    return joined(taken), np.concatenate(found)


def fit_looks(
    gathered: Gathered,
    pairs: CandidatePairs,
    right: NDArray[np.bool_],
    *,
    penalty: float,
    n_units: int,
    seed: int,
    n_looks: int = 2,
    progress: Progress = lambda _: None,
) -> Looks:
    """Fit rankers with hidden units: a first look, and a second that sees what the first found.

    The second look learns from first looks at messages that were not learned from: the
    conversations are divided into three parts, and each part is judged by a ranker that was
    fitted to the others.

    Parameters
    ----------
    gathered : Gathered
    pairs, right : as returned by :func:`shortlisted`
    penalty : float
    n_units : int
    seed : int
        Initializes the hidden units and draws the batches.
    n_looks : {1, 2}
    progress : callable
        Called with shares that sum to one.
    """
    scale = Scale.of(pairs.features)
    n_fits = _PARTS + (n_looks - 1) * (_RANKERS + 1)  # in terms of fits to all messages
    left = 1.0

    def on_share(share: float) -> None:
        nonlocal left
        step = min(share, left)
        left -= step
        progress(step)

    def fit(name: str, some: CandidatePairs, truth: NDArray[np.bool_], scale: Scale) -> Ranker:
        share = len(some.messages) / len(pairs.messages) / n_fits
        return fit_in_steps(
            some, truth, penalty=penalty, n_units=n_units, scale=scale,
            generator=rng.generator(seed, f"ranker {name}"),
            on_share=lambda done: on_share(done * share),
        )  # fmt: skip

    folds = _folds(gathered, pairs, _PARTS)
    scores = np.zeros(len(right))
    for fold in range(_PARTS):
        held = np.repeat(folds == fold, np.diff(pairs.offsets))
        if held.any() and not held.all():
            ranker = fit(f"without {fold}", pairs.only(folds != fold), right[~held], scale)
            scores[held] = ranker.scores(pairs.only(folds == fold))
    temperature = fit_temperature(scores, pairs.offsets, right) if scores.any() else 1.0
    first = fit("first", pairs, right, scale)
    if n_looks < 2 or not scores.any():
        progress(left)
        return Looks(first, temperature)
    chances = normalized(scores / temperature, pairs.offsets)
    structure = SecondLook(gathered).structure(pairs, chances)
    wide = replace(pairs, features=np.hstack((pairs.features[:, : len(FEATURES)], structure)))
    scale = Scale.of(wide.features)
    held = _folds(gathered, pairs, _FOLDS) == 0
    cooling = 1.0
    if held.any() and not held.all():
        owned = np.repeat(~held, np.diff(pairs.offsets))
        trial = fit("second, trial", wide.only(~held), right[owned], scale)
        judged = wide.only(held)
        cooling = fit_temperature(trial.scores(judged), judged.offsets, right[~owned])
    second = averaged([fit(f"second {k}", wide, right, scale) for k in range(_RANKERS)])
    progress(left)
    return Looks(first, temperature, divided(second, cooling))


def _folds(gathered: Gathered, pairs: CandidatePairs, n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each message: by conversation, or if these are few, by blocks."""
    offsets = gathered.evidence.conversation_offsets
    if len(offsets) > n_folds:
        return (np.searchsorted(offsets, pairs.messages, side="right") - 1) % n_folds
    return pairs.messages // _BLOCK % n_folds
