"""Block HMM, collapsed: one message at a time, all parameters integrated out.

The conversation model of Ritter, Cherry & Dolan (2010), the baseline of Paul (2012, section 5.2),
with the background switch of section 5.3. Given all other classes, message ``b`` has class ``k``
with a weight of three factors::

    words       prod_n (n_wk + r_n + omega) / (n_k + n + W omega)                            (a)
    parent      n_ak + alpha_k                                                               (b)
    children    prod_c (n_kc + [a = k = c] + e_c + alpha_c) / (n_k. + [a = k] + e. + A)      (c)

over the message's tokens that are not background (``n`` from zero; ``r_n`` counts earlier ones of
the same word) and over its children (``c`` is the child's class, ``e_c`` counts earlier children of
that class, ``e.`` all of them).
``a`` is the parent's class, ``alpha`` the transition prior and ``A`` its sum. The counts leave out
the message, its words and its edges.

Transition rows are the source: row ``k`` is a parent of class ``k``, the last row (``K``) is the
start, used by messages without a parent. ``message_classes`` is int16 (n_messages,) in 0..K-1;
``background`` is uint8 (n_tokens,), 1 where the token's word comes from the background.

Products of thousands of factors are kept as mantissas in [1, 2) and integer exponents: exact to
rounding, whatever the length of a message, and a block's weights need no logarithm at all.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.chains import draw_state
from palaver.kernels.compiled import inner, kernel
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.switch import (
    SWITCH_OFF,
    collapsed_switch_weights,
)
from palaver.kernels.trees import link_children

# Factors multiplied between two rescalings: each must lie within 2^±60, so counts below 2^31
# and omega above 1e-18 are safe.
_FACTORS = 16


@kernel
def count_assignments(  # type: ignore[no-untyped-def]
    tokens, message_offsets, parents, message_classes, background, first, last,
    word_class_counts, transition_counts,
):  # fmt: skip
    """Add the words and edges of messages ``first`` to ``last - 1`` to the counts, in O(tokens).

    Parameters
    ----------
    tokens, message_offsets, parents : arrays of the shard. IN
    message_classes : array of int16, shape (n_messages,). IN
    background : array of uint8, shape (n_tokens,). IN
    word_class_counts : array of int32, shape (W, K+1). IN-OUT
    transition_counts : array of int64, shape (K+1, K). IN-OUT
    """
    n_classes = transition_counts.shape[1]
    for message in range(first, last):
        label = message_classes[message]
        parent = parents[message]
        source = n_classes if parent < 0 else message_classes[parent]
        transition_counts[source, label] += 1
        for i in range(message_offsets[message], message_offsets[message + 1]):
            column = n_classes if background[i] else label
            word_class_counts[tokens[i], column] += 1


@inner(inline="always")
def _rescale(mantissas, bits, exponents):  # type: ignore[no-untyped-def]
    """Bring mantissas back to [1, 2) through their bits, a view as int64 of the same memory."""
    for k in range(len(mantissas)):
        exponent = (bits[k] >> 52) - 1023
        exponents[k] += exponent
        bits[k] -= exponent << 52


@kernel
def _move_edges(  # type: ignore[no-untyped-def]
    message, step, parents, first_child, next_sibling, message_classes,
    transition_counts, transition_totals,
):  # fmt: skip
    """Add ``step`` (1 or -1) to the counts of the edges into and out of a message."""
    label = message_classes[message]
    parent = parents[message]
    source = transition_counts.shape[1] if parent < 0 else message_classes[parent]
    transition_counts[source, label] += step
    transition_totals[source] += step
    child = first_child[message]
    while child >= 0:
        transition_counts[label, message_classes[child]] += step
        transition_totals[label] += step
        child = next_sibling[child]


@kernel
def collapsed_class_weights(  # type: ignore[no-untyped-def]
    message, tokens, message_offsets, parents, first_child, next_sibling, message_classes,
    background, word_class_counts, class_totals, transition_counts, transition_totals,
    transition_prior, omega, occurrences, earlier_children, products, exponents, weights,
):  # fmt: skip
    """Fill the weights of the K classes of one message, given all others and the switches.

    The product of (a), (b) and (c). The word counts still hold the message itself: counting down
    from them in its own column gives the same factors as counting up from the counts without
    it, and costs no writing. The transition counts leave out the edges into and out of the
    message.

    Parameters
    ----------
    word_class_counts, class_totals : arrays of int32 (W, K+1) and int64 (K+1,). IN
        With the message's own words.
    transition_counts, transition_totals : arrays of int64 (K+1, K) and (K+1,). IN
        Without the message's own edges; the totals are the sums of the rows.
    transition_prior : array of float64, shape (K,). IN
    occurrences : array of int32, shape (W,); earlier_children : of int64, shape (K,). IN-OUT
        Scratch, all zero before and after.
    products : array of float64, shape (3, K); exponents : of int64, shape (2, K). OUT
        Scratch.
    weights : array of float64, shape (K,). OUT
        Not normalized; the largest is between 1/2 and 2.

    Cost: O(K) per child and per token that has a class; three vector operations of length K
    per token, no logarithm.
    """
    n_words, n_classes = word_class_counts.shape[0], transition_counts.shape[1]
    own = message_classes[message]
    numerators, denominators, bases = products[0], products[1], products[2]
    numerator_bits = numerators.view(np.int64)
    denominator_bits = denominators.view(np.int64)
    for k in range(n_classes):
        numerators[k] = 1.0
        denominators[k] = 1.0
        bases[k] = class_totals[k] + n_words * omega
        exponents[0, k] = 0
        exponents[1, k] = 0
    own_base = class_totals[own] - 1 + n_words * omega
    own_numerator = 1.0
    own_denominator = 1.0
    counted = 0
    for i in range(message_offsets[message], message_offsets[message + 1]):
        if background[i]:
            continue
        word = tokens[i]
        repeats = occurrences[word]
        occurrences[word] = repeats + 1
        smoothing = omega + repeats
        for k in range(n_classes):
            numerators[k] *= word_class_counts[word, k] + smoothing
            denominators[k] *= bases[k] + counted
        own_numerator *= (word_class_counts[word, own] - 1 - repeats) + omega
        own_denominator *= own_base - counted
        counted += 1
        if counted % _FACTORS == 0:
            numerators[own] = own_numerator
            denominators[own] = own_denominator
            _rescale(numerators, numerator_bits, exponents[0])
            _rescale(denominators, denominator_bits, exponents[1])
            own_numerator = numerators[own]
            own_denominator = denominators[own]
    numerators[own] = own_numerator
    denominators[own] = own_denominator
    _rescale(numerators, numerator_bits, exponents[0])
    _rescale(denominators, denominator_bits, exponents[1])
    for i in range(message_offsets[message], message_offsets[message + 1]):
        occurrences[tokens[i]] = 0

    parent = parents[message]
    source = n_classes if parent < 0 else message_classes[parent]
    for k in range(n_classes):
        numerators[k] *= transition_counts[source, k] + transition_prior[k]
    prior_total = transition_prior.sum()
    n_children = 0
    child = first_child[message]
    while child >= 0:
        _rescale(numerators, numerator_bits, exponents[0])
        _rescale(denominators, denominator_bits, exponents[1])
        label = message_classes[child]
        smoothing = transition_prior[label] + earlier_children[label]
        for k in range(n_classes):
            # if the parent has class k, the edge from it is also in row k
            same = 1 if source == k else 0
            both = 1 if source == k and label == k else 0
            numerators[k] *= transition_counts[k, label] + both + smoothing
            denominators[k] *= transition_totals[k] + same + n_children + prior_total
        earlier_children[label] += 1
        n_children += 1
        child = next_sibling[child]
    earlier_children[:] = 0
    _rescale(numerators, numerator_bits, exponents[0])
    _rescale(denominators, denominator_bits, exponents[1])

    largest = exponents[0, 0] - exponents[1, 0]
    for k in range(1, n_classes):
        largest = max(largest, exponents[0, k] - exponents[1, k])
    for k in range(n_classes):
        shift = exponents[0, k] - exponents[1, k] - largest
        weights[k] = 0.0 if shift < -1000 else math.ldexp(numerators[k] / denominators[k], shift)


@kernel(inline="always")
def collapsed_token_weights(  # type: ignore[no-untyped-def]
    background_count, class_count, omega, background_mass, class_mass,
    switch_background, switch_class, in_background, in_class,
):  # fmt: skip
    """Return (background, class) weights of one token's switch, given its message's class.

    The counts of its word, the masses ``n + W omega`` of both columns and the switch's weights
    all hold the token itself, once: ``in_background`` and ``in_class`` (1 and 0, or 0 and 1)
    take it out. Both weights are multiplied by both denominators. IN only; O(1), no division.
    """
    background_weight = (background_count - in_background + omega) * (
        (switch_background - in_background) * (class_mass - in_class)
    )
    class_weight = (class_count - in_class + omega) * (
        (switch_class - in_class) * (background_mass - in_background)
    )
    return background_weight, class_weight


@kernel
def collapsed_sweep(  # type: ignore[no-untyped-def]
    tokens, message_offsets, parents, fixed_classes, transition_prior, omega, switch, switch_prior,
    key, message_classes, background, word_class_counts, class_totals, transition_counts,
):  # fmt: skip
    """Resample each message's class, then its switches given the class; all else integrated out.

    Parameters
    ----------
    tokens, message_offsets, parents : arrays of the corpus (one shard). IN
    fixed_classes : array of int16, shape (n_messages,) or (0,). IN
        Known classes, -1 where they are to be found; messages of known class must have it.
    transition_prior : array of float64, shape (K,). IN
    omega : float; switch : int; switch_prior : array of float64, shape (2,). IN
    key : array of uint64, shape (2,). IN
        One stream for the whole sweep: for each message one draw for its class and, unless
        the switch is off, one for each of its tokens.
    message_classes : array of int16, shape (n_messages,). IN-OUT
    background : array of uint8, shape (n_tokens,). IN-OUT
    word_class_counts : array of int32, shape (W, K+1). IN-OUT
    class_totals : array of int64, shape (K+1,). IN-OUT
    transition_counts : array of int64, shape (K+1, K). IN-OUT

    Cost: O(K) per token and per edge, independent of the number of children.
    """
    n_words, n_classes = word_class_counts.shape[0], transition_counts.shape[1]
    word_mass = n_words * omega
    n_messages = len(parents)
    first_child = np.empty(n_messages + 1, np.int32)
    next_sibling = np.empty(n_messages, np.int32)
    link_children(parents, 0, n_messages, first_child, next_sibling)
    transition_totals = transition_counts.sum(axis=1)
    occurrences = np.zeros(n_words, np.int32)
    earlier_children = np.zeros(n_classes, np.int64)
    products = np.empty((3, n_classes))
    exponents = np.empty((2, n_classes), np.int64)
    weights = np.empty(n_classes)
    corpus_background = np.int64(background.sum())  # totals may hold seeds, which are no tokens
    corpus_class = background.shape[0] - corpus_background
    stream = np.empty(4, np.uint64)
    open_stream(key, 0, stream)
    for message in range(n_messages):
        start, end = message_offsets[message], message_offsets[message + 1]
        _move_edges(
            message, -1, parents, first_child, next_sibling, message_classes,
            transition_counts, transition_totals,
        )  # fmt: skip
        collapsed_class_weights(
            message, tokens, message_offsets, parents, first_child, next_sibling,
            message_classes, background, word_class_counts, class_totals, transition_counts,
            transition_totals, transition_prior, omega, occurrences, earlier_children,
            products, exponents, weights,
        )  # fmt: skip
        old = message_classes[message]
        label = draw_state(weights, uniform(stream))
        if fixed_classes.shape[0] > 0 and fixed_classes[message] >= 0:
            label = np.int64(old)
        if label != old:
            message_classes[message] = label
            for i in range(start, end):
                if not background[i]:
                    word_class_counts[tokens[i], old] -= 1
                    word_class_counts[tokens[i], label] += 1
                    class_totals[old] -= 1
                    class_totals[label] += 1
        _move_edges(
            message, 1, parents, first_child, next_sibling, message_classes,
            transition_counts, transition_totals,
        )  # fmt: skip
        if switch == SWITCH_OFF:
            continue
        message_background = 0
        for i in range(start, end):
            message_background += background[i]
        switch_background, switch_class = collapsed_switch_weights(
            switch, corpus_background, corpus_class,
            message_background, end - start - message_background, switch_prior,
        )  # fmt: skip
        background_mass = class_totals[n_classes] + word_mass
        class_mass = class_totals[label] + word_mass
        moved = np.int64(0)
        for i in range(start, end):
            word = tokens[i]
            was = np.int64(background[i])
            background_weight, class_weight = collapsed_token_weights(
                word_class_counts[word, n_classes], word_class_counts[word, label], omega,
                background_mass, class_mass, switch_background, switch_class,
                float(was), float(1 - was),
            )  # fmt: skip
            # outcomes are unpredictable: no branch, most steps are zero
            now = np.int64(uniform(stream) * (background_weight + class_weight) >= class_weight)
            step = now - was
            background[i] = now
            word_class_counts[word, n_classes] += step
            word_class_counts[word, label] -= step
            background_mass += step
            class_mass -= step
            switch_background += step
            switch_class -= step
            moved += step
        class_totals[n_classes] += moved
        class_totals[label] -= moved
        corpus_background += moved
        corpus_class -= moved
