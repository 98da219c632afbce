"""What travels between machines: records whose arrays are in files, and packed statistics."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.parallel.executor import Arrays
from palaver.store.atomic import explained
from palaver.store.remote import local_folder, source_of

#: Statistics as they are sent: each array whole, or its non-zero cells and their values.
Packed = dict[str, Arrays]
#: Arrays up to this size are always sent whole.
_SMALL = 1000


@dataclass(frozen=True)
class FilePart:
    """An array given by its place in a file that all machines can reach or fetch.

    Attributes
    ----------
    url : str or None
        The folder that ``path`` is relative to, if it is remote.
    path : str
    offset : int
    dtype : str
    shape : tuple of int
    """

    url: str | None
    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]

    def open(self) -> NDArray[Any]:
        """Map the array."""
        path = Path(self.path) if self.url is None else local_folder(self.url) / self.path
        return np.memmap(path, self.dtype, "c", self.offset, self.shape)


def _whole(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array that this one is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def in_files(value: Any, folder: Path) -> Any:
    """Return a copy of a record with its larger arrays in a folder's files, if not in others."""
    numbers = count()

    def change(item: Any) -> Any:
        if not isinstance(item, np.ndarray):
            return _changed(item, change)
        if item.size <= _SMALL or isinstance(_whole(item), np.memmap):
            return item
        path = folder / f"{next(numbers)}.npy"
        with explained(path):
            folder.mkdir(parents=True, exist_ok=True)
            np.save(path, np.ascontiguousarray(item), allow_pickle=False)
        return np.load(path, mmap_mode="r", allow_pickle=False)

    return change(value)


def portable(value: Any) -> Any:
    """Return a copy of a record in which arrays mapped from files become :class:`FilePart`."""
    if isinstance(value, np.ndarray):
        whole = _whole(value)
        if not isinstance(whole, np.memmap) or not value.flags.c_contiguous or not value.size:
            return value
        start = value.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        place = source_of(str(whole.filename))
        return FilePart(*place, whole.offset + start, value.dtype.str, value.shape)
    return _changed(value, portable)


def received(value: Any) -> Any:
    """Return a record with writable arrays; the inverse of :func:`portable`."""
    if isinstance(value, FilePart):
        return value.open()
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else np.array(value)
    return _changed(value, received)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a change to the values in dictionaries and dataclasses."""
    if isinstance(value, dict):
        return {name: change(item) for name, item in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    result = copy.copy(value)
    for part in fields(value):
        object.__setattr__(result, part.name, change(getattr(value, part.name)))
    return result


def packed(statistics: Arrays) -> Packed:
    """Return statistics with sparse arrays of counts reduced to their non-zero cells."""
    result: Packed = {}
    for name, array in statistics.items():
        result[name] = {"": array}
        if array.dtype.kind in "iu" and array.size > _SMALL:
            cells = np.flatnonzero(array)
            kind = np.dtype(np.uint32 if array.size < 2**32 else np.int64)
            if len(cells) * (kind.itemsize + array.itemsize) < array.nbytes:
                values = array.reshape(-1)[cells]
                shape = np.array(array.shape)
                result[name] = {"cells": cells.astype(kind), "values": values, "shape": shape}
    return result


def unpacked(parts: Packed) -> Arrays:
    """Undo :func:`packed`; the arrays are writable."""
    result: Arrays = {}
    for name, part in parts.items():
        if "" in part:
            result[name] = np.array(part[""])
        else:
            array = np.zeros(tuple(part["shape"]), part["values"].dtype)
            array.reshape(-1)[part["cells"]] = part["values"]
            result[name] = array
    return result


def packed_bytes(parts: Packed) -> int:
    """Return the size of packed statistics in bytes."""
    return sum(array_bytes(part) for part in parts.values())


def array_bytes(arrays: Arrays) -> int:
    """Return the size of arrays in bytes."""
    return sum(array.nbytes for array in arrays.values())
