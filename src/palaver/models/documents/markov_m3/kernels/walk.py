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

Everything about one document is in one workspace (:class:`Room`). All inner products run eight
lanes at a time (:mod:`palaver.kernels.simd.spaces`); a document's numbers depend on nothing but the
document.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palaver.kernels.compiled import compact, inner
from palaver.kernels.simd.spaces import (
    add_powers,
    aligned_space,
    fill,
    highest,
    inner_product,
    padded,
    powers,
    product,
    quotient,
    raise_peaks,
    scaled,
    sum_rows,
)
from palaver.kernels.special import digamma

FloatArray = npt.NDArray[np.float64]

N_TERMS = 4
"""Terms of a document's bound: words, walk, allocation, sticks."""
N_SUMS = 6
"""These, and what gamma is learned from: the sum of E[ln (1 - u)], over how many sticks."""
WORDS, WALK, ALLOCATION, STICKS, LOG_LEFT, N_STICKS = range(N_SUMS)

#: Iterations after which a fresh start drops positions with few words.
TRIM_EVERY = 3


class Room(NamedTuple):
    """Space for the walk of one document at a time, and where what is in it.

    Rows of matrices follow each other and are padded to whole blocks of eight: those of visited
    topics to ``stride``, those of a document's words to as many blocks as it has words.

    Attributes
    ----------
    space : array of float64, 1-d
    at : array of int64, shape (N_PLACES,)
        At ``at[N_POSITIONS]`` and ``at[STRIDE]`` are numbers, at all others the places of

        - START, MASK (stride,): exp(E[ln pi]); 1 for topics, 0 for padding.
        - FORTH, BACK (stride, stride): exp(E[ln theta]) of the visited topics, rows are the source;
          its transpose.
        - BY_WORD (n_words, stride), BY_TOPIC (n_visits, words): E[ln beta] of the words.
        - PROBABILITIES, SCORES, EMISSIONS, FORWARD, BACKWARD (n_positions, stride): q(z_i = k),
          s_i(k), and what forward-backward needs; NORMS (n_positions,).
        - ALLOCATIONS (n_positions, words): c_w phi_w(i).
        - COUNTS, PEAKS, SUMS (words,).
        - POSITION_COUNTS, LOG_WEIGHTS, BEFORE (n_positions,): n_i, E[ln nu_i], n_i before.
        - PRODUCTS (stride,): of which sums are made.
        - LIKELIHOODS (n_words, topics), SHARES, MOVED (topics,): what breaks the symmetry.
        - KEPT_PROBABILITIES, KEPT_LOG_WEIGHTS: of the fresh start while another is tried.
    terms : array of float64, shape (N_SUMS,)
        Those of the document.
    """

    space: FloatArray
    at: npt.NDArray[np.int64]
    terms: FloatArray


N_PLACES = 28
(N_POSITIONS, STRIDE, START, MASK, FORTH, BACK, BY_WORD, BY_TOPIC, PROBABILITIES, SCORES, EMISSIONS,
 FORWARD, BACKWARD, NORMS, ALLOCATIONS, COUNTS, PEAKS, SUMS, POSITION_COUNTS, LOG_WEIGHTS, BEFORE,
 PRODUCTS, LIKELIHOODS, SHARES, MOVED, KEPT_PROBABILITIES, KEPT_LOG_WEIGHTS,
 END) = range(N_PLACES)  # fmt: skip


def make_room(n_positions: int, n_visits: int, n_words: int, n_topics: int = 0) -> Room:
    """Return room for walks of so many positions, visited topics and different words.

    ``n_topics`` are all topics, among which a fresh start chooses; 0 if there is none.
    """
    stride, width, positions = padded(n_visits), padded(n_words), padded(n_positions)
    topics = padded(n_topics)
    sizes = {
        START: stride, MASK: stride, FORTH: stride**2, BACK: stride**2,
        BY_WORD: width * stride, BY_TOPIC: n_visits * width,
        **dict.fromkeys((PROBABILITIES, SCORES, EMISSIONS, FORWARD, BACKWARD, KEPT_PROBABILITIES),
                        n_positions * stride),
        NORMS: positions, ALLOCATIONS: n_positions * width,
        **dict.fromkeys((COUNTS, PEAKS, SUMS), width),
        **dict.fromkeys((POSITION_COUNTS, LOG_WEIGHTS, BEFORE, KEPT_LOG_WEIGHTS), positions),
        PRODUCTS: stride, LIKELIHOODS: n_words * topics, SHARES: topics, MOVED: topics,
    }  # fmt: skip
    at, end = np.zeros(N_PLACES, np.int64), 0
    for place, size in sizes.items():
        at[place], end = end, end + padded(size)
    at[N_POSITIONS], at[STRIDE], at[END] = n_positions, stride, end
    space = aligned_space(end)
    space[at[MASK] : at[MASK] + n_visits] = 1.0
    return Room(space, at, np.zeros(N_SUMS))


@inner(error_model="numpy")
def log_stick_weights(space, at, n_used, gamma):  # type: ignore[no-untyped-def]
    """Set ``E[ln nu]`` (12) of the positions in use.

    If these are all positions, the last stick takes all that is left. IN: POSITION_COUNTS; OUT:
    LOG_WEIGHTS.
    """
    compact()
    counts, logs, n_sticks = at[POSITION_COUNTS], at[LOG_WEIGHTS], at[N_POSITIONS] - 1
    later = 0.0
    for i in range(n_used - 1, -1, -1):
        space[logs + i] = later
        later += space[counts + i]
    before = 0.0
    for i in range(n_used if n_used < n_sticks else n_sticks):
        a, b = 1.0 + space[counts + i], gamma + space[logs + i]
        of_sum = digamma(a + b)
        space[logs + i] = before + digamma(a) - of_sum
        before += digamma(b) - of_sum
    if n_used > n_sticks:
        space[logs + n_sticks] = before


@inner(error_model="numpy")
def stick_terms(space, at, n_used, gamma, terms):  # type: ignore[no-untyped-def]
    """Set what the sticks add to the bound, and what gamma is learned from.

    Sets ``terms[STICKS]`` to ``E[ln p(u)] - E[ln q(u)]``, ``terms[LOG_LEFT]`` to the sum of
    ``E[ln (1 - u_i)]``, ``terms[N_STICKS]`` to how many that sum is over: the positions in use,
    without the very last.
    """
    compact()
    counts, n_sticks = at[POSITION_COUNTS], at[N_POSITIONS] - 1
    n_sticks = n_used if n_used < n_sticks else n_sticks
    term = log_left = later = 0.0
    for i in range(n_used - 1, -1, -1):
        if i < n_sticks:
            a, b = 1.0 + space[counts + i], gamma + later
            of_sum = digamma(a + b)
            left = digamma(b) - of_sum
            term += math.log(gamma) + (gamma - b) * left - (a - 1.0) * (digamma(a) - of_sum)
            term += math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
            log_left += left
        later += space[counts + i]
    terms[STICKS], terms[LOG_LEFT], terms[N_STICKS] = term, log_left, n_sticks


@inner(error_model="numpy")
def allocate_words(space, at, n_visits, n_words, n_used):  # type: ignore[no-untyped-def]
    """Set ALLOCATIONS and POSITION_COUNTS of the positions in use (11).

    IN: PROBABILITIES, LOG_WEIGHTS, BY_TOPIC, COUNTS. OUT also: PEAKS and SUMS, with which
    ``sum_i exp(...) = exp(peaks) counts / sums``. O(n_words n_used n_visits).
    """
    compact()
    blocks, stride = (n_words + 7) >> 3, at[STRIDE]
    width, peaks, sums = blocks << 3, at[PEAKS], at[SUMS]
    fill(space, -math.inf, blocks, peaks)
    fill(space, 0.0, blocks, sums)
    row = at[ALLOCATIONS]
    for i in range(n_used):
        probabilities = at[PROBABILITIES] + i * stride
        sum_rows(space, probabilities, 1, at[BY_TOPIC], n_visits, blocks, row)
        raise_peaks(space, row, space[at[LOG_WEIGHTS] + i], blocks, peaks)
        row += width
    row = at[ALLOCATIONS]
    for _ in range(n_used):
        add_powers(space, row, peaks, blocks, sums)
        row += width
    quotient(space, at[COUNTS], sums, blocks, sums)
    row = at[ALLOCATIONS]
    for i in range(n_used):
        space[at[POSITION_COUNTS] + i] = inner_product(space, row, sums, blocks)
        product(space, row, sums, 1.0, blocks, row)
        row += width


@inner(error_model="numpy")
def score_positions(space, at, n_visits, n_words, n_used):  # type: ignore[no-untyped-def]
    """Set SCORES (8); return ``sum_i q(z_i) . s_i`` for the probabilities as they are."""
    compact()
    width, stride = ((n_words + 7) >> 3) << 3, at[STRIDE]
    blocks, total = stride >> 3, 0.0
    for i in range(n_used):
        row = at[SCORES] + i * stride
        sum_rows(space, at[ALLOCATIONS] + i * width, 1, at[BY_WORD], n_words, blocks, row)
        total += inner_product(space, row, at[PROBABILITIES] + i * stride, blocks)
        for k in range(n_visits, stride):  # padding is no topic, and must not be the largest
            space[row + k] = space[row]
    return total


@inner(error_model="numpy")
def forward_backward(space, at, n_visits, n_used):  # type: ignore[no-untyped-def]
    """Set PROBABILITIES (9) from SCORES; return the walk's log normalizer.

    Rows of both passes are scaled for themselves: with E[ln theta] above -300 nothing underflows.
    O(n_used n_visits**2).
    """
    compact()
    stride, blocks = at[STRIDE], at[STRIDE] >> 3
    log_normalizer = 0.0
    for i in range(n_used):
        scores, emissions = at[SCORES] + i * stride, at[EMISSIONS] + i * stride
        forward = at[FORWARD] + i * stride
        peak = highest(space, scores, blocks)
        powers(space, scores, peak, at[MASK], blocks, emissions)
        if i == 0:
            scaled(space, at[START], 1.0, blocks, forward)
        else:
            sum_rows(space, forward - stride, 1, at[FORTH], n_visits, blocks, forward)
        total = inner_product(space, forward, emissions, blocks)
        product(space, forward, emissions, 1.0 / total, blocks, forward)
        log_normalizer += peak + math.log(total)
    scaled(space, at[MASK], 1.0, blocks, at[BACKWARD] + (n_used - 1) * stride)
    for i in range(n_used - 1, -1, -1):
        forward, backward = at[FORWARD] + i * stride, at[BACKWARD] + i * stride
        emissions = at[EMISSIONS] + i * stride
        if i < n_used - 1:
            sum_rows(space, emissions + stride, 1, at[BACK], n_visits, blocks, backward)
            space[at[NORMS] + i] = inner_product(space, forward, backward, blocks)
            scaled(space, backward, 1.0 / highest(space, backward, blocks), blocks, backward)
        scale = 1.0 / inner_product(space, forward, backward, blocks)
        product(space, forward, backward, scale, blocks, at[PROBABILITIES] + i * stride)
        # what the row before, and the pairs (10), need
        product(space, emissions, backward, 1.0, blocks, emissions)
    return log_normalizer


@inner(error_model="numpy")
def _drop_short_positions(space, at, n_used, gamma, least_words):  # type: ignore[no-untyped-def]
    """Close up the positions that have words enough, one at least; return their number."""
    compact()
    stride, counts = at[STRIDE], at[POSITION_COUNTS]
    kept = np.int64(0)  # a literal would be compiled for itself
    for i in range(n_used):
        last_chance = kept == 0 and i == n_used - 1
        if space[counts + i] >= least_words or last_chance:
            scaled(space, at[PROBABILITIES] + i * stride, 1.0, stride >> 3,
                   at[PROBABILITIES] + kept * stride)  # fmt: skip
            space[counts + kept] = space[counts + i]
            kept += 1
    if kept < n_used:
        log_stick_weights(space, at, kept, gamma)
    return kept


@inner(error_model="numpy", inline="always")
def improve(  # type: ignore[no-untyped-def]
    space, at, n_visits, n_words, n_used, trims, gamma, n_iterations, tolerance, least_words, terms
):
    """Iterate (11), (13), (8) until few words of a document change their position.

    Parameters
    ----------
    space, at : Room. IN-OUT
        Starts from its PROBABILITIES and LOG_WEIGHTS.
    n_used : int. IN
        Positions in use.
    trims : bool. IN
        Every few iterations drop positions that have hardly any words; the bound may fall then.
    tolerance : float. IN
        On the changes of POSITION_COUNTS, as a share of the words.
    least_words : float. IN
        Words without which a position is dropped.
    terms : array of float64, shape (6,). OUT
        The document's terms of the bound; the sum of ``E[ln (1 - u_i)]``, over how many sticks.

    Returns
    -------
    int
        Positions in use. The bound is the sum of the first N_TERMS terms.
    """
    compact()
    stride, n_positions = at[STRIDE], at[N_POSITIONS]
    counts, logs, before = at[POSITION_COUNTS], at[LOG_WEIGHTS], at[BEFORE]
    n_tokens = 0.0
    for w in range(n_words):
        n_tokens += space[at[COUNTS] + w]
    scored = weighed = log_normalizer = 0.0
    for i in range(n_positions):
        space[before + i] = 0.0
    for iteration in range(n_iterations):
        if trims and iteration % TRIM_EVERY == 0 and iteration > 0:
            n_used = _drop_short_positions(space, at, n_used, gamma, least_words)
        allocate_words(space, at, n_visits, n_words, n_used)
        scored = score_positions(space, at, n_visits, n_words, n_used)
        change = weighed = 0.0
        for i in range(n_used):
            own = space[counts + i]
            weighed += own * space[logs + i]
            change += abs(own - space[before + i])
            space[before + i] = own
        log_stick_weights(space, at, n_used, gamma)
        log_normalizer = forward_backward(space, at, n_visits, n_used)
        if change <= tolerance * n_tokens and not (trims and iteration < TRIM_EVERY):
            break
    for i in range(n_used, n_positions):
        space[counts + i] = 0.0
    words = 0.0
    for j in range(n_used * stride):
        words += space[at[PROBABILITIES] + j] * space[at[SCORES] + j]
    # sum_w c_w H(phi_w) = sum_w c_w ln sum_i exp(...) - n . E[ln nu] - sum_i q(z_i) . s_i, where
    # E[ln nu] and q(z) are those from before the last iteration
    allocation = -scored - weighed
    for w in range(n_words):
        own = space[at[COUNTS] + w]
        allocation += own * (space[at[PEAKS] + w] + math.log(own / space[at[SUMS] + w]))
    for i in range(n_used):
        allocation += space[counts + i] * space[logs + i]
    terms[WORDS], terms[WALK], terms[ALLOCATION] = words, log_normalizer - words, allocation
    stick_terms(space, at, n_used, gamma, terms)
    return n_used
