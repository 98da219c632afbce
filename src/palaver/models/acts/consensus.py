"""From several searches to one answer: matching, joining, climbing, and how stable each act is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

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


def posteriors_of(
    engine: ActEngine, shards: Sequence[ActShard], arrays: Arrays, n_jobs: int = 1
) -> Answer:
    """Return exact posteriors of all units, given parameters; the same for any ``n_jobs``."""

    def work(shard: ActShard) -> tuple[NDArray[np.float64], Arrays, float]:
        return engine.posteriors(arrays, shard)

    if n_jobs == 1 or len(shards) == 1:
        parts = list(map(work, shards))
    else:
        with ThreadPoolExecutor(n_jobs) as pool:
            parts = list(pool.map(work, shards))
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
    engine: ActEngine, shards: Sequence[ActShard], searches: Sequence[Arrays], best: int,
    n_jobs: int = 1,
) -> tuple[Answer, list[NDArray[np.int64]]]:  # fmt: skip
    """Join the acts of several searches.

    The acts of every search are matched with those of a reference (Hungarian method, by how
    often both have the same unit), first with the best search, then with the mean of all; from
    that mean the answer climbs to a mode.

    Parameters
    ----------
    engine : ActEngine
    shards : sequence of ActShard
    searches : sequence of dict
        Mean statistics of each search.
    best : int
        The search whose order of acts is kept.

    Returns
    -------
    answer : Answer
    found : list of arrays of int64, shape (n_units,)
        The acts that each search found, by its own numbers.
    """
    found = [
        posteriors_of(engine, shards, engine.expected(search), n_jobs).posteriors
        for search in searches
    ]
    orders = match_acts(found, best)
    joined = sum_matched(searches, orders, engine)
    return climb(engine, shards, joined, n_jobs), [one.argmax(axis=1) for one in found]


def match_acts(found: Sequence[NDArray[np.float64]], best: int) -> list[NDArray[np.int64]]:
    """Return, for each search, which of its acts corresponds to each act of the answer."""
    reference = found[best]
    orders = [np.arange(reference.shape[1])] * len(found)
    for _ in range(_ROUNDS if len(found) > 1 else 0):
        orders = [linear_sum_assignment(-(reference.T @ one))[1] for one in found]
        mean = np.zeros_like(reference)
        for one, order in zip(found, orders, strict=True):
            mean += one[:, order]
        reference = mean / len(found)
    return orders


def sum_matched(
    searches: Sequence[Arrays], orders: Sequence[NDArray[np.int64]], engine: ActEngine
) -> Arrays:
    """Return the mean statistics of all searches, their acts in the answer's order."""
    counts = np.zeros(engine.feature_prior.shape)
    moves = np.zeros((engine.n_rows, engine.n_acts))
    for search, order in zip(searches, orders, strict=True):
        counts += search["feature_counts"][:, order]
        moves += reorder_moves(search["moves"], order)
    return {"feature_counts": counts / len(searches), "moves": moves / len(searches)}


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


def fewer_acts(
    engine: ActEngine,
    statistics: Arrays,
    wanted: Callable[[NDArray[np.int64]], int | None],
) -> NDArray[np.int64]:
    """Merge acts, one after another, each into the act that costs the least; return the groups.

    Parameters
    ----------
    engine : ActEngine
    statistics : dict
    wanted : callable
        Given the group of each act, returns the number of the group to merge next; None to stop.

    Returns
    -------
    array of int64, shape (K,)
        Group of each act, numbered through.
    """
    groups = np.arange(engine.n_acts)
    counts = statistics["feature_counts"].copy()
    while (going := wanted(groups)) is not None:
        rest = [g for g in np.unique(groups) if g != going]
        costs = [_merge_cost(engine, counts, going, g) for g in rest]
        into = int(rest[int(np.argmin(costs))])
        counts[:, into] += counts[:, going]
        counts[:, going] = 0
        groups = np.where(groups == going, into, groups)
    return np.unique(groups, return_inverse=True)[1]


def _merge_cost(
    engine: ActEngine,
    counts: NDArray[np.float64],
    one: int,
    other: int,
) -> float:
    """Return the loss of log evidence of the features if two groups of acts become one."""
    prior = engine.feature_prior[:, :1]

    def evidence(column: NDArray[np.float64]) -> float:
        values = column[:, None]
        inner = (gammaln(values + prior) - gammaln(prior)).sum()
        of_views = gammaln(engine.totals(prior)) - gammaln(engine.totals(values + prior))
        return float(inner + of_views.sum())

    apart = evidence(counts[:, one]) + evidence(counts[:, other])
    return apart - evidence(counts[:, one] + counts[:, other])
