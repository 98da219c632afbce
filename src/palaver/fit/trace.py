"""Traces as tables, and convergence diagnostics: R-hat and effective sample size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

#: Largest R-hat at which chains count as agreeing.
AGREED = 1.1
#: A chain that made more than this share of its gain in its last quarter was stopped too early.
STILL_CLIMBING = 0.05


def trace_table(traces: Sequence[Sequence[dict[str, Any]]]) -> pl.DataFrame:
    """Return one row per chain and sweep: chain, sweep, log_joint, then all other values."""
    rows = [
        {"chain": chain, "sweep": sweep, **info}
        for chain, infos in enumerate(traces)
        for sweep, info in enumerate(infos, 1)
    ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    first = ["chain", "sweep", "log_joint"]
    return table.select(*first, *sorted(set(table.columns) - set(first)))


def _split(draws: ArrayLike) -> NDArray[np.float64]:
    """Split each chain into halves, so that drift within a chain shows up as disagreement."""
    values = np.atleast_2d(np.asarray(draws, float))
    half = values.shape[1] // 2
    return np.concatenate((values[:, :half], values[:, values.shape[1] - half :]))


def r_hat(draws: ArrayLike) -> float:
    """Return the split, rank-normalized R-hat of Vehtari et al. (2021, eq. 14).

    Parameters
    ----------
    draws : array, shape (n_chains, n_draws)

    Returns
    -------
    float
        Near 1 when chains agree; above 1.01 they have not mixed. NaN for fewer than four draws
        per chain.
    """
    halves = _split(draws)
    if halves.shape[1] < 2:
        return float("nan")
    if np.ptp(halves) == 0:
        return 1.0
    ranks = pl.Series(halves.ravel()).rank("average").to_numpy().reshape(halves.shape)
    normal = ndtri((ranks - 0.375) / (halves.size + 0.25))
    n = normal.shape[1]
    within = normal.var(axis=1, ddof=1).mean()
    between = normal.mean(axis=1).var(ddof=1)
    if within == 0:
        return float("inf")
    return float(np.sqrt((n - 1) / n + between / within))


def effective_sample_size(draws: ArrayLike) -> float:
    """Return the effective number of independent draws (Geyer's initial monotone sequence).

    Parameters
    ----------
    draws : array, shape (n_chains, n_draws)
        Disagreement between chains lowers the number.
    """
    halves = _split(draws)
    n_chains, n = halves.shape
    if n < 4:
        return float("nan")
    if np.ptp(halves) == 0:
        return float(halves.size)
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, size, axis=1)[:, :n] / n
    within = covariance[:, 0].mean() * n / (n - 1)
    total = within * (n - 1) / n + halves.mean(axis=1).var(ddof=1)
    correlation = 1 - (within - covariance.mean(axis=0) * n / (n - 1)) / total
    correlation[0] = 1
    pairs = correlation[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: ends[0]] if len(ends) else pairs)
    length = max(2 * pairs.sum() - 1, 1 / np.log10(n_chains * n))
    return float(n_chains * n / length)


def late_gain(values: ArrayLike) -> float:
    """Return the share of a chain's gain that it made in its last quarter.

    Parameters
    ----------
    values : array, shape (n_sweeps,)

    Returns
    -------
    float
        Near 0 once a chain has settled; near 0.25 while it still climbs steadily, which means that
        it was stopped too early. NaN for fewer than twenty sweeps.
    """
    chain = np.asarray(values, float)
    tenth = len(chain) // 10
    if tenth < 2 or not np.isfinite(chain).all():
        return float("nan")
    middle = 3 * len(chain) // 4
    late = chain[-tenth:].mean() - chain[middle - tenth : middle].mean()
    gained = chain[-tenth:].mean() - chain[0]
    return float(max(late, 0.0) / gained) if gained > 0 else 0.0


def convergence(trace: pl.DataFrame, burn_in: int) -> dict[str, float]:
    """Return R-hat and effective sample size of the log joint after burn-in.

    ``late_gain`` is the mean of :func:`late_gain` over chains, including burn-in.
    """
    gains = [late_gain(part["log_joint"].to_numpy()) for part in trace.partition_by("chain")]
    late = float(np.mean(gains)) if gains else float("nan")
    after = trace.filter(pl.col("sweep") > burn_in)
    chains = [part["log_joint"].to_numpy() for part in after.partition_by("chain")]
    shortest = min((len(chain) for chain in chains), default=0)
    if shortest < 4:
        return {"r_hat": float("nan"), "effective_samples": float("nan"), "late_gain": late}
    draws = np.array([chain[:shortest] for chain in chains])
    return {
        "r_hat": r_hat(draws),
        "effective_samples": effective_sample_size(draws),
        "late_gain": late,
    }
