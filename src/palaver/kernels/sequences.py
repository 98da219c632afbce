"""Comparing sequences of numbers."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def common_length(left, right):  # type: ignore[no-untyped-def]
    """Return the length of the longest common subsequence.

    Parameters
    ----------
    left, right : array of int32. IN

    Returns
    -------
    int
        Time is the product of the lengths, memory that of the second.
    """
    lengths = np.zeros(len(right) + 1, np.int64)
    for item in left:
        diagonal = 0
        for j in range(len(right)):
            above = lengths[j + 1]
            if right[j] == item:
                lengths[j + 1] = diagonal + 1
            elif lengths[j] > above:
                lengths[j + 1] = lengths[j]
            diagonal = above
    return lengths[len(right)]
