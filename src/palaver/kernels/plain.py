"""Plain loops in place of numpy functions that take numba seconds to compile.

``np.diff`` and ``target[a:b] = row`` pull in the texts of their error messages, ``.max()`` the
order of complex numbers and dates, ``np.argsort`` all of quicksort. All users wait for compilation
on the first run.
"""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import inner, kernel


@inner
def highest_of(values):  # type: ignore[no-untyped-def]
    """Return the maximum of float64 ``values`` (n,) IN, or minus infinity if there are none."""
    highest = -np.inf
    for i in range(values.shape[0]):
        highest = max(highest, values[i])
    return highest


@inner
def longest_stretch(offsets):  # type: ignore[no-untyped-def]
    """Return the largest difference of neighbouring ``offsets`` (n + 1,) IN, 0 for n = 0."""
    longest = 0
    for i in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@kernel
def copy_to(source, n_values, target, first):  # type: ignore[no-untyped-def]
    """Set ``target[first:first + n_values]`` (OUT) to the first values of ``source`` (IN)."""
    for i in range(n_values):
        target[first + i] = source[i]


@inner
def largest_places(values, first, n_values, n_places, places):  # type: ignore[no-untyped-def]
    """Set ``places`` (n_places,) OUT to the places of the largest of some values, largest first.

    The values are ``values[first:first + n_values]`` IN, and places are counted from the first. Of
    equal values the last comes first. O(n_values n_places).
    """
    last, at = np.inf, np.int64(n_values)
    for k in range(n_places):
        best, found = -np.inf, np.int64(0)
        for i in range(n_values):
            value = values[first + i]
            if value >= best and (value < last or (value == last and i < at)):
                best, found = value, np.int64(i)
        places[k] = found
        last, at = best, found
