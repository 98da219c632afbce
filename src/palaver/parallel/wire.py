"""What travels between machines: records whose arrays are in files, and packed statistics."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from palaver.parallel.executor import Arrays
from palaver.store.atomic import explained
from palaver.store.remote import local_folder, source_of

#: Arrays up to this size are always sent whole.
_SMALL = 1000


class ToRead(ABC):
    """Something that is sent as where it is, and read where it arrives."""

    @abstractmethod
    def read(self) -> Any:
        """Return what is there."""


@dataclass(frozen=True)
class FilePart(ToRead):
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

    def read(self) -> NDArray[Any]:
        """Map the array."""
        path = Path(self.path) if self.url is None else local_folder(self.url) / self.path
        return np.memmap(path, self.dtype, "c", self.offset, self.shape)


@dataclass(frozen=True)
class Counts:
    """Whole numbers as they are sent: non-empty cells, by the gaps between them, and values.

    Attributes
    ----------
    shape : tuple of int
    dtype : str
    gaps, values : Squeezed
        Without gaps, all cells have a value.
    """

    shape: tuple[int, ...]
    dtype: str
    gaps: Squeezed | None
    values: Squeezed

    @classmethod
    def of(cls, array: NDArray[Any]) -> Counts:
        """Pack an array."""
        flat = array.reshape(-1)
        cells = np.flatnonzero(flat)
        gaps = None
        if 2 * len(cells) < len(flat):
            gaps, flat = Squeezed.of(np.diff(cells, prepend=0)), flat[cells]
        return cls(array.shape, array.dtype.str, gaps, Squeezed.of(flat))

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return len(self.values.data) + (0 if self.gaps is None else len(self.gaps.data))

    def open(self) -> NDArray[Any]:
        """Return the array."""
        values = self.values.open()
        if self.gaps is None:
            return values.astype(self.dtype).reshape(self.shape)
        array = np.zeros(self.shape, self.dtype)
        array.reshape(-1)[np.cumsum(self.gaps.open(), dtype=np.int64)] = values
        return array


@dataclass(frozen=True)
class Squeezed:
    """Whole numbers in the narrowest type that holds them, compressed."""

    dtype: str
    data: bytes

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Squeezed:
        """Compress numbers."""
        ends = (numbers.min(initial=0), numbers.max(initial=0))
        narrow = numbers.astype(np.result_type(*map(np.min_scalar_type, ends)))
        return cls(narrow.dtype.str, zstandard.ZstdCompressor(level=1).compress(narrow.tobytes()))

    def open(self) -> NDArray[Any]:
        """Return the numbers, read-only."""
        return np.frombuffer(zstandard.ZstdDecompressor().decompress(self.data), self.dtype)


#: Arrays as they are sent.
Packed = dict[str, NDArray[Any] | Counts]


def _whole(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array that this one is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def is_mapped(array: NDArray[Any]) -> bool:
    """Whether an array is in a file."""
    return isinstance(_whole(array), np.memmap)


def in_files(value: Any, folder: Path) -> Any:
    """Return a copy of a record with its larger arrays in a folder's files, if not in others."""
    numbers = count()

    def change(item: Any) -> Any:
        if not isinstance(item, np.ndarray):
            return _changed(item, change)
        if item.size <= _SMALL or is_mapped(item):
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
        return value.read()
    if isinstance(value, ToRead):
        found: ToRead = _changed(value, received)
        return found.read()
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


def packed(arrays: Arrays) -> Packed:
    """Return arrays as they are sent: large ones of whole numbers as :class:`Counts`."""
    return {
        name: Counts.of(array) if array.dtype.kind in "iu" and array.size > _SMALL else array
        for name, array in arrays.items()
    }


def unpacked(parts: Packed) -> Arrays:
    """Undo :func:`packed`; the arrays are writable."""
    return {
        name: part.open() if isinstance(part, Counts) else np.array(part)
        for name, part in parts.items()
    }


def array_bytes(arrays: Arrays | Packed) -> int:
    """Return the size of arrays in bytes."""
    return sum(array.nbytes for array in arrays.values())
