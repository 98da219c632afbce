"""Intervals and p-values by resampling whole conversations.

Messages of a conversation depend on each other, so whole conversations are resampled. A run is
given as sums, one row per conversation, whose totals determine the measure: (right, all) for an
accuracy, (log probability, tokens) for a perplexity, the cells of a table of counts for a
clustering measure. So a resample costs a product with a few columns and never goes back to the
tokens.

Intervals are centred: the deviations of the resamples from their own mean are placed around the
value. Entropies of a sample are biased, and resampling doubles that bias, which percentiles would
mistake for noise. So an interval shows how a value varies over samples of this size; do not
compare values from samples of different sizes.
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
from palaver.kernels.resampling import count_draws
from palaver.params import check, real, whole

#: Maps totals, shape (n_resamples, n_columns), to values, shape (n_resamples,).
Statistic = Callable[[NDArray[np.float64]], Any]
#: An array or a csr_array, shape (n_conversations, n_columns).
Sums = Any

_DRAWN_AT_ONCE, _CELLS_AT_ONCE = 4_000_000, 4_000_000  # limit memory


def ratio(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first column divided by the second: an accuracy from (right, all)."""
    return np.asarray(totals[..., 0] / totals[..., 1])


def perplexity(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(-first / second): a perplexity from (log probability, tokens)."""
    return np.exp(-ratio(totals))


def of_tables(measure: Callable[[Any], Any], shape: tuple[int, int]) -> Statistic:
    """Turn a clustering measure into a statistic of the sums of :func:`grouped_contingency`."""
    return lambda totals: measure(totals.reshape(*totals.shape[:-1], *shape))


class Interval(NamedTuple):
    """A value and its bootstrap interval."""

    value: float
    low: float
    high: float


class Difference(NamedTuple):
    """The difference between two runs on the same conversations.

    Attributes
    ----------
    first, second : float
        Values of the two runs.
    difference : float
        ``first - second``.
    low, high : float
        Bootstrap interval of the difference.
    p_value : float
        Two-sided: the probability of a difference this large if there is none, estimated as
        (1 + resamples whose difference is at least as far from their mean as the observed one
        is from zero) / (1 + resamples).
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
    random_state: rng.RandomState = 0,
) -> Interval:
    """Return a value and its interval over conversations.

    Parameters
    ----------
    sums : array or csr_array, shape (n_conversations, n_columns)
    statistic : callable
        Maps totals of shape (n_resamples, n_columns) to values of shape (n_resamples,);
        :func:`ratio`, :func:`perplexity`, or :func:`of_tables`.
    n_resamples : int
    level : float
        Share of the resamples within the interval.
    random_state : int, numpy.random.Generator or None
    """
    seed = _checked_seed(n_resamples, level, random_state)
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
    random_state: rng.RandomState = 0,
) -> Difference:
    """Return the difference between two runs on the same conversations, and its p-value.

    Parameters
    ----------
    first, second : array or csr_array, shape (n_conversations, n_columns)
        The two runs; row c of both is the same conversation. They may have different numbers of
        columns (tables of different sizes) if each has its own statistic.
    statistic, second_statistic : callable
        See :func:`bootstrap`; by default, both runs use the same one.
    n_resamples, level, random_state
        See :func:`bootstrap`.
    """
    seed = _checked_seed(n_resamples, level, random_state)
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
    # the tolerance keeps equal differences equal although sums were added in different orders
    slack = 1e-9 * max(abs(here), abs(there))
    as_far = np.abs(known - known.mean()) >= abs(observed) - slack
    p_value = (1 + int(as_far.sum())) / (1 + len(known))
    return Difference(here, there, observed, *_limits(observed, differences, level), p_value)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values of several comparisons (Holm 1979).

    If those below .05 are called significant, the probability of any error is at most .05.
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
    random_state: rng.RandomState = 0,
) -> dict[str, Interval]:
    """Return every clustering measure with its interval over conversations.

    Parameters
    ----------
    found, gold : array-like, shape (n_items,)
        As in :func:`palaver.evaluate.contingency`.
    groups : array-like of int, shape (n_items,)
        Conversation of each item.
    n_resamples, level, random_state
        See :func:`bootstrap`.

    Returns
    -------
    dict
        By the names of :data:`palaver.evaluate.MEASURES`; intervals are cut to the range of
        their measure.
    """
    seed = _checked_seed(n_resamples, level, random_state)
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
    """Cut an interval to the range of its measure: from 0 to 1, or without limit for distances.

    An interval around a value near the end of its range would otherwise reach beyond it.
    """
    most = np.inf if name in ("vi", "vi_normalized") else 1.0
    return float(np.maximum(low, 0.0)), float(np.minimum(high, most))


def _checked_seed(n_resamples: int, level: float, random_state: rng.RandomState) -> int:
    """Check the options of a bootstrap; return its seed."""
    check("bootstrap", {"n_resamples": whole(1), "level": real(0, 1)},
          {"n_resamples": n_resamples, "level": level})  # fmt: skip
    return rng.resolve_seed(random_state)


def _value(sums: Sums, statistic: Statistic) -> float:
    """Return the statistic of the original conversations."""
    totals = np.asarray(sums.sum(axis=0), float).reshape(1, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.asarray(statistic(totals)).reshape(()))


def _limits(value: float, resampled: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Place the spread of the resamples around the value, mirrored as in basic intervals."""
    known = resampled[np.isfinite(resampled)]  # a resample may contain nothing to measure
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known - known.mean(), [(1 - level) / 2, (1 + level) / 2])
    return float(value - high), float(value - low)


def _resampled(
    runs: list[tuple[Sums, Statistic]], n_resamples: int, seed: int
) -> list[NDArray[np.float64]]:
    """Return the statistic of each run in each resample; all runs share the same draws."""
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
    counts = np.zeros((n_resamples, n_groups))
    count_draws(draws, counts)
    return counts
