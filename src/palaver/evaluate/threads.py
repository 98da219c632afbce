"""How well reply structure was rebuilt, and baselines that need no model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palaver.errors import ParameterError
from palaver.evaluate.clustering import contingency, one_to_one, variation_of_information
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
    """Return the share of messages with the right parent; a start must be found as a start.

    Parameters
    ----------
    found, gold : array-like of int, shape (n_messages,)
        Row of the message that each one replies to; any negative number is a start.
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
    """Return the numbers of right parents and of messages in each conversation.

    Returns
    -------
    array of float64, shape (n_conversations, 2)
        Sums for :func:`palaver.evaluate.paired_bootstrap`.
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
    """Return the exact expected accuracy of parents chosen uniformly at random.

    Parameters
    ----------
    conversation_offsets : array-like of int, shape (n_conversations + 1,)
    order : {None, "time"}
        None: any other message of the conversation, or none, may be the parent, so the
        expectation is the number of conversations divided by that of messages. "time": only
        earlier messages, or none.
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
    """Make every message a reply to the previous one; the first of a conversation is a start."""
    limits = np.asarray(conversation_offsets, np.int64)
    parents = np.arange(limits[-1]) - 1
    parents[limits[:-1][np.diff(limits) > 0]] = -1
    return parents


def first_parents(conversation_offsets: ArrayLike) -> NDArray[np.int64]:
    """Make every message a reply to the first one of its conversation, which is a start."""
    limits = np.asarray(conversation_offsets, np.int64)
    parents = np.repeat(limits[:-1], np.diff(limits))
    parents[limits[:-1][np.diff(limits) > 0]] = -1
    return parents


def thread_baselines(
    gold: ArrayLike, conversation_offsets: ArrayLike, order: str | None = None
) -> dict[str, float]:
    """Return the accuracy of baselines that need no model: random, previous and first message."""
    theirs, _ = _arrays(gold, conversation_offsets)
    return {
        "random": random_parents_accuracy(conversation_offsets, order),
        "previous": thread_accuracy(previous_parents(conversation_offsets), theirs),
        "first": thread_accuracy(first_parents(conversation_offsets), theirs),
    }


def link_scores(found: ArrayLike, gold: ArrayLike) -> dict[str, float]:
    """Return precision, recall and F1 of the reply links; starts have none.

    Parameters
    ----------
    found, gold : array-like of int, shape (n_messages,)
        Row of the message that each one replies to; any negative number is a start.

    Returns
    -------
    dict
        precision, recall, f1; 0 if there is nothing to count.
    """
    mine, theirs = np.asarray(found, np.int64), np.asarray(gold, np.int64)
    if mine.shape != theirs.shape:
        raise ParameterError(
            f"found and gold must have a parent for each message, got {len(mine)} and {len(theirs)}"
        )
    right = int(((mine == theirs) & (mine >= 0)).sum())
    return _precision_recall(right, int((mine >= 0).sum()), int((theirs >= 0).sum()))


def _precision_recall(right: int, found: int, gold: int) -> dict[str, float]:
    """Return precision, recall and F1 from counts."""
    return {
        "precision": right / found if found else 0.0,
        "recall": right / gold if gold else 0.0,
        "f1": 2 * right / (found + gold) if found + gold else 0.0,
    }


def exact_match(found: ArrayLike, gold: ArrayLike) -> dict[str, float]:
    """Return precision, recall and F1 of conversations that were found exactly.

    Conversations of one message are ignored, as is usual (Kummerfeld et al. 2019).

    Parameters
    ----------
    found, gold : array-like of int, shape (n_messages,)
        Number of each message's conversation.
    """
    table = contingency(found, gold)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    whole = (table == rows[:, None]) & (table == columns) & (table > 1)
    return _precision_recall(int(whole.sum()), int((rows > 1).sum()), int((columns > 1).sum()))


def conversation_scores(found: ArrayLike, gold: ArrayLike) -> dict[str, float]:
    """Return how well a channel was split into conversations.

    Parameters
    ----------
    found, gold : array-like of int, shape (n_messages,)
        Number of each message's conversation.

    Returns
    -------
    dict
        ``vi``, the variation of information in bits (0 is best); ``scaled_vi``, 1 - vi / log2 N
        (1 is best); ``one_to_one``, the share of messages in matched conversations under the
        best one-to-one matching of found and true ones; ``exact_f1`` of :func:`exact_match`.
    """
    normalized = float(variation_of_information(found, gold, normalized=True))
    return {
        "vi": float(variation_of_information(found, gold)),
        "scaled_vi": 1 - normalized,
        "one_to_one": float(one_to_one(found, gold)),
        "exact_f1": exact_match(found, gold)["f1"],
    }


def reliability(
    probabilities: ArrayLike, right: ArrayLike, n_bins: int = 10
) -> tuple[float, NDArray[np.float64]]:
    """Return how well probabilities are calibrated, overall and by bin.

    Parameters
    ----------
    probabilities : array-like, shape (n_messages,)
        Probabilities of the chosen parents.
    right : array-like of bool, shape (n_messages,)
    n_bins : int
        Number of bins of equal width.

    Returns
    -------
    error : float
        Expected calibration error: the mean over messages of the distance between the mean
        probability and the share of right parents in their bin.
    bins : array of float64, shape (n_bins, 3)
        Number of messages, mean probability, share of right parents; zeros in empty bins.
    """
    chances, hits = np.asarray(probabilities, float), np.asarray(right, float)
    numbers = np.minimum((chances * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(numbers, minlength=n_bins)
    sums = [np.bincount(numbers, values, n_bins) for values in (chances, hits)]
    means = np.column_stack(sums) / np.maximum(counts, 1)[:, None]
    error = float(np.abs(means[:, 0] - means[:, 1]) @ counts / max(counts.sum(), 1))
    return error, np.column_stack((counts, means))
