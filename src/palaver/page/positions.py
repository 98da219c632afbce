"""What people do at which position of a thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus

_SINGLE, _TENTHS = 8, 10


@dataclass(frozen=True)
class Positions:
    """Mean class shares of messages by their position in a conversation.

    Attributes
    ----------
    labels : list of str
    shares : array of float64, shape (n_positions, n_classes)
    counts : array of int64, shape (n_positions,)
        Messages at each position.
    axis : str
        What the labels stand for.
    """

    labels: list[str]
    shares: NDArray[np.float64]
    counts: NDArray[np.int64]
    axis: str


def by_position(
    corpus: Corpus,
    shares: NDArray[np.float64],
    speaking: NDArray[np.bool_],
    unit: str = "thread",
) -> Positions:
    """Average the shares of messages that have words by position.

    Positions are the first, second, ... eighth message and all later ones; in corpora of long
    conversations (half of the messages are beyond the fortieth), tenths of the conversation.
    ``unit`` is what a conversation is called.
    """
    lengths = np.diff(corpus.conversation_offsets)
    order = np.arange(corpus.n_messages) - np.repeat(corpus.conversation_offsets[:-1], lengths)
    if len(order) and np.median(order) > 40:
        place = order * _TENTHS // np.maximum(np.repeat(lengths, lengths), 1)
        labels = [f"{i * 10}–{i * 10 + 10}%" for i in range(_TENTHS)]
        axis = f"part of the {unit}"
    else:
        place = np.minimum(order, _SINGLE)
        last = int(place.max(initial=0))
        labels = [_ordinal(i + 1) for i in range(min(last + 1, _SINGLE))]
        labels += ["later"] if last == _SINGLE else []
        axis = f"position in the {unit}"
    counts = np.bincount(place[speaking], minlength=len(labels))
    sums = np.zeros((len(labels), shares.shape[1]))
    np.add.at(sums, place[speaking], shares[speaking])
    return Positions(labels, sums / np.maximum(counts, 1)[:, None], counts, axis)


def _ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")
