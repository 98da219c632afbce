"""Dirichlet priors of counts: likelihoods and concentrations.

With the rising factorial ``x^(n) = x (x+1) ... (x+n-1) = Gamma(x+n) / Gamma(x)``, a sequence of
outcomes with counts ``n_j`` under a Dirichlet prior ``a_j``, with the distribution integrated
out, has probability (Dirichlet-multinomial, without the multinomial coefficient)::

    prod_j a_j^(n_j) / A^(N),      A = sum_j a_j,  N = sum_j n_j                               (1)

Counts of text are small and mostly zero, so everything here works on nonzero counts or on
histograms of counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from palaver.kernels.compiled import inner, kernel

_TABLE_SIZE = 512

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@kernel
def log_dirichlet_multinomial(counts, concentration):  # type: ignore[no-untyped-def]
    """Return the log of (1) for each column under a symmetric prior, ``concentration`` per row.

    For each column ``n`` this equals ``sum(gammaln(n + a) - gammaln(a)) + gammaln(W a) -
    gammaln(W a + sum(n))``; an empty column gives 0.

    Parameters
    ----------
    counts : array of int32, shape (n_words, n_columns). IN
    concentration : float. IN

    Returns
    -------
    array of float64, shape (n_columns,); cost O(n_words * n_columns), with logs from a table.
    """
    n_words, n_columns = counts.shape
    table = np.zeros(_TABLE_SIZE)
    for n in range(1, _TABLE_SIZE):
        table[n] = table[n - 1] + math.log(concentration + n - 1.0)
    start = math.lgamma(concentration)
    result = np.zeros(n_columns)
    totals = np.zeros(n_columns, np.int64)
    for w in range(n_words):
        for k in range(n_columns):
            n = counts[w, k]
            if n > 0:
                totals[k] += n
                if n < _TABLE_SIZE:
                    result[k] += table[n]
                else:
                    result[k] += math.lgamma(concentration + n) - start
    sum_of_prior = n_words * concentration
    for k in range(n_columns):
        result[k] += math.lgamma(sum_of_prior) - math.lgamma(sum_of_prior + totals[k])
    return result


@kernel
def count_histogram(counts):  # type: ignore[no-untyped-def]
    """Return the positive entries and how often each occurs; large values may be repeated.

    Parameters
    ----------
    counts : array of int32, shape (n_words, n_columns). IN

    Returns
    -------
    two short arrays of int64: one entry per value below a fixed size, one per count above it.
    """
    n_words, n_columns = counts.shape
    small = np.zeros(_TABLE_SIZE, np.int64)
    n_values = 0
    for w in range(n_words):
        for k in range(n_columns):
            n = counts[w, k]
            if n >= _TABLE_SIZE:
                n_values += 1
            elif n > 0:
                n_values += small[n] == 0
                small[n] += 1
    values = np.empty(n_values, np.int64)
    occurrences = np.ones(n_values, np.int64)
    position = 0
    for n in range(_TABLE_SIZE):
        if small[n] > 0:
            values[position] = n
            occurrences[position] = small[n]
            position += 1
    for w in range(n_words):
        if position == n_values:
            break
        for k in range(n_columns):
            if counts[w, k] >= _TABLE_SIZE:
                values[position] = counts[w, k]
                position += 1
    return values, occurrences


def log_counts(counts: IntArray, prior: FloatArray) -> FloatArray:
    """Return the log of (1) for each row of counts (n, J) under a prior (J,), shape (n,)."""
    rises = (gammaln(counts + prior) - gammaln(prior)).sum(axis=1)
    sum_of_prior = prior.sum()
    return np.asarray(rises - gammaln(counts.sum(axis=1) + sum_of_prior) + gammaln(sum_of_prior))


def draw_rows(
    counts: IntArray, prior: FloatArray | float, generator: np.random.Generator
) -> FloatArray:
    """Draw rows from Dirichlet(counts + prior), in the shape of the counts; none is all zero."""
    gammas = np.maximum(generator.standard_gamma(counts + prior), np.finfo(float).tiny)
    return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))


def seeded_histogram(
    counts: npt.NDArray[np.int32], seeds: npt.NDArray[np.int32] | None
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return what :func:`log_concentration` needs for counts that include the prior's seeds.

    With seeds ``s``, the prior of a word is ``concentration + s``, and (1) of the tokens alone is
    (1) of the counts divided by (1) of the seeds, so seeds count with a negative sign.

    Returns
    -------
    values, occurrences, totals, signs : arrays of int64
    """
    values, occurrences = count_histogram(counts)
    totals = counts.sum(axis=0, dtype=np.int64)
    signs = np.ones_like(totals)
    if seeds is None:
        return values, occurrences, totals, signs
    seeded = seeded_histogram(seeds, None)
    return (
        np.concatenate((values, seeded[0])),
        np.concatenate((occurrences, -seeded[1])),
        np.concatenate((totals, seeded[2])),
        np.concatenate((signs, -signs)),
    )


def log_concentration(
    concentration: float,
    values: IntArray,
    occurrences: IntArray,
    totals: IntArray,
    n_words: int,
    shape: float = 1.0,
    rate: float = 1.0,
    signs: IntArray | None = None,
) -> float:
    """Return log prior plus log likelihood (1) of a symmetric concentration, up to a constant.

    Parameters
    ----------
    concentration : float
        Positive; its prior is Gamma(shape, rate).
    values, occurrences : arrays of int64
        From :func:`count_histogram` of the counts.
    totals : array of int64, shape (n_columns,)
        Column sums of the counts.
    signs : array of int64, shape (n_columns,), optional
        Signs of the columns if the prior has seeds, from :func:`seeded_histogram`.
    """
    prior = (shape - 1.0) * math.log(concentration) - rate * concentration
    sum_of_prior = n_words * concentration
    numerator = occurrences @ (gammaln(values + concentration) - gammaln(concentration))
    of_columns = gammaln(totals + sum_of_prior) - gammaln(sum_of_prior)
    denominator = np.sum(of_columns if signs is None else signs * of_columns)
    return float(prior + numerator - denominator)


def sample_concentration(
    concentration: float,
    values: IntArray,
    occurrences: IntArray,
    totals: IntArray,
    n_words: int,
    generator: np.random.Generator,
    steps: Iterable[float] = (0.5, 0.1, 0.02),
    shape: float = 1.0,
    signs: IntArray | None = None,
) -> float:
    """Resample a symmetric concentration by one Metropolis-Hastings step per entry of ``steps``.

    A step proposes ``c' = c * exp(step * normal)`` and accepts with the ratio of
    :func:`log_concentration` times ``c' / c``, because the walk is symmetric in ``log c``. Steps
    of several sizes need no tuning to the corpus: the more data, the smaller the useful step.
    """

    def log_density(candidate: float) -> float:
        return log_concentration(
            candidate, values, occurrences, totals, n_words, shape, signs=signs
        )

    current = log_density(concentration)
    for step in steps:
        move = step * generator.standard_normal()
        log_threshold = math.log(1.0 - generator.random())
        if abs(math.log(concentration) + move) > 230.0:
            continue  # outside 1e-100 .. 1e100 there is no mass, only overflow
        proposal = concentration * math.exp(move)
        proposed = log_density(proposal)
        if log_threshold < proposed - current + move:
            concentration, current = proposal, proposed
    return concentration


@kernel
def log_classes(class_histograms, length_histogram, alpha):  # type: ignore[no-untyped-def]
    """Return the log of (1) over all messages, their contribution to LDA's log joint.

    Parameters
    ----------
    class_histograms : array of int64, shape (n_classes, longest + 1). IN
    length_histogram : array of int64, shape (longest + 1,). IN
        From :func:`palaver.kernels.lda.message_histograms`.
    alpha : array of float64, shape (n_classes,). IN

    Cost O(n_classes * longest).
    """
    result = -_sum_of_logs(length_histogram, alpha.sum())
    for k in range(alpha.shape[0]):
        result += _sum_of_logs(class_histograms[k], alpha[k])
    return result


@inner
def _sum_of_logs(histogram, base):  # type: ignore[no-untyped-def]
    """Return ``sum_n histogram[n] * log base^(n)``, as logs of ``base + i`` times tail counts."""
    result = 0.0
    above = 0
    for i in range(histogram.shape[0] - 2, -1, -1):
        above += histogram[i + 1]
        if above > 0:
            result += above * math.log(base + i)
    return result


@inner(error_model="numpy")
def _sum_of_inverses(histogram, base):  # type: ignore[no-untyped-def]
    """Return ``sum_n histogram[n] * (digamma(base + n) - digamma(base))`` without a digamma."""
    result = 0.0
    above = 0
    for i in range(histogram.shape[0] - 2, -1, -1):
        above += histogram[i + 1]
        if above > 0:
            result += above / (base + i)
    return result


@kernel(error_model="numpy")
def update_alpha(  # type: ignore[no-untyped-def]
    class_histograms, length_histogram, alpha, n_iterations, shape=1.0, rate=0.0, floor=1e-4
):
    """Return alpha after iterations of Minka's fixed point (2003, eq. 55), from histograms.

    ``alpha_k <- (alpha_k S_k + shape - 1) / (S + rate)`` with ``S_k = sum_b sum_{i < n_bk}
    1 / (alpha_k + i)`` and ``S = sum_b sum_{i < n_b.} 1 / (sum(alpha) + i)``. Each iteration
    maximizes a lower bound that touches the log posterior, so none lowers it.

    Parameters
    ----------
    class_histograms : array of int64, shape (n_classes, longest + 1). IN
    length_histogram : array of int64, shape (longest + 1,). IN
        From :func:`palaver.kernels.lda.message_histograms`.
    alpha : array of float64, shape (n_classes,), positive. IN
    n_iterations : int. IN
    shape, rate : float. IN
        Gamma prior of each alpha_k, ``shape >= 1``; the default is flat.
    floor : float. IN
        Smallest alpha_k. A class without tokens has its maximum at zero, where it could never
        get a token again, so the sampler would not reach all states. Cutting off at the floor keeps
        every iteration from lowering the posterior, if alpha starts at or above it.

    Returns
    -------
    array of float64, shape (n_classes,); cost O(n_iterations * n_classes * longest).
    """
    result = np.maximum(alpha, floor)
    for _ in range(n_iterations):
        denominator = _sum_of_inverses(length_histogram, result.sum()) + rate
        if denominator > 0.0:  # otherwise there is neither a token nor a prior
            for k in range(alpha.shape[0]):
                numerator = result[k] * _sum_of_inverses(class_histograms[k], result[k])
                result[k] = max((numerator + shape - 1.0) / denominator, floor)
    return result
