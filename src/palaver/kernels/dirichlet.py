"""Dirichlet priors of counts: likelihoods, their concentrations, draws of word distributions.

With the rising factorial ``x^(n) = x (x+1) ... (x+n-1) = Gamma(x+n) / Gamma(x)``, a sequence of
outcomes with counts ``n_j`` under a Dirichlet prior ``a_j``, its distribution integrated out, has
probability (Dirichlet-multinomial, without the multinomial coefficient)::

    prod_j a_j^(n_j) / A^(N),      A = sum_j a_j,  N = sum_j n_j                               (1)

Counts of text are small and mostly zero: everything here works on nonzero counts, or on
histograms of counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import gammaln

from palaver.kernels.random import open_stream, uniform

_TABLE_SIZE = 512
#: Small enough that threads end their last slices together.
_WORDS_A_SLICE = 2048
_LOWEST_LOG_WEIGHT = -460.0  # 1e-200

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def log_dirichlet_multinomial(counts, concentration):  # type: ignore[no-untyped-def]
    """Return the log of (1) for each column under a symmetric prior ``concentration`` a row.

    The same as, for each column ``n``, ``sum(gammaln(n + a) - gammaln(a)) + gammaln(W a) -
    gammaln(W a + sum(n))``; an empty column gives 0.

    Parameters
    ----------
    counts : array of int32, shape (n_words, n_columns). IN
    concentration : float. IN

    Returns
    -------
    array of float64, shape (n_columns,); cost O(n_words * n_columns), logarithms only for a table.
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


@njit(cache=True, nogil=True)
def count_histogram(counts):  # type: ignore[no-untyped-def]
    """Return (values, how often each occurs) of the positive entries; a large value may repeat.

    Parameters
    ----------
    counts : array of int32, shape (n_words, n_columns). IN

    Returns
    -------
    two arrays of int64, short: below a fixed size by value, above it one for each entry.
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


def seeded_histogram(
    counts: npt.NDArray[np.int32], seeds: npt.NDArray[np.int32] | None
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return what :func:`log_concentration` needs of counts that hold the seeds of the prior.

    With seeds ``s`` the prior of a word is ``concentration + s``, and (1) of the tokens alone is
    (1) of the counts divided by (1) of the seeds: these count with a negative sign.

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
        Of the columns, where the prior has seeds: from :func:`seeded_histogram`.
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
    rate: float = 1.0,
    signs: IntArray | None = None,
) -> tuple[float, int]:
    """Resample a symmetric concentration: one Metropolis-Hastings step for each of ``steps``.

    A step proposes ``c' = c * exp(step * normal)`` and accepts with the ratio of
    :func:`log_concentration` times ``c' / c``, because the walk is symmetric in ``log c``. Steps
    of several sizes need no tuning to the corpus: the more data, the shorter the useful step.

    Returns
    -------
    the concentration after all steps, and how many proposals were accepted
    """

    def log_density(candidate: float) -> float:
        return log_concentration(
            candidate, values, occurrences, totals, n_words, shape, rate, signs
        )

    current = log_density(concentration)
    n_accepted = 0
    for step in steps:
        move = step * generator.standard_normal()
        log_threshold = math.log(1.0 - generator.random())
        if abs(math.log(concentration) + move) > 230.0:
            continue  # beyond 1e-100 .. 1e100 there is no mass, but overflow
        proposal = concentration * math.exp(move)
        proposed = log_density(proposal)
        if log_threshold < proposed - current + move:
            concentration, current = proposal, proposed
            n_accepted += 1
    return concentration, n_accepted


@njit(cache=True, nogil=True)
def log_classes(class_histograms, length_histogram, alpha):  # type: ignore[no-untyped-def]
    """Return the log of (1) over all messages: the messages' part of LDA's log joint.

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


@njit(cache=True)
def _sum_of_logs(histogram, base):  # type: ignore[no-untyped-def]
    """Return ``sum_n histogram[n] * log base^(n)``, as logs of ``base + i`` times tail counts."""
    result = 0.0
    above = 0
    for i in range(histogram.shape[0] - 2, -1, -1):
        above += histogram[i + 1]
        if above > 0:
            result += above * math.log(base + i)
    return result


@njit(cache=True, error_model="numpy")
def _sum_of_inverses(histogram, base):  # type: ignore[no-untyped-def]
    """Return ``sum_n histogram[n] * (digamma(base + n) - digamma(base))`` without a digamma."""
    result = 0.0
    above = 0
    for i in range(histogram.shape[0] - 2, -1, -1):
        above += histogram[i + 1]
        if above > 0:
            result += above / (base + i)
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def update_alpha(  # type: ignore[no-untyped-def]
    class_histograms, length_histogram, alpha, n_iterations, shape=1.0, rate=0.0, floor=1e-4
):
    """Return alpha after iterations of Minka's fixed point (2003, eq. 55), from histograms.

    ``alpha_k <- (alpha_k S_k + shape - 1) / (S + rate)`` with ``S_k = sum_b sum_{i < n_bk}
    1 / (alpha_k + i)`` and ``S = sum_b sum_{i < n_b.} 1 / (sum(alpha) + i)``. Each iteration
    maximises a lower bound that touches the log posterior, so none lowers it.

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
        get a token again: the sampler would not reach all states. Cutting off at the floor keeps
        every iteration from lowering the posterior, if alpha starts at or above it.

    Returns
    -------
    array of float64, shape (n_classes,); cost O(n_iterations * n_classes * longest).
    """
    result = np.maximum(alpha, floor)
    for _ in range(n_iterations):
        denominator = _sum_of_inverses(length_histogram, result.sum()) + rate
        if denominator > 0.0:  # else there is neither a token nor a prior
            for k in range(alpha.shape[0]):
                numerator = result[k] * _sum_of_inverses(class_histograms[k], result[k])
                result[k] = max((numerator + shape - 1.0) / denominator, floor)
    return result


@njit(cache=True)
def log_gamma_draw(shape, state):  # type: ignore[no-untyped-def]
    """Return the logarithm of a draw from Gamma(shape, 1). state: IN-OUT.

    Below one by Ahrens & Dieter's GS (1974), in logs because a small shape's draws underflow
    (of Gamma(0.01) every thirtieth is below 1e-150); from one on by Marsaglia & Tsang (2000).
    """
    if shape < 1.0:
        bound = 1.0 + shape / math.e
        while True:
            p = bound * (1.0 - uniform(state))
            if p <= 1.0:
                log_draw = math.log(p) / shape
                threshold = 1.0 - uniform(state)
                # exp(-x) > 0.95 for x < exp(-3): mostly no exponential is needed
                if threshold <= 0.95 and log_draw < -3.0:
                    return log_draw
                if threshold <= math.exp(-math.exp(log_draw)):
                    return log_draw
            else:
                draw = -math.log((bound - p) / shape)
                if 1.0 - uniform(state) <= draw ** (shape - 1.0):
                    return math.log(draw)
    third = shape - 1.0 / 3.0
    scale = 1.0 / math.sqrt(9.0 * third)
    while True:
        x = _normal(state)
        cube = (1.0 + scale * x) ** 3
        if cube > 0.0:
            threshold = 1.0 - uniform(state)
            if threshold < 1.0 - 0.0331 * x**4 or math.log(threshold) < (
                0.5 * x * x + third * (1.0 - cube + math.log(cube))
            ):
                return math.log(third * cube)


@njit(cache=True)
def _normal(state):  # type: ignore[no-untyped-def]
    """Return a standard normal draw by Marsaglia's polar method. state: IN-OUT."""
    while True:
        x = 2.0 * uniform(state) - 1.0
        y = 2.0 * uniform(state) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@njit(cache=True, nogil=True)
def _draw_log_gammas(  # type: ignore[no-untyped-def]
    key, first_word, counts, concentration, weights
):
    """Set ``weights`` (OUT) to logs of Gamma(counts + concentration); return column maxima."""
    n_words, n_columns = counts.shape
    maxima = np.full(n_columns, -np.inf)
    state = np.empty(4, np.uint64)
    for w in range(n_words):
        open_stream(key, first_word + w, state)
        for k in range(n_columns):
            weights[w, k] = log_gamma_draw(counts[w, k] + concentration, state)
            maxima[k] = max(maxima[k], weights[w, k])
    return maxima


def word_slices(n_words: int) -> list[slice]:
    """Cut the words into slices of a fixed size, for threads."""
    return [slice(start, start + _WORDS_A_SLICE) for start in range(0, n_words, _WORDS_A_SLICE)]


def draw_word_weights(
    counts: npt.NDArray[np.int32],
    concentration: float,
    generator: np.random.Generator,
    run: Callable[..., Iterator[Any]] = map,
) -> FloatArray:
    """Draw each column's word distribution from its posterior Dirichlet(counts + concentration).

    Every word has its own stream, keyed by two words of the generator.

    Parameters
    ----------
    counts : array of int32, shape (n_words, n_columns)
    concentration : float
    generator : numpy Generator
    run : callable
        ``map`` or the ``map`` of a thread pool: the kernels release the interpreter's lock, words
        are cut into slices of a fixed size, so the result is the same.

    Returns
    -------
    array of float64, shape (n_words, n_columns)
        Columns sum to one. No weight is zero: weights below 1e-200 of the largest of their slice,
        which are drawn when the concentration is small, are put there, and those of slices without
        tokens at least at 1e-300. Only words that never occur can notice: their classes are then
        drawn from the message's alone.
    """
    key = generator.integers(2**64, size=2, dtype=np.uint64)
    weights = np.empty(counts.shape)
    parts = word_slices(len(counts))

    def draw(part: slice) -> tuple[FloatArray, FloatArray]:
        own = weights[part]
        maxima = _draw_log_gammas(key, part.start, counts[part], concentration, own)
        own -= maxima
        np.maximum(own, _LOWEST_LOG_WEIGHT, out=own)
        np.exp(own, out=own)
        return maxima, own.sum(axis=0)

    # Each slice by its own largest weights, so that threads meet once; then all by the largest.
    maxima, sums = (np.array(found) for found in zip(*run(draw, parts), strict=True))
    scales = np.exp(np.maximum(maxima - maxima.max(axis=0), _LOWEST_LOG_WEIGHT / 2))
    scales /= (scales * sums).sum(axis=0)
    for part, scale in zip(parts, scales, strict=True):
        weights[part] *= scale
    return weights


def mean_word_weights(counts: npt.NDArray[np.int32], concentration: float) -> FloatArray:
    """Return each column's expected word distribution given counts, shape (n_words, n_columns)."""
    totals = counts.sum(axis=0, dtype=np.int64) + len(counts) * concentration
    return np.asarray((counts + concentration) / totals)
