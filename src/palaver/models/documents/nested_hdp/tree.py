"""Trees of topics: their shape, how topics are put into one, and their sticks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, psi

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def level_sizes(n_topics: int, n_levels: int, branching: int) -> list[int]:
    """Return how many topics each level of a tree has, the first level first.

    Each level has ``branching`` times as many as the one above, the last one what is left; with few
    topics there are fewer levels.
    """
    first = max(1, round(n_topics / sum(branching**level for level in range(n_levels))))
    sizes, left = [min(first, n_topics)], n_topics - min(first, n_topics)
    while left:
        is_last = len(sizes) == n_levels - 1
        sizes.append(left if is_last else min(branching * sizes[-1], left))
        left -= sizes[-1]
    return sizes


def _likeness(topics: FloatArray) -> FloatArray:
    """Return how alike topics are: 1 for the same distribution, 0 for none in common.

    Bhattacharyya's coefficient, (n_topics, n_topics).
    """
    roots = np.sqrt(topics / topics.sum(axis=0))
    return np.asarray(roots.T @ roots)


def arrange(topics: FloatArray, sizes: list[int]) -> IntArray:
    """Return topics in the order of a tree's levels: those that are like many others first.

    Parameters
    ----------
    topics : array of float64, shape (n_words, n_topics)
        Positive weights of words.
    sizes : list of int
        Topics of each level.

    Returns
    -------
    array of int64, shape (n_topics,)
        Each next topic raises ``sum_j size_j max_i likeness_ij`` over those before it the most.
        Those of the last level are in order of size.
    """
    totals, likeness = topics.sum(axis=0), _likeness(topics)
    chosen: list[int] = []
    covered = np.zeros(len(totals))
    for _ in range(sum(sizes[:-1])):
        gains = np.maximum(likeness - covered, 0.0) @ totals
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
        covered = np.maximum(covered, likeness[chosen[-1]])
    rest = np.setdiff1d(np.arange(len(totals)), chosen)
    return np.append(np.array(chosen, np.int64), rest[np.argsort(-totals[rest], kind="stable")])


def nearest_parents(topics: FloatArray, sizes: list[int]) -> IntArray:
    """Return the parent of each topic: the one on the level above that is most like it.

    Parameters
    ----------
    topics : array of float64, shape (n_words, n_topics)
        Positive weights of words, the first level first.
    sizes : list of int
        Topics of each level.

    Returns
    -------
    array of int64, shape (n_topics,)
        -1 for the first level.
    """
    likeness = _likeness(topics)
    parents, starts = np.full(topics.shape[1], -1), [0, *np.cumsum(sizes).tolist()]
    for level in range(1, len(sizes)):
        above, own = (slice(starts[at], starts[at + 1]) for at in (level - 1, level))
        parents[own] = above.start + likeness[own, above].argmax(axis=1)
    return parents


def has_children(parents: IntArray) -> NDArray[np.bool_]:
    """Return which topics have children, (n_topics,)."""
    found = np.zeros(len(parents), bool)
    found[parents[parents >= 0]] = True
    return found


def levels_of(parents: IntArray) -> IntArray:
    """Return the level of each topic, the first is 1."""
    levels = np.ones(len(parents), np.int64)
    for k, parent in enumerate(parents.tolist()):
        if parent >= 0:
            levels[k] = levels[parent] + 1
    return levels


def _sticks(parents: IntArray, uses: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return topics by parent and then by use; where their siblings begin; uses of later ones."""
    order = np.lexsort((np.arange(len(parents)), -uses, parents))
    is_first = np.diff(parents[order], prepend=-2) != 0
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
    before = np.cumsum(uses[order]) - uses[order]
    ends = np.append(np.flatnonzero(is_first)[1:], len(order))
    totals = np.append(before, uses.sum())[ends]
    last = np.repeat(totals, np.diff(np.append(np.flatnonzero(is_first), len(order))))
    return order, first, np.maximum(last - before - uses[order], 0.0)


def _after_earlier(first: IntArray, own: FloatArray, left: FloatArray) -> FloatArray:
    """Return ``own`` and what siblings before leave, summed up."""
    before = np.cumsum(left) - left
    return np.asarray(own + before - before[first])


def log_choices(parents: IntArray, uses: FloatArray, alpha: float) -> FloatArray:
    """Return ``E[ln p(z = k)]`` of each topic among the children of its parent.

    Sticks are ``Beta(1 + uses, alpha + uses of later siblings)``; the most used siblings come
    first, which of all orders has the highest bound. They are infinitely many: what is left is for
    topics that the tree does not have.
    """
    order, first, later = _sticks(parents, uses)
    a, b = 1.0 + uses[order], alpha + later
    found = np.empty(len(parents))
    found[order] = _after_earlier(first, psi(a) - psi(a + b), psi(b) - psi(a + b))
    return found


def choices(parents: IntArray, uses: FloatArray, alpha: float) -> FloatArray:
    """Return the expected probability of each topic among the children of its parent.

    They sum to one: for a tree of just these topics.
    """
    order, first, later = _sticks(parents, uses)
    a, b = 1.0 + uses[order], alpha + later
    found = np.empty(len(parents))
    found[order] = np.exp(_after_earlier(first, np.log(a / (a + b)), np.log(b / (a + b))))
    totals = np.bincount(parents + 1, found, minlength=len(parents) + 1)
    return np.asarray(found / totals[parents + 1])


def stick_bound(parents: IntArray, uses: FloatArray, alpha: float) -> tuple[float, float]:
    """Return ``-KL(q || p)`` of the tree's sticks, and the sum of their ``E[ln (1 - V)]``."""
    order, _, later = _sticks(parents, uses)
    own = uses[order]
    a, b = 1.0 + own, alpha + later
    log_own, log_left = psi(a) - psi(a + b), psi(b) - psi(a + b)
    kl = betaln(1.0, alpha) - betaln(a, b) + own * log_own + later * log_left
    return float(-kl.sum()), float(log_left.sum())
