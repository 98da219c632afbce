"""First states: classes and switches drawn evenly, from each conversation's own stream."""

from __future__ import annotations

import numpy as np
from numba import njit

from palaver.kernels.random import open_stream, uniform
from palaver.kernels.switch import SWITCH_OFF


@njit(cache=True, nogil=True)
def open_tokens(  # type: ignore[no-untyped-def]
    message_offsets, conversation_offsets, first_conversation, n_classes, switch, key, classes
):
    """Draw a class for each token, or with even odds the background (class ``n_classes``).

    Parameters
    ----------
    message_offsets, conversation_offsets : arrays of the shard. IN
    first_conversation, n_classes, switch : int. IN
    key : array of uint64, shape (2,). IN
    classes : array of int16, shape (n_tokens,). OUT
    """
    state = np.empty(4, np.uint64)
    for conversation in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + conversation, state)
        first = message_offsets[conversation_offsets[conversation]]
        last = message_offsets[conversation_offsets[conversation + 1]]
        for i in range(first, last):
            if switch != SWITCH_OFF and uniform(state) < 0.5:
                classes[i] = n_classes
            else:
                classes[i] = int(uniform(state) * n_classes)


@njit(cache=True, nogil=True)
def open_messages(  # type: ignore[no-untyped-def]
    message_offsets, conversation_offsets, first_conversation, n_classes, switch, key,
    message_classes, background,
):  # fmt: skip
    """Draw a class for each message and, with even odds, the background for each token.

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


@njit(cache=True, nogil=True)
def count_words(tokens, classes, word_class_counts):  # type: ignore[no-untyped-def]
    """Add each token to the counts of its word and class.

    Parameters
    ----------
    tokens : array of int32, shape (n_tokens,). IN
    classes : array of int16, shape (n_tokens,). IN
    word_class_counts : array of int32, shape (W, K+1). IN-OUT
    """
    for i in range(len(tokens)):
        word_class_counts[tokens[i], classes[i]] += 1


@njit(cache=True, nogil=True)
def add_message_counts(message_offsets, classes, counts):  # type: ignore[no-untyped-def]
    """Add the classes of each message's tokens to its row; the background is left out.

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
