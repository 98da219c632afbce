"""Tuples of small numbers as sorted 64-bit keys, looked up by binary search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_ROOM = 2**62
Columns = Sequence[NDArray[np.integer]]


class Keys:
    """Distinct rows of columns, numbered in ascending order.

    Rows whose key would need more than 62 bits are numbered in levels: the columns that fit are
    numbered first, and that number is the first digit of the next level.

    Attributes
    ----------
    sizes : tuple of int
        Exclusive upper limits of the column values.
    levels : list of array of int64
        The sorted keys of each level.
    """

    def __init__(self, sizes: Sequence[int], levels: list[NDArray[np.int64]]) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        self.levels = levels

    def __len__(self) -> int:
        return len(self.levels[-1])

    @classmethod
    def number(cls, columns: Columns, sizes: Sequence[int]) -> tuple[Keys, NDArray[np.int64]]:
        """Assign numbers to the distinct rows; return the keys and each row's number.

        Parameters
        ----------
        columns : sequence of array of int, each of shape (n_rows,)
            Without columns, all rows have the number 0.
        sizes : sequence of int
        """
        found = cls(sizes, [])
        length = len(columns[0]) if columns else 0
        key, bound = np.zeros(length, np.int64), 1
        for column, size in zip(columns, found.sizes, strict=True):
            if bound * size > _ROOM:
                key, bound = found._level(key)
            key = key * size + column
            bound *= size
        key, _ = found._level(key if columns else np.zeros(1, np.int64))
        return found, key

    def _level(self, key: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """Complete a level: sort its keys and number the rows by them."""
        table, numbers = np.unique(key, return_inverse=True)
        self.levels.append(table)
        return numbers.astype(np.int64, copy=False), max(len(table), 1)

    def find(self, columns: Columns, length: int) -> NDArray[np.int64]:
        """Return the number of each row, -1 for unseen rows.

        Parameters
        ----------
        columns : sequence of array of int, each of shape (length,)
            Negative values are never found.
        length : int
        """
        key = np.zeros(length, np.int64)
        absent = np.zeros(length, bool)
        bound, level = 1, 0
        for column, size in zip(columns, self.sizes, strict=True):
            if bound * size > _ROOM:
                key = self._numbers(level, key)
                absent |= key < 0
                bound, level = max(len(self.levels[level]), 1), level + 1
            key = key * size + column
            absent |= column < 0
            bound *= size
        key[absent] = -1
        return self._numbers(level, key)

    def _numbers(self, level: int, key: NDArray[np.int64]) -> NDArray[np.int64]:
        """Look keys up in the table of a level."""
        return find_sorted(self.levels[level], key)

    def columns(self) -> list[NDArray[np.int64]]:
        """Return the numbered rows as columns again."""
        cuts = self._cuts()
        key = self.levels[-1]
        columns: list[NDArray[np.int64]] = []
        for place in range(len(self.sizes) - 1, -1, -1):
            columns.append(key % self.sizes[place])
            key = key // self.sizes[place]
            if place in cuts:
                key = self.levels[cuts[place]][key]
        return columns[::-1]

    def _cuts(self) -> dict[int, int]:
        """Return the positions of columns before which a level ends, with the level."""
        cuts: dict[int, int] = {}
        bound = 1
        for place, size in enumerate(self.sizes):
            if bound * size > _ROOM:
                cuts[place] = len(cuts)
                bound = max(len(self.levels[cuts[place]]), 1)
            bound *= size
        return cuts


def find_sorted(table: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each key in a sorted table, -1 if it is missing."""
    if not len(table):
        return np.full(len(keys), -1, np.int64)
    places = np.searchsorted(table, keys)
    places[places == len(table)] = 0
    return np.where(table[places] == keys, places, -1)
