"""Blocks of columns of the sparse table of features, and the table that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from palaver.models.taggers.kernels import rows as kernels

Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Block:
    """Some columns of the table, as a sparse table of rows.

    Attributes
    ----------
    offsets, columns, values : arrays
        Columns of each row ascend.
    width : int
        Number of columns.
    rows : array of int64, shape (n_messages,), or None
        Row of each message, -1 for none; None if messages have the rows in order.
    """

    offsets: Numbers
    columns: NDArray[np.int32]
    values: Floats
    width: int
    rows: Numbers | None = None

    @property
    def sizes(self) -> Numbers:
        """Number of entries of each message."""
        sizes = np.diff(self.offsets)
        if self.rows is None or not len(self.rows):
            return sizes
        return np.where(self.rows >= 0, sizes[self.rows], 0)

    def taken(self, rows: Numbers) -> Block:
        """Return the block with the rows of other messages, none for -1."""
        return replace(self, rows=rows)


def distinct(
    offsets: Numbers, items: NDArray[np.integer], lists: tuple[Numbers, Numbers], width: int
) -> Block:
    """Return which columns the lists of each message's items have, as ones.

    Parameters
    ----------
    offsets : array of int64, shape (n_messages + 1,)
        Items of each message.
    items : array of int, shape (n_items,)
        Numbers of lists, negative for none.
    lists : (offsets, columns)
    width : int
        Number of columns.
    """
    items = np.asarray(items, np.int64)
    sizes = np.empty(len(offsets) - 1, np.int64)
    kernels.count_distinct(offsets, items, *lists, width, sizes)
    ends = np.concatenate(([0], np.cumsum(sizes)))
    columns = np.empty(ends[-1], np.int32)
    kernels.fill_distinct(offsets, items, *lists, width, ends, columns)
    return Block(ends, columns, np.ones(len(columns), np.float32), width)


def scaled(blocks: Sequence[Block], length: float) -> list[Block]:
    """Return blocks of ones whose rows have a Euclidean length together."""
    if not blocks:
        return []
    sizes = [block.sizes for block in blocks]
    squares = np.sum(sizes, axis=0).astype(np.float32)
    factors = np.float32(length) / np.sqrt(np.maximum(squares, 1))
    return [replace(block, values=np.repeat(factors, own))
            for block, own in zip(blocks, sizes, strict=True)]  # fmt: skip


def one_hot(codes: Numbers, width: int) -> Block:
    """Return a block with a one in the column of each row's code, none for -1."""
    there = codes >= 0
    offsets = np.concatenate(([0], np.cumsum(there)))
    ones = np.ones(int(offsets[-1]), np.float32)
    return Block(offsets, codes[there].astype(np.int32), ones, width)


def dense(values: NDArray[np.floating], length: float | None = None) -> Block:
    """Return a block of numbers; if there is a length, each row is scaled to it."""
    table = sparse.csr_array(np.asarray(values, np.float32))
    if length is not None:
        squares = np.asarray(table.multiply(table).sum(axis=1)).ravel()
        factors = np.where(squares > 0, length / np.sqrt(np.where(squares > 0, squares, 1)), 0)
        table.data *= np.repeat(factors, np.diff(table.indptr)).astype(np.float32)
    offsets = table.indptr.astype(np.int64)
    return Block(offsets, table.indices.astype(np.int32), table.data, table.shape[1])


def joined(blocks: Sequence[Block], n_messages: int) -> sparse.csr_array:
    """Return blocks side by side, (n_messages, sum of widths)."""
    sizes = np.zeros(n_messages, np.int64)
    for block in blocks:
        sizes += block.sizes
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    ends, shift = offsets[:-1].copy(), 0
    every = np.arange(n_messages)
    for block in blocks:
        rows = every if block.rows is None else block.rows
        kernels.lay(block.offsets, block.columns, block.values, rows, shift, ends, columns, values)
        shift += block.width
    return sparse.csr_array((values, columns, offsets), (n_messages, shift))
