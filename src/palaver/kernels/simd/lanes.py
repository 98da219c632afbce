"""One categorical draw over many outcomes, eight at a time.

A Gibbs sweep spends its time multiplying two rows, summing and drawing. LLVM does not vectorise
that on its own (arrays may alias, sums must not be reordered), so :func:`choose_outcome` writes the
vector instructions. It is an exact inverse-CDF draw that merely uses an order of the outcomes that
suits vectors. Outcome ``k`` is in lane ``k % 8`` of block ``k // 8``; outcomes are ordered lane by
lane. Two outcomes with separate weights come last: the background, and the token's old
outcome, whose counts differ from those in memory because the token itself must be left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from palaver.kernels.compiled import compact, kernel
from palaver.kernels.simd.instructions import (
    DOUBLE,
    DOUBLES,
    INT32,
    INT32S,
    INT64,
    INT64S,
    LANES,
    POINTER,
    ZEROS,
    cgutils,
    load,
    multiply_add,
    pointer,
    repeated,
    store,
    whole,
)

#: Rows are prefetched this many tokens ahead (3 to 8 are equally fast).
TOKENS_AHEAD = 6


class Draw:
    """Writes the LLVM function of :func:`choose_outcome` for one type of rows."""

    name = "choose_outcome"

    def __init__(self, module: Any, row_type: Any) -> None:
        self.is_count = row_type == INT32
        kind = ir.FunctionType(INT64, self._arguments(row_type.as_pointer()))
        # a function of its own keeps its loops out of the caller, where they would stop numba
        # from removing the reference counting of arrays (which costs three times the draw)
        self.function = cgutils.get_or_insert_function(
            module, kind, f"palaver_{self.name}_{row_type.intrinsic_name}"
        )

    def _arguments(self, row: Any) -> list[Any]:
        """Return the types of the function's arguments."""
        return [row, DOUBLE, POINTER, INT64, POINTER, INT64, DOUBLE, DOUBLE, DOUBLE]

    def write(self) -> Any:
        """Return the function; write it first if this module does not have it yet."""
        if not self.function.is_declaration:
            return self.function
        self.function.linkage = "internal"
        self.function.attributes.add("alwaysinline")
        self.builder = ir.IRBuilder(self.function.append_basic_block())
        self.builder.ret(self._draw(*self.function.args))
        return self.function

    def _draw(self, *arguments: Any) -> Any:
        """Write the draw; return its rank."""
        row, offset, factors, skipped, running, n_blocks, *weights = arguments
        self._row, self._factors, self._running = row, factors, running
        self._offsets = repeated(self.builder, offset)
        self._skipped = repeated(self.builder, skipped)
        return self._rank(self._add_blocks(n_blocks), n_blocks, *weights)

    def _shuffled(self, vector: Any, lanes: list[int]) -> Any:
        """Return ``np.append(vector, np.zeros(8))[lanes]``."""
        return self.builder.shuffle_vector(vector, ZEROS, ir.Constant(INT32S, lanes))

    def _add_blocks(self, n_blocks: Any) -> Any:
        builder = self.builder
        lane_sums = cgutils.alloca_once_value(builder, self._add_block(whole(0), ZEROS))
        with cgutils.for_range(builder, builder.sub(n_blocks, whole(1))) as loop:
            first = builder.mul(builder.add(loop.index, whole(1)), whole(LANES))
            builder.store(self._add_block(first, builder.load(lane_sums)), lane_sums)
        return builder.load(lane_sums)

    def _factor(self, first: Any) -> Any:
        """Return the factors of outcomes first .. first+7 of the row."""
        return load(self.builder, self._factors, first)

    def _add_block(self, first: Any, sums: Any) -> Any:
        """Add the weights of outcomes first .. first+7 to the lanes' sums, and store these."""
        builder = self.builder
        if self.is_count:
            row = builder.load(pointer(builder, self._row, first, INT32S), align=4)
            row = builder.sitofp(row, DOUBLES)
        else:
            row = load(builder, self._row, first)
        outcomes = builder.add(ir.Constant(INT64S, list(range(LANES))), repeated(builder, first))
        is_skipped = builder.icmp_signed("==", outcomes, self._skipped)
        row = builder.select(is_skipped, ZEROS, builder.fadd(row, self._offsets))
        sums = multiply_add(builder, row, self._factor(first), sums)
        store(builder, sums, self._running, first)
        return sums

    def _rank(
        self, lane_sums: Any, n_blocks: Any, background_weight: Any, old_weight: Any, uniform: Any
    ) -> Any:
        builder = self.builder
        ends = lane_sums
        for distance in (1, 2, 4):  # cumulative sums over the lanes
            shifted = [i - distance if i >= distance else LANES for i in range(LANES)]
            ends = builder.fadd(ends, self._shuffled(ends, shifted))
        begins = self._shuffled(ends, [LANES, *range(LANES - 1)])
        vector_total = self._shuffled(ends, [LANES - 1] * LANES)
        with_background = builder.fadd(vector_total, repeated(builder, background_weight))
        total = builder.fadd(with_background, repeated(builder, old_weight))
        aim = builder.fmul(repeated(builder, uniform), total)
        # count what lies below the target instead of searching: no branch to mispredict
        past_background = builder.fcmp_ordered("<=", self._first(with_background), self._first(aim))
        rank = cgutils.alloca_once_value(builder, builder.zext(past_background, INT64))
        with cgutils.for_range(builder, n_blocks) as loop:
            first = builder.mul(loop.index, whole(LANES))
            sums = load(builder, self._running, first)
            below = builder.fcmp_ordered("<=", builder.fadd(sums, begins), aim)
            count = builder.ctpop(builder.bitcast(below, ir.IntType(LANES)))
            builder.store(builder.add(builder.load(rank), builder.zext(count, INT64)), rank)
        return builder.load(rank)

    def _first(self, vector: Any) -> Any:
        return self.builder.extract_element(vector, ir.Constant(INT32, 0))


def _choose_outcome(  # type: ignore[no-untyped-def]
    context, rows, start, spare, offset, factors, skipped, running, n_blocks,
    background_weight, old_weight, uniform,
):  # fmt: skip
    """Draw an outcome with weights ``(rows[start + k] + offset) * factors[k]``; return its rank.

    With ``n = 8 * n_blocks``, equivalent to::

        weights = (rows[start : start + n] + offset) * factors[:n]
        weights[skipped] = 0.0
        lane_by_lane = weights.reshape(n_blocks, 8).T.ravel()
        cumulative = np.cumsum([*lane_by_lane, background_weight, old_weight])
        return np.searchsorted(cumulative, uniform * cumulative[-1], side="right")

    up to rounding, which may (with probability about 1e-16) give a neighbouring rank, even one of
    weight zero: map the rank with :func:`outcome_order`, which is safe for every rank.

    Parameters
    ----------
    rows : array of int32 or float64, 1-d, contiguous. IN
        Read from ``start`` to ``start + 8 * n_blocks``; whatever lies beyond the row must be finite
        and is multiplied by the zeros of ``factors``.
    spare : array like rows, shape (>= 8 * n_blocks,). IN
        Read instead of the row where ``start + 8 * n_blocks > rows.size``: copy the row there.
    start, skipped, n_blocks : int. IN
        No outcome is skipped if ``skipped >= 8 * n_blocks``.
    offset, background_weight, old_weight, uniform : float. IN
    factors : array of float64, shape (>= 8 * n_blocks,), from :func:`aligned`. IN
    running : array of float64, shape (>= 8 * n_blocks,), from :func:`aligned`. OUT
        Sums of the weights over the blocks, per lane: weights are their differences.

    Returns
    -------
    int from 0 to ``8 * n_blocks + 1``; cost O(n_blocks).
    """
    signature = types.uint64(
        rows, types.int64, spare, types.float64, factors, types.int64, running,
        types.int64, types.float64, types.float64, types.float64,
    )  # fmt: skip

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        _, start, _, offset, _, skipped, _, n_blocks, *weights, uniform = arguments
        rows, spare, factors, running = (
            target.make_array(signature.args[i])(target, builder, arguments[i])
            for i in (0, 2, 4, 6)
        )
        end = builder.add(start, builder.mul(n_blocks, whole(LANES)))
        fits = builder.icmp_signed("<=", end, rows.nitems)
        row = builder.select(fits, builder.gep(rows.data, [start]), spare.data)
        draw = Draw(builder.module, target.get_data_type(signature.args[0].dtype)).write()
        return builder.call(
            draw,
            [row, offset, factors.data, skipped, running.data, n_blocks, *weights, uniform],
        )

    return signature, codegen


choose_outcome: Any = intrinsic(_choose_outcome)


def _prefetch_line(context, rows, index):  # type: ignore[no-untyped-def]
    """Prefetch the cache line of ``rows[index]``; a hint, harmless past the end of the array."""
    signature = types.void(rows, types.int64)

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        rows = target.make_array(signature.args[0])(target, builder, arguments[0])
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, INT32, INT32, INT32])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        address = builder.bitcast(builder.gep(rows.data, [arguments[1]]), byte)
        # to read, keep close, data
        builder.call(prefetch, [address, *(ir.Constant(INT32, flag) for flag in (0, 3, 1))])
        return target.get_dummy_value()

    return signature, codegen


prefetch_line: Any = intrinsic(_prefetch_line)


@kernel
def n_lane_blocks(n_outcomes):  # type: ignore[no-untyped-def]
    """Return the number of blocks of eight for ``n_outcomes``."""
    return (n_outcomes + LANES - 1) // LANES


@kernel
def aligned(size):  # type: ignore[no-untyped-def]
    """Return float64 zeros, shape (size,), that start on a cache line.

    A vector that crosses a line cannot be forwarded from a recent store: measured 10 % of a sweep.
    """
    buffer = np.zeros(size + LANES)
    first = (-(buffer.ctypes.data >> 3)) & (LANES - 1)
    return buffer[first : first + size]


@kernel
def outcome_order(n_outcomes, has_background):  # type: ignore[no-untyped-def]
    """Return a table that maps ranks of :func:`choose_outcome` to slots.

    Slots are ``0 .. n_outcomes-1`` for the outcomes and ``8 * n_blocks`` for the background; any
    rank without an outcome, and the last one, maps to ``8 * n_blocks + 1``, the old outcome.

    Returns
    -------
    array of uint64, shape (8 * n_blocks + 2,)
    """
    compact()
    n_blocks = n_lane_blocks(n_outcomes)
    background_slot = LANES * n_blocks
    order = np.full(LANES * n_blocks + 2, background_slot + 1, np.uint64)
    for lane in range(LANES):
        for block in range(n_blocks):
            if LANES * block + lane < n_outcomes:
                order[lane * n_blocks + block] = LANES * block + lane
    if has_background:
        order[background_slot] = background_slot
    return order
