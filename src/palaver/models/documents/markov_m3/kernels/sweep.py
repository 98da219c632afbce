"""A pass of Markov M3 over documents: how walks begin, and what is counted of them."""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import compact, inner, kernel
from palaver.kernels.plain import largest_places
from palaver.kernels.simd.spaces import inner_product, scaled, sum_rows, take_row
from palaver.models.documents.markov_m3.kernels.walk import (
    ALLOCATIONS,
    BACK,
    BY_TOPIC,
    BY_WORD,
    COUNTS,
    EMISSIONS,
    FORTH,
    FORWARD,
    KEPT_LOG_WEIGHTS,
    KEPT_PROBABILITIES,
    LIKELIHOODS,
    LOG_WEIGHTS,
    MOVED,
    N_POSITIONS,
    N_SUMS,
    N_TERMS,
    NORMS,
    POSITION_COUNTS,
    PROBABILITIES,
    PRODUCTS,
    SHARES,
    START,
    STRIDE,
    SUMS,
    improve,
)

_SMALLEST_WEIGHT = 1e-100
_START_PRIOR = 0.01  # of a topic's share in the steps that break the symmetry


@inner(error_model="numpy")
def _break_symmetry(space, at, n_words, n_topics, n_blocks, n_steps):  # type: ignore[no-untyped-def]
    """Set SHARES to a document's topic shares by a few steps of EM with fixed topics.

    IN: COUNTS; LIKELIHOODS, each row up to a factor. SUMS and MOVED are workspace.
    """
    compact()
    width, shares, ratios, moved = n_blocks << 3, at[SHARES], at[SUMS], at[MOVED]
    for k in range(width):
        space[shares + k] = 1.0 / n_topics if k < n_topics else 0.0
    for _ in range(n_steps):
        row = at[LIKELIHOODS]
        for w in range(n_words):
            space[ratios + w] = space[at[COUNTS] + w] / inner_product(space, shares, row, n_blocks)
            row += width
        sum_rows(space, ratios, 1, at[LIKELIHOODS], n_words, n_blocks, moved)
        total = 0.0
        for k in range(n_topics):
            share = _START_PRIOR + space[shares + k] * space[moved + k]
            space[shares + k] = share
            total += share
        for k in range(n_topics):
            space[shares + k] /= total


@inner(error_model="numpy")
def take_document(  # type: ignore[no-untyped-def]
    space, at, first, last, words, log_words, steps, visits, n_visits
):
    """Set what a walk needs of a document's words and of the topics that it visits.

    OUT: BY_WORD and BY_TOPIC, the document's rows and the visited topics' columns; START, FORTH and
    BACK, the visited topics' part.
    """
    compact()
    stride, n_topics = at[STRIDE], steps.shape[1]
    width = ((last - first + 7) >> 3) << 3
    for k in range(n_visits * width):
        space[at[BY_TOPIC] + k] = 0.0
    for w in range(last - first):
        word, row, column = words[first + w], at[BY_WORD] + w * stride, at[BY_TOPIC] + w
        for k in range(n_visits):
            value = log_words[word, visits[k]]
            space[row + k] = value
            space[column + k * width] = value
    for j in range(n_visits):
        source = visits[j]
        space[at[START] + j] = steps[n_topics, source]
        for k in range(n_visits):
            value = steps[source, visits[k]]
            space[at[FORTH] + j * stride + k] = value
            space[at[BACK] + k * stride + j] = value


@inner(error_model="numpy")
def _start_walk(space, at, visits, n_topics, n_tokens, least_words):  # type: ignore[no-untyped-def]
    """Put the heaviest topics on the positions, in order of weight (OUT: visits).

    Returns
    -------
    int
        Positions in use: topics with words enough, one at least.
    """
    compact()
    n_visits, stride = len(visits), at[STRIDE]
    largest_places(space, at[SHARES], n_topics, n_visits, visits)
    n_used = 0
    for i in range(at[N_POSITIONS] if at[N_POSITIONS] < n_visits else n_visits):
        weight = space[at[SHARES] + visits[i]]
        if i > 0 and weight * n_tokens < least_words:
            break
        row = at[PROBABILITIES] + i * stride
        for k in range(stride):
            space[row + k] = 1.0 if k == i else 0.0
        space[at[LOG_WEIGHTS] + i] = math.log(weight + _SMALLEST_WEIGHT)
        n_used += 1
    return n_used


@inner(error_model="numpy")
def add_statistics(  # type: ignore[no-untyped-def]
    space, at, first, last, words, visits, n_visits, n_used, word_topics, pairs
):
    """Add a document's expected counts (14, 15, 16) to the statistics."""
    compact()
    stride, n_topics = at[STRIDE], pairs.shape[1]
    blocks, width, products = stride >> 3, ((last - first + 7) >> 3) << 3, at[PRODUCTS]
    for k in range(n_visits):
        pairs[n_topics, visits[k]] += space[at[PROBABILITIES] + k]
    for w in range(last - first):
        word = words[first + w]
        sum_rows(space, at[ALLOCATIONS] + w, width, at[PROBABILITIES], n_used, blocks, products)
        for k in range(n_visits):
            word_topics[word, visits[k]] += space[products + k]
    for i in range(n_used - 1):  # what the next loop weighs rows of emissions with
        place = at[FORWARD] + i * stride
        scaled(space, place, 1.0 / space[at[NORMS] + i], blocks, place)
    for j in range(n_visits):
        sum_rows(space, at[FORWARD] + j, stride, at[EMISSIONS] + stride, n_used - 1, blocks,
                 products)  # fmt: skip
        source = visits[j]
        for k in range(n_visits):
            pairs[source, visits[k]] += space[products + k] * space[at[FORTH] + j * stride + k]


@inner(error_model="numpy")
def take_counts(space, at, first, last, counts):  # type: ignore[no-untyped-def]
    """Set COUNTS to those of a document; return their sum."""
    compact()
    total = 0.0
    for w in range(((last - first + 7) >> 3) << 3):
        own = counts[first + w] if w < last - first else 0.0
        space[at[COUNTS] + w] = own
        total += own
    return total


@inner(error_model="numpy")
def take_walk(space, at, probabilities, log_weights):  # type: ignore[no-untyped-def]
    """Set PROBABILITIES (n_positions, n_visits) and LOG_WEIGHTS (n_positions,) of a document."""
    compact()
    stride = at[STRIDE]
    for i in range(at[N_POSITIONS]):
        space[at[LOG_WEIGHTS] + i] = log_weights[i]
        for k in range(stride):
            own = probabilities[i, k] if k < probabilities.shape[1] else 0.0
            space[at[PROBABILITIES] + i * stride + k] = own


@inner(error_model="numpy", inline="always")
def _infer_fresh(  # type: ignore[no-untyped-def]
    space, at, first, last, words, counts, log_words, weights_of_words, steps, gamma, trims,
    n_steps, n_iterations, tolerance, least_words, visits, terms,
):  # fmt: skip
    """Infer a document from scratch; set the topics that it visits (OUT); return its positions."""
    compact()
    n_words, n_blocks = last - first, weights_of_words.shape[1] >> 3
    n_tokens = take_counts(space, at, first, last, counts)
    for w in range(n_words):
        place = at[LIKELIHOODS] + (w * n_blocks << 3)
        take_row(weights_of_words, words[first + w], n_blocks, space, place)
    n_topics = steps.shape[1]
    _break_symmetry(space, at, n_words, n_topics, n_blocks, n_steps)
    n_used = _start_walk(space, at, visits, n_topics, n_tokens, least_words)
    take_document(space, at, first, last, words, log_words, steps, visits, len(visits))
    return improve(space, at, len(visits), n_words, n_used, trims, gamma, n_iterations, tolerance,
                   least_words, terms)  # fmt: skip


@inner(error_model="numpy", inline="always")
def _finish(  # type: ignore[no-untyped-def]
    space, at, first, last, words, n_used, own_terms, visits, probabilities, log_weights,
    position_counts, word_topics, pairs, terms,
):  # fmt: skip
    """Write down what was found of a document, and add its counts; return its bound."""
    compact()
    stride, n_visits, bound = at[STRIDE], len(visits), 0.0
    for i in range(at[N_POSITIONS]):
        log_weights[i] = space[at[LOG_WEIGHTS] + i]
        position_counts[i] = space[at[POSITION_COUNTS] + i]
        for k in range(n_visits):
            own = space[at[PROBABILITIES] + i * stride + k]
            probabilities[i, k] = own if i < n_used else 0.0
    for i in range(N_SUMS):
        terms[i] += own_terms[i]
        if i < N_TERMS:
            bound += own_terms[i]
    add_statistics(space, at, first, last, words, visits, n_visits, n_used, word_topics, pairs)
    return bound


@kernel(error_model="numpy")
def sweep_fresh(  # type: ignore[no-untyped-def]
    offsets, words, counts, log_words, weights_of_words, steps, gamma, n_steps, n_iterations,
    tolerance, least_words, space, at, own_terms, visits, lengths, probabilities, log_weights,
    position_counts, bounds, word_topics, pairs, terms,
):  # fmt: skip
    """Infer all documents of a shard from scratch and add up their expected counts.

    Parameters
    ----------
    offsets : array of int64, shape (n_documents + 1,). IN
    words : array of int32, shape (n_counts,). IN
        Rows of ``log_words``; a word occurs once in a document.
    counts : array of float64, shape (n_counts,). IN
    log_words, weights_of_words : array of float64, shape (n_words, width). IN
        E[ln beta]; its exponential, each row up to a factor, padded to whole blocks with zeros.
    steps : array of float64, shape (n_topics + 1, n_topics). IN
        exp(E[ln theta]), then exp(E[ln pi]).
    gamma : float. IN
    n_steps, n_iterations : int. IN
        Steps that break the symmetry; most iterations.
    tolerance : float. IN
        Stop when fewer words, as a share, change their position.
    least_words : float. IN
        Positions with fewer words are dropped.
    space, at, own_terms : Room. OUT
        For the longest document.
    visits : array of int32, shape (n_documents, n_visits). OUT
    lengths : array of int32, shape (n_documents,). OUT
        Positions in use.
    probabilities : array of float64, shape (n_documents, n_positions, n_visits). OUT
    log_weights, position_counts : array of float64, shape (n_documents, n_positions). OUT
    bounds : array of float64, shape (n_documents,). OUT
    word_topics, pairs : arrays, shape (n_words, n_topics), (n_topics + 1, n_topics). IN-OUT
        Expected counts, added to; the last row of ``pairs`` counts first topics.
    terms : array of float64, shape (6,). IN-OUT
        Sums of the terms of the bound, of ``E[ln (1 - u)]`` and of its number, added to.

    Documents without words are passed over. O(n_iterations n_positions (n_counts n_visits +
    n_documents n_visits**2)).
    """
    compact()
    trims = len(lengths) > 0  # as a variable: numba compiles `improve` again for each literal
    for d in range(len(lengths)):
        first, last = offsets[d], offsets[d + 1]
        if first == last:
            continue
        n_used = _infer_fresh(
            space, at, first, last, words, counts, log_words, weights_of_words, steps, gamma, trims,
            n_steps, n_iterations, tolerance, least_words, visits[d], own_terms,
        )  # fmt: skip
        lengths[d] = n_used
        bounds[d] = _finish(
            space, at, first, last, words, n_used, own_terms, visits[d], probabilities[d],
            log_weights[d], position_counts[d], word_topics, pairs, terms,
        )  # fmt: skip


@kernel(error_model="numpy")
def sweep_again(  # type: ignore[no-untyped-def]
    offsets, words, counts, log_words, weights_of_words, steps, gamma, n_steps, n_iterations,
    tolerance, least_words, tries_fresh, space, at, own_terms, visits, lengths, probabilities,
    log_weights, position_counts, bounds, word_topics, pairs, terms,
):  # fmt: skip
    """Infer all documents of a shard from what they have: what is OUT above is IN-OUT.

    Parameters
    ----------
    tries_fresh : bool. IN
        Also infer them from scratch, and keep the better.

    The others are those of :func:`sweep_fresh`; ``weights_of_words`` and ``n_steps`` are needed for
    a fresh try only.
    """
    compact()
    stride, n_positions, n_visits = at[STRIDE], at[N_POSITIONS], visits.shape[1]
    fresh_visits = np.empty(n_visits, np.int32)
    # as variables: numba compiles `improve` again for each literal that it is called with
    trims, once = len(lengths) > 0, np.int64(1)
    for d in range(len(lengths)):
        first, last = offsets[d], offsets[d + 1]
        if first == last:
            continue
        own_visits = visits[d]
        fresh_bound, n_fresh = -math.inf, np.int64(0)
        if tries_fresh:
            n_fresh = _infer_fresh(
                space, at, first, last, words, counts, log_words, weights_of_words, steps, gamma,
                trims, n_steps, n_iterations, tolerance, least_words, fresh_visits, own_terms,
            )  # fmt: skip
            fresh_bound = _sum_of(own_terms)
            for k in range(n_positions * stride):
                space[at[KEPT_PROBABILITIES] + k] = space[at[PROBABILITIES] + k]
            for i in range(n_positions):
                space[at[KEPT_LOG_WEIGHTS] + i] = space[at[LOG_WEIGHTS] + i]
        take_counts(space, at, first, last, counts)
        take_walk(space, at, probabilities[d], log_weights[d])
        take_document(space, at, first, last, words, log_words, steps, own_visits, n_visits)
        n_used = improve(space, at, n_visits, last - first, np.int64(lengths[d]), not trims, gamma,
                         n_iterations, tolerance, least_words, own_terms)  # fmt: skip
        if fresh_bound > _sum_of(own_terms):  # its variables were overwritten: one more iteration
            for k in range(n_visits):
                own_visits[k] = fresh_visits[k]
            for k in range(n_positions * stride):
                space[at[PROBABILITIES] + k] = space[at[KEPT_PROBABILITIES] + k]
            for i in range(n_positions):
                space[at[LOG_WEIGHTS] + i] = space[at[KEPT_LOG_WEIGHTS] + i]
            take_document(space, at, first, last, words, log_words, steps, own_visits, n_visits)
            n_used = improve(space, at, n_visits, last - first, n_fresh, not trims, gamma, once,
                             0.0, least_words, own_terms)  # fmt: skip
        lengths[d] = n_used
        bounds[d] = _finish(
            space, at, first, last, words, n_used, own_terms, own_visits, probabilities[d],
            log_weights[d], position_counts[d], word_topics, pairs, terms,
        )  # fmt: skip


@inner
def _sum_of(terms):  # type: ignore[no-untyped-def]
    """Return the bound of a document, (6,) IN."""
    bound = 0.0
    for i in range(N_TERMS):
        bound += terms[i]
    return bound
