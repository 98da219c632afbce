"""Intervals and p-values by resampling whole conversations.

Messages of a conversation depend on each other, so the unit that is drawn again and again is
the conversation. A run is given as sums, one row a conversation, from whose totals the
measure can be computed: (right, all) for an accuracy, (log probability, tokens) for a
perplexity, the cells of a table of counts for a clustering measure. So a resample costs a
product with a few columns and never goes back to the tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from palaver import rng
from palaver.errors import ParameterError
from palaver.params import check, real, whole

#: From totals, shape (n_resamples, n_columns), to values, shape (n_resamples,).
Statistic = Callable[[NDArray[np.float64]], Any]
#: An array or a csr_array, shape (n_conversations, n_columns).
Sums = Any

_DRAWN_AT_ONCE = 4_000_000  # conversations drawn at a time: bounds the memory


def ratio(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first column by the second: an accuracy from (right, all)."""
    return np.asarray(totals[..., 0] / totals[..., 1])


def perplexity(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(-first / second): a perplexity from (log probability, tokens)."""
    return np.exp(-ratio(totals))


def of_tables(measure: Callable[[Any], Any], shape: tuple[int, int]) -> Statistic:
    """Make a statistic of a clustering measure, for sums of :func:`grouped_contingency`."""
    return lambda totals: measure(totals.reshape(*totals.shape[:-1], *shape))


class Interval(NamedTuple):
    """A value and its bootstrap percentile interval."""

    value: float
    low: float
    high: float


class Difference(NamedTuple):
    """The difference of two runs on the same conversations.

    Attributes
    ----------
    first, second : float
        Values of the two runs.
    difference : float
        ``first - second``.
    low, high : float
        Percentile interval of the difference.
    p_value : float
        Two-sided: how often a difference as large comes by chance if there is none, that is
        (1 + resamples whose difference is as far from the observed one as that is from zero)
        / (1 + resamples).
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float

    @property
    def beyond_noise(self) -> bool:
        """Whether the p-value is below 0.05."""
        return self.p_value < 0.05


def bootstrap(
    sums: Sums,
    statistic: Statistic = ratio,
    *,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return a value and its interval over conversations.

    Parameters
    ----------
    sums : array or csr_array, shape (n_conversations, n_columns)
    statistic : callable
        From totals of shape (n_resamples, n_columns) to values of shape (n_resamples,);
        :func:`ratio`, :func:`perplexity`, or :func:`of_tables`.
    n_resamples : int
    level : float
        Share of the resamples within the interval.
    seed : int
    """
    _check(n_resamples, level, seed)
    values = _resampled([(sums, statistic)], n_resamples, seed)[0]
    return Interval(_value(sums, statistic), *_limits(values, level))


def paired_bootstrap(
    first: Sums,
    second: Sums,
    statistic: Statistic = ratio,
    second_statistic: Statistic | None = None,
    *,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """Return the difference of two runs on the same conversations, and whether it is noise.

    Parameters
    ----------
    first, second : array or csr_array, shape (n_conversations, n_columns)
        The two runs; row c of both is the same conversation. Columns may differ in number
        (tables of other sizes) if each has its statistic.
    statistic, second_statistic : callable
        See :func:`bootstrap`; the second run's is the first's unless given.
    n_resamples, level, seed
        See :func:`bootstrap`.
    """
    _check(n_resamples, level, seed)
    if first.shape[0] != second.shape[0]:
        raise ParameterError(
            "paired_bootstrap: both runs must have the same conversations, got "
            f"{first.shape[0]} and {second.shape[0]}"
        )
    runs = [(first, statistic), (second, second_statistic or statistic)]
    mine, theirs = _resampled(runs, n_resamples, seed)
    here, there = _value(*runs[0]), _value(*runs[1])
    observed = here - there
    differences = mine - theirs
    known = differences[np.isfinite(differences)]
    # the tolerance lets equal differences be equal although sums were added in other orders
    slack = 1e-9 * max(abs(here), abs(there))
    as_far = np.abs(known - observed) >= abs(observed) - slack
    p_value = (1 + int(as_far.sum())) / (1 + len(known))
    return Difference(here, there, observed, *_limits(differences, level), p_value)


def _check(n_resamples: int, level: float, seed: int) -> None:
    check("bootstrap", {"n_resamples": whole(1), "level": real(0, 1), "seed": whole(0)},
          {"n_resamples": n_resamples, "level": level, "seed": seed})  # fmt: skip


def _value(sums: Sums, statistic: Statistic) -> float:
    """Return the statistic of the conversations as they are."""
    totals = np.asarray(sums.sum(axis=0), float).reshape(1, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.asarray(statistic(totals)).reshape(()))


def _limits(values: NDArray[np.float64], level: float) -> tuple[float, float]:
    known = values[np.isfinite(values)]  # a resample may hold nothing to be measured
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _resampled(
    runs: list[tuple[Sums, Statistic]], n_resamples: int, seed: int
) -> list[NDArray[np.float64]]:
    """Return the statistic of each run in each resample; all runs see the same draws."""
    n_groups = runs[0][0].shape[0]
    if not n_groups:
        raise ParameterError("there are no conversations to resample")
    generator = rng.generator(seed, "bootstrap")
    values = [np.empty(n_resamples) for _ in runs]
    at_once = max(1, _DRAWN_AT_ONCE // n_groups)
    for start in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - start)
        weights = resampling_weights(generator, n_groups, size)
        for result, (sums, statistic) in zip(values, runs, strict=True):
            totals = (sums.T @ weights.T).T if issparse(sums) else weights @ np.asarray(sums)
            with np.errstate(divide="ignore", invalid="ignore"):
                result[start : start + size] = statistic(np.ascontiguousarray(totals))
    return values


def resampling_weights(
    generator: np.random.Generator, n_groups: int, n_resamples: int
) -> NDArray[np.float64]:
    """Return how often each group is drawn in each resample, (n_resamples, n_groups)."""
    draws = generator.integers(n_groups, size=(n_resamples, n_groups))
    draws += np.arange(n_resamples)[:, None] * n_groups
    counts = np.bincount(draws.ravel(), minlength=n_resamples * n_groups)
    return counts.reshape(n_resamples, n_groups).astype(float)
