"""Classes of messages in a mixture of unigrams.

Given shares and words, messages are independent::

    p(z_b = k) proportional to theta_k prod_n phi_k(w_bn)                                    (a)
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.chains import draw_state
from palaver.kernels.compiled import kernel
from palaver.kernels.random import open_stream, uniform


@kernel
def class_weights(tokens, log_words, log_shares, weights):  # type: ignore[no-untyped-def]
    """Set ``weights`` to (a) for one message, scaled so that the largest is one.

    Parameters
    ----------
    tokens : array of int32, the message's words. IN
    log_words : array of float64, shape (W, K). IN
    log_shares : array of float64, shape (K,). IN
    weights : array of float64, shape (K,). OUT

    Cost O(K) for each token.
    """
    weights[:] = log_shares
    for n in range(len(tokens)):
        for k in range(len(weights)):
            weights[k] += log_words[tokens[n], k]
    highest = weights.max()
    for k in range(len(weights)):
        weights[k] = math.exp(weights[k] - highest)


@kernel
def open_classes(  # type: ignore[no-untyped-def]
    conversation_offsets, first_conversation, n_classes, key, classes
):
    """Draw the class of each message evenly, from its conversation's stream.

    Parameters
    ----------
    conversation_offsets : array of the shard. IN
    first_conversation, n_classes : int. IN
    key : array of uint64, shape (2,). IN
    classes : array of int16, shape (n_messages,). OUT
    """
    state = np.empty(4, np.uint64)
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        for b in range(conversation_offsets[c], conversation_offsets[c + 1]):
            classes[b] = int(uniform(state) * n_classes)


@kernel
def draw_classes(  # type: ignore[no-untyped-def]
    tokens, message_offsets, conversation_offsets, first_conversation, log_words, log_shares, key,
    classes, word_counts, class_counts,
):  # fmt: skip
    """Draw the class of each message from (a), and count.

    Parameters
    ----------
    tokens, message_offsets, conversation_offsets : arrays of the shard. IN
    first_conversation : int. IN
    log_words : array of float64, shape (W, K); log_shares : (K,). IN
    key : array of uint64, shape (2,). IN
        One stream per conversation.
    classes : array of int16, shape (n_messages,). OUT
    word_counts : array of int32, shape (W, K); class_counts : array of int64, (K,). IN-OUT

    Cost O(K) for each token.
    """
    state = np.empty(4, np.uint64)
    weights = np.empty(len(log_shares))
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        for b in range(conversation_offsets[c], conversation_offsets[c + 1]):
            message = tokens[message_offsets[b] : message_offsets[b + 1]]
            class_weights(message, log_words, log_shares, weights)
            k = draw_state(weights, uniform(state))
            classes[b] = k
            class_counts[k] += 1
            for n in range(len(message)):
                word_counts[message[n], k] += 1


@kernel
def class_posteriors(  # type: ignore[no-untyped-def]
    tokens, message_offsets, log_words, log_shares, posteriors
):
    """Set the probabilities (a) of each message's classes, (n_messages, K). OUT."""
    for b in range(len(message_offsets) - 1):
        message = tokens[message_offsets[b] : message_offsets[b + 1]]
        class_weights(message, log_words, log_shares, posteriors[b])
        posteriors[b] /= posteriors[b].sum()
