"""How many acts there are: which states of a search say nearly the same and become one act.

Two acts are one if telling them apart is worth little: the log Bayes factor of two acts against
one, of their features and of what follows what, per unit of the smaller. With the features of
each act and the rows of transitions summed out, it is

    (d)  log p(features | two acts) - log p(features | one)
       + log p(moves | two acts) - log p(moves | one) - log p(which of the two | one)

where one act, after any other, is the first of the two with one and the same probability. What
seed words say in (c) is added: units of the one act as units of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from palaver.models.acts import consensus
from palaver.models.acts.engine import ActEngine
from palaver.models.acts.vectors import explained

#: Acts that differ by fewer nats per unit of the smaller are merged when the data decide, and so
#: are acts of a smaller share of the units than this.
ALIKE, SMALL_SHARE = 2.0, 0.01
#: Searches that must have found an act when the data decide, where there are twice as many.
FEWEST_FINDERS = 2
_RARE_FIRST = 1e6


def merge_alike(
    engine: ActEngine,
    counts: NDArray[np.float64],
    sizes: NDArray[np.float64],
    *,
    fewest: int,
    moves: NDArray[np.float64] | None = None,
    n_named: int = 0,
    vectors: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Merge acts that differ by little; return the group of each act, numbered through.

    The two that differ least, by (d) per unit of the smaller, are merged, as long as they differ
    by less than :data:`ALIKE`; so is an act of less than :data:`SMALL_SHARE` of the units, with
    the act that it differs from least.

    Parameters
    ----------
    engine : ActEngine
    counts : array of float64, shape (F, K)
        Summed weights of features.
    sizes : array of float64, shape (K,)
        Units of each act.
    fewest : int
        Groups to leave, unless merging further loses nothing or some are too small.
    moves : array of float64, shape (C K + 1, K), optional
        Numbers of transitions; without them, features decide alone.
    n_named : int
        The first acts, which have names, are not merged with each other, nor with larger ones
        without a name, which are something else.
    vectors : array of float64, shape (K, D + 1), optional
        As :func:`palaver.models.acts.vectors.explained` gives them.
    """
    acts = _Together(engine, counts, sizes, moves, vectors)
    least = SMALL_SHARE * acts.sizes.sum()
    while (n_groups := len(left := np.unique(acts.groups))) > max(n_named, 1):
        pairs = [
            (a, b) for a in left for b in left
            if b > a and b >= n_named and (a >= n_named or acts.sizes[b] <= acts.sizes[a])
        ]  # fmt: skip
        if not pairs:
            break
        loss, smaller = acts.losses(pairs)
        difference = loss / np.maximum(smaller, 1) - np.where(smaller < least, _RARE_FIRST, 0)
        best = int(np.argmin(difference))
        few = n_groups <= fewest and loss[best] > 0 and smaller[best] >= least
        if few or difference[best] >= ALIKE:
            break
        acts.merge(*pairs[best])
    return acts.numbered()


def merge_namesakes(
    engine: ActEngine, answer: consensus.Answer, groups: NDArray[np.int64], names: Sequence[int]
) -> NDArray[np.int64]:
    """Merge the two acts of one name that differ least by (d) per unit of the smaller.

    Returns the act of each state, as it was if all names are different.

    Parameters
    ----------
    engine : ActEngine
    answer : Answer
    groups : array of int64, shape (K,)
        The act of each state.
    names : sequence of int
        A number for each act, equal where names are.
    """
    pairs = [(a, b) for a, b in combinations(range(len(names)), 2) if names[a] == names[b]]
    return _merge_closest(engine, answer, groups, pairs) if pairs else groups


def _merge_closest(
    engine: ActEngine, answer: consensus.Answer, groups: NDArray[np.int64],
    pairs: Sequence[tuple[int, int]],
) -> NDArray[np.int64]:  # fmt: skip
    """Merge the acts of that pair, the lower number first, that differs least."""
    acts = _Together(engine, **evidence_of(engine, answer))
    first = [int(np.flatnonzero(groups == act)[0]) for act in range(int(groups.max()) + 1)]
    for state, act in enumerate(groups):
        if state != first[act]:
            acts.merge(first[act], state)
    loss, smaller = acts.losses([(first[a], first[b]) for a, b in pairs])
    kept, gone = pairs[int(np.argmin(loss / np.maximum(smaller, 1)))]
    return np.unique(np.where(groups == gone, kept, groups), return_inverse=True)[1]


def evidence_of(engine: ActEngine, answer: consensus.Answer) -> dict[str, Any]:
    """Return what decides whether states are merged, as :func:`merge_alike` takes it."""
    statistics, states = answer.statistics, answer.posteriors.argmax(axis=1)
    return {
        "counts": statistics["feature_counts"],
        "sizes": np.bincount(states, minlength=engine.n_acts).astype(float),
        "moves": statistics.get("moves"),
        "vectors": None if engine.vectors is None else explained(engine.vectors, statistics),
    }


class _Together:
    """Acts that are put together step by step; the lower number stays."""

    def __init__(
        self, engine: ActEngine, counts: NDArray[np.float64], sizes: NDArray[np.float64],
        moves: NDArray[np.float64] | None, vectors: NDArray[np.float64] | None,
    ) -> None:  # fmt: skip
        self.said = _Said(engine, counts, vectors)
        self.follow = _Following(moves, engine.n_acts, engine.transition_prior)
        self.sizes = np.asarray(sizes, float).copy()
        self.groups = np.arange(engine.n_acts)

    def losses(
        self, pairs: Sequence[tuple[int, int]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (d) of each pair, and the units of its smaller act."""
        loss = [
            self.said.loss(a, b) + self.follow.loss(a, b) + self._seeds_loss(a, b) for a, b in pairs
        ]
        smaller = [min(self.sizes[a], self.sizes[b]) for a, b in pairs]
        return np.array(loss), np.array(smaller)

    def _seeds_loss(self, one: int, other: int) -> float:
        """Return what seed words say against the units of ``other`` in ``one``."""
        seeds = self.said.engine.seeds
        if seeds is None:
            return 0.0
        against = (seeds.units[one] - seeds.units[other]) * self.sizes[other]
        counts = self.said.counts[: self.said.n_features, other]
        return float(against - (seeds.features[:, one] - seeds.features[:, other]) @ counts)

    def merge(self, one: int, other: int) -> None:
        """Make two acts one."""
        self.said.merge(one, other)
        self.follow.merge(one, other)
        self.sizes[one] += self.sizes[other]
        self.groups = np.where(self.groups == other, one, self.groups)

    def numbered(self) -> NDArray[np.int64]:
        """Return the act of each one, numbered through."""
        return np.unique(self.groups, return_inverse=True)[1]


class _Said:
    """Features of acts, and what merging two of them loses of the features' evidence."""

    def __init__(
        self, engine: ActEngine, counts: NDArray[np.float64], vectors: NDArray[np.float64] | None
    ) -> None:
        self.engine, self.n_features = engine, len(counts)
        more = np.zeros((0, counts.shape[1])) if vectors is None else vectors.T
        self.counts = np.vstack((counts, more))
        self.prior = engine.feature_prior[:, -1]
        self.alone = np.array([self._evidence(column) for column in self.counts.T])
        self.known: dict[tuple[int, int], float] = {}

    def _evidence(self, column: NDArray[np.float64]) -> float:
        value = self.engine.evidence(column[: self.n_features], self.prior)
        sums, n = column[self.n_features : -1], column[-1]
        return value + float(sums @ sums / (2 * n)) if len(sums) and n > 0 else value

    def loss(self, one: int, other: int) -> float:
        """Return the first line of (d)."""
        if (one, other) not in self.known:
            joint = self._evidence(self.counts[:, one] + self.counts[:, other])
            self.known[one, other] = float(self.alone[one] + self.alone[other] - joint)
        return self.known[one, other]

    def merge(self, one: int, other: int) -> None:
        """Add the features of ``other`` to those of ``one``."""
        self.counts[:, one] += self.counts[:, other]
        self.alone[one] = self._evidence(self.counts[:, one])
        self.known = {pair: value for pair, value in self.known.items() if one not in pair}


class _Following:
    """Transitions between acts, and what merging two of them loses of their evidence."""

    def __init__(self, moves: NDArray[np.float64] | None, n_acts: int, prior: float) -> None:
        self.n_acts = n_acts
        self.moves = None if moves is None else np.asarray(moves, float).copy()
        self.prior = np.full(n_acts, float(prior))

    def loss(self, one: int, other: int) -> float:
        """Return the second line of (d)."""
        if self.moves is None:
            return 0.0
        pair = self.moves[:, [one, other]]
        prior = self.prior[[one, other]]
        targets = _dirichlet_log(pair, prior).sum() - _dirichlet_log(pair.sum(axis=0), prior)
        joined, summed = self._targets_merged(one, other)
        sources = joined[:-1].reshape(-1, self.n_acts, self.n_acts)
        first, second = sources[:, one], sources[:, other]
        rows = (
            _dirichlet_log(first, summed)
            + _dirichlet_log(second, summed)
            - _dirichlet_log(first + second, summed)
        )
        return float(targets + rows.sum())

    def _targets_merged(
        self, one: int, other: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the moves with ``other`` counted as ``one`` where it follows, and their prior."""
        joined, summed = np.array(self.moves), self.prior.copy()
        joined[:, one] += joined[:, other]
        joined[:, other] = 0
        summed[one] += summed[other]
        summed[other] = 0
        return joined, summed

    def merge(self, one: int, other: int) -> None:
        """Count ``other`` as ``one``, where it follows and where it is followed."""
        if self.moves is None:
            return
        self.moves, self.prior = self._targets_merged(one, other)
        sources = self.moves[:-1].reshape(-1, self.n_acts, self.n_acts)
        sources[:, one] += sources[:, other]
        sources[:, other] = 0


def _dirichlet_log(counts: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log evidence of counts (..., K) under a Dirichlet prior; 0 in it means never."""
    kept = prior > 0
    counts, prior = counts[..., kept], prior[kept]
    inner = (gammaln(counts + prior) - gammaln(prior)).sum(axis=-1)
    return np.asarray(inner + gammaln(prior.sum()) - gammaln((counts + prior).sum(axis=-1)))


def merge_unfound(
    engine: ActEngine, answer: consensus.Answer, groups: NDArray[np.int64],
    found: Sequence[NDArray[np.integer]], n_named: int = 0,
) -> NDArray[np.int64]:  # fmt: skip
    """Merge acts that fewer than two searches found with the act that they differ from least.

    That is by (d) per unit of the smaller: by (d) alone, it would be the smallest act. Such acts
    come from the mean of searches that saw different things. Two acts are left at least,
    and acts with names stay.

    Parameters
    ----------
    engine : ActEngine
    answer : Answer
    groups : array of int64, shape (K,)
        The act of each state, as :func:`merge_alike` gives it.
    found : sequence of arrays of int, shape (n_units,)
        The states that each search found.
    n_named : int
        The first acts, which have names.
    """
    if len(found) < 2 * FEWEST_FINDERS:
        return groups
    while (n_acts := int(groups.max()) + 1) > max(n_named, 2):
        acts = (answer.posteriors @ np.eye(n_acts)[groups]).argmax(axis=1)
        finders = consensus.finders_of(acts, found, n_acts)
        finders[:n_named] = len(found)
        weak = int(finders.argmin())
        if finders[weak] >= FEWEST_FINDERS:
            break
        pairs = [(min(k, weak), max(k, weak)) for k in range(n_acts) if k != weak]
        groups = _merge_closest(engine, answer, groups, pairs)
    return groups
