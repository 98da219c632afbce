"""Some conversations of an encoded corpus, without encoding them again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.tokens import Coded, Encoded


def members(
    offsets: NDArray[np.int64], groups: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all members of some groups, group after group, and where each group then begins.

    Parameters
    ----------
    offsets : array of int64, shape (n_groups + 1,)
        Group ``g`` has the members ``offsets[g]`` to ``offsets[g + 1] - 1``.
    groups : array of int, shape (n_chosen,)

    Returns
    -------
    members : array of int64
    offsets : array of int64, shape (n_chosen + 1,)
    """
    lengths = np.diff(offsets)[groups]
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return np.arange(ends[-1]) + np.repeat(offsets[:-1][groups] - ends[:-1], lengths), ends


def take_conversations(encoded: Encoded, conversations: NDArray[np.integer]) -> Encoded:
    """Return some conversations, by number, in the given order.

    Arrays are those of ``encode(corpus.take(conversations), vocabulary)``. What stays as it is
    are the numbers and names of speakers and labels, and the fingerprint; ``n_dropped`` is 0, for
    arrays do not say which conversations had the dropped words.

    Parameters
    ----------
    encoded : Encoded
    conversations : array of int, shape (n_chosen,)
        Each at most once.
    """
    rows, conversation_offsets = members(encoded.conversation_offsets, conversations)
    tokens, message_offsets = members(encoded.message_offsets, rows)
    place = np.full(encoded.n_messages + 1, -1, np.int32)  # -1, no parent, is the last
    place[rows] = np.arange(len(rows))
    others = place[encoded.other_parents]
    others = others[others[:, 0] >= 0]
    return replace(
        encoded,
        tokens=encoded.tokens[tokens],
        message_offsets=message_offsets,
        parents=place[encoded.parents[rows]],
        conversation_offsets=conversation_offsets,
        speakers=_take(encoded.speakers, rows),
        labels={name: _take(coded, rows) for name, coded in encoded.labels.items()},
        n_dropped=0,
        numbers={name: values[rows] for name, values in encoded.numbers.items()},
        other_parents=others[np.lexsort(others.T[::-1])],
        sentence_offsets=_sentences(encoded.sentence_offsets, tokens),
    )


def _take(coded: Coded, rows: NDArray[np.int64]) -> Coded:
    return Coded(coded.codes[rows], coded.names)


def _sentences(offsets: NDArray[np.int64], tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of the sentences of some tokens, which are those of whole messages."""
    if not len(offsets):
        return offsets
    sentence = np.searchsorted(offsets, tokens, side="right")
    starts = np.flatnonzero(np.diff(sentence, prepend=-1))
    return np.concatenate((starts, [len(tokens)]) if len(tokens) else ([0],)).astype(np.int64)


def take_words(encoded: Encoded, wanted: NDArray[np.bool_]) -> tuple[Encoded, NDArray[np.int64]]:
    """Return the messages that have some of the wanted tokens, each alone and with these only.

    Replies, columns and sentences are left out.

    Parameters
    ----------
    encoded : Encoded
    wanted : array of bool, shape (n_tokens,)

    Returns
    -------
    encoded : Encoded
    rows : array of int64, shape (n_chosen,)
        Where the messages were.
    """
    before = np.concatenate(([0], np.cumsum(wanted)))
    lengths = np.diff(before[encoded.message_offsets])
    rows = np.flatnonzero(lengths)
    part = replace(
        encoded,
        tokens=encoded.tokens[wanted],
        message_offsets=np.concatenate(([0], np.cumsum(lengths[rows], dtype=np.int64))),
        parents=np.full(len(rows), -1, np.int32),
        conversation_offsets=np.arange(len(rows) + 1),
        speakers=_take(encoded.speakers, rows),
        labels={},
        n_dropped=0,
        numbers={},
        other_parents=np.empty((0, 2), np.int32),
        sentence_offsets=np.empty(0, np.int64),
    )
    return part, rows
