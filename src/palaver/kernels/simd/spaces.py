"""Vectors in one workspace, by their places: :mod:`palaver.kernels.simd.vectors` without slices.

A slice, or a tuple of arrays, costs numba more code than the loop that runs over it, and everyone
waits for that on the first run. So a kernel with many vectors of its own gets one array of float64,
contiguous, the *space*, and the places where its vectors begin. All are padded to whole blocks of
eight; sums run over the lanes in a fixed order. Nothing is checked: Python makes the places
(:func:`aligned_space`).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from palaver.kernels.simd.instructions import (
    DOUBLES,
    LANES,
    ZEROS,
    across_lanes,
    blocks,
    cgutils,
    constants,
    data,
    digamma,
    exponential,
    lanes_sum,
    load,
    multiply_add,
    repeated,
    store,
    whole,
)

_WIDTH = 4  # blocks of a row to sum in parallel
_PLACE = types.int64


def aligned_space(size: int) -> npt.NDArray[np.float64]:
    """Return float64 zeros, shape (size,), that start on a cache line."""
    buffer = np.zeros(size + LANES)
    first = -(buffer.ctypes.data >> 3) % LANES
    return buffer[first : first + size]


def padded(size: int) -> int:
    """Return ``size``, rounded up to whole blocks."""
    return -(-size // LANES) * LANES


def _places(target, builder, signature, arguments, *positions):  # type: ignore[no-untyped-def]
    """Return pointers to the vectors whose places are the arguments at these positions."""
    (space,) = data(target, builder, signature, arguments, 0)
    return [builder.gep(space, [arguments[i]]) for i in positions]


@intrinsic
def inner_product(context, space, left, right, n_blocks):  # type: ignore[no-untyped-def]
    """Return ``sum(left * right)``. O(n_blocks)."""
    signature = types.float64(space, _PLACE, _PLACE, types.int64)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        left, right = _places(target, builder, signature, arguments, 1, 2)
        sums = cgutils.alloca_once_value(builder, ZEROS)
        with blocks(builder, arguments[3]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            vectors = load(builder, left, first), load(builder, right, first)
            builder.store(multiply_add(builder, *vectors, builder.load(sums)), sums)
        return lanes_sum(builder, builder.load(sums))

    return signature, codegen


@intrinsic
def highest(context, space, row, n_blocks):  # type: ignore[no-untyped-def]
    """Return the largest of a row; its padding must not be larger. O(n_blocks)."""
    signature = types.float64(space, _PLACE, types.int64)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        (row,) = _places(target, builder, signature, arguments, 1)

        def larger(left, right):  # type: ignore[no-untyped-def]
            return builder.select(builder.fcmp_ordered(">", left, right), left, right)

        best = cgutils.alloca_once_value(builder, constants(-math.inf))
        with blocks(builder, arguments[2]) as loop:
            vector = load(builder, row, builder.mul(loop.index, whole(LANES)))
            builder.store(larger(vector, builder.load(best)), best)
        return across_lanes(builder, builder.load(best), larger)

    return signature, codegen


@intrinsic
def fill(context, space, value, n_blocks, out):  # type: ignore[no-untyped-def]
    """Set all of ``out`` to a number. O(n_blocks)."""
    signature = types.void(space, types.float64, types.int64, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        (out,) = _places(target, builder, signature, arguments, 3)
        values = repeated(builder, arguments[1])
        with blocks(builder, arguments[2]) as loop:
            store(builder, values, out, builder.mul(loop.index, whole(LANES)))
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def scaled(context, space, row, factor, n_blocks, out):  # type: ignore[no-untyped-def]
    """Set ``out = row * factor``, which may be the row itself. O(n_blocks)."""
    signature = types.void(space, _PLACE, types.float64, types.int64, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        row, out = _places(target, builder, signature, arguments, 1, 4)
        factors = repeated(builder, arguments[2])
        with blocks(builder, arguments[3]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            store(builder, builder.fmul(load(builder, row, first), factors), out, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def product(context, space, left, right, factor, n_blocks, out):  # type: ignore[no-untyped-def]
    """Set ``out = left * right * factor``, which may be one of them. O(n_blocks)."""
    signature = types.void(space, _PLACE, _PLACE, types.float64, types.int64, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        left, right, out = _places(target, builder, signature, arguments, 1, 2, 5)
        factors = repeated(builder, arguments[3])
        with blocks(builder, arguments[4]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            vector = builder.fmul(load(builder, left, first), load(builder, right, first))
            store(builder, builder.fmul(vector, factors), out, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def quotient(context, space, above, below, n_blocks, out):  # type: ignore[no-untyped-def]
    """Set ``out = above / below``, which may be one of them. O(n_blocks)."""
    signature = types.void(space, _PLACE, _PLACE, types.int64, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        above, below, out = _places(target, builder, signature, arguments, 1, 2, 4)
        with blocks(builder, arguments[3]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            vector = builder.fdiv(load(builder, above, first), load(builder, below, first))
            store(builder, vector, out, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def raise_peaks(context, space, row, value, n_blocks, peaks):  # type: ignore[no-untyped-def]
    """Add ``value`` to ``row``, and set ``peaks`` to the larger of it and ``row``. O(n_blocks)."""
    signature = types.void(space, _PLACE, types.float64, types.int64, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        row, peaks = _places(target, builder, signature, arguments, 1, 4)
        values = repeated(builder, arguments[2])
        with blocks(builder, arguments[3]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            vector = builder.fadd(load(builder, row, first), values)
            store(builder, vector, row, first)
            peak = load(builder, peaks, first)
            is_larger = builder.fcmp_ordered(">", vector, peak)
            store(builder, builder.select(is_larger, vector, peak), peaks, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def add_powers(context, space, row, peaks, n_blocks, sums):  # type: ignore[no-untyped-def]
    """Set ``row = exp(row - peaks)``, and add it to ``sums``. O(n_blocks)."""
    signature = types.void(space, _PLACE, _PLACE, types.int64, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        row, peaks, sums = _places(target, builder, signature, arguments, 1, 2, 4)
        with blocks(builder, arguments[3]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            difference = builder.fsub(load(builder, row, first), load(builder, peaks, first))
            power = exponential(builder, difference)
            store(builder, power, row, first)
            store(builder, builder.fadd(load(builder, sums, first), power), sums, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def powers(context, space, row, peak, mask, n_blocks, out):  # type: ignore[no-untyped-def]
    """Set ``out = mask * exp(row - peak)``; peak is a number. O(n_blocks)."""
    signature = types.void(space, _PLACE, types.float64, _PLACE, types.int64, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        row, mask, out = _places(target, builder, signature, arguments, 1, 3, 5)
        peaks = repeated(builder, arguments[2])
        with blocks(builder, arguments[4]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            power = exponential(builder, builder.fsub(load(builder, row, first), peaks))
            store(builder, builder.fmul(power, load(builder, mask, first)), out, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def digammas_of(context, space, row, shift, n_blocks, out):  # type: ignore[no-untyped-def]
    """Set ``out = digamma(row) - shift``; the row is positive and below 1e30. O(n_blocks)."""
    signature = types.void(space, _PLACE, types.float64, types.int64, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        row, out = _places(target, builder, signature, arguments, 1, 4)
        shifts = repeated(builder, arguments[2])
        with blocks(builder, arguments[3]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            found = digamma(builder, load(builder, row, first))
            store(builder, builder.fsub(found, shifts), out, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def sum_rows(  # type: ignore[no-untyped-def]
    context, space, weights, step, rows, n_rows, n_blocks, out
):
    """Set ``out = sum_j weights[j * step] * rows[j]``; rows follow each other in the space.

    ``out`` is not one of these. O(n_rows * n_blocks).
    """
    signature = types.void(space, _PLACE, types.int64, _PLACE, types.int64, types.int64, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        weights, rows, out = _places(target, builder, signature, arguments, 1, 3, 6)
        step, n_rows, n_blocks = arguments[2], arguments[4], arguments[5]
        stride = builder.mul(n_blocks, whole(LANES))
        sums = [cgutils.alloca_once(builder, DOUBLES) for _ in range(_WIDTH)]

        def sum_columns(column, width):  # type: ignore[no-untyped-def]
            """Set ``width`` blocks of columns, summing them in parallel."""
            for sum_ in sums[:width]:
                builder.store(ZEROS, sum_)
            with blocks(builder, n_rows) as row:
                place = builder.mul(row.index, step)
                weight = repeated(builder, builder.load(builder.gep(weights, [place])))
                first = builder.add(builder.mul(row.index, stride), column)
                for i, sum_ in enumerate(sums[:width]):
                    vector = load(builder, rows, builder.add(first, whole(LANES * i)))
                    builder.store(multiply_add(builder, weight, vector, builder.load(sum_)), sum_)
            for i, sum_ in enumerate(sums[:width]):
                store(builder, builder.load(sum_), out, builder.add(column, whole(LANES * i)))

        n_wide = builder.sdiv(n_blocks, whole(_WIDTH))
        with blocks(builder, n_wide) as group:
            sum_columns(builder.mul(group.index, whole(_WIDTH * LANES)), _WIDTH)
        n_done = builder.mul(n_wide, whole(_WIDTH))
        with blocks(builder, builder.sub(n_blocks, n_done)) as rest:
            block = builder.add(n_done, rest.index)
            sum_columns(builder.mul(block, whole(LANES)), 1)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def take_row(context, rows, row, n_blocks, space, out):  # type: ignore[no-untyped-def]
    """Copy a row of another array, (n_rows, 8 * n_blocks), to the space. O(n_blocks)."""
    signature = types.void(rows, types.int64, types.int64, space, _PLACE)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        rows, space = data(target, builder, signature, arguments, 0, 3)
        width = builder.mul(arguments[2], whole(LANES))
        row = builder.gep(rows, [builder.mul(arguments[1], width)])
        out = builder.gep(space, [arguments[4]])
        with blocks(builder, arguments[2]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            store(builder, load(builder, row, first), out, first)
        return target.get_dummy_value()

    return signature, codegen
