"""Markov M3's inference for documents (Zhang & Paisley 2015, section 3.1; ``docs/models``).

A document walks over topics: position ``i`` of the walk has topic ``z_i`` and weight ``nu_i``, a
stick broken off by ``u_i``; every word chooses a position. The variational posterior of a document
is ``q(z) q(u) q(l)``; one iteration updates, in this order, ::

    q(l)  phi_w(i) ~ exp(E[ln nu_i] + sum_k q(z_i = k) E[ln beta_kw])                  (11)
    q(u)  a_i = 1 + n_i,   b_i = gamma + sum_{j > i} n_j,   n_i = sum_w c_w phi_w(i)   (13)
    q(z)  forward-backward over s_i(k) = sum_w c_w phi_w(i) E[ln beta_kw]              (8, 9, 10)

so that ``q(z)`` and ``E[ln nu]`` are all that must be kept between passes. ``q(z)`` lives on the
topics that the document may visit, all or the heaviest: fewer topics are a smaller family, for
which everything here, the evidence bound too, is still exact.

All inner products run eight lanes at a time (:mod:`palaver.kernels.vectors`); a document's
numbers depend on nothing but the document.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from palaver.kernels.lanes import LANES, aligned, n_lane_blocks
from palaver.kernels.special import digamma
from palaver.kernels.vectors import dot, exponentials, largest, weighted_rows

FloatArray = npt.NDArray[np.float64]

N_TERMS = 4
"""Terms of a document's bound: words, walk, allocation, sticks."""
WORDS, WALK, ALLOCATION, STICKS = range(N_TERMS)

_SMALLEST_WEIGHT = 1e-100
_START_PRIOR = 0.01  # of a topic's share in the steps that break the symmetry


@njit(cache=True, nogil=True)
def _break_symmetry(  # type: ignore[no-untyped-def]
    counts, n_words, likelihoods, n_topics, n_blocks, n_steps, ratios, shares, moved
):
    """Set ``shares`` to a document's topic shares by a few steps of EM with fixed topics.

    counts: (n_words,) IN; likelihoods: flat (n_words, 8 n_blocks), each row up to a factor, IN;
    ratios, moved: workspace; shares: (8 n_blocks,) OUT.
    """
    for k in range(n_blocks * LANES):
        shares[k] = 1.0 / n_topics if k < n_topics else 0.0
    width = n_blocks * LANES
    for _ in range(n_steps):
        for w in range(n_words):
            ratios[w] = counts[w] / dot(shares, likelihoods[w * width : (w + 1) * width], n_blocks)
        weighted_rows(ratios, likelihoods, n_words, n_blocks, moved)
        total = 0.0
        for k in range(n_topics):
            shares[k] = _START_PRIOR + shares[k] * moved[k]
            total += shares[k]
        for k in range(n_topics):
            shares[k] /= total


@njit(cache=True, nogil=True)
def log_stick_weights(position_counts, gamma, log_weights):  # type: ignore[no-untyped-def]
    """Set ``E[ln nu]`` (12) of sticks with these counts; return their term of the bound.

    The last stick takes all that is left. The term is ``E[ln p(u)] - E[ln q(u)]``.

    Parameters
    ----------
    position_counts : array of float64, shape (n_positions,). IN
    gamma : float. IN
    log_weights : array of float64, shape (n_positions,). OUT

    Returns
    -------
    term, log_left : float
        The last is the sum of ``E[ln (1 - u_i)]``, from which gamma is learned.
    """
    last = len(position_counts) - 1
    later = 0.0
    for i in range(last, -1, -1):
        log_weights[i] = later
        later += position_counts[i]
    before = term = 0.0
    for i in range(last):
        a, b = 1.0 + position_counts[i], gamma + log_weights[i]
        of_sum = digamma(a + b)
        log_broken, log_left = digamma(a) - of_sum, digamma(b) - of_sum
        log_weights[i] = before + log_broken
        before += log_left
        term += math.log(gamma) + (gamma - b) * log_left - (a - 1.0) * log_broken
        term += math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    log_weights[last] = before
    return term, before


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


@njit(cache=True, nogil=True)
def make_walk(n_positions, n_visits, n_words):  # type: ignore[no-untyped-def]
    """Return space for walks of so many positions, topics and different words."""
    stride, width = LANES * n_lane_blocks(n_visits), LANES * n_lane_blocks(n_words)
    walk = Walk(
        aligned(stride), aligned(stride), aligned(stride * stride), aligned(stride * stride),
        aligned(width * stride), aligned(width * stride),
        aligned(n_positions * stride), aligned(n_positions * stride),
        aligned(n_positions * stride), aligned(n_positions * stride),
        aligned(n_positions * stride), aligned(n_positions), aligned(n_positions * width),
        aligned(width), aligned(width), aligned(width), aligned(width),
        aligned(n_positions), aligned(n_positions),
    )  # fmt: skip
    walk.mask[:n_visits] = 1.0
    walk.ones[:] = 1.0
    return walk


@njit(cache=True, nogil=True)
def allocate_words(walk, n_visits, n_words):  # type: ignore[no-untyped-def]
    """Set ``allocations`` and ``position_counts`` (11); return ``sum_w c_w ln sum_i exp(...)``.

    IN: probabilities, log_weights, by_topic, counts. O(n_words n_positions n_visits).
    """
    blocks, stride = n_lane_blocks(n_words), len(walk.mask)
    width, n_positions = LANES * blocks, len(walk.log_weights)
    peaks, sums = walk.peaks, walk.sums
    for i in range(n_positions):
        row = walk.allocations[i * width : (i + 1) * width]
        probabilities = walk.probabilities[i * stride : (i + 1) * stride]
        weighted_rows(probabilities, walk.by_topic, n_visits, blocks, row)
        log_weight = walk.log_weights[i]
        for w in range(width):
            row[w] += log_weight
        if i == 0:
            for w in range(width):
                peaks[w] = row[w]
        else:
            for w in range(width):
                peaks[w] = row[w] if row[w] > peaks[w] else peaks[w]
    for w in range(width):
        sums[w] = 0.0
    for i in range(n_positions):
        row = walk.allocations[i * width : (i + 1) * width]
        for w in range(width):
            row[w] -= peaks[w]
        exponentials(row, 0.0, 1.0, walk.ones, blocks, row)
        for w in range(width):
            sums[w] += row[w]
    log_sum = 0.0
    for w in range(n_words):
        log_sum += walk.counts[w] * (peaks[w] + math.log(sums[w]))
    for w in range(width):
        sums[w] = walk.counts[w] / sums[w]
    for i in range(n_positions):
        row = walk.allocations[i * width : (i + 1) * width]
        walk.position_counts[i] = dot(row, sums, blocks)
        for w in range(width):
            row[w] *= sums[w]
    return log_sum


@njit(cache=True, nogil=True)
def score_positions(walk, n_visits, n_words):  # type: ignore[no-untyped-def]
    """Set ``scores`` (8); return ``sum_i q(z_i) . s_i`` for the probabilities as they are."""
    width, stride = LANES * n_lane_blocks(n_words), len(walk.mask)
    blocks = n_lane_blocks(n_visits)
    product = 0.0
    for i in range(len(walk.log_weights)):
        row = walk.scores[i * stride : (i + 1) * stride]
        allocations = walk.allocations[i * width : (i + 1) * width]
        weighted_rows(allocations, walk.by_word, n_words, blocks, row)
        product += dot(row, walk.probabilities[i * stride : (i + 1) * stride], blocks)
        for k in range(n_visits, stride):  # padding is no topic, and must not be the largest
            row[k] = row[0]
    return product


@njit(cache=True, nogil=True)
def forward_backward(walk, n_visits):  # type: ignore[no-untyped-def]
    """Set ``probabilities`` (9) from ``scores``; return the walk's log normaliser.

    Rows of both passes are scaled for themselves: with E[ln theta] above -300 nothing underflows.
    O(n_positions n_visits**2).
    """
    blocks, stride, n_positions = n_lane_blocks(n_visits), len(walk.mask), len(walk.norms)
    log_normaliser = 0.0
    for i in range(n_positions):
        scores = walk.scores[i * stride : (i + 1) * stride]
        emissions = walk.emissions[i * stride : (i + 1) * stride]
        forward = walk.forward[i * stride : (i + 1) * stride]
        peak = largest(scores, 1.0, blocks)
        exponentials(scores, peak, 1.0, walk.mask, blocks, emissions)
        if i == 0:
            forward[:] = walk.start
        else:
            weighted_rows(
                walk.forward[(i - 1) * stride : i * stride], walk.forth, n_visits, blocks, forward
            )
        total = dot(forward, emissions, blocks)
        for k in range(stride):
            forward[k] *= emissions[k] / total
        log_normaliser += peak + math.log(total)
    walk.backward[(n_positions - 1) * stride :] = walk.mask
    for i in range(n_positions - 1, -1, -1):
        forward = walk.forward[i * stride : (i + 1) * stride]
        backward = walk.backward[i * stride : (i + 1) * stride]
        probabilities = walk.probabilities[i * stride : (i + 1) * stride]
        if i < n_positions - 1:
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
    return log_normaliser


@njit(cache=True, nogil=True)
def improve(walk, n_visits, n_words, gamma, n_iterations, tolerance, terms):  # type: ignore[no-untyped-def]
    """Iterate (11), (13), (8) until the bound of a document rises by less than ``tolerance``.

    Parameters
    ----------
    walk : Walk. IN-OUT
        Starts from its ``probabilities`` and ``log_weights``.
    tolerance : float. IN
        In nats a token.
    terms : array of float64, shape (4,). OUT
        The document's terms of the bound.

    Returns
    -------
    bound, log_left : float
        The bound, and the sum of ``E[ln (1 - u_i)]``.
    """
    n_tokens = 0.0
    for w in range(n_words):
        n_tokens += walk.counts[w]
    bound = -math.inf
    log_left = 0.0
    for _ in range(n_iterations):
        log_sum = allocate_words(walk, n_visits, n_words)
        # sum_w c_w H(phi_w) = log_sum - n . E[ln nu] - sum_i q(z_i) . s_i, all from before
        allocation = log_sum - score_positions(walk, n_visits, n_words)
        for i in range(len(walk.log_weights)):
            allocation -= walk.position_counts[i] * walk.log_weights[i]
        sticks, log_left = log_stick_weights(walk.position_counts, gamma, walk.log_weights)
        for i in range(len(walk.log_weights)):
            allocation += walk.position_counts[i] * walk.log_weights[i]
        log_normaliser = forward_backward(walk, n_visits)
        before, bound = bound, log_normaliser + allocation + sticks
        terms[ALLOCATION], terms[STICKS], terms[WALK] = allocation, sticks, log_normaliser
        if bound - before <= tolerance * n_tokens:
            break
    words = 0.0
    for j in range(len(walk.probabilities)):
        words += walk.probabilities[j] * walk.scores[j]
    terms[WORDS] = words
    terms[WALK] -= words
    return bound, log_left


@njit(cache=True, nogil=True)
def take_words(walk, log_words, words, visits, n_visits):  # type: ignore[no-untyped-def]
    """Set ``by_word`` and ``by_topic`` to a document's rows and the visited topics' columns."""
    n_words, stride = len(words), len(walk.mask)
    width = LANES * n_lane_blocks(n_words)
    walk.by_topic[: n_visits * width] = 0.0
    for w in range(n_words):
        source = log_words[words[w]]
        row = walk.by_word[w * stride : (w + 1) * stride]
        for k in range(n_visits):
            row[k] = source[visits[k]]
            walk.by_topic[k * width + w] = row[k]


@njit(cache=True, nogil=True)
def _take_transitions(walk, start, transitions, visits, n_visits):  # type: ignore[no-untyped-def]
    """Set ``start``, ``forth`` and ``back`` to the visited topics' part."""
    stride = len(walk.mask)
    for j in range(n_visits):
        walk.start[j] = start[visits[j]]
        source = transitions[visits[j]]
        for k in range(n_visits):
            value = source[visits[k]]
            walk.forth[j * stride + k] = value
            walk.back[k * stride + j] = value


@njit(cache=True, nogil=True)
def _start_walk(walk, visits, order, shares):  # type: ignore[no-untyped-def]
    """Put the heaviest topics on the positions, in order of weight (OUT: visits)."""
    n_visits, stride, n_positions = len(visits), len(walk.mask), len(walk.norms)
    walk.probabilities[:] = 0.0
    for k in range(n_visits):
        visits[k] = order[len(order) - 1 - k]
    for i in range(n_positions):
        k = min(i, n_visits - 1)
        weight = shares[visits[k]] if i < n_visits else 0.0
        walk.log_weights[i] = math.log(max(weight, _SMALLEST_WEIGHT))
        walk.probabilities[i * stride + k] = 1.0


@njit(cache=True, nogil=True)
def add_statistics(  # type: ignore[no-untyped-def]
    walk, words, visits, n_visits, word_topics, starts, pairs, products
):
    """Add a document's expected counts (14, 15, 16) to the statistics."""
    n_words, stride, n_positions = len(words), len(walk.mask), len(walk.norms)
    width = LANES * n_lane_blocks(n_words)
    for k in range(n_visits):
        starts[visits[k]] += walk.probabilities[k]
    for w in range(n_words):
        target = word_topics[words[w]]
        products[:stride] = 0.0
        for i in range(n_positions):
            weight = walk.allocations[i * width + w]
            for k in range(stride):
                products[k] += weight * walk.probabilities[i * stride + k]
        for k in range(n_visits):
            target[visits[k]] += products[k]
    for j in range(n_visits):
        target = pairs[visits[j]]
        products[:stride] = 0.0
        for i in range(n_positions - 1):
            weight = walk.forward[i * stride + j] / walk.norms[i]
            for k in range(stride):
                products[k] += weight * walk.emissions[(i + 1) * stride + k]
        for k in range(n_visits):
            target[visits[k]] += products[k] * walk.forth[j * stride + k]


KEEP, FRESH, BETTER = range(3)
"""How a pass begins a document: from what it has; anew; both, and the better is kept."""


@njit(cache=True, nogil=True)
def sweep_documents(  # type: ignore[no-untyped-def]
    offsets, words, counts, log_words, start, transitions, gamma, mode, n_steps, n_iterations,
    tolerance, visits, probabilities, log_weights, position_counts, bounds, word_topics, starts,
    pairs, terms,
):  # fmt: skip
    """Infer all documents of a shard and add up their expected counts.

    Parameters
    ----------
    offsets : array of int64, shape (n_documents + 1,). IN
    words : array of int32, shape (n_counts,). IN
        Rows of ``log_words``; a word occurs once in a document.
    counts : array of float64, shape (n_counts,). IN
    log_words : array of float64, shape (n_words, n_topics). IN
        E[ln beta].
    start, transitions : array of float64, shape (n_topics,), (n_topics, n_topics). IN
        exp(E[ln pi]), exp(E[ln theta]).
    gamma : float. IN
    mode : int. IN
        KEEP, FRESH or BETTER.
    n_steps, n_iterations : int. IN
        Steps that break the symmetry of a fresh start; most iterations.
    tolerance : float. IN
        Stop when the bound rises by less, in nats a token.
    visits : array of int32, shape (n_documents, n_visits). IN-OUT
    probabilities : array of float64, shape (n_documents, n_positions, n_visits). IN-OUT
    log_weights, position_counts : array of float64, shape (n_documents, n_positions). IN-OUT, OUT
    bounds : array of float64, shape (n_documents,). OUT
    word_topics, starts, pairs : arrays, shape (n_words, n_topics), (n_topics,),
        (n_topics, n_topics). IN-OUT
        Expected counts, added to.
    terms : array of float64, shape (5,). IN-OUT
        Sums of the terms of the bound and of ``E[ln (1 - u)]``, added to.

    Documents without words are passed over. O(n_iterations n_positions (n_counts n_visits +
    n_documents n_visits**2)).
    """
    n_documents, n_visits = visits.shape
    n_topics, n_positions = len(start), log_weights.shape[1]
    longest = 1
    for d in range(n_documents):
        longest = max(longest, offsets[d + 1] - offsets[d])
    walk = make_walk(n_positions, n_visits, longest)
    stride = len(walk.mask)
    topic_blocks = n_lane_blocks(n_topics)
    topic_width = LANES * topic_blocks
    likelihoods = aligned(longest * topic_width if mode != KEEP else 0)
    shares, moved, products = aligned(topic_width), aligned(topic_width), aligned(stride)
    topic_mask = aligned(topic_width)
    topic_mask[:n_topics] = 1.0
    kept_probabilities, kept_log_weights = np.empty(n_positions * stride), np.empty(n_positions)
    kept_visits, own_terms = np.empty(n_visits, np.int32), np.empty(N_TERMS)
    for d in range(n_documents):
        own = slice(offsets[d], offsets[d + 1])
        own_words, n_words = words[own], offsets[d + 1] - offsets[d]
        if n_words == 0:
            continue
        walk.counts[:n_words] = counts[own]
        walk.counts[n_words:] = 0.0
        fresh_bound = -math.inf
        if mode != KEEP:
            for w in range(n_words):
                row = likelihoods[w * topic_width : (w + 1) * topic_width]
                source = log_words[own_words[w]]
                peak = source.max()
                row[:n_topics] = source
                exponentials(row, peak, 1.0, topic_mask, topic_blocks, row)
            _break_symmetry(walk.counts, n_words, likelihoods, n_topics, topic_blocks, n_steps,
                            walk.sums, shares, moved)  # fmt: skip
            _start_walk(walk, kept_visits, np.argsort(shares[:n_topics]), shares)
            take_words(walk, log_words, own_words, kept_visits, n_visits)
            _take_transitions(walk, start, transitions, kept_visits, n_visits)
            fresh_bound, log_left = improve(
                walk, n_visits, n_words, gamma, n_iterations, tolerance, own_terms
            )
            kept_probabilities[:] = walk.probabilities
            kept_log_weights[:] = walk.log_weights
        bound = fresh_bound
        if mode != FRESH:
            for i in range(n_positions):
                walk.log_weights[i] = log_weights[d, i]
                walk.probabilities[i * stride : i * stride + n_visits] = probabilities[d, i]
                walk.probabilities[i * stride + n_visits : (i + 1) * stride] = 0.0
            take_words(walk, log_words, own_words, visits[d], n_visits)
            _take_transitions(walk, start, transitions, visits[d], n_visits)
            bound, log_left = improve(
                walk, n_visits, n_words, gamma, n_iterations, tolerance, own_terms
            )
        if mode == FRESH or fresh_bound > bound:
            visits[d] = kept_visits
            if mode == BETTER:  # its other variables were overwritten: one more iteration
                walk.log_weights[:] = kept_log_weights
                walk.probabilities[:] = kept_probabilities
                take_words(walk, log_words, own_words, kept_visits, n_visits)
                _take_transitions(walk, start, transitions, kept_visits, n_visits)
                bound, log_left = improve(walk, n_visits, n_words, gamma, 1, 0.0, own_terms)
        for i in range(n_positions):
            log_weights[d, i] = walk.log_weights[i]
            position_counts[d, i] = walk.position_counts[i]
            probabilities[d, i] = walk.probabilities[i * stride : i * stride + n_visits]
        bounds[d] = bound
        terms[:N_TERMS] += own_terms
        terms[N_TERMS] += log_left
        add_statistics(walk, own_words, visits[d], n_visits, word_topics, starts, pairs, products)
