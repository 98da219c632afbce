"""Intervals and p-values by resampling whole conversations.

Messages of a conversation depend on each other, so the unit that is drawn again and again is
the conversation. A run is given as sums, one row a conversation, from whose totals the
measure can be computed: (right, all) for an accuracy, (log probability, tokens) for a
perplexity, the cells of a table of counts for a clustering measure. So a resample costs a
product with a few columns and never goes back to the tokens.

Intervals are centred: what resamples differ by from their own mean, laid around the value.
Entropies of a sample are biased and resamples show that bias twice; percentiles would take it
for noise. So an interval tells how a value varies over samples of this size, and values of
samples of different sizes should not be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from palaver import rng
from palaver.errors import ParameterError
from palaver.evaluate.clustering import MEASURES
from palaver.evaluate.labels import grouped_contingency
from palaver.params import check, real, whole

#: From totals, shape (n_resamples, n_columns), to values, shape (n_resamples,).
Statistic = Callable[[NDArray[np.float64]], Any]
#: An array or a csr_array, shape (n_conversations, n_columns).
Sums = Any

_DRAWN_AT_ONCE, _CELLS_AT_ONCE = 4_000_000, 4_000_000  # bound the memory


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
    """A value and its bootstrap interval."""

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
        Bootstrap interval of the difference.
    p_value : float
        Two-sided: how often a difference as large comes by chance if there is none, that is
        (1 + resamples whose difference is as far from their mean as the observed one from
        zero) / (1 + resamples).
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float


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
    value = _value(sums, statistic)
    return Interval(value, *_limits(value, values, level))


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
    as_far = np.abs(known - known.mean()) >= abs(observed) - slack
    p_value = (1 + int(as_far.sum())) / (1 + len(known))
    return Difference(here, there, observed, *_limits(observed, differences, level), p_value)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values of several comparisons (Holm 1979).

    Calling those below .05 then errs in any of them with a probability of at most .05.
    """
    raw = np.asarray(p_values, float)
    order = np.argsort(raw, kind="stable")
    steps = raw[order] * (len(raw) - np.arange(len(raw)))
    adjusted = np.empty(len(raw))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def clustering_intervals(
    found: ArrayLike,
    gold: ArrayLike,
    groups: ArrayLike,
    *,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """Return every clustering measure with its interval over conversations.

    Parameters
    ----------
    found, gold : array-like, shape (n_items,)
        As :func:`palaver.evaluate.contingency`.
    groups : array-like of int, shape (n_items,)
        Conversation of each item.
    n_resamples, level, seed
        See :func:`bootstrap`.

    Returns
    -------
    dict
        From the names of :data:`palaver.evaluate.MEASURES`; no interval leaves the range of
        its measure.
    """
    _check(n_resamples, level, seed)
    conversations, places = np.unique(np.asarray(groups), return_inverse=True)
    counts, shape = grouped_contingency(found, gold, places, len(conversations))
    resampled = {name: np.empty(n_resamples) for name in MEASURES}
    for part, (totals,) in _totals([counts], n_resamples, seed):
        tables = totals.reshape(-1, *shape)
        for name, measure in MEASURES.items():
            resampled[name][part] = measure(tables)
    table = np.asarray(counts.sum(axis=0)).reshape(shape)
    values = {name: float(measure(table)) for name, measure in MEASURES.items()}
    return {
        name: Interval(value, *_within(name, *_limits(value, resampled[name], level)))
        for name, value in values.items()
    }


def _within(name: str, low: float, high: float) -> tuple[float, float]:
    """Cut an interval where a measure ends: none is below 0, and but for distances none above 1.

    An interval that is laid around a value near the end of its range would reach beyond it.
    """
    most = np.inf if name in ("vi", "vi_normalised") else 1.0
    return float(np.maximum(low, 0.0)), float(np.minimum(high, most))


def _check(n_resamples: int, level: float, seed: int) -> None:
    check("bootstrap", {"n_resamples": whole(1), "level": real(0, 1), "seed": whole(0)},
          {"n_resamples": n_resamples, "level": level, "seed": seed})  # fmt: skip


def _value(sums: Sums, statistic: Statistic) -> float:
    """Return the statistic of the conversations as they are."""
    totals = np.asarray(sums.sum(axis=0), float).reshape(1, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.asarray(statistic(totals)).reshape(()))


def _limits(value: float, resampled: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Lay the spread of the resamples around the value, mirrored as basic intervals are."""
    known = resampled[np.isfinite(resampled)]  # a resample may hold nothing to be measured
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known - known.mean(), [(1 - level) / 2, (1 + level) / 2])
    return float(value - high), float(value - low)


def _resampled(
    runs: list[tuple[Sums, Statistic]], n_resamples: int, seed: int
) -> list[NDArray[np.float64]]:
    """Return the statistic of each run in each resample; all runs see the same draws."""
    values = [np.empty(n_resamples) for _ in runs]
    for part, all_totals in _totals([sums for sums, _ in runs], n_resamples, seed):
        for result, (_, statistic), totals in zip(values, runs, all_totals, strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                result[part] = statistic(totals)
    return values


def _totals(
    runs: list[Sums], n_resamples: int, seed: int
) -> Iterator[tuple[slice, list[NDArray[np.float64]]]]:
    """Yield the totals of each run, a slice of the resamples at a time."""
    n_groups = runs[0].shape[0]
    if not n_groups:
        raise ParameterError("there are no conversations to resample")
    generator = rng.generator(seed, "bootstrap")
    at_once = max(1, min(_DRAWN_AT_ONCE // n_groups, _CELLS_AT_ONCE // runs[0].shape[1]))
    for start in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - start)
        weights = resampling_weights(generator, n_groups, size)
        totals = [
            (sums.T @ weights.T).T if issparse(sums) else weights @ np.asarray(sums)
            for sums in runs
        ]
        yield slice(start, start + size), [np.ascontiguousarray(total) for total in totals]


def resampling_weights(
    generator: np.random.Generator, n_groups: int, n_resamples: int
) -> NDArray[np.float64]:
    """Return how often each group is drawn in each resample, (n_resamples, n_groups)."""
    draws = generator.integers(n_groups, size=(n_resamples, n_groups))
    draws += np.arange(n_resamples)[:, None] * n_groups
    counts = np.bincount(draws.ravel(), minlength=n_resamples * n_groups)
    return counts.reshape(n_resamples, n_groups).astype(float)
