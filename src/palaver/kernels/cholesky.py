"""Cholesky factors updated when a vector joins or leaves: O(M²) instead of O(M³).

A factor is upper triangular, ``matrix = factor.T @ factor``, so that all loops run along rows.
Joining always succeeds. Leaving may fail because of rounding, although the exact result is positive
definite; it then returns False, and the caller rebuilds the factor by joining.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from palaver.kernels.compiled import kernel

# A pivot that falls to less than this share of itself has lost half of its digits.
_LOST_SHARE = 1e-8


@kernel
def join(factor, vector):  # type: ignore[no-untyped-def]
    """Turn the factor of A into that of A + v v', by Givens rotations.

    Parameters
    ----------
    factor : array of float64, shape (M, M), upper triangular. IN-OUT
    vector : array of float64, shape (M,). IN, overwritten
    """
    size = len(vector)
    for j in range(size):
        pivot = math.hypot(factor[j, j], vector[j])
        if pivot > 0.0 and vector[j] != 0.0:
            cosine, sine = factor[j, j] / pivot, vector[j] / pivot
            factor[j, j] = pivot
            for i in range(j + 1, size):
                before = factor[j, i]
                factor[j, i] = cosine * before + sine * vector[i]
                vector[i] = cosine * vector[i] - sine * before


@kernel
def leave(factor, vector):  # type: ignore[no-untyped-def]
    """Turn the factor of A into that of A - v v', by hyperbolic rotations.

    Parameters
    ----------
    factor : array of float64, shape (M, M), upper triangular. IN-OUT
        Invalid after a failure.
    vector : array of float64, shape (M,). IN, overwritten

    Returns
    -------
    bool
        False if rounding left no positive definite matrix, or too few digits of it.
    """
    size = len(vector)
    for j in range(size):
        before, leaving = factor[j, j], vector[j]
        rest = (before - leaving) * (before + leaving)
        if not rest > _LOST_SHARE * before * before:
            return False
        if leaving != 0.0:
            pivot = math.sqrt(rest)
            cosine, sine = pivot / before, leaving / before
            factor[j, j] = pivot
            for i in range(j + 1, size):
                factor[j, i] = (factor[j, i] - sine * vector[i]) / cosine
                vector[i] = cosine * vector[i] - sine * factor[j, i]
    return True


@kernel(fastmath={"contract"})
def squared_distance(factor, vector):  # type: ignore[no-untyped-def]
    """Return ``v' A^-1 v``, by forward substitution.

    Parameters
    ----------
    factor : array of float64, shape (M, M), upper triangular. IN
    vector : array of float64, shape (M,). IN, overwritten
    """
    size = len(vector)
    total = 0.0
    for j in range(size):
        solved = vector[j] / factor[j, j]
        total += solved * solved
        for i in range(j + 1, size):
            vector[i] -= solved * factor[j, i]
    return total


def factorize(matrix: npt.NDArray[np.float64], magnitude: float = 0.0) -> npt.NDArray[np.float64]:
    """Return the upper factor of a matrix that is positive definite up to rounding.

    If rounding left it indefinite, the smallest sufficient ridge is added to the diagonal:
    1e-15 of the largest number that went into the matrix, times a power of ten.

    Parameters
    ----------
    matrix : array of float64, shape (M, M)
    magnitude : float
        The largest number that went into the matrix, if it is a difference of larger ones.

    Returns
    -------
    array of float64, shape (M, M), upper triangular
    """
    ridge = 0.0
    largest = max(magnitude, float(np.abs(matrix).max()), np.finfo(float).tiny)
    while True:
        try:
            mended = matrix + ridge * np.eye(len(matrix)) if ridge else matrix
            return np.ascontiguousarray(np.linalg.cholesky(mended).T)
        except np.linalg.LinAlgError:
            ridge = 10 * ridge if ridge else largest * 1e-15
            if not ridge < largest * 1e-3:  # rounding cannot be the cause
                raise
