"""Random signs that all shards agree on, and sums over merged states."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def signs(numbers: NDArray[Any], key: NDArray[np.uint64]) -> NDArray[np.int8]:
    """Return a random sign for each number, the same in every shard."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + key[0]
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.where(mixed >> np.uint64(63), 1, -1).astype(np.int8)


def grouped(array: NDArray[Any], axes: tuple[int, ...], groups: NDArray[np.int64]) -> NDArray[Any]:
    """Return the array with the entries of merged states added up."""
    for axis in axes:
        moved = np.moveaxis(array, axis, 0)
        found = np.zeros((int(groups.max()) + 1, *moved.shape[1:]), array.dtype)
        for k, group in enumerate(groups):
            found[group] += moved[k]
        array = np.ascontiguousarray(np.moveaxis(found, 0, axis))
    return array
