"""LDA on messages: each message is a document.

Two exact Gibbs samplers of the same posterior. :func:`sweep_collapsed` integrates the word
distributions out and changes global counts in place, token by token. :func:`sweep_parallel` is
given sampled (or, for folding in, frozen) word distributions, so conversations are independent.
The class shares of a message are integrated out in both.

With the background switch (Paul 2012, section 5.3), ``(x, z)`` is one of ``K + 1`` outcomes.
Divided by what all class outcomes share, a token's weights are, from counts that leave it out::

    class k     (n_bk + alpha_k) * word factor of k                                          (a)
    background  (n_b. + sum(alpha)) * word factor of the background
                * switch weight of the background / switch weight of a class                 (b)

where ``n_b.`` counts the tokens of the message that have a class. Without background, (a) is
equation 5 of Griffiths & Steyvers (2004) with an asymmetric prior ``alpha``. The word factor is
``(n_wk + omega) / (n_k + W omega)``, or ``word_weights[w, k]`` if that is given.

Inside a sweep an outcome has a *slot* in the scratch arrays: ``k`` for a class, the first index
past the vector blocks for the background (see :mod:`palaver.kernels.simd.lanes`).
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import (
    TOKENS_AHEAD,
    aligned,
    choose_outcome,
    n_lane_blocks,
    outcome_order,
    prefetch_line,
)
from palaver.kernels.switch import (
    SWITCH_OFF,
    collapsed_switch_weights,
    drawn_switch_weights,
)


@inner(forceinline=True, error_model="numpy")
def _background_odds(  # type: ignore[no-untyped-def]
    for_background, for_class, message_class, alpha_sum, n_word, denominator
):
    """Return (b): the weight of the background if a class has ``(n_bk + alpha_k) * word``."""
    return for_background * (message_class + alpha_sum) * n_word / (for_class * denominator)


@inner
def _open_message(classes, alpha, background_slot, message_counts):  # type: ignore[no-untyped-def]
    """Set ``message_counts`` (OUT) to alpha_k + n_bk by slot; for the background to n_b0."""
    n_classes = alpha.shape[0]
    for k in range(n_classes):
        message_counts[k] = alpha[k]
    message_counts[background_slot] = 0.0
    for i in range(classes.shape[0]):
        old = uint64(classes[i])
        message_counts[old if old < uint64(n_classes) else background_slot] += 1.0


@inner(error_model="numpy")
def _set_factors(  # type: ignore[no-untyped-def]
    n_classes, message_counts, denominators, factors, raised
):
    """Set ``factors`` (OUT) of a message, and ``raised`` (OUT) to those with one more token."""
    for k in range(n_classes):
        factors[k] = message_counts[k] / denominators[k]
    for k in range(n_classes):
        raised[k] = (message_counts[k] + 1.0) / (denominators[k] + 1.0)


@inner
def _record_weights(  # type: ignore[no-untyped-def]
    running, n_classes, old, background_weight, old_weight, weights
):
    """Write the weights of a draw to ``weights`` (OUT), shape (n_classes + 1,); they sum to one."""
    for k in range(n_classes):
        weights[k] = running[k] - (running[k - LANES] if k >= LANES else 0.0)
    weights[n_classes] = background_weight
    weights[old] = old_weight
    weights /= weights.sum()


@kernel(error_model="numpy")
def sweep_collapsed(  # type: ignore[no-untyped-def]
    tokens,
    message_offsets,
    classes,
    word_class_counts,
    class_totals,
    alpha,
    omega,
    switch,
    switch_prior,
    key,
    token_weights,
):
    """Resample every token given all others, with word distributions integrated out: (a), (b).

    One stream for the sweep, one uniform per token, in the order of the tokens.

    Parameters
    ----------
    tokens : array of int32, shape (n_tokens,). IN
    message_offsets : array of int64, shape (n_messages + 1,). IN
    classes : array of int16, shape (n_tokens,). IN-OUT
    word_class_counts : array of int32, shape (n_words, n_classes + 1). IN-OUT
    class_totals : array of int64, shape (n_classes + 1,). IN-OUT
    alpha : array of float64, shape (n_classes,). IN
    omega : float. IN
    switch : int, one of palaver.kernels.switch. IN
    switch_prior : array of float64, shape (2,). IN
    key : array of uint64, shape (2,). IN
    token_weights : array of float64, shape (n_recorded, n_classes + 1). OUT
        The distributions from which the first tokens were drawn; usually none are recorded.

    Cost O(n_tokens * n_classes), by eights; memory O(n_classes) in addition to the arguments.
    """
    n_classes = alpha.shape[0]
    n_blocks = n_lane_blocks(n_classes)
    background_slot = uint64(LANES * n_blocks)
    row_length = uint64(word_class_counts.shape[1])
    counts = word_class_counts.reshape(-1)
    n_lines = (n_classes + 15) // 16 + 1  # of 64 bytes, for a row that begins inside one
    last_token = uint64(max(tokens.shape[0] - 1, 0))
    words_omega = word_class_counts.shape[0] * omega
    n_tokens = float(class_totals.sum())
    alpha_sum = alpha.sum()
    beta_prior = (switch_prior[0], switch_prior[1])
    order = outcome_order(n_classes, switch != SWITCH_OFF)
    size = LANES * n_blocks + LANES
    message_counts, denominators, factors = aligned(size), aligned(size), aligned(size)
    raised, running, spare = aligned(size), aligned(size), np.zeros(size, np.int32)
    for k in range(n_classes):
        denominators[k] = class_totals[k] + words_omega
    denominators[background_slot] = class_totals[n_classes] + words_omega
    state = np.empty(4, np.uint64)
    open_stream(key, 0, state)
    for b in range(message_offsets.shape[0] - 1):
        first, last = message_offsets[b], message_offsets[b + 1]
        _open_message(classes[first:last], alpha, background_slot, message_counts)
        _set_factors(n_classes, message_counts, denominators, factors, raised)
        for i in range(uint64(first), uint64(last)):
            ahead = uint64(tokens[min(i + uint64(TOKENS_AHEAD), last_token)]) * row_length
            for line in range(n_lines):
                prefetch_line(counts, ahead + uint64(16 * line))
            start = uint64(tokens[i]) * row_length
            old = uint64(classes[i])
            slot = old if old < uint64(n_classes) else background_slot
            lowered = (message_counts[slot] - 1.0) / (denominators[slot] - 1.0)
            old_weight = lowered * (counts[start + old] - 1 + omega)
            background_weight = 0.0
            if switch != SWITCH_OFF:
                is_background = 1.0 if slot == background_slot else 0.0
                denominator = denominators[background_slot] - is_background
                corpus_background = denominator - words_omega
                message_background = message_counts[background_slot] - is_background
                message_class = last - first - 1.0 - message_background
                for_background, for_class = collapsed_switch_weights(
                    switch, corpus_background, n_tokens - 1.0 - corpus_background,
                    message_background, message_class, beta_prior,
                )  # fmt: skip
                odds = _background_odds(
                    for_background, for_class, message_class, alpha_sum,
                    counts[start + uint64(n_classes)] - is_background + omega, denominator,
                )  # fmt: skip
                # chosen by multiplication: a branch would be mispredicted every other time
                background_weight = (1.0 - is_background) * odds
                old_weight = (1.0 - is_background) * old_weight + is_background * odds
            if start + background_slot > uint64(counts.size):
                for k in range(n_classes):
                    spare[k] = counts[start + uint64(k)]
            rank = choose_outcome(
                counts, start, spare, omega, factors, slot, running, n_blocks,
                background_weight, old_weight, uniform(state),
            )  # fmt: skip
            if i < uint64(token_weights.shape[0]):
                _record_weights(
                    running, n_classes, old, background_weight, old_weight, token_weights[i]
                )
            new_slot = order[rank]
            if new_slot > background_slot:
                new_slot = slot
            new = min(new_slot, uint64(n_classes))
            raised[slot] = factors[slot]
            factors[slot] = lowered
            message_counts[slot] -= 1.0
            denominators[slot] -= 1.0
            # the next draw waits for this factor, so it was precomputed, but not for the division
            factors[new_slot] = raised[new_slot]
            message_counts[new_slot] += 1.0
            denominators[new_slot] += 1.0
            raised[new_slot] = (message_counts[new_slot] + 1.0) / (denominators[new_slot] + 1.0)
            counts[start + old] -= 1
            counts[start + new] += 1
            classes[i] = new
    for k in range(n_classes):
        class_totals[k] = np.int64(round(denominators[k] - words_omega))
    class_totals[n_classes] = np.int64(round(denominators[background_slot] - words_omega))


@kernel(error_model="numpy")
def sweep_parallel(  # type: ignore[no-untyped-def]
    tokens,
    message_offsets,
    conversation_offsets,
    first_conversation,
    classes,
    word_weights,
    alpha,
    switch,
    switch_prior,
    class_probability,
    key,
    word_class_counts,
    token_weights,
):
    """Resample every token of a shard given the word distributions: (a) and (b).

    Conversations are independent, with one stream each and one uniform per token. The same
    kernel folds new messages in, with frozen distributions.

    Parameters
    ----------
    tokens : array of int32, shape (n_tokens,). IN
    message_offsets : array of int64, shape (n_messages + 1,). IN
    conversation_offsets : array of int64, shape (n_conversations + 1,). IN
    first_conversation : int. IN
    classes : array of int16, shape (n_tokens,). IN-OUT
    word_weights : array of float64, shape (n_words, n_classes + 1). IN
    alpha : array of float64, shape (n_classes,). IN
    switch : int, one of palaver.kernels.switch. IN
    switch_prior : array of float64, shape (2,). IN
    class_probability : float, used by SWITCH_CORPUS. IN
    key : array of uint64, shape (2,). IN
    word_class_counts : array of int32, shape (n_words, n_classes + 1). IN-OUT
        The counts of the new classes are added; with no rows nothing is counted (fold-in).
    token_weights : array of float64, shape (n_recorded, n_classes + 1). OUT
        The distributions from which the first tokens were drawn; usually none are recorded.

    Cost O(n_tokens * n_classes), by eights; memory O(n_classes) in addition to the arguments.
    """
    n_classes = alpha.shape[0]
    n_blocks = n_lane_blocks(n_classes)
    background_slot = uint64(LANES * n_blocks)
    row_length = uint64(word_weights.shape[1])
    weights = word_weights.reshape(-1)
    counts = word_class_counts.reshape(-1)
    n_lines = (n_classes + 7) // 8 + 1  # of 64 bytes, for a row that begins inside one
    last_token = uint64(max(tokens.shape[0] - 1, 0))
    alpha_sum = alpha.sum()
    beta_prior = (switch_prior[0], switch_prior[1])
    order = outcome_order(n_classes, switch != SWITCH_OFF)
    size = LANES * n_blocks + LANES
    factors, running, spare = aligned(size), aligned(size), np.zeros(size)
    state = np.empty(4, np.uint64)
    for c in range(conversation_offsets.shape[0] - 1):
        open_stream(key, first_conversation + c, state)
        for b in range(conversation_offsets[c], conversation_offsets[c + 1]):
            first, last = message_offsets[b], message_offsets[b + 1]
            _open_message(classes[first:last], alpha, background_slot, factors)
            for i in range(uint64(first), uint64(last)):
                ahead = uint64(tokens[min(i + uint64(TOKENS_AHEAD), last_token)]) * row_length
                for line in range(n_lines):
                    prefetch_line(weights, ahead + uint64(8 * line))
                start = uint64(tokens[i]) * row_length
                old = uint64(classes[i])
                slot = old if old < uint64(n_classes) else background_slot
                old_weight = (factors[slot] - 1.0) * weights[start + old]
                background_weight = 0.0
                if switch != SWITCH_OFF:
                    is_background = 1.0 if slot == background_slot else 0.0
                    message_background = factors[background_slot] - is_background
                    message_class = last - first - 1.0 - message_background
                    for_background, for_class = drawn_switch_weights(
                        switch, class_probability, message_background, message_class, beta_prior
                    )
                    odds = _background_odds(
                        for_background, for_class, message_class, alpha_sum,
                        weights[start + uint64(n_classes)], 1.0,
                    )  # fmt: skip
                    background_weight = (1.0 - is_background) * odds
                    old_weight = (1.0 - is_background) * old_weight + is_background * odds
                if start + background_slot > uint64(weights.size):
                    for k in range(n_classes):
                        spare[k] = weights[start + uint64(k)]
                rank = choose_outcome(
                    weights, start, spare, 0.0, factors, slot, running, n_blocks,
                    background_weight, old_weight, uniform(state),
                )  # fmt: skip
                if i < uint64(token_weights.shape[0]):
                    _record_weights(
                        running, n_classes, old, background_weight, old_weight, token_weights[i]
                    )
                new_slot = order[rank]
                if new_slot > background_slot:
                    new_slot = slot
                new = min(new_slot, uint64(n_classes))
                factors[slot] -= 1.0
                factors[new_slot] += 1.0
                if counts.size > 0:
                    counts[start + new] += 1
                classes[i] = new


@kernel
def message_histograms(  # type: ignore[no-untyped-def]
    message_offsets, classes, first_class, class_histograms, length_histogram
):
    """Add the numbers of messages with ``n`` tokens of a class, and ``n`` tokens of any class.

    For :func:`palaver.kernels.dirichlet.update_alpha` and
    :func:`palaver.kernels.dirichlet.log_classes`. Zero counts of a class are left out
    (neither needs them); messages without any token of a class are counted.

    Parameters
    ----------
    message_offsets : array of int64, shape (n_messages + 1,). IN
    classes : array of int16, shape (n_tokens,). IN
    first_class : int. IN
        Number of the first class; numbers below and beyond the classes are not classes.
    class_histograms : array of int64, shape (n_classes, longest + 1). IN-OUT
    length_histogram : array of int64, shape (longest + 1,). IN-OUT
        ``longest`` is the length of the longest message, or more.

    Returns
    -------
    int
        The largest count of a class in a message: ``class_histograms`` is zero beyond.

    Cost O(n_tokens + n_messages).
    """
    n_classes = class_histograms.shape[0]
    largest = 0
    message_counts = np.zeros(n_classes + 1, np.int64)  # the last is for tokens without a class
    for b in range(message_offsets.shape[0] - 1):
        first, last = message_offsets[b], message_offsets[b + 1]
        for i in range(first, last):
            k = np.int64(classes[i]) - first_class
            message_counts[k if 0 <= k < n_classes else n_classes] += 1
        length_histogram[last - first - message_counts[n_classes]] += 1
        message_counts[n_classes] = 0
        is_long = last - first > n_classes
        for i in range(n_classes if is_long else last - first):
            k = np.int64(i) if is_long else np.int64(classes[first + i]) - first_class
            if 0 <= k < n_classes and message_counts[k] > 0:
                class_histograms[k, message_counts[k]] += 1
                largest = max(largest, message_counts[k])
                message_counts[k] = 0  # count each class once
    return largest
