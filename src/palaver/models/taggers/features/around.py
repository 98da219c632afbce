"""What is around a message: neighbours, turns, places, gaps; all by arrays, none by loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Encoded

Numbers = NDArray[np.int64]

#: Limits of lengths in words, of positions in messages, and of gaps in seconds.
LENGTHS = np.array([1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 31])
POSITIONS = np.array([1, 2, 3, 5, 10, 20])
GAPS = np.array([0.0, 1, 3, 10, 30, 120, 600, 3600, 86400])
#: Speaker of a message: as before, another, first of the conversation.
TURNS = ("same speaker", "other speaker", "first message")


def neighbours(offsets: Numbers, step: int) -> Numbers:
    """Return the message ``step`` after each one, -1 outside its conversation, (n_messages,)."""
    lengths = np.diff(offsets)
    first = np.repeat(offsets[:-1], lengths)
    after = np.repeat(offsets[1:], lengths)
    there = np.arange(len(first)) + step
    return np.where((there >= first) & (there < after), there, -1)


def turns(encoded: Encoded) -> Numbers:
    """Return which of :data:`TURNS` each message is, (n_messages,); unknown speakers differ."""
    codes = encoded.speakers.codes
    found = np.ones(len(codes), np.int64)
    found[1:] = (codes[1:] != codes[:-1]) | (codes[1:] < 0)
    offsets = encoded.conversation_offsets
    found[offsets[:-1][np.diff(offsets) > 0]] = 2
    return found


def opens(encoded: Encoded) -> Numbers:
    """Return 1 where the speaker is the one who opened the conversation, (n_messages,)."""
    codes, offsets = encoded.speakers.codes, np.asarray(encoded.conversation_offsets)
    first = np.repeat(offsets[:-1], np.diff(offsets))
    same = (codes == codes[first]) & (codes >= 0)
    return np.asarray(same, np.int64)


def positions(encoded: Encoded) -> tuple[Numbers, Numbers]:
    """Return how far each message is from the start and from the end, in classes."""
    offsets = np.asarray(encoded.conversation_offsets)
    lengths, messages = np.diff(offsets), np.arange(encoded.n_messages)
    from_start = messages - np.repeat(offsets[:-1], lengths)
    to_end = np.repeat(offsets[1:], lengths) - messages - 1
    return np.digitize(from_start, POSITIONS), np.digitize(to_end, POSITIONS)


def gaps(encoded: Encoded) -> Numbers:
    """Return the class of the time since the message before, -1 where it is not known."""
    times = encoded.numbers.get("time")
    if times is None:
        return np.full(encoded.n_messages, -1, np.int64)
    before = neighbours(np.asarray(encoded.conversation_offsets), -1)
    gap = np.where(before >= 0, times - times[before], np.nan)
    return np.where(np.isnan(gap), -1, np.digitize(gap, GAPS))


def recurring_speakers(encoded: Encoded) -> list[str]:
    """Return the names of speakers if they are roles, else nothing.

    They are if there are at most twenty, who take part in five conversations each on average.
    """
    names = encoded.speakers.names
    if not 2 <= len(names) <= 20:
        return []
    lengths = np.diff(encoded.conversation_offsets)
    conversations = np.repeat(np.arange(len(lengths)), lengths)
    known = encoded.speakers.codes >= 0
    parts = np.unique(conversations[known] * len(names) + encoded.speakers.codes[known])
    return list(names) if len(parts) >= 5 * len(names) else []
