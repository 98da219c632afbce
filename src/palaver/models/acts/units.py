"""What bears an act: messages, or their sentences, and which unit each one follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Encoded
from palaver.errors import ParameterError
from palaver.models.acts.addressees import behind_addressees

#: How a unit follows the one before it: said by somebody else, by the same speaker (or nobody
#: knows by whom), or in the same message.
RELATIONS = ("other speaker", "same speaker", "same message")
OTHER, SAME, WITHIN = 0, 1, 2
#: Sentences per message from which ``unit="auto"`` takes sentences.
MANY_SENTENCES = 2.0


@dataclass(frozen=True, eq=False)
class Units:
    """Units of a corpus as flat arrays.

    Attributes
    ----------
    tokens : array of int32, shape (n_tokens,)
        Word numbers, -1 for unknown words.
    offsets : array of int64, shape (n_units + 1,)
        Among the tokens; every message has at least one unit, an empty one if it has no words.
    messages : array of int64, shape (n_units,)
        The message that each unit belongs to; ascending.
    parents : array of int32, shape (n_units,)
        The unit before: of the same message, else the last one of the message that is answered,
        or of the message before where no replies are known. -1 at a start.
    relations : array of int8, shape (n_units,)
        Number in :data:`RELATIONS`.
    conversations : array of int64, shape (n_conversations + 1,)
        First unit of each.
    begins : array of int64, shape (n_units,)
        Where each unit begins among the tokens, behind the person it is addressed to
        (:mod:`palaver.models.acts.addressees`).
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    messages: NDArray[np.int64]
    parents: NDArray[np.int32]
    relations: NDArray[np.int8]
    conversations: NDArray[np.int64]
    begins: NDArray[np.int64]

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.messages)


def choose_unit(unit: str, data: Encoded) -> str:
    """Return what ``unit`` stands for: "message" or "sentence"."""
    has_sentences = len(data.sentence_offsets) > 0
    if unit == "sentence" and not has_sentences:
        raise ParameterError(
            "Acts: unit='sentence' needs sentence boundaries; encode with sentences=True"
        )
    if unit != "auto":
        return unit
    spoken = int((np.diff(data.message_offsets) > 0).sum())
    n_sentences = len(data.sentence_offsets) - 1
    many = has_sentences and n_sentences >= MANY_SENTENCES * max(spoken, 1)
    return "sentence" if many else "message"


def units_of(data: Encoded, unit: str) -> Units:
    """Cut a corpus into units.

    Parameters
    ----------
    data : Encoded
    unit : {"message", "sentence"}
    """
    bounds = np.asarray(data.message_offsets)
    if unit == "sentence":
        if not len(data.sentence_offsets):
            raise ParameterError("Acts: encode new conversations with sentences=True")
        bounds = np.sort(np.concatenate((bounds, _inner(data))))
    starts = bounds[:-1]
    messages = _messages_of(np.asarray(data.message_offsets), starts, bounds)
    n_units = len(messages)
    first = np.searchsorted(messages, np.arange(data.n_messages))
    last = np.searchsorted(messages, np.arange(data.n_messages), side="right") - 1
    before = _messages_before(data)
    parents = np.full(n_units, -1, np.int32)
    relations = np.full(n_units, WITHIN, np.int8)
    parents[1:] = np.arange(n_units - 1)
    parents[first] = np.where(before >= 0, last[before], -1)
    speakers = np.asarray(data.speakers.codes)
    same = (before >= 0) & (speakers == speakers[before]) & (speakers >= 0)
    relations[first] = np.where(same, SAME, OTHER)
    conversations = np.append(first, n_units)[np.asarray(data.conversation_offsets)]
    tokens = np.asarray(data.tokens)
    begins = behind_addressees(data, tokens, bounds)
    return Units(tokens, bounds, messages, parents, relations, conversations, begins)


def _inner(data: Encoded) -> NDArray[np.int64]:
    """Return the bounds of sentences that are not bounds of messages."""
    bounds, messages = np.asarray(data.sentence_offsets), np.asarray(data.message_offsets)
    return np.asarray(bounds[messages[np.searchsorted(messages, bounds)] != bounds])


def _messages_of(
    offsets: NDArray[np.int64], starts: NDArray[np.int64], bounds: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the message of each unit; messages without words have an empty unit each."""
    messages = np.zeros(len(starts), np.int64)
    empty = np.diff(bounds) == 0
    messages[~empty] = np.searchsorted(offsets, starts[~empty], side="right") - 1
    messages[empty] = np.flatnonzero(np.diff(offsets) == 0)
    return messages


def _messages_before(data: Encoded) -> NDArray[np.int64]:
    """Return the message that each one follows: what it answers, or the one before it; -1.

    The message before counts in conversations without any known reply.
    """
    parents = np.asarray(data.parents).astype(np.int64)
    starts = np.asarray(data.conversation_offsets)
    lengths = np.diff(starts)
    before = np.arange(data.n_messages) - 1
    before[starts[:-1][lengths > 0]] = -1
    conversation = np.repeat(np.arange(len(lengths)), lengths)
    linked = np.bincount(conversation, weights=parents >= 0, minlength=len(lengths)) > 0
    return np.where(linked[conversation], parents, before)


def has_replies(data: Encoded) -> bool:
    """Whether the corpus says who answers whom."""
    return bool((np.asarray(data.parents) >= 0).any())
