"""A pass of Markov M3 over documents: how walks begin, and what is counted of them."""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import compact, inner, kernel
from palaver.kernels.plain import copy_to, largest_places, longest_stretch
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import aligned, n_lane_blocks
from palaver.kernels.simd.vectors import dot, weighted_rows
from palaver.models.documents.markov_m3.kernels.walk import N_SUMS, improve, make_walk

_SMALLEST_WEIGHT = 1e-100
_START_PRIOR = 0.01  # of a topic's share in the steps that break the symmetry

KEEP, FRESH, BETTER = range(3)
"""How a pass begins a document: from what it has; from scratch; or both, keeping the better."""


@inner
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


@inner
def take_words(walk, log_words, words, visits, n_visits):  # type: ignore[no-untyped-def]
    """Set ``by_word`` and ``by_topic`` to a document's rows and the visited topics' columns."""
    compact()
    n_words, stride = len(words), len(walk.mask)
    width = LANES * n_lane_blocks(n_words)
    walk.by_topic[: n_visits * width] = 0.0
    for w in range(n_words):
        source = log_words[words[w]]
        row = walk.by_word[w * stride : (w + 1) * stride]
        for k in range(n_visits):
            row[k] = source[visits[k]]
            walk.by_topic[k * width + w] = row[k]


@inner
def _take_transitions(walk, start, transitions, visits, n_visits):  # type: ignore[no-untyped-def]
    """Set ``start``, ``forth`` and ``back`` to the visited topics' part."""
    compact()
    stride = len(walk.mask)
    for j in range(n_visits):
        walk.start[j] = start[visits[j]]
        source = transitions[visits[j]]
        for k in range(n_visits):
            value = source[visits[k]]
            walk.forth[j * stride + k] = value
            walk.back[k * stride + j] = value


@inner
def _start_walk(walk, visits, shares, n_tokens, least_words):  # type: ignore[no-untyped-def]
    """Put the heaviest topics on the positions, in order of weight (OUT: visits).

    Returns
    -------
    int
        Positions in use: topics with words enough, one at least.
    """
    compact()
    n_visits, stride, n_positions = len(visits), len(walk.mask), len(walk.norms)
    largest_places(shares, n_visits, visits)
    n_used = 0
    for i in range(min(n_positions, n_visits)):
        weight = shares[visits[i]]
        if i > 0 and weight * n_tokens < least_words:
            break
        row = walk.probabilities[i * stride : (i + 1) * stride]
        row[:] = 0.0
        row[i] = 1.0
        walk.log_weights[i] = math.log(max(weight, _SMALLEST_WEIGHT))
        n_used += 1
    return n_used


@inner
def add_statistics(  # type: ignore[no-untyped-def]
    walk, words, visits, n_visits, n_used, word_topics, starts, pairs, products
):
    """Add a document's expected counts (14, 15, 16) to the statistics."""
    n_words, stride = len(words), len(walk.mask)
    width = LANES * n_lane_blocks(n_words)
    for k in range(n_visits):
        starts[visits[k]] += walk.probabilities[k]
    for w in range(n_words):
        target = word_topics[words[w]]
        products[:stride] = 0.0
        for i in range(n_used):
            weight = walk.allocations[i * width + w]
            for k in range(stride):
                products[k] += weight * walk.probabilities[i * stride + k]
        for k in range(n_visits):
            target[visits[k]] += products[k]
    for j in range(n_visits):
        target = pairs[visits[j]]
        products[:stride] = 0.0
        for i in range(n_used - 1):
            weight = walk.forward[i * stride + j] / walk.norms[i]
            for k in range(stride):
                products[k] += weight * walk.emissions[(i + 1) * stride + k]
        for k in range(n_visits):
            target[visits[k]] += products[k] * walk.forth[j * stride + k]


@kernel
def sweep_documents(  # type: ignore[no-untyped-def]
    offsets, words, counts, log_words, weights_of_words, start, transitions, gamma, mode, n_steps,
    n_iterations, tolerance, least_words, visits, lengths, probabilities, log_weights,
    position_counts, bounds, word_topics, starts, pairs, terms,
):  # fmt: skip
    """Infer all documents of a shard and add up their expected counts.

    Parameters
    ----------
    offsets : array of int64, shape (n_documents + 1,). IN
    words : array of int32, shape (n_counts,). IN
        Rows of ``log_words``; a word occurs once in a document.
    counts : array of float64, shape (n_counts,). IN
    log_words, weights_of_words : array of float64, shape (n_words, width). IN
        E[ln beta]; its exponential, each row up to a factor, padded to whole blocks with zeros.
    start, transitions : array of float64, shape (n_topics,), (n_topics, n_topics). IN
        exp(E[ln pi]), exp(E[ln theta]).
    gamma : float. IN
    mode : int. IN
        KEEP, FRESH or BETTER.
    n_steps, n_iterations : int. IN
        Steps that break the symmetry of a fresh start; most iterations.
    tolerance : float. IN
        Stop when fewer words, as a share, change their position.
    least_words : float. IN
        A fresh start drops positions with fewer words.
    visits : array of int32, shape (n_documents, n_visits). IN-OUT
    lengths : array of int32, shape (n_documents,). IN-OUT
        Positions in use.
    probabilities : array of float64, shape (n_documents, n_positions, n_visits). IN-OUT
    log_weights, position_counts : array of float64, shape (n_documents, n_positions). IN-OUT, OUT
    bounds : array of float64, shape (n_documents,). OUT
    word_topics, starts, pairs : arrays, shape (n_words, n_topics), (n_topics,),
        (n_topics, n_topics). IN-OUT
        Expected counts, added to.
    terms : array of float64, shape (6,). IN-OUT
        Sums of the terms of the bound, of ``E[ln (1 - u)]`` and of its number, added to.

    Documents without words are passed over. O(n_iterations n_positions (n_counts n_visits +
    n_documents n_visits**2)).
    """
    compact()
    n_documents, n_visits = visits.shape
    n_topics, n_positions = len(start), log_weights.shape[1]
    longest = longest_stretch(offsets)
    walk = make_walk(n_positions, n_visits, longest)
    stride, topic_width = len(walk.mask), weights_of_words.shape[1]
    topic_blocks = topic_width // LANES
    likelihoods = aligned(longest * topic_width if mode != KEEP else 0)
    shares, moved, products = aligned(topic_width), aligned(topic_width), aligned(stride)
    kept_probabilities, kept_log_weights = np.empty(n_positions * stride), np.empty(n_positions)
    kept_visits, own_terms = np.empty(n_visits, np.int32), np.empty(N_SUMS)
    # as variables: numba compiles `improve` again for each literal that it is called with
    trims, once = n_documents > 0, np.int64(1)
    for d in range(n_documents):
        own = slice(offsets[d], offsets[d + 1])
        own_words, n_words = words[own], offsets[d + 1] - offsets[d]
        if n_words == 0:
            continue
        copy_to(counts[own], n_words, walk.counts, 0)
        walk.counts[n_words:] = 0.0
        bound, n_used = -math.inf, np.int64(lengths[d])
        fresh_bound, n_fresh = -math.inf, np.int64(0)
        if mode != KEEP:
            for w in range(n_words):
                row = weights_of_words[own_words[w]]
                copy_to(row, topic_width, likelihoods, w * topic_width)
            _break_symmetry(walk.counts, n_words, likelihoods, n_topics, topic_blocks, n_steps,
                            walk.sums, shares, moved)  # fmt: skip
            n_tokens = 0.0
            for w in range(n_words):
                n_tokens += walk.counts[w]
            n_fresh = _start_walk(walk, kept_visits, shares[:n_topics], n_tokens, least_words)
            take_words(walk, log_words, own_words, kept_visits, n_visits)
            _take_transitions(walk, start, transitions, kept_visits, n_visits)
            fresh_bound, n_fresh = improve(walk, n_visits, n_words, n_fresh, trims, gamma,
                                           n_iterations, tolerance, least_words,
                                           own_terms)  # fmt: skip
            copy_to(walk.probabilities, n_positions * stride, kept_probabilities, 0)
            copy_to(walk.log_weights, n_positions, kept_log_weights, 0)
        if mode != FRESH:
            copy_to(log_weights[d], n_positions, walk.log_weights, 0)
            for i in range(n_used):
                copy_to(probabilities[d, i], n_visits, walk.probabilities, i * stride)
                walk.probabilities[i * stride + n_visits : (i + 1) * stride] = 0.0
            take_words(walk, log_words, own_words, visits[d], n_visits)
            _take_transitions(walk, start, transitions, visits[d], n_visits)
            bound, n_used = improve(walk, n_visits, n_words, n_used, not trims, gamma,
                                    n_iterations, tolerance, least_words, own_terms)  # fmt: skip
        if fresh_bound > bound:
            copy_to(kept_visits, n_visits, visits[d], 0)
            n_used = n_fresh
            if mode == BETTER:  # its other variables were overwritten: one more iteration
                copy_to(kept_log_weights, n_positions, walk.log_weights, 0)
                copy_to(kept_probabilities, n_positions * stride, walk.probabilities, 0)
                take_words(walk, log_words, own_words, kept_visits, n_visits)
                _take_transitions(walk, start, transitions, kept_visits, n_visits)
                fresh_bound, _ = improve(walk, n_visits, n_words, n_used, not trims, gamma, once,
                                         0.0, least_words, own_terms)  # fmt: skip
            bound = fresh_bound
        lengths[d] = n_used
        copy_to(walk.log_weights, n_positions, log_weights[d], 0)
        copy_to(walk.position_counts, n_positions, position_counts[d], 0)
        for i in range(n_used):
            copy_to(walk.probabilities[i * stride :], n_visits, probabilities[d, i], 0)
        probabilities[d, n_used:] = 0.0
        bounds[d] = bound
        for i in range(N_SUMS):
            terms[i] += own_terms[i]
        add_statistics(walk, own_words, visits[d], n_visits, n_used, word_topics, starts, pairs,
                       products)  # fmt: skip
