"""The search for states in a burn-in: they are divided by chance, and merged where that helps.

An optimizer, not a part of the sampler. Every few sweeps each state is cut in two; the parts go
their own ways for some sweeps, without slices; then states are merged, best pairs first, as long
as the log joint rises.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.fit.schedule import Schedule
from palaver.models.states.kernels.mergers import transition_gains
from palaver.models.states.signs import grouped
from palaver.parallel import Arrays

#: The search goes in rounds of so many sweeps, counted backwards: after which sweep of a round
#: states are divided, and after which they are merged.
ROUND, _DIVIDED, _MERGED = 20, 19, 2
#: The longest search, in sweeps.
LONGEST = 300
#: With more states than this, sweeps have slices, and states are not divided.
AFFORDABLE = 100
#: States that nothing is in, in sweeps without slices.
EMPTY = 2


def search_sweeps(schedule: Schedule) -> int:
    """Return how many sweeps of a burn-in search for states, once it has cooled down.

    Whole rounds only: without divisions, merges would leave too few states.
    """
    warm = math.ceil(schedule.anneal * schedule.burn_in) if schedule.start_temperature > 1 else 0
    return min(schedule.burn_in - warm, LONGEST) // ROUND * ROUND


def divides(left: int) -> bool:
    """Whether a sweep divides the states, given how many are left to the search, with it."""
    return left % ROUND == _DIVIDED


def merges(left: int) -> bool:
    """Whether states are merged after a sweep, given how many are left to the search, with it."""
    return left % ROUND == _MERGED


def groups_of(gains: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return the new number of each state after the best merges, each state in one at most.

    None if no merge raises the log joint.
    """
    gains, partner = gains.copy(), np.arange(len(gains))
    while True:
        a, b = sorted(np.unravel_index(int(gains.argmax()), gains.shape))
        if not gains[a, b] > 0:
            break
        partner[b] = a
        gains[[a, b]] = gains[:, [a, b]] = -np.inf
    if (partner == np.arange(len(partner))).all():
        return None
    _, numbers = np.unique(partner, return_inverse=True)
    return np.asarray(numbers)


def leaders(groups: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the largest state of each group."""
    order = np.argsort(-sizes, kind="stable")
    _, first = np.unique(groups[order], return_index=True)
    return np.asarray(order[first])


def merged(
    statistics: Arrays, axes: dict[str, tuple[int, ...]], grown: Arrays,
    weights: NDArray[np.float64], concentrations: tuple[float, float, float], emissions: Any,
) -> tuple[NDArray[np.int64], Arrays, Arrays, NDArray[np.float64]]:  # fmt: skip
    """Merge states as long as the log joint rises.

    Parameters
    ----------
    statistics : dict
        Of used states.
    axes : dict
        Which axes of statistics run over states.
    grown : dict
        What the next draw of emissions starts from, one row per state.
    weights : array of float64, shape (K + 1,)
    concentrations : (float, float, float)
        alpha, gamma, discount.
    emissions : Emissions

    Returns
    -------
    numbers : array of int64, shape (K,)
        New number of each state.
    statistics, grown, weights
    """
    numbers = np.arange(len(weights) - 1)
    alpha, gamma, discount = concentrations
    while len(weights) > 2:
        counts = np.vstack((statistics["transition_counts"], statistics["start_counts"]))
        gains = transition_gains(counts, alpha, weights, gamma, discount)
        groups = groups_of(gains + emissions.merge_gains(grown, statistics))
        if groups is None:
            break
        kept = leaders(groups, counts.sum(axis=0))
        numbers = groups[numbers]
        statistics = {n: grouped(v, axes[n], groups) for n, v in statistics.items()}
        grown = {name: value[kept] for name, value in grown.items()}
        weights = np.append(grouped(weights[:-1], (0,), groups), weights[-1])
    return numbers, statistics, grown, weights
