"""Which differences between runs are more than noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from palaver import evaluate


def against_best(
    runs: Sequence[Any], statistics: Sequence[evaluate.Statistic], seed: int, *, lower: bool
) -> pl.DataFrame:
    """Return each run's value, interval and p-value of the difference from the best run.

    Parameters
    ----------
    runs : sequence of array or csr_array, shape (n_conversations, n_columns)
    statistics : sequence of callable
        One per run; see :func:`evaluate.bootstrap`.
    seed : int
    lower : bool
        Whether lower is better.

    Returns
    -------
    polars.DataFrame
        Columns value, low, high, p_value; null for the best itself. P-values are adjusted by
        Holm's method for the number of rows.
    """
    intervals = [
        evaluate.bootstrap(sums, statistic, random_state=seed)
        for sums, statistic in zip(runs, statistics, strict=True)
    ]
    values = np.array([interval.value for interval in intervals])
    best = int(np.argmin(values if lower else -values))
    others = [number for number in range(len(runs)) if number != best]
    p_values = [
        evaluate.paired_bootstrap(
            runs[number], runs[best], statistics[number], statistics[best], random_state=seed
        ).p_value
        for number in others
    ]
    adjusted: list[float | None] = [None] * len(runs)
    for number, p_value in zip(others, evaluate.holm(p_values), strict=True):
        adjusted[number] = float(p_value)
    return pl.DataFrame(intervals, ["value", "low", "high"], orient="row").with_columns(
        pl.Series("p_value", adjusted, dtype=pl.Float64)
    )
