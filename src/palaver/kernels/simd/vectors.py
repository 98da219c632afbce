"""Exponentials, digammas and sums of rows, eight at a time.

A token of a thread model needs a sum of exponentials over classes; topics of documents need many
digammas. The math library computes them one by one, and LLVM does not vectorise sums on its
own, so these functions write the vector instructions. All arrays are float64, contiguous, and
padded with zeros to whole blocks of eight (:func:`palaver.kernels.simd.lanes.aligned` makes them);
sums run over the lanes in a fixed order, so results depend only on the arguments.
"""

from __future__ import annotations

import math

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


@intrinsic
def exponentials(  # type: ignore[no-untyped-def]
    context, values, shift, scale, factors, n_blocks, out
):
    """Set ``out = factors * exp((values - shift) * scale)``; return the sum.

    Exponents are cut off at EXPONENT_LIMIT; the relative error of exp is below 1e-15.

    Parameters
    ----------
    values, factors : array of float64, shape (>= 8 * n_blocks,). IN
    shift, scale : float. IN
    n_blocks : int. IN
    out : array of float64, shape (>= 8 * n_blocks,). OUT
        May be ``values``.

    O(n_blocks).
    """
    signature = types.float64(values, types.float64, types.float64, factors, types.int64, out)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        values, factors, out = data(target, builder, signature, arguments, 0, 3, 5)
        shifts, scales = repeated(builder, arguments[1]), repeated(builder, arguments[2])
        sums = cgutils.alloca_once_value(builder, ZEROS)
        with blocks(builder, arguments[4]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            difference = builder.fsub(load(builder, values, first), shifts)
            power = exponential(builder, builder.fmul(difference, scales))
            term = builder.fmul(power, load(builder, factors, first))
            store(builder, term, out, first)
            builder.store(builder.fadd(builder.load(sums), term), sums)
        return lanes_sum(builder, builder.load(sums))

    return signature, codegen


@intrinsic
def digammas(context, values, shift, n_blocks, out):  # type: ignore[no-untyped-def]
    """Set ``out = digamma(values) - shift`` for ``8 * n_blocks`` numbers. O(n_blocks).

    values: IN, positive and below 1e30; shift: float, IN; out: OUT, may be ``values``.
    """
    signature = types.void(values, types.float64, types.int64, out)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        values, out = data(target, builder, signature, arguments, 0, 3)
        shifts = repeated(builder, arguments[1])
        with blocks(builder, arguments[2]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            found = digamma(builder, load(builder, values, first))
            store(builder, builder.fsub(found, shifts), out, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def dot(context, left, right, n_blocks):  # type: ignore[no-untyped-def]
    """Return ``sum(left * right)`` over ``8 * n_blocks`` numbers. IN only; O(n_blocks)."""
    signature = types.float64(left, right, types.int64)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        left, right = data(target, builder, signature, arguments, 0, 1)
        sums = cgutils.alloca_once_value(builder, ZEROS)
        with blocks(builder, arguments[2]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            vectors = load(builder, left, first), load(builder, right, first)
            builder.store(multiply_add(builder, *vectors, builder.load(sums)), sums)
        return lanes_sum(builder, builder.load(sums))

    return signature, codegen


@intrinsic
def largest(context, values, sign, n_blocks):  # type: ignore[no-untyped-def]
    """Return the largest of ``sign * values`` over ``8 * n_blocks`` numbers. IN only."""
    signature = types.float64(values, types.float64, types.int64)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        (values,) = data(target, builder, signature, arguments, 0)
        signs = repeated(builder, arguments[1])

        def larger(left, right):  # type: ignore[no-untyped-def]
            return builder.select(builder.fcmp_ordered(">", left, right), left, right)

        best = cgutils.alloca_once_value(builder, constants(-math.inf))
        with blocks(builder, arguments[2]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            vector = builder.fmul(load(builder, values, first), signs)
            builder.store(larger(vector, builder.load(best)), best)
        return across_lanes(builder, builder.load(best), larger)

    return signature, codegen


@intrinsic
def moved_exponentials(  # type: ignore[no-untyped-def]
    context, rests, first, scores, rows, added, removed, scale, factors, n_blocks, values, out
):
    """Set ``values = rest + (scores + row - other) * scale``, ``out = factors * exp(values)``.

    ``rest`` starts at ``rests[first]``, ``row`` and ``other`` at ``rows[added]`` and
    ``rows[removed]`` (flat matrices). Returns the sum of ``out``.

    Parameters
    ----------
    scores, factors : array of float64, shape (>= 8 * n_blocks,). IN
    rests, rows : array of float64, 1-d. IN
    first, added, removed, n_blocks : int; scale : float. IN
    values, out : array of float64, shape (>= 8 * n_blocks,). OUT

    O(n_blocks).
    """
    signature = types.float64(
        rests, types.int64, scores, rows, types.int64, types.int64, types.float64, factors,
        types.int64, values, out,
    )  # fmt: skip

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        rests, scores, rows, factors, values, out = data(
            target, builder, signature, arguments, 0, 2, 3, 7, 9, 10
        )
        rest = builder.gep(rests, [arguments[1]])
        added, removed = builder.gep(rows, [arguments[4]]), builder.gep(rows, [arguments[5]])
        scales = repeated(builder, arguments[6])
        sums = cgutils.alloca_once_value(builder, ZEROS)
        with blocks(builder, arguments[8]) as loop:
            place = builder.mul(loop.index, whole(LANES))
            change = builder.fsub(load(builder, added, place), load(builder, removed, place))
            moved = builder.fadd(load(builder, scores, place), change)
            value = multiply_add(builder, moved, scales, load(builder, rest, place))
            store(builder, value, values, place)
            term = builder.fmul(exponential(builder, value), load(builder, factors, place))
            store(builder, term, out, place)
            builder.store(builder.fadd(builder.load(sums), term), sums)
        return lanes_sum(builder, builder.load(sums))

    return signature, codegen


@intrinsic
def move_row(context, rows, added, removed, n_blocks, sums):  # type: ignore[no-untyped-def]
    """Add ``rows[added + j] - rows[removed + j]`` to ``sums[j]`` (IN-OUT). O(n_blocks).

    Nothing changes, exactly, if both are the same row.
    """
    signature = types.void(rows, types.int64, types.int64, types.int64, sums)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        rows, sums = data(target, builder, signature, arguments, 0, 4)
        added, removed = builder.gep(rows, [arguments[1]]), builder.gep(rows, [arguments[2]])
        with blocks(builder, arguments[3]) as loop:
            first = builder.mul(loop.index, whole(LANES))
            change = builder.fsub(load(builder, added, first), load(builder, removed, first))
            store(builder, builder.fadd(load(builder, sums, first), change), sums, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def weighted_rows(context, weights, rows, n_rows, n_blocks, out):  # type: ignore[no-untyped-def]
    """Set ``out[k] = sum_j weights[j] * rows[j, k]`` for ``k`` in ``8 * n_blocks`` columns.

    weights: (n_rows,) IN; rows: flat (n_rows * 8 * n_blocks,) IN; out: OUT, not one of these.
    O(n_rows * n_blocks).
    """
    signature = types.void(weights, rows, types.int64, types.int64, out)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        weights, rows, out = data(target, builder, signature, arguments, 0, 1, 4)
        n_rows, n_blocks = arguments[2:4]
        stride = builder.mul(n_blocks, whole(LANES))
        sums = [cgutils.alloca_once(builder, DOUBLES) for _ in range(_WIDTH)]

        def sum_columns(column, width):  # type: ignore[no-untyped-def]
            """Set ``width`` blocks of columns, summing them in parallel."""
            for sum_ in sums[:width]:
                builder.store(ZEROS, sum_)
            with blocks(builder, n_rows) as row:
                weight = repeated(builder, builder.load(builder.gep(weights, [row.index])))
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
