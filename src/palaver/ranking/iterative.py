"""The first items of GRASSHOPPER on a large sparse graph, without a dense matrix.

The visits of equation 4 are ``y + (b / a) z``, divided by the number of unranked items, where y and
z are those of :mod:`palaver.ranking.flow`, a is the share of jumps whose walk is absorbed
before the next jump, and b the number of uniform starts whose walk jumps. An item is chosen once
its lower bound exceeds the upper bounds of all others, for all a and b within their bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from palaver.ranking.flow import LEAST, Flow
from palaver.ranking.kernels.walks import best_two
from palaver.ranking.result import TIE, Ranking
from palaver.ranking.walk import RandomWalk

#: Residuals at which the search for an item starts, and at which it ends with a tie.
_COARSE, _FINE = 1e-3, 1e-11
_FACTOR = 8.0  # by which residuals are lowered while two items cannot be distinguished
_SCORE_ERROR = 1e-3  # acceptable relative error of a score
TINY = float(np.finfo(float).tiny)

#: Called with the share of the work just done.
Progress = Callable[[float], None]


@dataclass(frozen=True)
class RankedItem:
    """An item, its score, a bound on the score's error, and whether others are tied with it."""

    item: int
    score: float
    error: float
    tied: bool


def rank_iteratively(
    walk: RandomWalk, top: int, escape: float, progress: Progress = lambda _: None
) -> Ranking:
    """Rank the first items; memory grows with the edges, time with each item's effect."""
    rank = _rank_jumping if walk.weight < 1 else _rank_without_jumps
    with threadpool_limits(1):  # for vectors of this size, threads cost more than they gain
        choices = rank(walk, top, escape, progress)
    return Ranking(
        np.array([choice.item for choice in choices]),
        np.array([choice.score for choice in choices]),
        np.array([choice.tied for choice in choices]),
        np.array([choice.error for choice in choices]),
        "grasshopper",
        walk,
        escape,
    )


def _rank_jumping(
    walk: RandomWalk, top: int, escape: float, progress: Progress
) -> list[RankedItem]:
    chooser = _jumping(walk, escape)
    choices = [chooser.choose(chooser.by_share)]
    progress(1 / top)
    while len(choices) < top:
        chooser.absorb(choices[-1].item)
        choices.append(chooser.choose(chooser.by_visits))
        progress(1 / top)
    return choices


def _jumping(walk: RandomWalk, escape: float) -> Chooser:
    n = walk.n_items
    is_even = np.ptp(walk.prior) == 0 and escape == 0  # then z is y / n at unranked items
    starts = np.ones((n, 1)) if is_even else np.column_stack((np.ones(n), walk.prior))
    return Chooser(Flow(walk.steps * walk.weight, starts, escape), np.ones(n, bool), escape)


def _rank_without_jumps(
    walk: RandomWalk, top: int, escape: float, progress: Progress
) -> list[RankedItem]:
    """Rank with weight 1."""
    around = _around(walk)
    choices = [around.choose(around.by_share)]
    if top > 1:
        moves, is_item = _moves_with_hub(walk)
        starts = is_item[:, None].astype(np.float64)
        chooser = Chooser(Flow(moves, starts, escape), is_item, escape)
        while len(choices) < top:
            chooser.absorb(choices[-1].item)
            choices.append(chooser.choose(chooser.by_visits_alone))
            progress(1 / top)
    return choices


def _moves_with_hub(walk: RandomWalk) -> tuple[Any, NDArray[np.bool_]]:
    """Return the moves for weight 1, and which nodes are items.

    Jumps from items without edges, if any, pass through an extra node.
    """
    n = walk.n_items
    moves = walk.steps
    if walk.ends.any():
        hub = sparse.csr_matrix(np.append(walk.prior, 0.0))
        ends = sparse.csr_matrix(walk.ends[:, None].astype(np.float64))
        moves = sparse.vstack((sparse.hstack((moves, ends)), hub), format="csr")
    return moves, np.arange(moves.shape[0]) < n


def _around(walk: RandomWalk) -> Chooser:
    """Return visits between returns to an anchor, proportional to the stationary distribution."""
    anchor = walk.check_single_group()
    moves, is_item = _moves_with_hub(walk)
    leaving = np.asarray(moves[[anchor]].todense()).ravel()
    chooser = Chooser(Flow(moves, np.column_stack((is_item, leaving)), 0.0), is_item, 0.0)
    chooser.absorb(anchor)
    chooser.is_candidate[anchor] = True
    return chooser


def stationary_iteratively(walk: RandomWalk) -> NDArray[np.float64]:
    """Return the stationary distribution to about ten digits, (n_items,)."""
    with threadpool_limits(1):
        chooser = _around(walk) if walk.weight == 1 else _jumping(walk, 0.0)
        chooser.flow.settle(_FINE, _FINE / walk.n_items)
    visits = np.maximum(chooser.flow.visits[: walk.n_items, -1], 0.0)
    return np.asarray(visits / visits.sum())


@dataclass(frozen=True)
class Scoring:
    """How visits become scores; an item that leads at both ends leads everywhere in between.

    Attributes
    ----------
    ends : array of float64, shape (2, n_columns)
        The two extremes of the weights of y and z by which items are compared.
    low, high : array of float64, shape (n_columns,)
        Weights that turn the lower and upper bounds on visits into scores.
    """

    ends: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Chooser:
    """Chooses items by bounds on their scores."""

    def __init__(self, flow: Flow, is_candidate: NDArray[np.bool_], escape: float) -> None:
        self.flow = flow
        self.is_candidate = is_candidate
        self._kept = 1.0 - escape
        self._n_items = int(is_candidate.sum())
        self._ranked: list[int] = []
        self._jump_share = 1.0 / self._n_items  # ratio of z to y at the best item so far

    def absorb(self, item: int) -> None:
        """Mark an item as ranked."""
        self.flow.absorb(item)
        self.is_candidate[item] = False
        self._ranked.append(item)

    def choose(self, weigh: Callable[[], Scoring]) -> RankedItem:
        """Lower the residuals until one item leads, or no difference can be found."""
        limit = _COARSE
        while True:
            is_final = not self.flow.settle(limit, limit * self._jump_share) or limit <= _FINE
            choice = self._judge(weigh(), is_final)
            if choice is not None:
                return choice
            limit = max(limit / _FACTOR, _FINE)

    def _judge(self, scoring: Scoring, is_final: bool) -> RankedItem | None:
        """Return the leading item, if there is one and its score is accurate enough."""
        visits = self.flow.visits
        middle = scoring.ends.mean(axis=0)
        item, _, _ = best_two(visits, middle, self.is_candidate)
        if visits.shape[1] == 2 and visits[item].min() > 0:
            self._jump_share = visits[item, 1] / visits[item, 0]
        choice = self._scored(item, scoring, tied=False)
        if all(self._leads(item, weights) for weights in scoring.ends):
            is_known = choice.error <= _SCORE_ERROR * choice.score
            return choice if is_known or is_final else None
        return self._tie(item, scoring) if is_final else None

    def _scored(self, item: int, scoring: Scoring, *, tied: bool) -> RankedItem:
        least, most = self.flow.limits(item).T
        low, high = scoring.low @ least, scoring.high @ most
        return RankedItem(item, (low + high) / 2, (high - low) / 2, tied)

    def _upper(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return weights and a constant that turn visits into upper bounds on scores."""
        extents = self.flow.extents()
        upper = weights.copy()
        constant = weights[0] * extents[0].up_closed
        for extent, weight in zip(extents[1:], weights[1:], strict=True):
            upper[0] += weight * extent.up
            constant += weight * (extent.up_closed + extent.up * extents[0].up_closed)
        upper[0] /= max(1.0 - extents[0].up, LEAST)
        return upper, constant

    def _leads(self, item: int, weights: NDArray[np.float64]) -> bool:
        """Whether an item's lower bound exceeds the upper bounds of all others, beyond a tie."""
        upper, constant = self._upper(weights)
        self.is_candidate[item] = False
        _, highest, _ = best_two(self.flow.visits, upper, self.is_candidate)
        self.is_candidate[item] = True
        lowest = weights @ self.flow.limits(item)[:, 0]
        return bool(lowest * (1 - TIE) > highest + constant)

    def _tie(self, item: int, scoring: Scoring) -> RankedItem:
        """Return the lowest number among the items that cannot be distinguished from the best."""
        level = np.zeros(len(self.is_candidate), bool)
        for weights in scoring.ends:
            upper, constant = self._upper(weights)
            lowest = weights @ self.flow.limits(item)[:, 0]
            level |= self.flow.visits @ upper + constant >= lowest * (1 - TIE)
        places = np.flatnonzero(level & self.is_candidate)
        return self._scored(int(places[0]), scoring, tied=len(places) > 1)

    # how visits become scores

    def by_share(self) -> Scoring:
        """Score by the share of all visits: the stationary distribution."""
        extents = self.flow.extents()
        totals = self.flow.visits[self.is_candidate].sum(axis=0)
        y_high = totals[0] / max(1.0 - extents[0].up, LEAST)
        low, high = totals[0] / (1.0 + extents[0].down), y_high
        weights = np.ones(1)
        if len(extents) == 2:
            weights = np.array([0.0, 1.0])
            low = totals[1] - extents[1].down * y_high
            high = totals[1] + extents[1].up * y_high
        return Scoring(np.stack((weights, weights)), weights / high, weights / max(low, TINY))

    def by_visits(self) -> Scoring:
        """Score by equation 4, with jumps."""
        n_open = self._n_items - len(self._ranked)
        absorbed = self._kept * np.sum([self.flow.limits(i) for i in self._ranked], axis=0)
        if self.flow.n_columns == 1:
            low, high = self._n_items / (len(self._ranked) + absorbed[0, ::-1]) / n_open
            return Scoring(np.ones((2, 1)), np.array([low]), np.array([high]))
        jumping = np.maximum(n_open - absorbed[0, ::-1], 0.0)  # uniform starts whose walks jump
        caught = np.maximum(absorbed[1], TINY)  # jumps that are a walk's last
        ends = np.array([[caught[0], jumping[1]], [caught[1], jumping[0]]])
        ends /= ends.sum(axis=1, keepdims=True)
        low = np.array([1.0, jumping[0] / caught[1]]) / n_open
        return Scoring(ends, low, np.array([1.0, jumping[1] / caught[0]]) / n_open)

    def by_visits_alone(self) -> Scoring:
        """Score by equation 4 without jumps."""
        weight = np.array([1.0 / (self._n_items - len(self._ranked))])
        return Scoring(np.ones((2, 1)), weight, weight)
