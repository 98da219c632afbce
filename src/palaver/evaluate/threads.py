"""How well reply structure was rebuilt, and what needs no model at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palaver.errors import ParameterError
from palaver.params import check, one_of


def _arrays(parents: ArrayLike, offsets: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return parents, and the number of each message's conversation."""
    gold, limits = np.asarray(parents, np.int64), np.asarray(offsets, np.int64)
    if limits[-1] != len(gold):
        raise ParameterError(
            f"conversation_offsets end at {limits[-1]}, but there are {len(gold)} messages"
        )
    return gold, np.repeat(np.arange(len(limits) - 1), np.diff(limits))


def thread_accuracy(found: ArrayLike, gold: ArrayLike) -> float:
    """Return the share of messages with the right parent; starts are right as starts.

    Parameters
    ----------
    found, gold : array-like of int, shape (n_messages,)
        Row of the message that each one answers; any negative number is a start.
    """
    mine, theirs = np.asarray(found, np.int64), np.asarray(gold, np.int64)
    if mine.shape != theirs.shape or not len(mine):
        raise ParameterError(
            f"found and gold must have a parent for each message, got {len(mine)} and {len(theirs)}"
        )
    return float(np.mean(np.maximum(mine, -1) == np.maximum(theirs, -1)))


def right_parents(
    found: ArrayLike, gold: ArrayLike, conversation_offsets: ArrayLike
) -> NDArray[np.float64]:
    """Return how many parents are right, and how many there are, in each conversation.

    Returns
    -------
    array of float64, shape (n_conversations, 2)
        What :func:`palaver.evaluate.paired_bootstrap` resamples.
    """
    theirs, conversation = _arrays(gold, conversation_offsets)
    right = np.maximum(np.asarray(found, np.int64), -1) == np.maximum(theirs, -1)
    n_conversations = len(np.asarray(conversation_offsets)) - 1
    return np.column_stack(
        [
            np.bincount(conversation, right, n_conversations),
            np.bincount(conversation, minlength=n_conversations),
        ]
    ).astype(float)


def random_parents_accuracy(conversation_offsets: ArrayLike, order: str | None = None) -> float:
    """Return the exact expected accuracy of parents chosen evenly at random.

    Parameters
    ----------
    conversation_offsets : array-like of int, shape (n_conversations + 1,)
    order : {None, "time"}
        None: candidates are every other message of the conversation and the start, so the
        expectation is the number of conversations by that of messages. "time": only earlier
        messages and the start.
    """
    check("random_parents_accuracy", {"order": one_of("time")},
          {} if order is None else {"order": order})  # fmt: skip
    limits = np.asarray(conversation_offsets, np.int64)
    lengths = np.diff(limits)
    if not lengths.sum():
        raise ParameterError("there are no messages")
    if order is None:
        candidates = np.repeat(lengths, lengths)
    else:
        candidates = np.arange(limits[0], limits[-1]) - np.repeat(limits[:-1], lengths) + 1
    return float(np.mean(1 / candidates))


def previous_parents(conversation_offsets: ArrayLike) -> NDArray[np.int64]:
    """Let every message answer the one before it; the first of a conversation is a start."""
    limits = np.asarray(conversation_offsets, np.int64)
    parents = np.arange(limits[-1]) - 1
    parents[limits[:-1][np.diff(limits) > 0]] = -1
    return parents


def first_parents(conversation_offsets: ArrayLike) -> NDArray[np.int64]:
    """Let every message answer the first one of its conversation, which is a start."""
    limits = np.asarray(conversation_offsets, np.int64)
    parents = np.repeat(limits[:-1], np.diff(limits))
    parents[limits[:-1][np.diff(limits) > 0]] = -1
    return parents


def thread_baselines(
    gold: ArrayLike, conversation_offsets: ArrayLike, order: str | None = None
) -> dict[str, float]:
    """Return the accuracy of what needs no model: random, previous and first message."""
    theirs, _ = _arrays(gold, conversation_offsets)
    return {
        "random": random_parents_accuracy(conversation_offsets, order),
        "previous": thread_accuracy(previous_parents(conversation_offsets), theirs),
        "first": thread_accuracy(first_parents(conversation_offsets), theirs),
    }
