"""Rows of sparse tables times rows of weights, and back: the work of linear models.

A row of a table has few entries, and every entry needs a whole row of weights, one for each tag.
LLVM keeps the sums in memory, where every entry loads and stores them; these functions keep them in
registers. Numbers are float32. Rows of weights are not padded: the last vector of a row overlaps
with the one before, and both get the same numbers where they do.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from palaver.kernels.simd.instructions import (
    FUSED,
    INT32,
    INT64,
    cgutils,
    data,
    whole,
)

#: Numbers in a vector: for rows of so many numbers at least.
WIDE, NARROW = 16, 4
#: Vectors of a row that are summed at a time.
GROUP = 4


class _Rows:
    """Writes instructions for a group of vectors of some rows.

    Parameters
    ----------
    builder
    width, count : int
        Of the vectors, and their number.
    first, last : LLVM integers
        Where the first and the last of them start in each row.
    """

    def __init__(self, builder: Any, width: int, count: int, first: Any, last: Any) -> None:
        self.builder, self.width = builder, width
        self.vector = ir.VectorType(ir.FloatType(), width)
        self.starts = [builder.add(first, whole(width * i)) for i in range(count - 1)] + [last]

    def zeros(self) -> Any:
        """Return vectors of zeros."""
        return [ir.Constant(self.vector, [0.0] * self.width) for _ in self.starts]

    def pointers(self, row: Any) -> Any:
        """Return pointers to the vectors of a row."""
        builder = self.builder
        return [builder.bitcast(builder.gep(row, [start]), self.vector.as_pointer())
                for start in self.starts]  # fmt: skip

    def load(self, row: Any) -> Any:
        """Return the vectors of a row."""
        return [self.builder.load(pointer, align=4) for pointer in self.pointers(row)]

    def store(self, vectors: Any, row: Any) -> None:
        """Set the vectors of a row."""
        for vector, pointer in zip(vectors, self.pointers(row), strict=True):
            self.builder.store(vector, pointer, align=4)

    def times_plus(self, number: Any, factors: Any, terms: Any) -> Any:
        """Return vectors ``number * factors + terms``."""
        builder = self.builder
        empty = ir.Constant(self.vector, ir.Undefined)
        one = builder.insert_element(empty, number, ir.Constant(INT32, 0))
        zeros = ir.Constant(ir.VectorType(INT32, self.width), [0] * self.width)
        many = builder.shuffle_vector(one, empty, zeros)
        return [builder.fadd(builder.fmul(many, factor, flags=FUSED), term, flags=FUSED)
                for factor, term in zip(factors, terms, strict=True)]  # fmt: skip


def _for_each_count(builder: Any, n_vectors: Any, write: Any) -> None:
    """Write instructions for every number of vectors of a group; run those of one."""
    for count in range(1, GROUP + 1):
        with builder.if_then(builder.icmp_signed("==", n_vectors, whole(count))):
            write(count)


def _weigh(width: int, target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write :func:`weigh_wide` or :func:`weigh_narrow`."""
    columns, values, weights, out = data(target, builder, signature, arguments, 0, 1, 4, 9)
    _, _, begin, end, _, size, first, last, n_vectors, _, start = arguments
    out = builder.gep(out, [start])

    def write(count: int) -> None:
        rows = _Rows(builder, width, count, first, last)
        sums = [cgutils.alloca_once_value(builder, zeros) for zeros in rows.zeros()]
        with cgutils.for_range_slice(builder, begin, end, whole(1), inc=True) as (entry, _):
            row = _row_of(builder, columns, entry, weights, size)
            value = builder.load(builder.gep(values, [entry]))
            terms = [builder.load(place) for place in sums]
            found = rows.times_plus(value, rows.load(row), terms)
            for place, total in zip(sums, found, strict=True):
                builder.store(total, place)
        rows.store([builder.load(place) for place in sums], out)

    _for_each_count(builder, n_vectors, write)
    return target.get_dummy_value()


def _spread(width: int, target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write :func:`spread_wide` or :func:`spread_narrow`."""
    columns, values, residuals, out = data(target, builder, signature, arguments, 0, 1, 4, 9)
    _, _, begin, end, _, start, first, last, n_vectors, _, size = arguments
    residuals = builder.gep(residuals, [start])

    def write(count: int) -> None:
        rows = _Rows(builder, width, count, first, last)
        factors = rows.load(residuals)
        with cgutils.for_range_slice(builder, begin, end, whole(1), inc=True) as (entry, _):
            row = _row_of(builder, columns, entry, out, size)
            value = builder.load(builder.gep(values, [entry]))
            rows.store(rows.times_plus(value, factors, rows.load(row)), row)

    _for_each_count(builder, n_vectors, write)
    return target.get_dummy_value()


def _row_of(builder: Any, columns: Any, entry: Any, table: Any, size: Any) -> Any:
    """Return a pointer to the row of a table that an entry's column names."""
    column = builder.sext(builder.load(builder.gep(columns, [entry])), INT64)
    return builder.gep(table, [builder.mul(column, size)])


def _signature(columns: Any, values: Any, given: Any, out: Any) -> Any:
    whole_numbers = [types.int64] * 4
    return types.void(columns, values, *whole_numbers[:2], given, *whole_numbers, out, types.int64)


@intrinsic
def weigh_wide(  # type: ignore[no-untyped-def]
    context, columns, values, begin, end, weights, size, first, last, n_vectors, out, start
):
    """Set a row to the sum of ``values[e] * weights[columns[e]]``, e from begin to end - 1.

    Only 1 to GROUP vectors of WIDE numbers are set. They start at ``first``, ``first + WIDE``, ...
    of the row; the last of them, which may overlap with the one before, at ``last``.

    Parameters
    ----------
    columns : array of int32. IN
    values : array of float32. IN
    begin, end : int. IN
    weights : array of float32, shape (n_columns, size), contiguous. IN
    size, first, last, n_vectors : int. IN
    out : array of float32, contiguous. OUT
    start : int. IN
        Where the row begins in the flat ``out``.
    """
    return _signature(columns, values, weights, out), _wide_weigh


@intrinsic
def weigh_narrow(  # type: ignore[no-untyped-def]
    context, columns, values, begin, end, weights, size, first, last, n_vectors, out, start
):
    """Do the same with vectors of NARROW numbers."""
    return _signature(columns, values, weights, out), _narrow_weigh


@intrinsic
def spread_wide(  # type: ignore[no-untyped-def]
    context, columns, values, begin, end, residuals, start, first, last, n_vectors, out, size
):
    """Add ``values[e] * residuals`` to ``out[columns[e]]`` for entries e from begin to end - 1.

    Entries have different columns. Vectors are those of :func:`weigh_wide`.

    Parameters
    ----------
    columns : array of int32. IN
    values : array of float32. IN
    begin, end : int. IN
    residuals : array of float32, contiguous. IN
    start : int. IN
        Where the row begins in the flat ``residuals``.
    first, last, n_vectors : int. IN
    out : array of float32, shape (n_columns, size), contiguous. IN, OUT
    size : int. IN
    """
    return _signature(columns, values, residuals, out), _wide_spread


@intrinsic
def spread_narrow(  # type: ignore[no-untyped-def]
    context, columns, values, begin, end, residuals, start, first, last, n_vectors, out, size
):
    """Do the same with vectors of NARROW numbers."""
    return _signature(columns, values, residuals, out), _narrow_spread


def _wide_weigh(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _weigh(WIDE, target, builder, signature, arguments)


def _narrow_weigh(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _weigh(NARROW, target, builder, signature, arguments)


def _wide_spread(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _spread(WIDE, target, builder, signature, arguments)


def _narrow_spread(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _spread(NARROW, target, builder, signature, arguments)
