"""Whether what a checkpoint holds is what an engine would have made.

Kernels do not check what they index with, so a state that was altered could be read out of bounds,
or sampled forever. Engines name what they expect, and the loop asks them before it continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.parallel.executor import Arrays, Globals, Shards, States


@dataclass(frozen=True)
class Expected:
    """What an array must be.

    Attributes
    ----------
    shape : tuple of int
    dtype : type
    least, most : float
        Bounds of its values; whole numbers are below ``most``, others at most that.
    """

    shape: tuple[int, ...]
    dtype: Any = np.float64
    least: float = -np.inf
    most: float = np.inf


#: The smallest number that a prior or a scale may be.
POSITIVE = np.finfo(float).tiny


def indices(n: int, most: int, dtype: Any = np.int16) -> Expected:
    """Return what ``n`` numbers of classes below ``most`` must be."""
    return Expected((n,), dtype, 0, most)


def check_arrays(arrays: Mapping[str, NDArray[Any]], expected: Mapping[str, Expected]) -> None:
    """Compare arrays with what they must be.

    Raises
    ------
    ValueError
        One is missing, or is something else.
    """
    for name, wanted in expected.items():
        if name not in arrays:
            raise ValueError(f"{name} is missing")
        array = arrays[name]
        if array.dtype != wanted.dtype or array.shape != wanted.shape:
            raise ValueError(
                f"{name} has {array.dtype} of the shape {array.shape}, not "
                f"{np.dtype(wanted.dtype)} of the shape {wanted.shape}"
            )
        if not array.size:
            continue
        low, high = array.min(), array.max()
        is_below = high < wanted.most if array.dtype.kind in "iu" else high <= wanted.most
        if not (low >= wanted.least and is_below):
            raise ValueError(f"{name} has values from {low} to {high}")


def check_rows(rows: NDArray[np.float64], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless an array has rows of probabilities."""
    check_arrays({"rows": rows}, {"rows": Expected(shape, np.float64, 0, 1 + 1e-6)})
    if rows.size and not np.allclose(rows.sum(axis=-1), 1, atol=1e-6):
        raise ValueError("rows do not sum to one")


def check_counts(arrays: Mapping[str, NDArray[Any]], counted: Mapping[str, NDArray[Any]]) -> None:
    """Raise ValueError unless counts are those that were found by counting."""
    for name, counts in counted.items():
        found = arrays.get(name)
        if found is None or found.dtype != counts.dtype or not np.array_equal(found, counts):
            raise ValueError(f"{name} are not the counts of what the state holds")


def check_restored(engine: Any, shards: Shards, shared: list[Globals], states: States) -> None:
    """Compare the globals and states of a checkpoint with what an engine expects.

    Raises
    ------
    ValueError
        They are not what the engine would have made of this data.
    """
    places = {(chain, shard) for chain in range(len(shared)) for shard in range(len(shards))}
    if set(states) != places:
        raise ValueError(f"states of {len(states)} parts of the data, not of {len(places)}")
    check = getattr(engine, "check", None)
    if check is None:
        return
    for (chain, shard), state in sorted(states.items(), key=lambda item: item[0]):
        check(shared[chain], shards[shard], state)


def check_trace(engine: Any, rows: list[dict[str, float]]) -> None:
    """Raise ValueError unless the first sweeps after a checkpoint make sense.

    Engines without a check of their own may have sweeps that have no log joint.
    """
    if hasattr(engine, "check") and not all(np.isfinite(row["log_joint"]) for row in rows):
        raise ValueError("its numbers lead to none")


def check_numbers(arrays: Arrays) -> None:
    """Raise ValueError unless all arrays have numbers that this machine can read.

    Minus infinity is one of them: the logarithm of zero, or a score before the first.
    """
    for name, array in arrays.items():
        if array.dtype.kind not in "iufb" or not array.dtype.isnative:
            raise ValueError(f"{name} holds {array.dtype}")
        if array.dtype.kind == "f" and not (array < np.inf).all():
            raise ValueError(f"{name} holds numbers that are not finite")
