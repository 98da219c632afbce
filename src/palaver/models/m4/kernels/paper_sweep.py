"""Mixed membership Markov models: every token of a message has a class (spec 1, "M4").

The classes of a message's tokens are drawn from a softmax of the class histogram of its parent:

    pi_b = softmax(weights' features of the parent)                                          (1)
    P(z = k | rest)  ∝  pi_b[k] * switch * word factor of k * child factor of k              (2)
    P(background)    ∝  switch * word factor of the background * its child factor

``weights`` has the source in its rows: the classes of the parent, start (a message without
parent), bias. The word factor is ``(n_wk + omega) / (n_k + W omega)``, or ``word_weights[w, k]``
where word distributions are given. The child factor is the probability of the children's classes
(:mod:`palaver.models.m4.kernels.paper_replies`); a message whose children have no class-bearing
tokens has none. How tokens are drawn from (2) is in :mod:`palaver.models.m4.kernels.paper_tokens`.

Messages are visited parents first and siblings together, so (1) is computed once for all children
of a message and nothing is kept per message but the links to its children. Numbers are safe for
weights up to 200 in size and for messages and families of any length.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import aligned, outcome_order
from palaver.kernels.simd.vectors import exponentials, weighted_rows
from palaver.kernels.switch import SWITCH_OFF
from palaver.kernels.trees import link_children
from palaver.models.m4.kernels.paper_replies import lay_out, make_children
from palaver.models.m4.kernels.paper_tokens import Words, sample_exact, sample_proposed

FloatArray = NDArray[np.float64]


@njit(cache=True)
def _make_links(conversation_offsets):  # type: ignore[no-untyped-def]
    """Return the arrays that :func:`link_children` sets, for the largest conversation."""
    n_messages = longest_stretch(conversation_offsets)
    return np.empty(n_messages + 1, np.int32), np.empty(n_messages, np.int32)


@njit(cache=True, forceinline=True, _nrt=False)
def _add_histogram(classes, first, last, histogram):  # type: ignore[no-untyped-def]
    for i in range(uint64(first), uint64(last)):
        histogram[uint64(classes[i])] += 1.0


@njit(cache=True, error_model="numpy", _nrt=False)
def set_transition(  # type: ignore[no-untyped-def]
    classes, first, last, is_start, start_row, layout, histogram, transition
):
    """Set ``transition`` (OUT) to (1) for the children of a message, or for roots.

    classes: (n_tokens,) IN, the message has the tokens ``first .. last-1``; is_start: for roots;
    start_row: (n_classes,) IN; histogram: scratch. O(message length + K^2).
    """
    n_classes, n_blocks = layout.n_classes, layout.n_blocks
    bias = layout.bias
    if is_start:
        for j in range(n_classes):
            transition[j] = bias[j] + start_row[j]
    else:
        histogram[:] = 0.0
        _add_histogram(classes, first, last, histogram)
        inverse = 1.0 / max(last - first - histogram[n_classes], 1.0)
        weighted_rows(histogram, layout.rows, n_classes, n_blocks, transition)
        for j in range(n_classes):
            transition[j] = bias[j] + transition[j] * inverse
    total = exponentials(transition, 0.0, 1.0, layout.mask, n_blocks, transition)
    for j in range(n_classes):
        transition[j] *= 1.0 / total


@njit(cache=True, error_model="numpy", _nrt=False)
def _open_children(  # type: ignore[no-untyped-def]
    classes, message_offsets, first_message, message, first_child, next_sibling, layout, children
):
    """Set counts, sums and scores of ``children`` for a message; return their class tokens ``M``.

    Where that is zero, only counts are set. O(tokens of the message and its children + K^2).
    """
    n_classes, n_blocks = layout.n_classes, layout.n_blocks
    counts, values = children.counts, children.values
    child = first_child[message]
    if child < 0:
        return 0.0
    counts[:] = 0.0
    n_tokens = 0
    while child >= 0:
        first = message_offsets[first_message + child]
        last = message_offsets[first_message + child + 1]
        _add_histogram(classes, first, last, counts)
        n_tokens += last - first
        child = next_sibling[child]
    n_child_tokens = n_tokens - counts[n_classes]
    counts[n_classes] = 0.0
    if n_child_tokens > 0.0:
        weighted_rows(counts, layout.columns, n_classes, n_blocks, children.sums)
        values[:] = 0.0
        first = message_offsets[first_message + message]
        last = message_offsets[first_message + message + 1]
        _add_histogram(classes, first, last, values)
        weighted_rows(values, layout.rows, n_classes, n_blocks, children.scores)
    return n_child_tokens


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(  # type: ignore[no-untyped-def]
    is_collapsed, is_metropolis, tokens, message_offsets, parents, conversation_offsets,
    first_conversation, classes, word_class_counts, class_totals, word_weights, weights, omega,
    switch, switch_prior, class_probability, key, recorded,
):  # fmt: skip
    """Both samplers on both kinds of words; see :func:`sweep_collapsed`, :func:`sweep_parallel`."""
    layout = lay_out(weights)
    n_classes, n_blocks, stride = layout.n_classes, layout.n_blocks, layout.stride
    children = make_children(n_classes)
    size = stride + LANES
    transition, histogram = aligned(size), aligned(size)
    base, factors = aligned(size), aligned(size)
    words_omega = word_class_counts.shape[0] * omega
    denominators = np.ones(size)
    if is_collapsed:
        for k in range(n_classes):
            denominators[k] = class_totals[k] + words_omega
        denominators[stride] = class_totals[n_classes] + words_omega
    words = Words(
        is_collapsed, n_classes, n_blocks, tokens.shape[0], omega, words_omega, switch,
        (switch_prior[0], switch_prior[1]), class_probability, tokens, classes,
        word_class_counts.reshape(-1), word_weights.reshape(-1), np.zeros(size, np.int32),
        np.zeros(size), outcome_order(n_classes, switch != SWITCH_OFF), denominators,
        aligned(size),
    )  # fmt: skip
    first_child, next_sibling = _make_links(conversation_offsets)
    state = np.empty(4, np.uint64)
    open_stream(key, 0, state)
    for c in range(conversation_offsets.shape[0] - 1):
        if not is_collapsed:
            open_stream(key, first_conversation + c, state)
        first_message = conversation_offsets[c]
        n_messages = conversation_offsets[c + 1] - first_message
        link_children(parents, first_message, n_messages, first_child, next_sibling)
        for parent in range(-1, n_messages):
            message = first_child[parent if parent >= 0 else n_messages]
            if message < 0:
                continue
            place = first_message + max(parent, 0)
            set_transition(
                classes, message_offsets[place], message_offsets[place + 1], parent < 0,
                weights[n_classes], layout, histogram, transition,
            )  # fmt: skip
            while message >= 0:
                first = message_offsets[first_message + message]
                last = message_offsets[first_message + message + 1]
                n_child_tokens = _open_children(
                    classes, message_offsets, first_message, message, first_child, next_sibling,
                    layout, children,
                )  # fmt: skip
                if is_metropolis or n_child_tokens == 0.0:
                    sample_proposed(
                        first, last, n_child_tokens, transition, factors, words, layout, children,
                        state, recorded,
                    )  # fmt: skip
                else:
                    sample_exact(
                        first, last, n_child_tokens, transition, base, factors, words, layout,
                        children, state, recorded,
                    )  # fmt: skip
                message = next_sibling[message]
    if is_collapsed:
        for k in range(n_classes):
            class_totals[k] = np.int64(round(denominators[k] - words_omega))
        class_totals[n_classes] = np.int64(round(denominators[stride] - words_omega))


def sweep_collapsed(
    tokens: NDArray[np.int32],
    message_offsets: NDArray[np.int64],
    parents: NDArray[np.int32],
    conversation_offsets: NDArray[np.int64],
    classes: NDArray[np.int16],
    word_class_counts: NDArray[np.int32],
    class_totals: NDArray[np.int64],
    weights: FloatArray,
    omega: float,
    switch: int,
    switch_prior: FloatArray,
    is_metropolis: bool,
    key: NDArray[np.uint64],
    recorded: FloatArray,
) -> None:
    """Resample every token given all others, word distributions integrated out.

    One stream for the sweep. Releases the GIL.

    Parameters
    ----------
    tokens : array of int32, shape (n_tokens,). IN
    message_offsets : array of int64, shape (n_messages + 1,). IN
    parents : array of int32, shape (n_messages,). IN
    conversation_offsets : array of int64, shape (n_conversations + 1,). IN
    classes : array of int16, shape (n_tokens,). IN-OUT
    word_class_counts : array of int32, shape (n_words, n_classes + 1). IN-OUT
    class_totals : array of int64, shape (n_classes + 1,). IN-OUT
    weights : array of float64, shape (n_classes + 2, n_classes). IN
    omega : float. IN
    switch : int, one of palaver.kernels.switch. IN
    switch_prior : array of float64, shape (2,). IN
    is_metropolis : bool. IN
        Draw tokens of messages with children by Metropolis-Hastings, not exactly.
    key : array of uint64, shape (2,). IN
    recorded : array of float64, shape (n_recorded, 3, n_classes + 1). OUT
        See :mod:`palaver.models.m4.kernels.paper_tokens`; usually of no rows.

    O(K) a token, mostly; memory O(K^2) and 8 bytes a message of the largest conversation.
    """
    _sweep(
        True, bool(is_metropolis), tokens, message_offsets, parents, conversation_offsets, 0,
        classes, word_class_counts, class_totals, np.empty((0, 0)), weights, float(omega),
        int(switch), switch_prior, 1.0, key, recorded,
    )  # fmt: skip


def sweep_parallel(
    tokens: NDArray[np.int32],
    message_offsets: NDArray[np.int64],
    parents: NDArray[np.int32],
    conversation_offsets: NDArray[np.int64],
    first_conversation: int,
    classes: NDArray[np.int16],
    word_weights: FloatArray,
    weights: FloatArray,
    switch: int,
    switch_prior: FloatArray,
    class_probability: float,
    is_metropolis: bool,
    key: NDArray[np.uint64],
    word_class_counts: NDArray[np.int32],
    recorded: FloatArray,
) -> None:
    """Resample every token of a shard given the word distributions.

    Conversations are independent: one stream for each. The same kernel folds new conversations
    in, with everything frozen. Releases the GIL. As :func:`sweep_collapsed`, and

    Parameters
    ----------
    first_conversation : int. IN
    word_weights : array of float64, shape (n_words, n_classes + 1). IN
    class_probability : float, used by SWITCH_CORPUS. IN
    word_class_counts : array of int32, shape (n_words, n_classes + 1). IN-OUT
        The counts of the new classes are added; with no rows nothing is counted (fold-in).
    """
    _sweep(
        False, bool(is_metropolis), tokens, message_offsets, parents, conversation_offsets,
        int(first_conversation), classes, word_class_counts, np.empty(0, np.int64), word_weights,
        weights, 1.0, int(switch), switch_prior, float(class_probability), key, recorded,
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def message_transitions(  # type: ignore[no-untyped-def]
    message_offsets, parents, conversation_offsets, classes, weights, transitions
):
    """Set row ``b`` of ``transitions`` to (1), the class distribution of message ``b``.

    Parameters
    ----------
    message_offsets, parents, conversation_offsets : arrays of the shard. IN
    classes : array of int16, shape (n_tokens,). IN
    weights : array of float64, shape (n_classes + 2, n_classes). IN
    transitions : array of float64, shape (n_messages, n_classes). OUT

    O(n_tokens + K^2 for each message with children + K for each message).
    """
    layout = lay_out(weights)
    n_classes = layout.n_classes
    transition, histogram = aligned(layout.stride + LANES), aligned(layout.stride + LANES)
    first_child, next_sibling = _make_links(conversation_offsets)
    for c in range(conversation_offsets.shape[0] - 1):
        first_message = conversation_offsets[c]
        n_messages = conversation_offsets[c + 1] - first_message
        link_children(parents, first_message, n_messages, first_child, next_sibling)
        for parent in range(-1, n_messages):
            message = first_child[parent if parent >= 0 else n_messages]
            if message < 0:
                continue
            place = first_message + max(parent, 0)
            set_transition(
                classes, message_offsets[place], message_offsets[place + 1], parent < 0,
                weights[n_classes], layout, histogram, transition,
            )  # fmt: skip
            while message >= 0:
                transitions[first_message + message] = transition[:n_classes]
                message = next_sibling[message]
