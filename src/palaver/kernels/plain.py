"""Two plain loops in place of numpy functions that take numba seconds to compile.

``np.diff`` pulls in the texts of its error messages, ``.max()`` the order of complex numbers
and dates. All users wait for compilation on the first run.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def highest_of(values):  # type: ignore[no-untyped-def]
    """Return the maximum of float64 ``values`` (n,) IN, or minus infinity if there are none."""
    highest = -np.inf
    for i in range(values.shape[0]):
        highest = max(highest, values[i])
    return highest


@njit(cache=True, nogil=True)
def longest_stretch(offsets):  # type: ignore[no-untyped-def]
    """Return the largest difference of neighbouring ``offsets`` (n + 1,) IN, 0 for n = 0."""
    longest = 0
    for i in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest
