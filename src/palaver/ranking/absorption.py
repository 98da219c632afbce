"""Absorption: which chosen item absorbs a walk that starts at each item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from palaver.ranking.walk import RandomWalk

#: Most items for which the probabilities are solved with a dense matrix.
_DENSE_ITEMS = 2000
_COLUMNS = 32  # chosen items at a time; limits memory
_PRECISION = 1e-9


def likeliest_ends(walk: RandomWalk, chosen: NDArray[np.int64], escape: float) -> NDArray[np.int64]:
    """Return the chosen item that most probably absorbs a walk from each item.

    A visit to a chosen item ends a walk with probability ``1 - escape``, so the
    probabilities are the chosen columns of ``(1 - escape) (I - D P)^-1``. Ties go to the
    item chosen first. Chosen items absorb themselves.
    """
    if len(chosen) == 1:
        return np.full(walk.n_items, chosen[0])
    solve = _dense_solver if walk.n_items <= _DENSE_ITEMS else _sparse_solver
    probabilities = solve(walk, chosen, escape)
    best = np.full(walk.n_items, -1.0)
    ends = np.empty(walk.n_items, np.int64)
    for start in range(0, len(chosen), _COLUMNS):
        part = chosen[start : start + _COLUMNS]
        columns = probabilities(part)
        place = columns.argmax(axis=1)
        value = columns[np.arange(len(place)), place]
        better = value > best * (1 + _PRECISION)
        ends[better] = part[place[better]]
        best[better] = value[better]
    ends[chosen] = chosen
    return ends


def _scale(n_items: int, chosen: NDArray[np.int64], escape: float) -> NDArray[np.float64]:
    """Return the diagonal of D: ``escape`` at the chosen items, one elsewhere."""
    scale = np.ones(n_items)
    scale[chosen] = min(escape, 1.0 - 1e-9)  # the limit 1 gives the shares of visits
    return scale


def _dense_solver(walk: RandomWalk, chosen: NDArray[np.int64], escape: float):  # type: ignore[no-untyped-def]
    """Return a function that maps chosen items to their columns of the fundamental matrix."""
    system = np.eye(walk.n_items) - _scale(walk.n_items, chosen, escape)[:, None] * walk.dense()
    factors = linalg.lu_factor(system, overwrite_a=True)

    def solve(part: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(linalg.lu_solve(factors, _unit_columns(walk.n_items, part)))

    return solve


def _unit_columns(n_items: int, part: NDArray[np.int64]) -> NDArray[np.float64]:
    units = np.zeros((n_items, len(part)))
    units[part, np.arange(len(part))] = 1.0
    return units


def _sparse_solver(walk: RandomWalk, chosen: NDArray[np.int64], escape: float):  # type: ignore[no-untyped-def]
    """Return the same without a dense matrix; the jump is a rank-one correction."""
    n = walk.n_items
    scale = _scale(n, chosen, escape)
    moves = sparse.diags(scale * walk.weight) @ walk.steps
    jumps = scale * walk.jumps
    if walk.weight < 1:

        def inner(right: NDArray[np.float64]) -> NDArray[np.float64]:
            total, term = right.copy(), right
            while term.max() > _PRECISION * (
                1 - walk.weight
            ):  # each step shrinks by weight or more
                term = moves @ term
                total += term
            return total

    else:
        inner = splu(sparse.csc_matrix(sparse.eye(n) - moves)).solve
    after_jump = inner(jumps[:, None])[:, 0]
    settled = 1.0 - walk.prior @ after_jump

    def solve(part: NDArray[np.int64]) -> NDArray[np.float64]:
        direct = inner(_unit_columns(n, part))
        return np.asarray(direct + np.outer(after_jump, walk.prior @ direct) / settled)

    return solve
