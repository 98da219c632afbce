"""Bounds that decide most proposals without the exact probability of the replies.

A proposal is accepted if ``log u`` is below the difference of two logs ``F`` of the probability
of the replies (the last factor of Paul (2012), equation (2)). In a long message one token hardly
moves the scores ``s``, so a linear function and a bound of its error tell on which side ``log u``
is; only where they do not, the logs themselves are computed. So all draws are the same as without.

With the symbols of :mod:`palaver.models.m4.kernels.replies`, Dirichlet transitions, for a group::

    F(s) = sum over replies of  sum_j R_mj(s_j) - R_M(log sum_j exp(s_j))
    R_m(s) = log of exp(s) (exp(s) + 1) ... (exp(s) + m - 1)

``R_m`` is convex, with ``0 <= R_m'' <= R_m' <= m``, so both terms are convex. Let ``t_j`` be the
sum of ``R_mj'`` over replies and ``e_j`` that of ``R_M' exp(s_j) / A``: the gradient is ``t - e``,
and the second derivatives of the terms in a direction ``d`` are at most ``sum_j t_j d_j^2`` and
``sum_j e_j d_j^2``. On the way to ``s + d`` these grow at most by ``exp(3 x)``, ``x = max|d|``,
which is below ``1 / (1 - 3 x)``. Hence::

    |F(s + d) - F(s) - (t - e) d|  <=  sum_j max(t_j, e_j) d_j^2 / 2 / (1 - 3 x)

With softmax transitions the first term is linear, ``t = m``, and ``e_j = M pi_j`` alone counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.simd.instructions import (
    LANES,
    ZEROS,
    across_lanes,
    blocks,
    cgutils,
    data,
    lanes_sum,
    load,
    multiply_add,
    repeated,
    whole,
)
from palaver.kernels.simd.vectors import moved_exponentials
from palaver.kernels.special import digamma

_FEWEST_UNITS = 12  # in shorter messages a token moves the scores too far
_LONGEST_STEP = 0.25  # of any score
_FEW, _LARGE = 48, 1e4  # terms that are added one by one; scores for which that is exact enough
#: Errors of rounding, for a proposal and for each unit of the replies.
_ROUNDING, _UNIT_ROUNDING = 1e-9, 1e-12
#: Where the error at the current scores is larger, the linear functions are computed again.
MOST_DOUBT = 0.1


def _moved_change(  # type: ignore[no-untyped-def]
    context, first, scores, rows, added, removed, scale, shifts, slopes, bends, n_blocks
):
    """Return ``slope . d``, ``bend . d^2`` and the largest ``|d|`` of a group after a move.

    ``d = (scores + row - other) * scale - shift``; shift, slope and bend start at ``first``,
    ``row`` and ``other`` at ``rows[added]`` and ``rows[removed]``. All IN; O(n_blocks).
    """
    signature = types.UniTuple(types.float64, 3)(
        types.int64, scores, rows, types.int64, types.int64, types.float64, shifts, slopes, bends,
        types.int64,
    )  # fmt: skip

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        scores, rows, shifts, slopes, bends = data(
            target, builder, signature, arguments, 1, 2, 6, 7, 8
        )
        shifts, slopes, bends = (builder.gep(a, [arguments[0]]) for a in (shifts, slopes, bends))
        added, removed = builder.gep(rows, [arguments[3]]), builder.gep(rows, [arguments[4]])
        scales = repeated(builder, arguments[5])
        linear, square, most = (cgutils.alloca_once_value(builder, ZEROS) for _ in range(3))

        def larger(left, right):  # type: ignore[no-untyped-def]
            return builder.select(builder.fcmp_ordered(">", left, right), left, right)

        with blocks(builder, arguments[9]) as loop:
            place = builder.mul(loop.index, whole(LANES))
            change = builder.fsub(load(builder, added, place), load(builder, removed, place))
            moved = builder.fadd(load(builder, scores, place), change)
            moved = builder.fsub(builder.fmul(moved, scales), load(builder, shifts, place))
            slope, bend = load(builder, slopes, place), load(builder, bends, place)
            builder.store(multiply_add(builder, slope, moved, builder.load(linear)), linear)
            bent = builder.fmul(bend, moved)
            builder.store(multiply_add(builder, bent, moved, builder.load(square)), square)
            size = larger(moved, builder.fsub(ZEROS, moved))
            builder.store(larger(size, builder.load(most)), most)
        found = [lanes_sum(builder, builder.load(sums)) for sums in (linear, square)]
        found.append(across_lanes(builder, builder.load(most), larger))
        return cgutils.pack_array(builder, found)

    return signature, codegen


moved_change: Any = intrinsic(_moved_change)


@kernel(error_model="numpy", _nrt=False)
def open_bounds(n_groups, n_units, sums, layout, family):  # type: ignore[no-untyped-def]
    """Set the linear functions of a message's groups at its current scores.

    n_units : class-bearing units of the message; sums : (stride,) ``h . rows``. Returns the error
    of rounding, or a negative number where there are no bounds. O(K + units of the replies).
    """
    if n_units < _FEWEST_UNITS:
        return -1.0
    n_blocks, stride, n_classes = layout.n_blocks, layout.stride, layout.n_classes
    none = n_classes * stride
    doubt = _ROUNDING
    for group in range(n_groups):
        scale = family.scales[group] / n_units
        first = group * stride
        total = moved_exponentials(
            family.rests, first, sums, layout.rows, none, none, scale, layout.mask, n_blocks,
            family.values, family.shares,
        )  # fmt: skip
        if not total < _LARGE:
            return -1.0
        slopes = family.slopes[first : first + stride]
        bends = family.bends[first : first + stride]
        for j in range(stride):
            family.shifts[first + j] = sums[j] * scale
            slopes[j] = 0.0
        expected = family.totals[group]
        if layout.is_dirichlet:
            expected = _add_slopes(family.first_entry[group], total, family, slopes)
        else:
            for j in range(stride):
                slopes[j] = family.counts[first + j]
        for j in range(stride):
            own = expected * family.shares[j] / total
            bends[j] = 0.5 * (max(own, slopes[j]) if layout.is_dirichlet else own)
            slopes[j] -= own
        doubt += _UNIT_ROUNDING * family.totals[group]
    return doubt


@inner(error_model="numpy", _nrt=False)
def _add_slopes(entry, total, family, slopes):  # type: ignore[no-untyped-def]
    """Add ``R_m'`` of a group's entries to ``slopes``; return that of the totals."""
    expected = 0.0
    while entry >= 0:
        k, count = family.entry_class[entry], family.entry_count[entry]
        start = total if k < 0 else family.shares[k]
        slope = 1.0
        for i in range(1, min(count, _FEW)):
            slope += start / (start + i)
        if count > _FEW:
            slope += start * (digamma(start + count) - digamma(start + _FEW))
        if k < 0:
            expected += slope
        else:
            slopes[k] += slope
        entry = family.next_entry[entry]
    return expected


@kernel(forceinline=True, error_model="numpy", _nrt=False)
def bounded_change(n_groups, new, old, n_units, sums, layout, family):  # type: ignore[no-untyped-def]
    """Return how the replies' log probability changes up to a move, about, and the largest error.

    From where :func:`open_bounds` was; arguments as in
    :func:`palaver.models.m4.kernels.replies.family_log`. O(K) for each group.
    """
    stride = layout.stride
    inverse = 1.0 / max(n_units, 1)
    change = doubt = 0.0
    for group in range(n_groups):
        linear, square, most = moved_change(
            group * stride, sums, layout.rows, new * stride, old * stride,
            inverse * family.scales[group], family.shifts, family.slopes, family.bends,
            layout.n_blocks,
        )  # fmt: skip
        if not most < _LONGEST_STEP:
            return 0.0, np.inf
        change += linear
        doubt += square / (1.0 - 3.0 * most)
    return change, doubt
