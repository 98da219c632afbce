"""What a message's children say about the class of one of its tokens (spec 1, "M4").

All children of a message share its class histogram as features. Let ``m_j`` be their tokens of
class ``j``, ``M`` the sum, and let the message, without the token at hand, have ``n``
class-bearing tokens with summed weights ``a_j`` (``a = weights' histogram``). If the token gets
class ``k``, its log child factor is, up to a constant,

    log f_k = (sum_j m_j a_j + C_k) / (n + 1) - M log S_k,         C_k = sum_j m_j weights[k, j]
    S_k = sum_j exp(bias_j + (a_j + weights[k, j]) / (n + 1))                                (1)

and if it is background, ``C`` and ``weights[k]`` are zero and ``n`` stands for ``n + 1`` (for
``n = 0`` the histogram is zero). All ``f_k`` cost O(K^2) multiply-adds: :func:`child_logs`.

One ``f_k`` costs O(K), and mostly one is enough: a bound that is cheap for all classes serves as
the proposal of a rejection sampler, which draws exactly from the conditional. By Jensen, for any
distribution ``q``, ``log S_k >= sum_j q_j (exponent_j - log q_j)``, which is linear in the
exponents. With ``q`` the children's distribution at some histogram near the present one
(:func:`set_tangent`), ``mu_k = sum_j q_j weights[k, j]`` and ``slope_k = C_k - M mu_k``,

    log f_k <= constant + (slope score + slope_k) / (n + 1),                                 (2)
    slope score = sum_j (m_j - M q_j) a_j

and the gap is ``M log E_q exp(exponent - centre - their mean)``, which is second order in the
distance: the acceptance probability is close to one until many tokens have moved. For many
tokens in turn ``exp(slope_k / (n + 1))`` is taken from the count at the tangent; with a
background ``n`` changes, and the bound is raised by the largest error this makes.

Functions that take many plain arrays do so because they run for every token, compiled without
reference counts (``_nrt=False``): counting took two thirds of a sweep.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
from numba import njit

from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import aligned, n_lane_blocks
from palaver.kernels.simd.vectors import (
    dot,
    exponentials,
    largest,
    moved_exponential_sum,
    weighted_rows,
)

TABLE_BYTES = 4 << 20
"""Room for tables of ``exp(weights / n)``."""

Layout = namedtuple("Layout", "n_classes n_blocks stride rows columns bias powers mask zeros")
"""Weights as the sweep reads them: flat matrices whose rows are padded to whole blocks.

rows[k] are the weights from class k (row ``n_classes``: zeros, for the background), columns[j]
the weights to class j, bias the last row, powers its exponentials; mask is 1 for classes.
"""

Children = namedtuple(
    "Children", "counts sums scores tangent centre means slopes values logs tables table_sizes"
)
"""Scratch arrays of one message, in the terms of (1) and (2).

counts ``m_j``; sums ``C_k``; scores ``a_j``, with the token at hand left in; tangent ``q_j``;
centre: its exponents without the bias; means ``mu_k``; slopes. Entry ``n_classes`` of sums and
means is zero and stands for the background.
"""


@njit(cache=True)
def lay_out(weights):  # type: ignore[no-untyped-def]
    """Return the :class:`Layout` of weights (n_classes + 2, n_classes). O(K^2)."""
    n_classes = weights.shape[1]
    n_blocks = n_lane_blocks(n_classes)
    stride = LANES * n_blocks
    rows, columns = aligned((n_classes + 1) * stride), aligned(n_classes * stride)
    bias, powers, mask, zeros = aligned(stride), aligned(stride), aligned(stride), aligned(stride)
    for k in range(n_classes):
        bias[k] = weights[n_classes + 1, k]
        powers[k] = math.exp(bias[k])
        mask[k] = 1.0
        for j in range(n_classes):
            rows[k * stride + j] = weights[k, j]
            columns[j * stride + k] = weights[k, j]
    return Layout(n_classes, n_blocks, stride, rows, columns, bias, powers, mask, zeros)


@njit(cache=True)
def make_children(n_classes):  # type: ignore[no-untyped-def]
    """Return zeroed scratch arrays. Memory O(K) and at most TABLE_BYTES or one K x K table."""
    stride = LANES * n_lane_blocks(n_classes)
    size = stride + LANES
    n_tables = max(1, min(256, TABLE_BYTES // (8 * n_classes * stride)))
    return Children(
        aligned(size), aligned(size), aligned(size), aligned(size), aligned(size), aligned(size),
        aligned(size), aligned(size), aligned(size), aligned(n_tables * n_classes * stride),
        np.zeros(n_tables, np.int64),
    )  # fmt: skip


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def set_tangent(  # type: ignore[no-untyped-def]
    n_others, old, n_child_tokens, n_classes, n_blocks, rows, columns, bias, mask, sums, scores,
    values, tangent, centre, means, slopes,
):  # fmt: skip
    """Put the bound (2) at the histogram without the token at hand. O(K^2).

    Returns (sum_j q_j a_j with the token left in, sum_j q_j centre_j, lowest slope, highest).
    """
    stride = LANES * n_blocks
    inverse = 1.0 / max(n_others, 1)
    for j in range(stride):
        centre[j] = (scores[j] - rows[old * stride + j]) * inverse
        values[j] = bias[j] + centre[j]
    total = exponentials(values, 0.0, 1.0, mask, n_blocks, tangent)
    for j in range(stride):
        tangent[j] *= 1.0 / total
    weighted_rows(tangent, columns, n_classes, n_blocks, means)
    for k in range(stride):
        slopes[k] = sums[k] - n_child_tokens * means[k]
    for k in range(n_classes, stride):
        slopes[k] = slopes[0]  # the padding must not be the largest
    lowest, highest = -largest(slopes, -1.0, n_blocks), largest(slopes, 1.0, n_blocks)
    return dot(tangent, scores, n_blocks), dot(tangent, centre, n_blocks), lowest, highest


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def tangent_excess(  # type: ignore[no-untyped-def]
    outcome, old, n_others, mean_score, mean_centre, n_classes, n_blocks, rows, scores, tangent,
    centre, means,
):  # fmt: skip
    """Return ``E - 1`` where the gap of the bound (2) at an outcome is ``M log E``. O(K)."""
    stride = LANES * n_blocks
    inverse = 1.0 / (n_others + 1 if outcome < n_classes else max(n_others, 1))
    shift = (mean_score - means[old] + means[outcome]) * inverse - mean_centre
    total = moved_exponential_sum(
        tangent, scores, rows, outcome * stride, old * stride, inverse, centre, shift, n_blocks
    )
    return total - 1.0


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def child_log(  # type: ignore[no-untyped-def]
    outcome, old, n_others, n_child_tokens, sum_score, n_classes, n_blocks, rows, powers, zeros,
    sums, scores,
):  # fmt: skip
    """Return the log child factor (1) of one outcome. O(K).

    sum_score is ``sum_j m_j a_j`` with the token at hand left in.
    """
    stride = LANES * n_blocks
    inverse = 1.0 / (n_others + 1 if outcome < n_classes else max(n_others, 1))
    total = moved_exponential_sum(
        powers, scores, rows, outcome * stride, old * stride, inverse, zeros, 0.0, n_blocks
    )
    score = sum_score - sums[old] + sums[outcome]
    return score * inverse - n_child_tokens * math.log(total)


@njit(cache=True, error_model="numpy", _nrt=False)
def child_logs(  # type: ignore[no-untyped-def]
    old, n_others, n_child_tokens, sum_score, has_background, layout, children
):
    """Set ``children.logs`` to the log child factors (1) of all classes and the background.

    K^2 multiply-adds, K exponentials and logarithms (and K^2 exponentials the first time a
    histogram has this many tokens). All are at most zero: the largest is taken off.
    """
    n_classes, n_blocks, stride, rows, columns, bias, powers, mask, zeros = layout
    sums, scores, values, logs = children.sums, children.scores, children.values, children.logs
    size = n_classes * stride
    place = (n_others + 1) % children.table_sizes.shape[0]
    table = children.tables[place * size : (place + 1) * size]
    inverse = 1.0 / (n_others + 1)
    if children.table_sizes[place] != n_others + 1:
        children.table_sizes[place] = n_others + 1
        for j in range(n_classes):
            row = slice(j * stride, (j + 1) * stride)
            exponentials(columns[row], 0.0, inverse, mask, n_blocks, table[row])
    for j in range(n_classes):
        values[j] = bias[j] + (scores[j] - rows[old * stride + j]) * inverse
    exponentials(values, 0.0, 1.0, mask, n_blocks, values)
    weighted_rows(values, table, n_classes, n_blocks, logs)
    highest = -np.inf
    if has_background:
        highest = child_log(
            n_classes, old, n_others, n_child_tokens, sum_score, n_classes, n_blocks, rows, powers,
            zeros, sums, scores,
        )  # fmt: skip
    logs[n_classes] = highest
    for k in range(n_classes):
        score = sum_score - sums[old] + sums[k]
        log = score * inverse - n_child_tokens * math.log(logs[k])
        logs[k] = log
        highest = max(highest, log)
    for k in range(n_classes + 1):
        logs[k] -= highest
