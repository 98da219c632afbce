"""Building blocks for vector instructions: vectors of eight numbers in LLVM.

The math library computes exponentials and digammas one by one, and LLVM vectorises neither
them nor sums on its own. These functions write vector instructions into a builder, for
:mod:`palaver.kernels.simd.lanes` (draws) and :mod:`palaver.kernels.simd.vectors` (rows).
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba.core import cgutils as _untyped_cgutils

LANES = 8

# untyped in numba; ``Any`` lets typed code call it
cgutils: Any = _untyped_cgutils

INT32 = ir.IntType(32)
INT64 = ir.IntType(64)
INT32S = ir.VectorType(INT32, LANES)
INT64S = ir.VectorType(INT64, LANES)
DOUBLE = ir.DoubleType()
POINTER = DOUBLE.as_pointer()
DOUBLES = ir.VectorType(DOUBLE, LANES)
ZEROS = ir.Constant(DOUBLES, [0.0] * LANES)
FUSED = ("contract",)  # multiply-add in one instruction if the processor has it

EXPONENT_LIMIT = 708.0
"""Limit for arguments of exponentials, so that nothing overflows, becomes 0 or denormal."""

# exp(x) = 2**n * exp(r), |r| <= log(2) / 2; log(2) in two parts, the first with trailing zeros
_LOG2_HIGH = 6.93147180369123816490e-01
_LOG2_LOW = 1.90821492927058770002e-10
_ROUNDER = 1.5 * 2.0**52  # adding it rounds to a whole number, kept in the lowest bits
_DEGREE = 12  # of the series of exp(r): the next term is below 2e-16
_LOG_TERMS = 11  # of the series of log(m): the next term is below 1e-18
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
# of digamma's asymptotic series, B_2i / 2i (Abramowitz & Stegun 6.3.18)
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def whole(number: int) -> Any:
    """Return a whole number as an LLVM constant."""
    return ir.Constant(INT64, number)


def constants(value: float) -> Any:
    """Return a vector with the same constant in every lane."""
    return ir.Constant(DOUBLES, [value] * LANES)


def repeated(builder: Any, value: Any) -> Any:
    """Return a vector with ``value`` in every lane."""
    empty = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(INT32S, [0] * LANES))


def pointer(builder: Any, data: Any, index: Any, vector_type: Any = DOUBLES) -> Any:
    """Return a pointer to the vector that starts at ``data[index]``."""
    return builder.bitcast(builder.gep(data, [index]), vector_type.as_pointer())


def load(builder: Any, data: Any, index: Any) -> Any:
    """Return the eight numbers that start at ``data[index]``."""
    return builder.load(pointer(builder, data, index), align=8)


def store(builder: Any, vector: Any, data: Any, index: Any) -> None:
    """Set the eight numbers that start at ``data[index]``."""
    builder.store(vector, pointer(builder, data, index), align=8)


def multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c``."""
    return builder.fadd(builder.fmul(a, b, flags=FUSED), c, flags=FUSED)


def exponential(builder: Any, x: Any) -> Any:
    """Return ``exp`` of eight numbers, to 1e-15 of their size."""
    low, high = constants(-EXPONENT_LIMIT), constants(EXPONENT_LIMIT)
    x = builder.select(builder.fcmp_ordered("<", x, low), low, x)
    x = builder.select(builder.fcmp_ordered(">", x, high), high, x)
    rounded = multiply_add(builder, x, constants(1.0 / math.log(2.0)), constants(_ROUNDER))
    n = builder.fsub(rounded, constants(_ROUNDER))
    r = multiply_add(builder, n, constants(-_LOG2_HIGH), x)
    r = multiply_add(builder, n, constants(-_LOG2_LOW), r)
    # pairs of terms, then pairs of pairs: half the latency of term by term
    terms = [constants(1.0 / math.factorial(i)) for i in range(_DEGREE + 1)]
    power = r
    while len(terms) > 1:
        pairs = [
            multiply_add(builder, terms[i + 1], power, terms[i])
            for i in range(0, len(terms) - 1, 2)
        ]
        terms = pairs + terms[len(terms) - len(terms) % 2 :]
        power = builder.fmul(power, power)
    series = terms[0]
    # times 2**n: n is added to the exponent bits
    bits = builder.bitcast(rounded, INT64S)
    shift = ir.Constant(INT64S, [52] * LANES)
    bits = builder.add(builder.bitcast(series, INT64S), builder.shl(bits, shift))
    return builder.bitcast(bits, DOUBLES)


def logarithm(builder: Any, x: Any) -> Any:
    """Return ``log`` of eight positive normal numbers, to 1e-15 of the larger of it and 1."""
    # x = 2**n * m, m near 1: the bits of sqrt(1/2) are subtracted before reading the exponent
    low = ir.Constant(INT64S, [_SQRT_HALF_BITS] * LANES)
    bits = builder.sub(builder.bitcast(x, INT64S), low)
    n = builder.ashr(bits, ir.Constant(INT64S, [52] * LANES))
    mantissa = builder.and_(bits, ir.Constant(INT64S, [(1 << 52) - 1] * LANES))
    m = builder.bitcast(builder.add(mantissa, low), DOUBLES)
    # log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172
    ones = constants(1.0)
    s = builder.fdiv(builder.fsub(m, ones), builder.fadd(m, ones))
    square = builder.fmul(s, s)
    series = constants(2.0 / (2 * _LOG_TERMS - 1))
    for i in range(_LOG_TERMS - 2, -1, -1):
        series = multiply_add(builder, series, square, constants(2.0 / (2 * i + 1)))
    n = builder.sitofp(n, DOUBLES)
    return multiply_add(builder, n, constants(math.log(2.0)), builder.fmul(s, series))


def digamma(builder: Any, x: Any) -> Any:
    """Return ``digamma`` of eight positive numbers below 1e30, to 1e-14 of its size or of 1.

    ``digamma(x) = digamma(y) - 1/x - ... - 1/(x + 7)``, ``y = x + 8``, and the asymptotic series.
    """
    above, below, place = constants(1.0), x, x  # the sum as one fraction
    for _ in range(7):
        place = builder.fadd(place, constants(1.0))
        above = multiply_add(builder, above, place, below)
        below = builder.fmul(below, place)
    y = builder.fadd(x, constants(8.0))
    inverse = builder.fdiv(constants(1.0), y)
    square = builder.fmul(inverse, inverse)
    series = constants(_DIGAMMA_SERIES[-1])
    for coefficient in _DIGAMMA_SERIES[-2::-1]:
        series = multiply_add(builder, series, square, constants(coefficient))
    tail = multiply_add(builder, series, square, builder.fmul(inverse, constants(0.5)))
    tail = builder.fadd(tail, builder.fdiv(above, below))
    return builder.fsub(logarithm(builder, y), tail)


def across_lanes(builder: Any, vector: Any, combine: Any) -> Any:
    """Return eight numbers combined as ((0, 4), (2, 6)), ((1, 5), (3, 7))."""
    for width in (4, 2, 1):
        lanes = [(i + width) % LANES for i in range(LANES)]
        mask = ir.Constant(INT32S, lanes)
        vector = combine(vector, builder.shuffle_vector(vector, vector, mask))
    return builder.extract_element(vector, ir.Constant(INT32, 0))


def lanes_sum(builder: Any, vector: Any) -> Any:
    """Return the sum of eight numbers."""
    return across_lanes(builder, vector, builder.fadd)


def data(target: Any, builder: Any, signature: Any, arguments: Any, *positions: int) -> list[Any]:
    """Return pointers to the first number of array arguments."""
    return [
        target.make_array(signature.args[i])(target, builder, arguments[i]).data for i in positions
    ]


def blocks(builder: Any, n_blocks: Any) -> Any:
    """Write a loop over blocks."""
    return cgutils.for_range(builder, n_blocks)
