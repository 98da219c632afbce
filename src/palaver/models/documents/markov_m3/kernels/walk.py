"""Markov M3's inference for documents (Zhang & Paisley 2015, section 3.1; ``docs/models``).

A document walks over topics: position ``i`` of the walk has topic ``z_i`` and weight ``nu_i``, a
stick broken off by ``u_i``; every word chooses a position. The variational posterior of a document
is ``q(z) q(u) q(l)``; one iteration updates, in this order, ::

    q(l)  phi_w(i) ~ exp(E[ln nu_i] + sum_k q(z_i = k) E[ln beta_kw])                  (11)
    q(u)  a_i = 1 + n_i,   b_i = gamma + sum_{j > i} n_j,   n_i = sum_w c_w phi_w(i)   (13)
    q(z)  forward-backward over s_i(k) = sum_w c_w phi_w(i) E[ln beta_kw]              (8, 9, 10)

so that ``q(z)`` and ``E[ln nu]`` are all that must be kept between passes. Two restrictions make
the family smaller; everything here, the evidence bound too, is exact for it:

- ``q(z)`` lives on the topics that the document may visit, all or the heaviest.
- Positions after the document's last are left to the prior, ``q(z_i | z_{i-1}, theta) = theta`` and
  ``q(u_i) = p(u_i)``: no words choose them, and they cost nothing and count for nothing.

All inner products run eight lanes at a time (:mod:`palaver.kernels.simd.vectors`); a document's
numbers depend on nothing but the document.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palaver.kernels.compiled import compact, inner
from palaver.kernels.plain import copy_to
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import aligned, n_lane_blocks
from palaver.kernels.simd.vectors import dot, exponentials, largest, weighted_rows
from palaver.kernels.special import digamma

FloatArray = npt.NDArray[np.float64]

N_TERMS = 4
"""Terms of a document's bound: words, walk, allocation, sticks."""
N_SUMS = 6
"""These, and what gamma is learned from: the sum of E[ln (1 - u)], over how many sticks."""
WORDS, WALK, ALLOCATION, STICKS, LOG_LEFT, N_STICKS = range(N_SUMS)

#: Iterations after which a fresh start drops positions with few words.
TRIM_EVERY = 3


@inner
def log_stick_weights(position_counts, n_used, gamma, log_weights):  # type: ignore[no-untyped-def]
    """Set ``E[ln nu]`` (12) of the positions in use.

    Parameters
    ----------
    position_counts : array of float64, shape (n_positions,). IN
    n_used : int. IN
        If these are all positions, the last stick takes all that is left.
    gamma : float. IN
    log_weights : array of float64, shape (n_positions,). OUT
    """
    compact()
    later = 0.0
    for i in range(n_used - 1, -1, -1):
        log_weights[i] = later
        later += position_counts[i]
    before = 0.0
    for i in range(min(n_used, len(log_weights) - 1)):
        a, b = 1.0 + position_counts[i], gamma + log_weights[i]
        of_sum = digamma(a + b)
        log_weights[i] = before + digamma(a) - of_sum
        before += digamma(b) - of_sum
    if n_used == len(log_weights):
        log_weights[n_used - 1] = before


@inner
def stick_terms(position_counts, n_used, gamma):  # type: ignore[no-untyped-def]
    """Return the sticks' term of the bound, and what gamma is learned from.

    Returns
    -------
    term, log_left : float
        ``E[ln p(u)] - E[ln q(u)]``, and the sum of ``E[ln (1 - u_i)]``.
    n_sticks : int
        How many that sum is over: the positions in use, without the very last.
    """
    compact()
    n_sticks = min(n_used, len(position_counts) - 1)
    term = log_left = later = 0.0
    for i in range(n_used - 1, -1, -1):
        if i < n_sticks:
            a, b = 1.0 + position_counts[i], gamma + later
            of_sum = digamma(a + b)
            left = digamma(b) - of_sum
            term += math.log(gamma) + (gamma - b) * left - (a - 1.0) * (digamma(a) - of_sum)
            term += math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
            log_left += left
        later += position_counts[i]
    return term, log_left, n_sticks


class Walk(NamedTuple):
    """Space for the walk of one document; rows of matrices are padded to whole blocks.

    ``stride`` is the padded number of visited topics, ``width`` of the longest document's words.

    Attributes
    ----------
    start, mask : array of float64, shape (stride,)
        exp(E[ln pi]); 1 for topics, 0 for padding.
    forth, back : array of float64, shape (stride * stride,)
        exp(E[ln theta]) of the visited topics, rows are the source; its transpose.
    by_word, by_topic : array of float64, shape (width * stride,)
        E[ln beta] of the document's words: rows are words; rows are topics.
    probabilities, scores, emissions, forward, backward : array, shape (n_positions * stride,)
        q(z_i = k), s_i(k), and what forward-backward needs.
    norms : array of float64, shape (n_positions,)
    allocations : array of float64, shape (n_positions * width,)
        c_w phi_w(i).
    """

    start: FloatArray
    mask: FloatArray
    forth: FloatArray
    back: FloatArray
    by_word: FloatArray
    by_topic: FloatArray
    probabilities: FloatArray
    scores: FloatArray
    emissions: FloatArray
    forward: FloatArray
    backward: FloatArray
    norms: FloatArray
    allocations: FloatArray
    counts: FloatArray
    ones: FloatArray
    peaks: FloatArray
    sums: FloatArray
    position_counts: FloatArray
    log_weights: FloatArray
    before: FloatArray


@inner
def make_walk(n_positions, n_visits, n_words):  # type: ignore[no-untyped-def]
    """Allocate space for walks of this many positions, topics and different words."""
    compact()
    stride, width = LANES * n_lane_blocks(n_visits), LANES * n_lane_blocks(n_words)
    walk = Walk(
        aligned(stride), aligned(stride), aligned(stride * stride), aligned(stride * stride),
        aligned(width * stride), aligned(width * stride),
        aligned(n_positions * stride), aligned(n_positions * stride),
        aligned(n_positions * stride), aligned(n_positions * stride),
        aligned(n_positions * stride), aligned(n_positions), aligned(n_positions * width),
        aligned(width), aligned(width), aligned(width), aligned(width),
        aligned(n_positions), aligned(n_positions), aligned(n_positions),
    )  # fmt: skip
    walk.mask[:n_visits] = 1.0
    walk.ones[:] = 1.0
    return walk


@inner
def allocate_words(walk, n_visits, n_words, n_used):  # type: ignore[no-untyped-def]
    """Set ``allocations`` and ``position_counts`` of the positions in use (11).

    IN: probabilities, log_weights, by_topic, counts. OUT also: peaks and sums, with which
    ``sum_i exp(...) = exp(peaks) counts / sums``. O(n_words n_used n_visits).
    """
    blocks, stride = n_lane_blocks(n_words), len(walk.mask)
    width = LANES * blocks
    peaks, sums = walk.peaks, walk.sums
    for i in range(n_used):
        row = walk.allocations[i * width : (i + 1) * width]
        probabilities = walk.probabilities[i * stride : (i + 1) * stride]
        weighted_rows(probabilities, walk.by_topic, n_visits, blocks, row)
        log_weight = walk.log_weights[i]
        if i == 0:
            for w in range(width):
                row[w] += log_weight
                peaks[w] = row[w]
        else:
            for w in range(width):
                row[w] += log_weight
                peaks[w] = row[w] if row[w] > peaks[w] else peaks[w]
    for w in range(width):
        sums[w] = 0.0
    for i in range(n_used):
        row = walk.allocations[i * width : (i + 1) * width]
        for w in range(width):
            row[w] -= peaks[w]
        exponentials(row, 0.0, 1.0, walk.ones, blocks, row)
        for w in range(width):
            sums[w] += row[w]
    for w in range(width):
        sums[w] = walk.counts[w] / sums[w]
    for i in range(n_used):
        row = walk.allocations[i * width : (i + 1) * width]
        walk.position_counts[i] = dot(row, sums, blocks)
        for w in range(width):
            row[w] *= sums[w]


@inner
def score_positions(walk, n_visits, n_words, n_used):  # type: ignore[no-untyped-def]
    """Set ``scores`` (8); return ``sum_i q(z_i) . s_i`` for the probabilities as they are."""
    width, stride = LANES * n_lane_blocks(n_words), len(walk.mask)
    blocks = n_lane_blocks(n_visits)
    product = 0.0
    for i in range(n_used):
        row = walk.scores[i * stride : (i + 1) * stride]
        allocations = walk.allocations[i * width : (i + 1) * width]
        weighted_rows(allocations, walk.by_word, n_words, blocks, row)
        product += dot(row, walk.probabilities[i * stride : (i + 1) * stride], blocks)
        for k in range(n_visits, stride):  # padding is no topic, and must not be the largest
            row[k] = row[0]
    return product


@inner
def forward_backward(walk, n_visits, n_used):  # type: ignore[no-untyped-def]
    """Set ``probabilities`` (9) from ``scores``; return the walk's log normalizer.

    Rows of both passes are scaled for themselves: with E[ln theta] above -300 nothing underflows.
    O(n_used n_visits**2).
    """
    blocks, stride = n_lane_blocks(n_visits), len(walk.mask)
    log_normalizer = 0.0
    for i in range(n_used):
        scores = walk.scores[i * stride : (i + 1) * stride]
        emissions = walk.emissions[i * stride : (i + 1) * stride]
        forward = walk.forward[i * stride : (i + 1) * stride]
        peak = largest(scores, 1.0, blocks)
        exponentials(scores, peak, 1.0, walk.mask, blocks, emissions)
        if i == 0:
            copy_to(walk.start, stride, forward, 0)
        else:
            weighted_rows(
                walk.forward[(i - 1) * stride : i * stride], walk.forth, n_visits, blocks, forward
            )
        total = dot(forward, emissions, blocks)
        for k in range(stride):
            forward[k] *= emissions[k] / total
        log_normalizer += peak + math.log(total)
    copy_to(walk.mask, stride, walk.backward, (n_used - 1) * stride)
    for i in range(n_used - 1, -1, -1):
        forward = walk.forward[i * stride : (i + 1) * stride]
        backward = walk.backward[i * stride : (i + 1) * stride]
        probabilities = walk.probabilities[i * stride : (i + 1) * stride]
        if i < n_used - 1:
            emissions = walk.emissions[(i + 1) * stride : (i + 2) * stride]
            weighted_rows(emissions, walk.back, n_visits, blocks, backward)
            walk.norms[i] = dot(forward, backward, blocks)
            inverse = 1.0 / largest(backward, 1.0, blocks)
            for k in range(stride):
                backward[k] *= inverse
        scale = 1.0 / dot(forward, backward, blocks)
        emissions = walk.emissions[i * stride : (i + 1) * stride]
        for k in range(stride):
            probabilities[k] = forward[k] * backward[k] * scale
            emissions[k] *= backward[k]  # what the row before, and the pairs (10), need
    return log_normalizer


@inner
def _drop_short_positions(walk, n_used, gamma, least_words):  # type: ignore[no-untyped-def]
    """Close up the positions that have words enough, one at least; return their number."""
    compact()
    stride = len(walk.mask)
    kept = np.int64(0)  # a literal would be compiled for itself
    for i in range(n_used):
        last_chance = kept == 0 and i == n_used - 1
        if walk.position_counts[i] >= least_words or last_chance:
            if kept < i:
                source = walk.probabilities[i * stride : (i + 1) * stride]
                copy_to(source, stride, walk.probabilities, kept * stride)
                walk.position_counts[kept] = walk.position_counts[i]
            kept += 1
    if kept < n_used:
        log_stick_weights(walk.position_counts, kept, gamma, walk.log_weights)
    return kept


@inner
def improve(  # type: ignore[no-untyped-def]
    walk, n_visits, n_words, n_used, trims, gamma, n_iterations, tolerance, least_words, terms
):
    """Iterate (11), (13), (8) until few words of a document change their position.

    Parameters
    ----------
    walk : Walk. IN-OUT
        Starts from its ``probabilities`` and ``log_weights``.
    n_used : int. IN
        Positions in use.
    trims : bool. IN
        Every few iterations drop positions that have hardly any words; the bound may fall then.
    tolerance : float. IN
        On the changes of ``position_counts``, as a share of the words.
    least_words : float. IN
        Words without which a position is dropped.
    terms : array of float64, shape (6,). OUT
        The document's terms of the bound; the sum of ``E[ln (1 - u_i)]``, over how many sticks.

    Returns
    -------
    bound : float
    n_used : int
    """
    compact()
    n_tokens = 0.0
    for w in range(n_words):
        n_tokens += walk.counts[w]
    product = weighed = log_normalizer = 0.0
    before = walk.before
    before[:] = 0.0
    for iteration in range(n_iterations):
        if trims and iteration % TRIM_EVERY == 0 and iteration > 0:
            n_used = _drop_short_positions(walk, n_used, gamma, least_words)
        allocate_words(walk, n_visits, n_words, n_used)
        product = score_positions(walk, n_visits, n_words, n_used)
        change = weighed = 0.0
        for i in range(n_used):
            weighed += walk.position_counts[i] * walk.log_weights[i]
            change += abs(walk.position_counts[i] - before[i])
            before[i] = walk.position_counts[i]
        log_stick_weights(walk.position_counts, n_used, gamma, walk.log_weights)
        log_normalizer = forward_backward(walk, n_visits, n_used)
        if change <= tolerance * n_tokens and not (trims and iteration < TRIM_EVERY):
            break
    walk.position_counts[n_used:] = 0.0
    words = 0.0
    for j in range(n_used * len(walk.mask)):
        words += walk.probabilities[j] * walk.scores[j]
    # sum_w c_w H(phi_w) = sum_w c_w ln sum_i exp(...) - n . E[ln nu] - sum_i q(z_i) . s_i, where
    # E[ln nu] and q(z) are those from before the last iteration
    allocation = -product - weighed
    for w in range(n_words):
        allocation += walk.counts[w] * (walk.peaks[w] + math.log(walk.counts[w] / walk.sums[w]))
    for i in range(n_used):
        allocation += walk.position_counts[i] * walk.log_weights[i]
    sticks, log_left, n_sticks = stick_terms(walk.position_counts, n_used, gamma)
    terms[WORDS], terms[WALK] = words, log_normalizer - words
    terms[ALLOCATION], terms[STICKS] = allocation, sticks
    terms[LOG_LEFT], terms[N_STICKS] = log_left, n_sticks
    return log_normalizer + allocation + sticks, n_used
