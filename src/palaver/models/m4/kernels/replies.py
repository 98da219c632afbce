"""How likely the classes of a message and of its replies are: the first and last factor of (2).

(2) is the conditional of Paul (2012), section 3.1. The *units* of a message have classes: its
tokens (those of background or topics have none), or its segments. Its histogram ``h`` counts them,
``n`` is how many there are; divided by ``n`` it sums to one, as in section 5.4 of the paper. The
scores of a message, the exponents of section 2.2, are linear in its features::

    s_b = bases[base_index[b]] + mean over its parents a of  h_a . rows / max(n_a, 1)

``rows`` are the weights from classes; a base is what start, bias and further features add. The
paper has one parent at most, and no further features. Given the scores, the units' classes of a
message are drawn, by one of two transitions,

    softmax      independently from  pi = softmax(s), as in the paper
    dirichlet    from  pi ~ Dirichlet(exp(s)), which is integrated out

so the factor of a reply with counts ``m`` and ``M = sum(m)`` is ``sum_j m_j s_j - M log sum_j
exp(s_j)`` or, with rising factorials, ``sum_j log a_j^(m_j) - log A^(M)``, ``a = exp(s)``,
``A = sum(a)``. Replies of the same base and no other parent are a *group*: they share their scores.

Rows of arrays are padded with zeros to blocks of eight (:mod:`palaver.kernels.simd.vectors`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import aligned, n_lane_blocks
from palaver.kernels.simd.vectors import dot, move_row, moved_exponentials, weighted_rows

FloatArray = NDArray[np.float64]

_HUGE, _TINY = 1e100, 1e-100  # products in between stay finite for scores within 400
_LOG_HUGE = math.log(_HUGE)
_SHORT, _LARGE = 48, 1e20  # factors that are multiplied out, and how large these may be


class Links(NamedTuple):
    """Who answers whom in a shard, and which units each message has; all IN."""

    unit_offsets: NDArray[np.int64]
    parent_offsets: NDArray[np.int64]
    parent_list: NDArray[np.int32]
    child_offsets: NDArray[np.int64]
    child_list: NDArray[np.int32]
    base_index: NDArray[np.int32]


class Layout(NamedTuple):
    """Weights for vectors: ``rows`` flat (n_classes + 1, stride), the last row zero; also bases.

    ``mask`` has ones for classes and zeros for the padding. histogram: (stride,) and tally, scratch
    of :func:`count_units`.
    """

    is_dirichlet: bool
    n_classes: int
    n_blocks: int
    stride: int
    rows: FloatArray
    bases: FloatArray
    mask: FloatArray
    histogram: FloatArray
    tally: NDArray[np.int32]


class Family(NamedTuple):
    """The replies of one message by groups; scratch that is made once a sweep.

    rests, counts: flat (n_groups, stride); totals, scales: (n_groups,); keys, first_entry:
    (n_groups,). An entry is a class and its count in one reply, or -1 and the reply's total;
    entries of a group are linked. values, shares: (stride,). shifts, slopes, bends: flat
    (n_groups, stride), of :mod:`palaver.models.m4.kernels.bounds`.
    """

    rests: FloatArray
    counts: FloatArray
    totals: FloatArray
    scales: FloatArray
    keys: NDArray[np.int64]
    first_entry: NDArray[np.int64]
    entry_class: NDArray[np.int32]
    entry_count: NDArray[np.int32]
    next_entry: NDArray[np.int64]
    values: FloatArray
    shares: FloatArray
    shifts: FloatArray
    slopes: FloatArray
    bends: FloatArray


@inner
def link_replies(parent_offsets, parent_list):  # type: ignore[no-untyped-def]
    """Return the replies of each message: offsets (n_messages + 1,) and messages, ascending."""
    n_messages = parent_offsets.shape[0] - 1
    offsets = np.zeros(n_messages + 1, np.int64)
    for parent in parent_list:
        offsets[parent + 1] += 1
    for b in range(n_messages):
        offsets[b + 1] += offsets[b]
    replies = np.empty(parent_list.shape[0], np.int32)
    filled = offsets[:-1].copy()
    for b in range(n_messages):
        for i in range(parent_offsets[b], parent_offsets[b + 1]):
            parent = parent_list[i]
            replies[filled[parent]] = b
            filled[parent] += 1
    return offsets, replies


@kernel
def make_links(threads):  # type: ignore[no-untyped-def]
    """Return the :class:`Links` of threads. O(n_messages)."""
    children = link_replies(threads.parent_offsets, threads.parent_list)
    return Links(
        threads.unit_offsets, threads.parent_offsets, threads.parent_list, *children,
        threads.base_index,
    )  # fmt: skip


@kernel
def lay_out(weights, designs, is_dirichlet):  # type: ignore[no-untyped-def]
    """Return the :class:`Layout` of weights (K + F, K) and distinct features (n_bases, F)."""
    n_classes = weights.shape[1]
    n_blocks = n_lane_blocks(n_classes)
    stride = LANES * n_blocks
    rows, bases = aligned((n_classes + 1) * stride), aligned(designs.shape[0] * stride)
    mask = aligned(stride)
    for k in range(n_classes):
        mask[k] = 1.0
        for j in range(n_classes):
            rows[k * stride + j] = weights[k, j]
    for i in range(designs.shape[0]):
        for f in range(designs.shape[1]):
            for j in range(n_classes):
                bases[i * stride + j] += designs[i, f] * weights[n_classes + f, j]
    return Layout(
        is_dirichlet, n_classes, n_blocks, stride, rows, bases, mask, aligned(stride),
        np.zeros(2 * (n_classes + 1), np.int32),
    )  # fmt: skip


@kernel
def make_family(links, stride):  # type: ignore[no-untyped-def]
    """Return scratch for the largest family of a shard."""
    most = most_units = 1
    offsets, replies = links.child_offsets, links.child_list
    for b in range(offsets.shape[0] - 1):
        most = max(most, offsets[b + 1] - offsets[b])
        n_units = 0
        for i in range(offsets[b], offsets[b + 1]):
            reply = replies[i]
            n_units += links.unit_offsets[reply + 1] - links.unit_offsets[reply] + 1
        most_units = max(most_units, n_units)
    return Family(
        aligned(most * stride), aligned(most * stride), np.zeros(most), np.zeros(most),
        np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most_units, np.int32),
        np.zeros(most_units, np.int32), np.zeros(most_units, np.int64), aligned(stride),
        aligned(stride), aligned(most * stride), aligned(most * stride), aligned(most * stride),
    )  # fmt: skip


@inner(_nrt=False)
def count_units(first, last, unit_classes, layout):  # type: ignore[no-untyped-def]
    """Set ``layout.histogram`` to how many units have each class; return how many have any.

    first, last : units of a message. Two tallies take turns, since one place that is written again
    and again would have to wait for itself.
    """
    n_classes, histogram, tally = layout.n_classes, layout.histogram, layout.tally
    for j in range(2 * (n_classes + 1)):
        tally[j] = 0
    for i in range(first, last):
        tally[2 * min(np.int64(unit_classes[i]), n_classes) + (i & 1)] += 1
    n_units = 0
    for k in range(n_classes):
        count = tally[2 * k] + tally[2 * k + 1]
        histogram[k] = count
        n_units += count
    return n_units


@inner(error_model="numpy", _nrt=False)
def set_sums(first, last, n_units, unit_classes, layout, sums):  # type: ignore[no-untyped-def]
    """Set ``sums`` (stride,) to ``h . rows`` of the units that :func:`count_units` has counted.

    A plain loop becomes gathers, since its places have signs: a quarter of a sweep.
    """
    n_classes, stride, n_blocks = layout.n_classes, layout.stride, layout.n_blocks
    if n_units >= n_classes // 2:
        weighted_rows(layout.histogram, layout.rows, n_classes, n_blocks, sums)
        return
    for j in range(stride):
        sums[j] = 0.0
    for i in range(first, last):
        if unit_classes[i] < n_classes:
            start = np.int64(unit_classes[i]) * stride
            move_row(layout.rows, start, n_classes * stride, n_blocks, sums)


@inner(error_model="numpy", _nrt=False)
def set_message_score(message, unit_classes, links, layout, score):  # type: ignore[no-untyped-def]
    """Set ``score`` (stride,) to ``h . rows / max(n, 1)`` of a message; return ``n``."""
    first, last = links.unit_offsets[message], links.unit_offsets[message + 1]
    n_units = count_units(first, last, unit_classes, layout)
    set_sums(first, last, n_units, unit_classes, layout, score)
    for j in range(layout.stride):
        score[j] /= max(n_units, 1)
    return n_units


@inner(error_model="numpy", _nrt=False)
def add_parent_scores(  # type: ignore[no-untyped-def]
    message, without, unit_classes, links, layout, spare, scores
):
    """Add what the parents of a message but ``without`` add to its ``scores`` (stride,)."""
    first, last = links.parent_offsets[message], links.parent_offsets[message + 1]
    for i in range(first, last):
        parent = links.parent_list[i]
        if parent != without:
            set_message_score(parent, unit_classes, links, layout, spare)
            for j in range(layout.stride):
                scores[j] += spare[j] / (last - first)


@kernel
def log_rising(start, n):  # type: ignore[no-untyped-def]
    """Return the log of ``start (start + 1) ... (start + n - 1)``, start > 0, without cancelling.

    Short products are multiplied out; else, from ten on, Stirling's series of both ends.
    """
    result = 0.0
    product = 1.0
    done = 0
    while done < n and (n <= 12 or start + done < 10.0):
        product *= start + done
        done += 1
        if product > _HUGE or product < _TINY:
            result += math.log(product)
            product = 1.0
    result += math.log(product)
    if done < n:
        low, high, left = start + done, start + n, float(n - done)
        result += (low - 0.5) * math.log1p(left / low) + left * math.log(high) - left
        result += _series(high) - _series(low)
    return result


@inner(inline="always")
def _series(x):  # type: ignore[no-untyped-def]
    """Stirling's correction of ``log gamma(x)``, to 1e-13 from ten on."""
    square = 1.0 / (x * x)
    return (
        1.0 / 12.0
        - square
        * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)))
    ) / x


@kernel(error_model="numpy", _nrt=False)
def open_family(message, unit_classes, links, layout, family):  # type: ignore[no-untyped-def]
    """Set the groups of a message's replies that have class-bearing units; return how many.

    O(units of the replies + K for each group). A group's key is its base, or below zero for a
    reply with other parents, which is a group by itself.
    """
    stride = layout.stride
    n_groups = n_entries = 0
    for i in range(links.child_offsets[message], links.child_offsets[message + 1]):
        reply = links.child_list[i]
        first, last = links.unit_offsets[reply], links.unit_offsets[reply + 1]
        n_units = count_units(first, last, unit_classes, layout)
        if n_units == 0:
            continue
        n_parents = links.parent_offsets[reply + 1] - links.parent_offsets[reply]
        key = np.int64(links.base_index[reply]) if n_parents == 1 else np.int64(-1)
        group = 0
        while group < n_groups and (key < 0 or family.keys[group] != key):
            group += 1
        if group == n_groups:
            n_groups += 1
            rest = family.rests[group * stride : (group + 1) * stride]
            base = links.base_index[reply] * stride
            for j in range(stride):
                rest[j] = layout.bases[base + j]
                family.counts[group * stride + j] = 0.0
            if n_parents > 1:
                add_parent_scores(reply, message, unit_classes, links, layout, family.shares, rest)
                count_units(first, last, unit_classes, layout)  # the parents' are there now
            family.keys[group] = key
            family.totals[group] = 0.0
            family.scales[group] = 1.0 / n_parents
            family.first_entry[group] = -1
        n_entries = _add_reply(group, n_units, layout, family, n_entries)
    return n_groups


@inner(_nrt=False)
def _add_reply(group, n_units, layout, family, n_entries):  # type: ignore[no-untyped-def]
    """Add the counts of a reply to its group: summed, or as entries; return how many these are.

    The reply is the one that :func:`count_units` has counted last.
    """
    n_classes, own = layout.n_classes, layout.histogram
    family.totals[group] += n_units
    if not layout.is_dirichlet:
        for k in range(n_classes):
            family.counts[group * layout.stride + k] += own[k]
        return n_entries
    for j in range(-1, n_classes):
        count = n_units if j < 0 else int(own[j])
        if count > 0:
            family.entry_class[n_entries] = j
            family.entry_count[n_entries] = count
            family.next_entry[n_entries] = family.first_entry[group]
            family.first_entry[group] = n_entries
            n_entries += 1
    return n_entries


@kernel(forceinline=True, error_model="numpy", _nrt=False)
def family_log(  # type: ignore[no-untyped-def]
    n_groups, new, old, n_units, sums, layout, family
):
    """Return the log probability of the replies' classes after one unit moved from old to new.

    new, old : class, or ``n_classes`` for none; n_units : class-bearing units after the move;
    sums : (stride,) ``h . rows`` before the move. O(K) and the entries of each group.
    """
    n_blocks, stride, rows = layout.n_blocks, layout.stride, layout.rows
    values, shares = family.values, family.shares
    inverse = 1.0 / max(n_units, 1)
    result = 0.0
    for group in range(n_groups):
        scale = inverse * family.scales[group]
        first = group * stride
        total = moved_exponentials(
            family.rests, first, sums, rows, new * stride, old * stride, scale, layout.mask,
            n_blocks, values, shares,
        )  # fmt: skip
        if layout.is_dirichlet:
            result += _log_entries(family.first_entry[group], total, family)
        else:
            counts = family.counts[first : first + stride]
            result += dot(counts, values, n_blocks) - family.totals[group] * math.log(total)
    return result


@inner(error_model="numpy", _nrt=False)
def _log_entries(entry, total, family):  # type: ignore[no-untyped-def]
    """Return the log of the rising factorials of one group, given ``exp`` of its scores.

    Products of all entries that are not too long go together into one logarithm.
    """
    result = 0.0
    above = below = 1.0
    while entry >= 0:
        k, count = family.entry_class[entry], family.entry_count[entry]
        start = total if k < 0 else family.shares[k]
        entry = family.next_entry[entry]
        if count > _SHORT or start > _LARGE or start < _TINY:
            rise = log_rising(start, count)
            result += -rise if k < 0 else rise
            continue
        sign = -1.0 if k < 0 else 1.0
        product = below if k < 0 else above
        odd = count & 3
        for done in range(odd):
            product *= start + done
        for done in range(odd, count, 4):  # four at a time: multiplications wait less
            place = start + done
            product *= (place * (place + 1.0)) * ((place + 2.0) * (place + 3.0))
            if product > _HUGE:
                product *= _TINY
                result += sign * _LOG_HUGE
        if product > _HUGE or product < _TINY:
            result += sign * math.log(product)
            product = 1.0
        if k < 0:
            below = product
        else:
            above = product
    return result + math.log(above / below)
