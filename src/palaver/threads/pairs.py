"""Pairs of messages and candidate parents with their features, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.threads.evidence import Gathered
from palaver.threads.kernels.features import FEATURES, count_candidates, fill_features

_PAIRS_AT_ONCE = 200_000  # limits memory: 50 megabytes of features


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Messages with their candidate parents.

    Attributes
    ----------
    features : array of float32, shape (n_pairs, n_features)
    offsets : array of int64, shape (n_messages + 1,)
        Candidates of message ``b`` are the rows ``offsets[b]:offsets[b + 1]``.
    candidates : array of int32, shape (n_pairs,)
        Place of each candidate in the order, -1 for no parent.
    messages : array of int64, shape (n_messages,)
        Place of each message.
    """

    features: NDArray[np.float32]
    offsets: NDArray[np.int64]
    candidates: NDArray[np.int32]
    messages: NDArray[np.int64]

    @property
    def owners(self) -> NDArray[np.int64]:
        """Index of each pair's message."""
        return np.repeat(np.arange(len(self.messages)), np.diff(self.offsets))

    def only(self, kept: NDArray[np.bool_]) -> CandidatePairs:
        """Return the pairs of some messages."""
        rows = np.repeat(kept, np.diff(self.offsets))
        offsets = np.concatenate(([0], np.cumsum(np.diff(self.offsets)[kept])))
        return CandidatePairs(
            self.features[rows], offsets, self.candidates[rows], self.messages[kept]
        )

    def these(self, rows: NDArray[np.bool_]) -> CandidatePairs:
        """Return all messages with some of their candidates."""
        counts = np.add.reduceat(rows, self.offsets[:-1], dtype=np.int64)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return CandidatePairs(self.features[rows], offsets, self.candidates[rows], self.messages)


def pairs_of(gathered: Gathered, window: int, is_ordered: bool) -> Iterator[CandidatePairs]:
    """Yield all messages in order with their candidates, batch by batch."""
    evidence = gathered.evidence
    n_messages = len(gathered.rows)
    counts = np.empty(n_messages, np.int64)
    count_candidates(evidence.conversation_offsets, window, is_ordered, counts)
    ends = np.concatenate(([0], np.cumsum(counts)))
    begin = 0
    while begin < n_messages:
        end = int(np.searchsorted(ends, ends[begin] + _PAIRS_AT_ONCE, side="right")) - 1
        end = max(end, begin + 1)
        offsets = ends[begin : end + 1] - ends[begin]
        candidates = np.empty(offsets[-1], np.int32)
        features = np.empty((offsets[-1], len(FEATURES)), np.float32)
        fill_features(evidence, window, is_ordered, begin, end, candidates, features)
        yield CandidatePairs(features, offsets, candidates, np.arange(begin, end))
        begin = end


def joined(parts: list[CandidatePairs]) -> CandidatePairs:
    """Concatenate batches."""
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return CandidatePairs(
        np.concatenate([part.features for part in parts]),
        np.concatenate(([0], np.cumsum(lengths))),
        np.concatenate([part.candidates for part in parts]),
        np.concatenate([part.messages for part in parts]),
    )
