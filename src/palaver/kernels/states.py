"""States of a shard: how they start, their counts, and the likelihood of their switches."""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import kernel
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.switch import SWITCH_OFF, log_switch


@kernel
def start_classes(  # type: ignore[no-untyped-def]
    message_offsets, conversation_offsets, first_conversation, n_classes, switch, switch_prior,
    key, classes,
):  # fmt: skip
    """Set the ``classes`` that a chain starts with: switches by prior mean, classes uniform.

    Parameters
    ----------
    message_offsets, conversation_offsets, first_conversation, switch, switch_prior, key : IN
        One stream per conversation.
    n_classes : int. IN
    classes : array of int16, shape (n_tokens,). OUT

    Cost O(n_tokens).
    """
    background_share = 0.0
    if switch != SWITCH_OFF:
        background_share = switch_prior[0] / (switch_prior[0] + switch_prior[1])
    state = np.empty(4, np.uint64)
    for c in range(conversation_offsets.shape[0] - 1):
        open_stream(key, first_conversation + c, state)
        first = message_offsets[conversation_offsets[c]]
        for i in range(first, message_offsets[conversation_offsets[c + 1]]):
            draw = uniform(state)
            if draw < background_share:
                classes[i] = n_classes
            else:
                share = (draw - background_share) / (1.0 - background_share)
                classes[i] = min(int(share * n_classes), n_classes - 1)


@kernel
def open_messages(  # type: ignore[no-untyped-def]
    message_offsets, conversation_offsets, first_conversation, n_classes, switch, key,
    message_classes, background,
):  # fmt: skip
    """Draw a class for each message and, with probability 1/2, the background for each token.

    Parameters
    ----------
    message_offsets, conversation_offsets : arrays of the shard. IN
    first_conversation, n_classes, switch : int. IN
    key : array of uint64, shape (2,). IN
    message_classes : array of int16, shape (n_messages,). OUT
    background : array of uint8, shape (n_tokens,). OUT
    """
    state = np.empty(4, np.uint64)
    for conversation in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + conversation, state)
        for b in range(conversation_offsets[conversation], conversation_offsets[conversation + 1]):
            message_classes[b] = int(uniform(state) * n_classes)
            for i in range(message_offsets[b], message_offsets[b + 1]):
                background[i] = 1 if switch != SWITCH_OFF and uniform(state) < 0.5 else 0


@kernel
def count_classes(tokens, classes, word_class_counts):  # type: ignore[no-untyped-def]
    """Add one to ``word_class_counts[tokens[i], classes[i]]`` (IN-OUT) for every token."""
    for i in range(tokens.shape[0]):
        word_class_counts[tokens[i], classes[i]] += 1


@kernel
def add_message_counts(message_offsets, classes, counts):  # type: ignore[no-untyped-def]
    """Add the classes of each message's tokens to its row, without the background.

    Parameters
    ----------
    message_offsets : array of int64, shape (n_messages + 1,). IN
    classes : array of int16, shape (n_tokens,). IN
    counts : array of float64, shape (n_messages, K). IN-OUT
    """
    n_classes = counts.shape[1]
    for b in range(len(message_offsets) - 1):
        for i in range(message_offsets[b], message_offsets[b + 1]):
            if classes[i] < n_classes:
                counts[b, classes[i]] += 1.0


@kernel
def log_message_switches(  # type: ignore[no-untyped-def]
    message_offsets, classes, n_classes, switch_prior
):
    """Return the log probability of all switches, one Beta-binomial per message.

    This is what SWITCH_MESSAGE adds to the log joint of
    :func:`palaver.kernels.dirichlet.log_classes`; for SWITCH_CORPUS it is one
    :func:`palaver.kernels.switch.log_switch` of the column sums. IN only; O(n_tokens).
    """
    result = 0.0
    for b in range(message_offsets.shape[0] - 1):
        n_background = 0
        for i in range(message_offsets[b], message_offsets[b + 1]):
            n_background += classes[i] == n_classes
        length = message_offsets[b + 1] - message_offsets[b]
        result += log_switch(n_background, length - n_background, switch_prior)
    return result


@kernel
def start_outcomes(  # type: ignore[no-untyped-def]
    message_offsets, conversation_offsets, first_conversation, segment_offsets, unit_offsets,
    fixed_classes, n_classes, n_topics, switch_prior, key, classes, segment_classes,
):  # fmt: skip
    """Set the outcomes that a chain of M4 starts with: kinds by prior mean, the rest uniform.

    Parameters
    ----------
    message_offsets, conversation_offsets, first_conversation, key : IN
        One stream per conversation.
    segment_offsets, unit_offsets : IN
        Without segments, ``segment_classes`` has no entries and these are not used.
    fixed_classes : array of int16, shape (n_messages,). IN
    n_classes, n_topics : int; switch_prior : array of float64, shape (3,). IN
    classes, segment_classes : arrays of int16. OUT

    Cost O(n_tokens).
    """
    total = switch_prior.sum()
    state = np.empty(4, np.uint64)
    for c in range(conversation_offsets.shape[0] - 1):
        open_stream(key, first_conversation + c, state)
        for b in range(conversation_offsets[c], conversation_offsets[c + 1]):
            segment = unit_offsets[b]
            for i in range(message_offsets[b], message_offsets[b + 1]):
                own = fixed_classes[b]
                if own < 0:
                    own = int(uniform(state) * n_classes)
                if segment_classes.shape[0] > 0:
                    if i == message_offsets[b]:
                        segment_classes[segment] = own
                    elif segment_offsets[segment + 1] <= i:
                        segment += 1
                        segment_classes[segment] = own
                    own = segment_classes[segment]
                draw = uniform(state) * total
                if draw < switch_prior[0]:
                    classes[i] = n_classes
                elif draw < switch_prior[0] + switch_prior[1]:
                    classes[i] = own
                else:
                    classes[i] = n_classes + 1 + int(uniform(state) * n_topics)
