"""Kernels that only other kernels call."""

from functools import cache

from numba import njit


@cache
def called(inner):
    """Return an inner kernel (:mod:`palaver.kernels.compiled`) as a function that Python calls."""
    return njit(inner.py_func)
