"""Exponentials, digammas and sums of rows, eight at a time.

A thread model's token needs a sum of exponentials over the classes, topics of documents need many
digammas. The mathematical library does them one by one, and LLVM does not vectorise sums on its
own, so these functions write the vector instructions. All arrays are float64, contiguous, and
padded with zeros to whole blocks of eight (:func:`palaver.kernels.lanes.aligned` makes them); sums
run over the lanes in a fixed order, so results do not depend on anything but the arguments.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from palaver.kernels.lanes import LANES

EXPONENT_LIMIT = 708.0
"""Arguments of exponentials are cut off at this size: nothing overflows, becomes 0 or denormal."""

_INT32 = ir.IntType(32)
_INT64 = ir.IntType(64)
_INT64S = ir.VectorType(_INT64, LANES)
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_ZEROS = ir.Constant(_DOUBLES, [0.0] * LANES)
_FUSED = ("contract",)  # a multiply-add in one instruction where the processor has it

# exp(x) = 2**n * exp(r), |r| <= log(2) / 2; log(2) in two parts, the first with trailing zeros
_LOG2_HIGH = 6.93147180369123816490e-01
_LOG2_LOW = 1.90821492927058770002e-10
_ROUNDER = 1.5 * 2.0**52  # adding it rounds to a whole number, kept in the lowest bits
_WIDTH = 4  # blocks of a row that are summed side by side
_DEGREE = 12  # of the series of exp(r): the next term is below 2e-16
_LOG_TERMS = 11  # of the series of log(m): the next term is below 1e-18
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
# of digamma's asymptotic series, B_2i / 2i (Abramowitz & Stegun 6.3.18)
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _whole(number: int) -> ir.Constant:
    return ir.Constant(_INT64, number)


def _constants(value: float) -> ir.Constant:
    return ir.Constant(_DOUBLES, [value] * LANES)


def _repeated(builder: Any, value: Any) -> Any:
    """Return a vector with ``value`` in every lane."""
    empty = ir.Constant(_DOUBLES, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(_INT32, 0))
    lanes = ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES)
    return builder.shuffle_vector(first, empty, lanes)


def _load(builder: Any, data: Any, index: Any) -> Any:
    """Return the eight numbers from ``data[index]`` on."""
    pointer = builder.bitcast(builder.gep(data, [index]), _DOUBLES.as_pointer())
    return builder.load(pointer, align=8)


def _store(builder: Any, vector: Any, data: Any, index: Any) -> None:
    pointer = builder.bitcast(builder.gep(data, [index]), _DOUBLES.as_pointer())
    builder.store(vector, pointer, align=8)


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c``."""
    return builder.fadd(builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)


def _exponential(builder: Any, x: Any) -> Any:
    """Return ``exp`` of eight numbers, to 1e-15 of their size."""
    low, high = _constants(-EXPONENT_LIMIT), _constants(EXPONENT_LIMIT)
    x = builder.select(builder.fcmp_ordered("<", x, low), low, x)
    x = builder.select(builder.fcmp_ordered(">", x, high), high, x)
    rounded = _multiply_add(builder, x, _constants(1.0 / math.log(2.0)), _constants(_ROUNDER))
    n = builder.fsub(rounded, _constants(_ROUNDER))
    r = _multiply_add(builder, n, _constants(-_LOG2_HIGH), x)
    r = _multiply_add(builder, n, _constants(-_LOG2_LOW), r)
    # pairs of terms, then pairs of pairs: half as long a wait as term by term
    terms = [_constants(1.0 / math.factorial(i)) for i in range(_DEGREE + 1)]
    power = r
    while len(terms) > 1:
        pairs = [
            _multiply_add(builder, terms[i + 1], power, terms[i])
            for i in range(0, len(terms) - 1, 2)
        ]
        terms = pairs + terms[len(terms) - len(terms) % 2 :]
        power = builder.fmul(power, power)
    series = terms[0]
    # times 2**n: n is added to the exponent bits
    bits = builder.bitcast(rounded, _INT64S)
    shift = ir.Constant(_INT64S, [52] * LANES)
    bits = builder.add(builder.bitcast(series, _INT64S), builder.shl(bits, shift))
    return builder.bitcast(bits, _DOUBLES)


def _logarithm(builder: Any, x: Any) -> Any:
    """Return ``log`` of eight positive normal numbers, to 1e-15 of the larger of it and 1."""
    # x = 2**n * m, m near 1: the bits of sqrt(1/2) are taken off before the exponent is read
    low = ir.Constant(_INT64S, [_SQRT_HALF_BITS] * LANES)
    bits = builder.sub(builder.bitcast(x, _INT64S), low)
    n = builder.ashr(bits, ir.Constant(_INT64S, [52] * LANES))
    mantissa = builder.and_(bits, ir.Constant(_INT64S, [(1 << 52) - 1] * LANES))
    m = builder.bitcast(builder.add(mantissa, low), _DOUBLES)
    # log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172
    ones = _constants(1.0)
    s = builder.fdiv(builder.fsub(m, ones), builder.fadd(m, ones))
    square = builder.fmul(s, s)
    series = _constants(2.0 / (2 * _LOG_TERMS - 1))
    for i in range(_LOG_TERMS - 2, -1, -1):
        series = _multiply_add(builder, series, square, _constants(2.0 / (2 * i + 1)))
    n = builder.sitofp(n, _DOUBLES)
    return _multiply_add(builder, n, _constants(math.log(2.0)), builder.fmul(s, series))


def _digamma(builder: Any, x: Any) -> Any:
    """Return ``digamma`` of eight positive numbers below 1e30, to 1e-14 of its size or of 1.

    ``digamma(x) = digamma(y) - 1/x - ... - 1/(x + 7)``, ``y = x + 8``, and the asymptotic series.
    """
    above, below, place = _constants(1.0), x, x  # the sum as one fraction
    for _ in range(7):
        place = builder.fadd(place, _constants(1.0))
        above = _multiply_add(builder, above, place, below)
        below = builder.fmul(below, place)
    y = builder.fadd(x, _constants(8.0))
    inverse = builder.fdiv(_constants(1.0), y)
    square = builder.fmul(inverse, inverse)
    series = _constants(_DIGAMMA_SERIES[-1])
    for coefficient in _DIGAMMA_SERIES[-2::-1]:
        series = _multiply_add(builder, series, square, _constants(coefficient))
    tail = _multiply_add(builder, series, square, builder.fmul(inverse, _constants(0.5)))
    tail = builder.fadd(tail, builder.fdiv(above, below))
    return builder.fsub(_logarithm(builder, y), tail)


def _across_lanes(builder: Any, vector: Any, combine: Any) -> Any:
    """Return eight numbers combined as ((0, 4), (2, 6)), ((1, 5), (3, 7))."""
    for width in (4, 2, 1):
        lanes = [(i + width) % LANES for i in range(LANES)]
        mask = ir.Constant(ir.VectorType(_INT32, LANES), lanes)
        vector = combine(vector, builder.shuffle_vector(vector, vector, mask))
    return builder.extract_element(vector, ir.Constant(_INT32, 0))


def _lanes_sum(builder: Any, vector: Any) -> Any:
    return _across_lanes(builder, vector, builder.fadd)


def _data(target: Any, builder: Any, signature: Any, arguments: Any, *positions: int) -> list[Any]:
    """Return pointers to the first number of array arguments."""
    return [
        target.make_array(signature.args[i])(target, builder, arguments[i]).data for i in positions
    ]


def _blocks(builder: Any, n_blocks: Any) -> Any:
    return cgutils.for_range(builder, n_blocks)


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
        values, factors, out = _data(target, builder, signature, arguments, 0, 3, 5)
        shifts, scales = _repeated(builder, arguments[1]), _repeated(builder, arguments[2])
        sums = cgutils.alloca_once_value(builder, _ZEROS)
        with _blocks(builder, arguments[4]) as loop:
            first = builder.mul(loop.index, _whole(LANES))
            difference = builder.fsub(_load(builder, values, first), shifts)
            power = _exponential(builder, builder.fmul(difference, scales))
            term = builder.fmul(power, _load(builder, factors, first))
            _store(builder, term, out, first)
            builder.store(builder.fadd(builder.load(sums), term), sums)
        return _lanes_sum(builder, builder.load(sums))

    return signature, codegen


@intrinsic
def digammas(context, values, shift, n_blocks, out):  # type: ignore[no-untyped-def]
    """Set ``out = digamma(values) - shift`` for ``8 * n_blocks`` numbers. O(n_blocks).

    values: IN, positive and below 1e30; shift: float, IN; out: OUT, may be ``values``.
    """
    signature = types.void(values, types.float64, types.int64, out)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        values, out = _data(target, builder, signature, arguments, 0, 3)
        shifts = _repeated(builder, arguments[1])
        with _blocks(builder, arguments[2]) as loop:
            first = builder.mul(loop.index, _whole(LANES))
            digamma = _digamma(builder, _load(builder, values, first))
            _store(builder, builder.fsub(digamma, shifts), out, first)
        return target.get_dummy_value()

    return signature, codegen


@intrinsic
def dot(context, left, right, n_blocks):  # type: ignore[no-untyped-def]
    """Return ``sum(left * right)`` over ``8 * n_blocks`` numbers. IN only; O(n_blocks)."""
    signature = types.float64(left, right, types.int64)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        left, right = _data(target, builder, signature, arguments, 0, 1)
        sums = cgutils.alloca_once_value(builder, _ZEROS)
        with _blocks(builder, arguments[2]) as loop:
            first = builder.mul(loop.index, _whole(LANES))
            vectors = _load(builder, left, first), _load(builder, right, first)
            builder.store(_multiply_add(builder, *vectors, builder.load(sums)), sums)
        return _lanes_sum(builder, builder.load(sums))

    return signature, codegen


@intrinsic
def largest(context, values, sign, n_blocks):  # type: ignore[no-untyped-def]
    """Return the largest of ``sign * values`` over ``8 * n_blocks`` numbers. IN only."""
    signature = types.float64(values, types.float64, types.int64)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        (values,) = _data(target, builder, signature, arguments, 0)
        signs = _repeated(builder, arguments[1])

        def larger(left, right):  # type: ignore[no-untyped-def]
            return builder.select(builder.fcmp_ordered(">", left, right), left, right)

        best = cgutils.alloca_once_value(builder, _constants(-math.inf))
        with _blocks(builder, arguments[2]) as loop:
            first = builder.mul(loop.index, _whole(LANES))
            vector = builder.fmul(_load(builder, values, first), signs)
            builder.store(larger(vector, builder.load(best)), best)
        return _across_lanes(builder, builder.load(best), larger)

    return signature, codegen


@intrinsic
def moved_exponential_sum(  # type: ignore[no-untyped-def]
    context, factors, scores, rows, added, removed, inverse, centre, shift, n_blocks
):
    """Return the sum of ``factors * exp((scores + row - other) * inverse - centre - shift)``.

    ``row`` and ``other`` start at ``rows[added]`` and ``rows[removed]`` (a flat matrix).

    Parameters
    ----------
    factors, scores, centre : array of float64, shape (>= 8 * n_blocks,). IN
    rows : array of float64, 1-d. IN
    added, removed, n_blocks : int. IN
    inverse, shift : float. IN

    O(n_blocks).
    """
    signature = types.float64(
        factors, scores, rows, types.int64, types.int64, types.float64, centre, types.float64,
        types.int64,
    )  # fmt: skip

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        factors, scores, rows, centre = _data(target, builder, signature, arguments, 0, 1, 2, 6)
        added, removed = builder.gep(rows, [arguments[3]]), builder.gep(rows, [arguments[4]])
        inverses, shifts = _repeated(builder, arguments[5]), _repeated(builder, arguments[7])
        sums = cgutils.alloca_once_value(builder, _ZEROS)
        with _blocks(builder, arguments[8]) as loop:
            first = builder.mul(loop.index, _whole(LANES))
            change = builder.fsub(_load(builder, added, first), _load(builder, removed, first))
            moved = builder.fadd(_load(builder, scores, first), change)
            offset = builder.fadd(_load(builder, centre, first), shifts)
            difference = builder.fsub(
                builder.fmul(moved, inverses, flags=_FUSED), offset, flags=_FUSED
            )
            power = _exponential(builder, difference)
            factor = _load(builder, factors, first)
            builder.store(_multiply_add(builder, factor, power, builder.load(sums)), sums)
        return _lanes_sum(builder, builder.load(sums))

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
        rests, scores, rows, factors, values, out = _data(
            target, builder, signature, arguments, 0, 2, 3, 7, 9, 10
        )
        rest = builder.gep(rests, [arguments[1]])
        added, removed = builder.gep(rows, [arguments[4]]), builder.gep(rows, [arguments[5]])
        scales = _repeated(builder, arguments[6])
        sums = cgutils.alloca_once_value(builder, _ZEROS)
        with _blocks(builder, arguments[8]) as loop:
            place = builder.mul(loop.index, _whole(LANES))
            change = builder.fsub(_load(builder, added, place), _load(builder, removed, place))
            moved = builder.fadd(_load(builder, scores, place), change)
            value = _multiply_add(builder, moved, scales, _load(builder, rest, place))
            _store(builder, value, values, place)
            term = builder.fmul(_exponential(builder, value), _load(builder, factors, place))
            _store(builder, term, out, place)
            builder.store(builder.fadd(builder.load(sums), term), sums)
        return _lanes_sum(builder, builder.load(sums))

    return signature, codegen


@intrinsic
def move_row(context, rows, added, removed, n_blocks, sums):  # type: ignore[no-untyped-def]
    """Add ``rows[added + j] - rows[removed + j]`` to ``sums[j]`` (IN-OUT). O(n_blocks).

    Exactly nothing changes if both are the same row.
    """
    signature = types.void(rows, types.int64, types.int64, types.int64, sums)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        rows, sums = _data(target, builder, signature, arguments, 0, 4)
        added, removed = builder.gep(rows, [arguments[1]]), builder.gep(rows, [arguments[2]])
        with _blocks(builder, arguments[3]) as loop:
            first = builder.mul(loop.index, _whole(LANES))
            change = builder.fsub(_load(builder, added, first), _load(builder, removed, first))
            _store(builder, builder.fadd(_load(builder, sums, first), change), sums, first)
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
        weights, rows, out = _data(target, builder, signature, arguments, 0, 1, 4)
        n_rows, n_blocks = arguments[2:4]
        stride = builder.mul(n_blocks, _whole(LANES))
        sums = [cgutils.alloca_once(builder, _DOUBLES) for _ in range(_WIDTH)]

        def sum_columns(column, width):  # type: ignore[no-untyped-def]
            """Set ``width`` blocks of columns: so many sums run side by side."""
            for sum_ in sums[:width]:
                builder.store(_ZEROS, sum_)
            with _blocks(builder, n_rows) as row:
                weight = _repeated(builder, builder.load(builder.gep(weights, [row.index])))
                first = builder.add(builder.mul(row.index, stride), column)
                for i, sum_ in enumerate(sums[:width]):
                    vector = _load(builder, rows, builder.add(first, _whole(LANES * i)))
                    builder.store(_multiply_add(builder, weight, vector, builder.load(sum_)), sum_)
            for i, sum_ in enumerate(sums[:width]):
                _store(builder, builder.load(sum_), out, builder.add(column, _whole(LANES * i)))

        n_wide = builder.sdiv(n_blocks, _whole(_WIDTH))
        with _blocks(builder, n_wide) as group:
            sum_columns(builder.mul(group.index, _whole(_WIDTH * LANES)), _WIDTH)
        n_done = builder.mul(n_wide, _whole(_WIDTH))
        with _blocks(builder, builder.sub(n_blocks, n_done)) as rest:
            block = builder.add(n_done, rest.index)
            sum_columns(builder.mul(block, _whole(LANES)), 1)
        return target.get_dummy_value()

    return signature, codegen
