"""Geweke's joint-distribution test (Geweke 2004, "Getting it right").

Two simulators of the same joint p(parameters, data):

- marginal-conditional: parameters from the prior, data given them; draws are independent;
- successive-conditional: start from one draw of the joint, then alternate the sampler under
  test (parameters given data) and the simulator of data given parameters. If the sampler is
  right the chain is stationary from its first state, so nothing is thrown away.

Both give a vector of statistics per draw; if the sampler leaves the posterior invariant, the
means agree. The chain's means get an error from its effective sample size. Each comparison
is Welch's t turned into a standard normal z, so that one Bonferroni threshold serves all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, stats

N_BATCHES = 50
FALSE_ALARM_RATE = 1e-6

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class GewekeTable:
    """One row per statistic; `threshold` is two-sided, Bonferroni over the rows."""

    names: tuple[str, ...]
    marginal_means: FloatArray
    successive_means: FloatArray
    standard_errors: FloatArray
    effective_sizes: FloatArray
    z: FloatArray
    threshold: float
    false_alarm_rate: float

    @property
    def worst(self) -> float:
        return float(np.abs(self.z).max())

    def __str__(self) -> str:
        lines = [
            f"threshold |z| < {self.threshold:.2f} (false alarms {self.false_alarm_rate:g})",
            f"{'statistic':<28}{'marginal':>12}{'successive':>12}{'error':>11}{'ESS':>9}{'z':>8}",
        ]
        for i in np.argsort(-np.abs(self.z)):
            lines.append(
                f"{self.names[i]:<28}{self.marginal_means[i]:>12.5g}"
                f"{self.successive_means[i]:>12.5g}{self.standard_errors[i]:>11.3g}"
                f"{self.effective_sizes[i]:>9.0f}{self.z[i]:>8.2f}"
            )
        return "\n".join(lines)


def batch_means_variance(samples: FloatArray, n_batches: int = N_BATCHES) -> FloatArray:
    """Variance of each column's mean, from the means of consecutive batches."""
    length = len(samples) // n_batches
    means = samples[: length * n_batches].reshape(n_batches, length, -1).mean(axis=1)
    return means.var(axis=0, ddof=1) / n_batches


def autocorrelation_variance(samples: FloatArray) -> FloatArray:
    """Variance of each column's mean, by Geyer's initial positive sequence."""
    n = len(samples)
    centred = np.ascontiguousarray((samples - samples.mean(axis=0)).T)
    spectrum = fft.rfft(centred, fft.next_fast_len(2 * n, real=True))
    power = spectrum.real**2 + spectrum.imag**2
    covariances = fft.irfft(power, fft.next_fast_len(2 * n, real=True))[:, :n].T / n
    pairs = covariances[0 : n - n % 2 : 2] + covariances[1 : n - n % 2 : 2]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    summed = 2.0 * np.where(positive, pairs, 0.0).sum(axis=0) - covariances[0]
    # a chain that alternates may have less than independent error; do not believe it
    return np.maximum(summed, covariances[0]) / n


def compare_samples(
    marginal: ArrayLike,
    successive: ArrayLike,
    names: Sequence[str] | None = None,
    false_alarm_rate: float = FALSE_ALARM_RATE,
) -> GewekeTable:
    """Table of z for independent draws (n, d) against a chain's draws (m, d)."""
    independent = np.asarray(marginal, dtype=np.float64)
    chain = np.asarray(successive, dtype=np.float64)
    if independent.ndim != 2 or chain.ndim != 2 or independent.shape[1] != chain.shape[1]:
        raise ValueError("two matrices with one column per statistic are needed")
    if min(len(independent), len(chain)) < 10 * N_BATCHES:
        raise ValueError(f"at least {10 * N_BATCHES} draws of each are needed")
    if not (np.isfinite(independent).all() and np.isfinite(chain).all()):
        raise ValueError("a statistic is not finite")
    n_statistics = chain.shape[1]
    named = tuple(names) if names is not None else tuple(f"s{i}" for i in range(n_statistics))
    if len(named) != n_statistics:
        raise ValueError(f"{len(named)} names for {n_statistics} statistics")

    independent_variance = independent.var(axis=0, ddof=1) / len(independent)
    chain_variance = np.maximum(batch_means_variance(chain), autocorrelation_variance(chain))
    variance = independent_variance + chain_variance
    difference = chain.mean(axis=0) - independent.mean(axis=0)
    spread = chain.var(axis=0, ddof=1)
    z = np.zeros(n_statistics)
    sizes = np.zeros(n_statistics)
    for i in range(n_statistics):
        if chain_variance[i] > 0:
            sizes[i] = spread[i] / chain_variance[i]
        if variance[i] == 0:
            z[i] = 0.0 if difference[i] == 0 else np.inf * np.sign(difference[i])
            continue
        # Welch-Satterthwaite; the chain's variance has the batches' degrees of freedom
        freedom = variance[i] ** 2 / (
            independent_variance[i] ** 2 / (len(independent) - 1)
            + chain_variance[i] ** 2 / (N_BATCHES - 1)
        )
        t = difference[i] / np.sqrt(variance[i])
        log_tail = stats.t.logsf(abs(t), freedom)
        z[i] = np.sign(t) * _normal_quantile_of_log_tail(log_tail)
    return GewekeTable(
        names=named,
        marginal_means=independent.mean(axis=0),
        successive_means=chain.mean(axis=0),
        standard_errors=np.sqrt(variance),
        effective_sizes=sizes,
        z=z,
        threshold=bonferroni_threshold(n_statistics, false_alarm_rate),
        false_alarm_rate=false_alarm_rate,
    )


def bonferroni_threshold(n_statistics: int, false_alarm_rate: float = FALSE_ALARM_RATE) -> float:
    """Two-sided |z| that all of n right statistics stay below but with this probability."""
    return float(stats.norm.isf(false_alarm_rate / (2 * n_statistics)))


def _normal_quantile_of_log_tail(log_tail: float) -> float:
    # isf underflows to infinity below 1e-308: far beyond any threshold, cap it there
    return float(stats.norm.isf(np.exp(max(log_tail, -700.0))))


def geweke(
    marginal: Callable[[], ArrayLike],
    successive: Callable[[], ArrayLike],
    n_draws: int,
    names: Sequence[str] | None = None,
    n_marginal: int | None = None,
    false_alarm_rate: float = FALSE_ALARM_RATE,
) -> GewekeTable:
    """Call both simulators and compare.

    Parameters
    ----------
    marginal : callable
        One fresh draw of (parameters, data), returned as its vector of statistics.
    successive : callable
        One step of the chain (sampler under test, then new data given the parameters),
        returned as its vector of statistics. Its state must start at a draw of the joint.
    n_draws, n_marginal : int
        Steps of the chain; independent draws (as many if not given).
    """
    independent = np.array(
        [np.asarray(marginal(), dtype=np.float64).copy() for _ in range(n_marginal or n_draws)]
    )
    chain = np.array([np.asarray(successive(), dtype=np.float64).copy() for _ in range(n_draws)])
    return compare_samples(independent, chain, names, false_alarm_rate)


def assert_geweke_passes(table: GewekeTable, min_effective_size: float = 200.0) -> None:
    """Fail where a z is over the threshold, or a statistic has no power to be."""
    for i, name in enumerate(table.names):
        if table.standard_errors[i] == 0 and table.z[i] == 0:
            raise AssertionError(f"statistic {name} never varies: it cannot fail\n{table}")
    if not table.worst < table.threshold:
        raise AssertionError(f"Geweke test failed\n{table}")
    if table.effective_sizes.min() < min_effective_size:
        raise AssertionError(
            f"effective sample size under {min_effective_size:g}: the test proves little\n{table}"
        )


def assert_geweke_catches(table: GewekeTable) -> None:
    """Fail unless a planted bug pushed some z over the threshold."""
    if not table.worst > table.threshold:
        raise AssertionError(f"the planted bug was not caught\n{table}")
