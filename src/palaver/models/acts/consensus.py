"""From several searches to one answer: matching, joining, climbing, and how stable each act is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from palaver.models.acts.engine import ActEngine, ActShard
from palaver.parallel import Arrays

#: Rounds of matching, and steps of climbing at most; climbing ends below this gain per unit.
_ROUNDS, _STEPS, _TINY_GAIN = 4, 30, 1e-4
#: Overlap (intersection over union) from which a search counts as having found an act.
FOUND = 0.5


@dataclass(frozen=True, eq=False)
class Answer:
    """The acts that several searches agree on.

    Attributes
    ----------
    statistics : dict of str to array
        Expected weights of features and numbers of transitions, of which parameters are made.
    posteriors : array of float64, shape (n_units, K)
    log_evidence : float
    """

    statistics: Arrays
    posteriors: NDArray[np.float64]
    log_evidence: float


def mapped(
    work: Callable[[ActShard], Any], shards: Sequence[ActShard], n_jobs: int
) -> Iterable[Any]:
    """Yield what is done with each shard, in order, by any number of threads."""
    if n_jobs == 1 or len(shards) == 1:
        yield from map(work, shards)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield from pool.map(work, shards)


def posteriors_of(
    engine: ActEngine, shards: Sequence[ActShard], arrays: Arrays, n_jobs: int = 1
) -> Answer:
    """Return exact posteriors of all units, given parameters; the same for any ``n_jobs``."""

    def work(shard: ActShard) -> tuple[NDArray[np.float64], Arrays, float]:
        return engine.posteriors(arrays, shard)

    parts = list(mapped(work, shards, n_jobs))
    statistics = parts[0][1]
    for _, more, _ in parts[1:]:
        statistics = engine.merge(statistics, more)
    found = np.concatenate([part[0] for part in parts])
    return Answer(statistics, found, float(sum(part[2] for part in parts)))


def climb(
    engine: ActEngine, shards: Sequence[ActShard], statistics: Arrays, n_jobs: int = 1
) -> Answer:
    """Climb from expected statistics to a nearby mode, by expectation maximization.

    Each step takes posterior means of the parameters, as if every prior weight were one larger
    than it is, and sums over all acts exactly.
    """
    answer = posteriors_of(engine, shards, engine.expected(statistics), n_jobs)
    for _ in range(_STEPS):
        after = posteriors_of(engine, shards, engine.expected(answer.statistics), n_jobs)
        gain = after.log_evidence - answer.log_evidence
        answer = after
        if gain < _TINY_GAIN * len(answer.posteriors):
            break
    return answer


def join_searches(
    engine: ActEngine, shards: Sequence[ActShard], searches: Sequence[Arrays],
    scores: Sequence[float], n_jobs: int = 1,
) -> tuple[Answer, list[NDArray[np.int16]]]:  # fmt: skip
    """Join the acts of the better half of several searches.

    Their acts are matched with those of a reference (Hungarian method, by how often both have
    the same unit), first with the best search, whose order of acts is kept, then with the mean of
    all that are joined; from that mean the answer climbs to a mode. The other half only tells how
    stable the answer is.

    Parameters
    ----------
    engine : ActEngine
    shards : sequence of ActShard
    searches : sequence of dict
        Mean statistics of each search.
    scores : sequence of float
        Mean log of (c) of each search.

    Returns
    -------
    answer : Answer
    found : list of arrays of int16, shape (n_units,)
        The acts that each search found, by its own numbers.
    """
    better = better_half(scores)
    overlaps, found = _compare(engine, shards, searches, better, n_jobs)
    joined = mean_matched([searches[s] for s in better], match_acts(overlaps, 0))
    return climb(engine, shards, joined, n_jobs), found


def better_half(scores: Sequence[float]) -> list[int]:
    """Return the searches with the higher scores, the best first."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    return [int(s) for s in order[: (len(order) + 1) // 2]]


def _compare(
    engine: ActEngine, shards: Sequence[ActShard], searches: Sequence[Arrays],
    better: Sequence[int], n_jobs: int,
) -> tuple[NDArray[np.float64], list[NDArray[np.int16]]]:  # fmt: skip
    """Return how often acts of two of the better searches have the same unit, and all acts.

    The first is of shape (S, S, K, K), in the order of ``better``. The posteriors of these
    searches are in memory for one shard at a time.
    """
    arrays = [engine.expected(search) for search in searches]

    def work(shard: ActShard) -> tuple[NDArray[np.float64], list[NDArray[np.int16]]]:
        acts, kept = [], {}
        for s, one in enumerate(arrays):
            own = engine.posteriors(one, shard)[0]
            acts.append(own.argmax(axis=1).astype(np.int16))
            if s in better:
                kept[s] = own
        with threadpool_limits(1):
            return np.array([[kept[s].T @ kept[t] for t in better] for s in better]), acts

    parts = list(mapped(work, shards, n_jobs))
    overlaps = sum(part[0] for part in parts)
    found = [np.concatenate([acts[s] for _, acts in parts]) for s in range(len(searches))]
    return np.asarray(overlaps), found


def match_acts(overlaps: NDArray[np.float64], best: int) -> list[NDArray[np.int64]]:
    """Return, for each search, which of its acts corresponds to each act of the answer.

    Parameters
    ----------
    overlaps : array of float64, shape (S, S, K, K)
        Of each act of a search with each act of another one: summed products of probabilities.
    best : int
        The search that the others are matched with first.
    """
    searches = range(len(overlaps))
    reference = overlaps[best]  # of the acts of the answer with those of each search
    orders = [np.arange(overlaps.shape[2]) for _ in searches]
    for _ in range(_ROUNDS if len(overlaps) > 1 else 0):
        orders = [linear_sum_assignment(-reference[s])[1] for s in searches]
        reference = np.mean([overlaps[s][:, orders[s]] for s in searches], axis=0)
    return orders


def mean_matched(searches: Sequence[Arrays], orders: Sequence[NDArray[np.int64]]) -> Arrays:
    """Return the mean statistics of all searches, their acts in the answer's order."""
    ordered = [reorder(*pair) for pair in zip(searches, orders, strict=True)]
    return {name: np.mean([one[name] for one in ordered], axis=0) for name in ordered[0]}


def reorder(statistics: Arrays, order: NDArray[np.int64]) -> Arrays:
    """Renumber the acts of statistics."""
    found = {
        "feature_counts": statistics["feature_counts"][:, order],
        "moves": reorder_moves(statistics["moves"], order),
    }
    if "state_counts" in statistics:  # of the vector view; all acts share the squares
        found |= {name: statistics[name][order] for name in ("state_counts", "state_sums")}
        found["state_squares"] = statistics["state_squares"]
    return found


def reorder_moves(moves: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Renumber the acts of transition counts (C K + 1, K)."""
    n_acts = len(order)
    rows = np.concatenate(
        [c * n_acts + order for c in range((len(moves) - 1) // n_acts)] + [[len(moves) - 1]]
    )
    return np.asarray(moves[rows][:, order])


def merge_moves(moves: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Add up transition counts (C K + 1, K) by groups of acts; ``groups`` (K,) numbers them."""
    n_acts, n_groups = len(groups), int(groups.max()) + 1
    members = np.eye(n_groups)[groups]
    relations = (len(moves) - 1) // n_acts
    rows = [members.T @ moves[c * n_acts : (c + 1) * n_acts] for c in range(relations)]
    return np.asarray(np.vstack([*rows, moves[-1:]]) @ members)


def agreement(
    labels: NDArray[np.integer], others: Sequence[NDArray[np.integer]], n_acts: int
) -> NDArray[np.float64]:
    """Return how well each search has each act: overlap with its most similar act, (K, searches).

    Parameters
    ----------
    labels : array of int, shape (n_units,)
        The answer.
    others : sequence of arrays of int, shape (n_units,)
        The searches, each with its own numbers.
    n_acts : int
    """
    found = np.zeros((n_acts, len(others)))
    sizes = np.bincount(labels, minlength=n_acts)
    for column, other in enumerate(others):
        width = int(other.max(initial=0)) + 1
        both = np.bincount(labels * width + other, minlength=n_acts * width)
        both = both[: n_acts * width].reshape(n_acts, width)
        union = sizes[:, None] + both.sum(axis=0)[None] - both
        found[:, column] = (both / np.maximum(union, 1)).max(axis=1)
    return found


def put_together(
    states: NDArray[np.integer], labels: NDArray[np.integer], n_acts: int
) -> NDArray[np.int64]:
    """Give each state of a search to the act of the answer that has most of its units.

    Where acts are made of several states, a search has found an act if some of its states, put
    together, make it up, whether or not the search itself would have merged them.

    Parameters
    ----------
    states : array of int, shape (n_units,)
        What a search found, by its own numbers.
    labels : array of int, shape (n_units,)
        The answer.
    n_acts : int

    Returns
    -------
    array of int64, shape (n_units,)
        Acts of the answer.
    """
    width = int(states.max(initial=0)) + 1
    both = np.bincount(states.astype(np.int64) * n_acts + labels, minlength=width * n_acts)
    return np.asarray(both.reshape(width, n_acts).argmax(axis=1)[states])


def finders_of(
    labels: NDArray[np.integer], found: Sequence[NDArray[np.integer]], n_acts: int
) -> NDArray[np.int64]:
    """Return how many searches found each act, their states put together, (n_acts,)."""
    searches = [put_together(own, labels, n_acts) for own in found]
    return np.asarray((agreement(labels, searches, n_acts) >= FOUND).sum(axis=1))
