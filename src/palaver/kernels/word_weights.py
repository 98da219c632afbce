"""Word distributions of classes: draws from their Dirichlet posteriors, or posterior means.

Draws use logs of Gamma variables, with one stream per word, so that threads can share the words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.random import open_stream, uniform

#: Small enough that threads finish at about the same time.
_WORDS_A_SLICE = 2048
_LOWEST_LOG_WEIGHT = -460.0  # 1e-200

FloatArray = npt.NDArray[np.float64]


@kernel
def log_gamma_draw(shape, state):  # type: ignore[no-untyped-def]
    """Return the logarithm of a draw from Gamma(shape, 1). state: IN-OUT.

    Shapes below one use Ahrens & Dieter's GS (1974), in logs because small draws underflow
    (every thirtieth of Gamma(0.01) is below 1e-150); others use Marsaglia & Tsang (2000).
    """
    if shape < 1.0:
        bound = 1.0 + shape / math.e
        while True:
            p = bound * (1.0 - uniform(state))
            if p <= 1.0:
                log_draw = math.log(p) / shape
                threshold = 1.0 - uniform(state)
                # exp(-x) > 0.95 for x < exp(-3): usually no exponential is needed
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


@inner
def _normal(state):  # type: ignore[no-untyped-def]
    """Return a standard normal draw by Marsaglia's polar method. state: IN-OUT."""
    while True:
        x = 2.0 * uniform(state) - 1.0
        y = 2.0 * uniform(state) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@kernel
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
    """Split the words into slices of a fixed size, for threads."""
    return [slice(start, start + _WORDS_A_SLICE) for start in range(0, n_words, _WORDS_A_SLICE)]


def word_key(generator: np.random.Generator) -> npt.NDArray[np.uint64]:
    """Return the key of the streams of all words."""
    return generator.integers(2**64, size=2, dtype=np.uint64)


def draw_word_weights(
    counts: npt.NDArray[np.int32],
    concentration: float,
    key: npt.NDArray[np.uint64],
    run: Callable[..., Iterator[Any]] = map,
) -> FloatArray:
    """Draw each column's word distribution from its posterior Dirichlet(counts + concentration).

    Every word has its own stream.

    Parameters
    ----------
    counts : array of int32, shape (n_words, n_columns)
    concentration : float
    key : array of uint64, shape (2,)
        See :func:`word_key`.
    run : callable
        ``map`` or the ``map`` of a thread pool. Kernels release the interpreter lock, and words
        are split into slices of a fixed size, so the result is the same.

    Returns
    -------
    array of float64, shape (n_words, n_columns)
        Columns sum to one. No weight is zero: weights below 1e-200 of the largest in their slice,
        which occur if the concentration is small, are raised to that, and those of slices without
        tokens to at least 1e-300. This affects only words that never occur, whose classes are then
        drawn from those of the message alone.
    """
    weights = np.empty(counts.shape)
    parts = word_slices(len(counts))

    def draw(part: slice) -> tuple[FloatArray, FloatArray]:
        own = weights[part]
        maxima = _draw_log_gammas(key, part.start, counts[part], concentration, own)
        own -= maxima
        np.maximum(own, _LOWEST_LOG_WEIGHT, out=own)
        np.exp(own, out=own)
        return maxima, own.sum(axis=0)

    # Scale each slice by its own maxima, so that threads synchronize once; then all by the largest.
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
