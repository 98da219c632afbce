"""Scores, posteriors and gradients of a linear-chain conditional random field.

Tags d of the messages k of a conversation, with features x, have the probability ::

    P(d | x) = exp( sum_k  x_k . weights[:, d_k] + moves[kind_k, d_{k-1}, d_k] ) / Z(x)       (a)

where d_0 is a start tag and the kind of a message says whether the speaker changed. The
log-likelihood of some known tags is log Z restricted to these minus log Z, so that both its terms
and their gradients come from the same forward-backward pass.                                 (b)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import longest_stretch
from palaver.kernels.simd.tables import (
    GROUP,
    NARROW,
    WIDE,
    spread_narrow,
    spread_wide,
    weigh_narrow,
    weigh_wide,
)

Array = NDArray[Any]


def score(offsets: Array, columns: Array, values: Array, weights: Array, scores: Array) -> None:
    """Set the scores of each message's tags: a sparse table times the weights.

    Parameters
    ----------
    offsets, columns, values : arrays of a sparse table of rows. IN
    weights : array of float, shape (n_features, n_tags). IN
    scores : array of float, shape (n_messages, n_tags). OUT
    """
    loop = _score_vectors if _fit_vectors(columns, values, weights, scores) else _score
    loop(offsets, columns, values, weights, scores)


def add_gradient(
    offsets: Array, columns: Array, values: Array, residuals: Array, gradient: Array
) -> None:
    """Add the transposed table times the residuals to the gradient of the weights.

    Parameters
    ----------
    offsets, columns, values : arrays of a sparse table of rows. IN
        The columns of a row differ.
    residuals : array of float, shape (n_messages, n_tags). IN
    gradient : array of float, shape (n_features, n_tags). IN, OUT
    """
    loop = _add_vectors if _fit_vectors(columns, values, residuals, gradient) else _add
    loop(offsets, columns, values, residuals, gradient)


def _fit_vectors(columns: Array, values: Array, *tables: Array) -> bool:
    """Say whether types of arrays and lengths of rows are those of vector instructions."""
    floats = all(a.dtype == np.float32 and a.flags.c_contiguous for a in (values, *tables))
    return bool(floats and columns.dtype == np.int32 and tables[0].shape[1] >= NARROW)


@kernel
def _score(offsets, columns, values, weights, scores):  # type: ignore[no-untyped-def]
    """Do the work of :func:`score` for any numbers."""
    n_tags = weights.shape[1]
    for k in range(offsets.shape[0] - 1):
        for t in range(n_tags):
            scores[k, t] = 0.0
        for place in range(offsets[k], offsets[k + 1]):
            value, column = values[place], columns[place]
            for t in range(n_tags):
                scores[k, t] += value * weights[column, t]


@kernel
def _add(offsets, columns, values, residuals, gradient):  # type: ignore[no-untyped-def]
    """Do the work of :func:`add_gradient` for any numbers."""
    n_tags = residuals.shape[1]
    for k in range(offsets.shape[0] - 1):
        for place in range(offsets[k], offsets[k + 1]):
            value, column = values[place], columns[place]
            for t in range(n_tags):
                gradient[column, t] += value * residuals[k, t]


@inner
def _groups(n_tags):  # type: ignore[no-untyped-def]
    """Return the groups of vectors that cover the tags.

    Returns
    -------
    array of int64, shape (n_groups, 3)
        Where the first and the last vector of each group start, and how many there are. The last
        group has two at least, unless it is the only one, so that no vectors of two groups overlap.
    """
    width = WIDE if n_tags >= WIDE else NARROW
    left = (n_tags + width - 1) // width
    groups = np.empty((left, 3), np.int64)
    first = found = 0
    while left > 0:
        count = min(left, GROUP)
        if left - count == 1:
            count -= 1
        groups[found, 0], groups[found, 2] = first, count
        groups[found, 1] = n_tags - width if count == left else first + width * (count - 1)
        first += width * count
        left -= count
        found += 1
    return groups[:found]


@kernel
def _score_vectors(offsets, columns, values, weights, scores):  # type: ignore[no-untyped-def]
    """Do the work of :func:`score` with vector instructions."""
    size = weights.shape[1]
    groups = _groups(size)
    for k in range(offsets.shape[0] - 1):
        begin, end, start = offsets[k], offsets[k + 1], k * size
        for group in range(groups.shape[0]):
            first, last, count = groups[group]
            if size >= WIDE:
                weigh_wide(columns, values, begin, end, weights, size, first, last, count,
                           scores, start)  # fmt: skip
            else:
                weigh_narrow(columns, values, begin, end, weights, size, first, last, count,
                             scores, start)  # fmt: skip


@kernel
def _add_vectors(offsets, columns, values, residuals, gradient):  # type: ignore[no-untyped-def]
    """Do the work of :func:`add_gradient` with vector instructions."""
    size = gradient.shape[1]
    groups = _groups(size)
    for k in range(offsets.shape[0] - 1):
        begin, end, start = offsets[k], offsets[k + 1], k * size
        for group in range(groups.shape[0]):
            first, last, count = groups[group]
            if size >= WIDE:
                spread_wide(columns, values, begin, end, residuals, start, first, last, count,
                            gradient, size)  # fmt: skip
            else:
                spread_narrow(columns, values, begin, end, residuals, start, first, last, count,
                              gradient, size)  # fmt: skip


@inner
def _labels(tags, first, last):  # type: ignore[no-untyped-def]
    """Return how many messages from ``first`` to ``last - 1`` have a tag."""
    found = 0
    for k in range(first, last):
        found += tags[k] >= 0
    return found


@inner
def _count_known(scores, kinds, moves, tags, first, last, residuals, counts):  # type: ignore[no-untyped-def]
    """Subtract the known tags of a conversation and its moves; return their score."""
    n_tags = scores.shape[1]
    total = 0.0
    before = n_tags
    for k in range(first, last):
        t = tags[k]
        total += scores[k, t] + moves[kinds[k], before, t]
        residuals[k, t] -= 1.0
        counts[kinds[k], before, t] -= 1.0
        before = t
    return total


@inner
def _room(conversations, n_tags):  # type: ignore[no-untyped-def]
    """Return arrays that :func:`_pass` writes to."""
    n = longest_stretch(conversations)
    vectors = (np.empty(n_tags), np.empty(n_tags), np.empty(n_tags))
    return np.empty((n, n_tags)), np.empty((n, n_tags)), np.empty(n), vectors


@inner
def _turned(powers):  # type: ignore[no-untyped-def]
    """Return the moves between tags with the tag before as the last axis."""
    n_kinds, n_tags = powers.shape[0], powers.shape[2]
    turned = np.empty((n_kinds, n_tags, n_tags))
    for kind in range(n_kinds):
        for h in range(n_tags):
            for t in range(n_tags):
                turned[kind, t, h] = powers[kind, h, t]
    return turned


@inner
def _pass(scores, kinds, powers, turned, tags, clamped, sign, first, last, room, residuals, counts):  # type: ignore[no-untyped-def]
    """Add posteriors and expected moves of a conversation, times ``sign``; return its log Z.

    ``powers`` are exp(moves), ``turned`` the same with the tag before as the last axis. Moves are
    added without their powers (see :func:`residuals_of`): every inner loop then runs over
    neighbours in memory and adds nothing up, so that it becomes vector instructions. If
    ``clamped``, only the known tags are possible where there is one. ``room`` is that of
    :func:`_room` and is overwritten.
    """
    n_tags = scores.shape[1]
    forward, local, scales, (later, weights, older) = room
    total = 0.0
    for k in range(first, last):
        row, kind = k - first, kinds[k]
        new, own = forward[row], local[row]
        top = -np.inf
        fixed = tags[k] if clamped else -1
        for t in range(n_tags):
            if fixed in (-1, t):
                top = max(top, scores[k, t])
        for t in range(n_tags):
            own[t] = np.exp(scores[k, t] - top) if fixed in (-1, t) else 0.0
        if row == 0:
            for t in range(n_tags):
                new[t] = powers[kind, n_tags, t]
        else:
            for t in range(n_tags):
                new[t] = 0.0
            for h in range(n_tags):
                mass, move = forward[row - 1, h], powers[kind, h]
                if mass > 0.0:
                    for t in range(n_tags):
                        new[t] += mass * move[t]
        scale = 0.0
        for t in range(n_tags):
            new[t] *= own[t]
            scale += new[t]
        for t in range(n_tags):
            new[t] /= scale
        scales[row] = scale
        total += np.log(scale) + top
    for t in range(n_tags):
        later[t] = 1.0
    for k in range(last - 1, first - 1, -1):
        row, kind = k - first, kinds[k]
        for t in range(n_tags):
            residuals[k, t] += sign * forward[row, t] * later[t]
            weights[t] = local[row, t] * later[t] / scales[row]
        if row == 0:
            for t in range(n_tags):
                counts[kind, n_tags, t] += sign * weights[t]
            break
        for h in range(n_tags):
            older[h] = 0.0
        for t in range(n_tags):
            weight, move = weights[t], turned[kind, t]
            if weight > 0.0:
                for h in range(n_tags):
                    older[h] += weight * move[h]
        for h in range(n_tags):
            mass, count = sign * forward[row - 1, h], counts[kind, h]
            for t in range(n_tags):
                count[t] += mass * weights[t]
        for h in range(n_tags):
            later[h] = older[h]
    return total


@kernel
def residuals_of(scores, kinds, conversations, moves, tags, residuals, counts):  # type: ignore[no-untyped-def]
    """Set the gradients of minus (b) by scores and moves; return minus (b), summed.

    Parameters
    ----------
    scores : array of float, shape (n_messages, n_tags). IN
    kinds : array of int8, shape (n_messages,). IN
    conversations : array of int64, shape (n_conversations + 1,). IN
    moves : array of float64, shape (n_kinds, n_tags + 1, n_tags). IN
        The last row is the start.
    tags : array of int32, shape (n_messages,). IN
        -1 for unknown ones; conversations without any known tag say nothing.
    residuals : array of float, shape (n_messages, n_tags). OUT
    counts : array of float64, of the shape of moves. OUT

    Cost O(n_messages n_tags^2).
    """
    powers = np.exp(moves)
    turned, room = _turned(powers), _room(conversations, scores.shape[1])
    residuals[:] = 0.0
    counts[:] = 0.0
    known_moves = np.zeros(moves.shape)
    total = 0.0
    for c in range(conversations.shape[0] - 1):
        first, last = conversations[c], conversations[c + 1]
        known = _labels(tags, first, last)
        if known == 0:
            continue
        total += _pass(scores, kinds, powers, turned, tags, False, 1.0, first, last, room,
                       residuals, counts)  # fmt: skip
        if known == last - first:
            total -= _count_known(scores, kinds, moves, tags, first, last, residuals, known_moves)
        else:
            total -= _pass(scores, kinds, powers, turned, tags, True, -1.0, first, last, room,
                           residuals, counts)  # fmt: skip
    for place in np.ndindex(moves.shape):
        counts[place] = counts[place] * powers[place] + known_moves[place]
    return total


@kernel
def posteriors_of(scores, kinds, conversations, moves, posteriors):  # type: ignore[no-untyped-def]
    """Set the posterior probabilities of every message's tags; return log Z, summed.

    Parameters are those of :func:`residuals_of`; ``posteriors`` (n_messages, n_tags) is OUT.
    """
    powers = np.exp(moves)
    turned, room = _turned(powers), _room(conversations, scores.shape[1])
    counts = np.zeros(moves.shape)
    tags = np.zeros(0, np.int32)
    posteriors[:] = 0.0
    total = 0.0
    for c in range(conversations.shape[0] - 1):
        first, last = conversations[c], conversations[c + 1]
        if first < last:
            total += _pass(scores, kinds, powers, turned, tags, False, 1.0, first, last, room,
                           posteriors, counts)  # fmt: skip
    return total
