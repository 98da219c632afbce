"""GRASSHOPPER by one inversion and the matrix inversion lemma (Zhu et al. 2007, 2.3, 2.4)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from palaver.errors import InputError
from palaver.ranking.result import Ranking, pick
from palaver.ranking.walk import RandomWalk

#: Number of inversion-lemma steps to keep as factors before multiplying them out.
_PENDING = 64
#: Once visits have fallen by this factor since the last inversion, rounding calls for a new one.
_FALL = 1e6


@contextmanager
def _well_conditioned() -> Iterator[None]:
    """Reject a walk that floats cannot distinguish from one in separate groups."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            yield
    except (linalg.LinAlgWarning, linalg.LinAlgError) as error:
        raise InputError(
            "grasshopper: some groups of items are linked so weakly that the walk practically "
            "never moves between them; use a smaller weight, such as 0.95"
        ) from error


def stationary(walk: RandomWalk) -> NDArray[np.float64]:
    """Return the stationary distribution, the solution of ``pi = P' pi``, (n_items,).

    It is the unique solution of ``(I - P' + 1 1'/n) pi = 1/n``, even for periodic walks.
    """
    n = walk.n_items
    system = -walk.dense().T
    system[np.diag_indices(n)] += 1.0
    system += 1.0 / n
    with _well_conditioned():
        solution = linalg.solve(system, np.full(n, 1.0 / n), overwrite_a=True)
    solution = np.maximum(solution, 0.0)
    return np.asarray(solution / solution.sum())


def rank_exactly(
    walk: RandomWalk, top: int, escape: float, progress: Callable[[float], None] = lambda _: None
) -> Ranking:
    """Rank items one by one, in O(n_items * 64) each after the inversion.

    With D the identity except for ``escape`` at the ranked items, the visits are
    ``v' = u' (I - D P)^-1``, u uniform over the unranked ones: equation 4 for ``escape=0``.
    """
    centrality = stationary(walk)
    is_open = np.ones(walk.n_items, bool)
    first, level = pick(centrality, is_open)
    order, scores, tied = [first], [centrality[first]], [level]
    is_open[first] = False
    if top > 1:
        visits = Visits(walk, order, escape)
        progress(0.5)  # about what the inversion takes
        while len(order) < top:
            item, level = pick(visits.totals, is_open)
            order.append(item)
            scores.append(visits.totals[item] / is_open.sum())
            tied.append(level)
            is_open[item] = False
            progress(0.5 / (top - 1))
            if len(order) < top:
                visits.absorb(item, order)
    return Ranking(
        np.array(order), np.array(scores), np.array(tied), np.zeros(top), "grasshopper",
        walk, escape,
    )  # fmt: skip


class Visits:
    """The fundamental matrix N, from which the inversion lemma removes items.

    ``N`` is ``inverse - left @ right``: the latest steps are kept as factors, so that a step
    touches only one row and one column, and are multiplied out 64 at a time.

    Attributes
    ----------
    totals : array of float64, shape (n_items,)
        Visits to each item, summed over walks from every unranked one.
    """

    def __init__(self, walk: RandomWalk, ranked: list[int], escape: float) -> None:
        self._transitions = walk.dense()
        self._escape = escape
        self._invert(ranked)

    def _invert(self, ranked: list[int]) -> None:
        """Invert ``I - D P`` again."""
        n = len(self._transitions)
        system = -self._transitions
        system[ranked] *= self._escape
        system[np.diag_indices(n)] += 1.0
        with _well_conditioned():
            self._inverse: NDArray[np.float64] = linalg.inv(system, overwrite_a=True)
        self._left = np.empty((n, _PENDING))
        self._right = np.empty((_PENDING, n))
        self._n_pending = 0
        is_open = np.ones(n, bool)
        is_open[ranked] = False
        self.totals = is_open @ self._inverse
        self._first_peak = float(self.totals[is_open].max(initial=0.0))

    def absorb(self, item: int, ranked: list[int]) -> None:
        """Turn an item, which ``ranked`` already contains, into an absorbing state."""
        pending = self._n_pending
        left, right = self._left[:, :pending], self._right[:pending]
        row = self._inverse[item] - left[item] @ right
        column = self._inverse[:, item] - left @ right[:, item]
        kept = 1.0 - self._escape
        share = kept / (1.0 + kept * (row[item] - 1.0))
        self.totals -= row * (1.0 + share * (self.totals[item] - row[item]))
        is_open = np.ones(len(row), bool)
        is_open[ranked] = False
        if self.totals[is_open].max() * _FALL < self._first_peak:
            self._invert(ranked)
            return
        self._left[:, pending] = share * column
        self._right[pending] = row
        self._right[pending, item] -= 1.0
        self._n_pending += 1
        if self._n_pending == _PENDING:
            self._inverse -= self._left @ self._right
            self._n_pending = 0
