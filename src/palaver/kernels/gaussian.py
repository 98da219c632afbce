"""Gaussian emissions given their parameters: log densities and sufficient statistics.

A state has a mean and the factor of its precision, ``precision = factor @ factor.T`` with an
upper triangular factor, so that ``(x - mean) @ factor`` is standard normal and its first
columns need only the first dimensions. Matrix products do the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from palaver.kernels.chains import count_transitions
from palaver.kernels.compiled import kernel

FULL, DIAGONAL, TIED = 0, 1, 2
KINDS = {"full": FULL, "diag": DIAGONAL, "tied": TIED}

# utterances and dimensions per matrix product: enough for BLAS, few enough for the cache
_ROWS, _COLUMNS = 512, 16

Floats = npt.NDArray[np.float64]


@kernel(fastmath={"reassoc", "contract"})
def _add_squares(products, shifts, first, squares):  # type: ignore[no-untyped-def]
    """Add ``sum_j (products[i, k, j] - shifts[k, first + j])²`` to ``squares[i, k]``."""
    for i in range(squares.shape[0]):
        for k in range(products.shape[1]):
            total = 0.0
            for j in range(products.shape[2]):
                difference = products[i, k, j] - shifts[k, first + j]
                total += difference * difference
            squares[i, k] += total


@kernel(fastmath={"reassoc", "contract"})
def _scaled_squares(vectors, means, scales, squares):  # type: ignore[no-untyped-def]
    """Set ``squares[i, k]`` to ``sum_j ((vectors[i, j] - means[k, j]) scales[k, j])²``."""
    for i in range(squares.shape[0]):
        for k in range(means.shape[0]):
            total = 0.0
            for j in range(vectors.shape[1]):
                difference = (vectors[i, j] - means[k, j]) * scales[k, j]
                total += difference * difference
            squares[i, k] = total


def _full_squares(vectors: Floats, means: Floats, factors: Floats, squares: Floats) -> None:
    """Fill squared distances (n, K) with factors (K, M, M): only the triangles are multiplied."""
    n_states, size = means.shape
    shifts = np.einsum("km,kmj->kj", means, factors)
    edges = [*range(0, size, _COLUMNS), size]
    parts = [
        np.ascontiguousarray(factors[:, :stop, start:stop].transpose(1, 0, 2)).reshape(stop, -1)
        for start, stop in pairwise(edges)
    ]
    squares[:] = 0.0
    for rows, block in _blocks(vectors):
        for start, part in zip(edges, parts, strict=False):
            products = (block[:, : len(part)] @ part).reshape(_ROWS, n_states, -1)
            _add_squares(products, shifts, start, squares[rows])


def _blocks(vectors: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield vectors in blocks of equal size, with the last one padded with zeros.

    The last bits of a matrix product depend on its shape: a vector's density must not depend
    on how many others there are.
    """
    for first in range(0, len(vectors), _ROWS):
        block = vectors[first : first + _ROWS]
        if len(block) < _ROWS:
            block = np.concatenate((block, np.zeros((_ROWS - len(block), vectors.shape[1]))))
        yield slice(first, first + _ROWS), block


def log_densities(
    kind: int, vectors: Floats, means: Floats, factors: Floats, log_scales: Floats
) -> Floats:
    """Return the log density of each vector under each state.

    Parameters
    ----------
    kind : int
        FULL, DIAGONAL or TIED.
    vectors : array of float64, shape (n, M)
    means : array of float64, shape (K, M)
    factors : array of float64
        (K, M, M) if full, (K, M) if diagonal, (M, M) if tied; see the module.
    log_scales : array of float64, shape (K,)
        Logs of the densities' largest values; -inf for a state that was removed.

    Returns
    -------
    array of float64, shape (n, K)

    Cost: about n K M² multiplications (full), n K M (diagonal), n M² + n K M (tied).
    """
    squares = np.empty((len(vectors), len(means)))
    if kind == FULL:
        _full_squares(vectors, means, factors, squares)
    elif kind == DIAGONAL:
        _scaled_squares(vectors, means, factors, squares)
    else:
        turned, ones = means @ factors, np.ones_like(means)
        for rows, block in _blocks(vectors):
            _scaled_squares(block @ factors, turned, ones, squares[rows])
    squares *= -0.5
    squares += log_scales
    return squares


def statistics(
    kind: int,
    vectors: Floats,
    states: npt.NDArray[np.int16],
    offsets: npt.NDArray[np.int64],
    n_states: int,
) -> dict[str, npt.NDArray[np.generic]]:
    """Return the sufficient statistics of a shard; those of several shards are added.

    Returns
    -------
    dict
        ``state_counts`` (K,), ``state_sums`` (K, M), ``state_squares`` (sums of x x': (K, M, M)
        if full, (K, M) if diagonal, (M, M) over all states if tied), ``transition_counts``
        (K + 1, K), the start last.

    Cost: n M² multiplications, n M if diagonal.
    """
    size = vectors.shape[1]
    transitions = np.zeros((n_states + 1, n_states), np.int64)
    count_transitions(states, offsets, transitions)
    sums = np.zeros((n_states, size))
    squares = np.zeros({FULL: (n_states, size, size), DIAGONAL: (n_states, size)}
                       .get(kind, (size, size)))  # fmt: skip
    for k, part in _by_state(vectors, states, n_states):
        sums[k] = part.sum(axis=0)
        if kind == FULL:
            squares[k] = part.T @ part
        elif kind == DIAGONAL:
            squares[k] = np.einsum("ij,ij->j", part, part)
    if kind == TIED:
        squares[:] = vectors.T @ vectors
    return {
        "state_counts": np.bincount(states, minlength=n_states).astype(np.int64),
        "state_sums": sums,
        "state_squares": squares,
        "transition_counts": transitions,
    }


def _by_state(
    vectors: Floats, states: npt.NDArray[np.int16], n_states: int
) -> Iterator[tuple[int, Floats]]:
    """Yield each state that has vectors, with its vectors in order."""
    order = np.argsort(states, kind="stable")
    ends = np.searchsorted(states[order], np.arange(n_states + 1))
    for k in range(n_states):
        if ends[k + 1] > ends[k]:
            yield k, vectors[order[ends[k] : ends[k + 1]]]
