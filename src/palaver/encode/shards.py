"""Shards: groups of whole conversations, cut by the data alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from palaver.encode.tokens import Encoded

#: Smaller shards cost more in merging than they give in balance.
SMALLEST, MOST = 100_000, 32


@dataclass(frozen=True, eq=False)
class Shard:
    """Contiguous conversations as flat arrays, numbered from zero; views where possible.

    Attributes
    ----------
    tokens : array of int32, shape (n_tokens,)
    message_offsets : array of int64, shape (n_messages + 1,)
    parents : array of int32, shape (n_messages,)
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    first_token, first_message, first_conversation : int
        Where the shard starts in the corpus; the last one names the random streams.
    """

    tokens: NDArray[np.int32]
    message_offsets: NDArray[np.int64]
    parents: NDArray[np.int32]
    conversation_offsets: NDArray[np.int64]
    first_token: int
    first_message: int
    first_conversation: int

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.tokens)

    @property
    def n_messages(self) -> int:
        """Number of messages."""
        return len(self.parents)


def cut(encoded: Encoded, *, whole: bool = False) -> list[Shard]:
    """Cut a corpus into at most 32 shards of at least 100,000 tokens.

    Parameters
    ----------
    encoded : Encoded
    whole : bool
        Return one shard only, for collapsed samplers.
    """
    n_shards = 1 if whole else int(np.clip(encoded.n_tokens // SMALLEST, 1, MOST))
    ends = encoded.message_offsets[encoded.conversation_offsets]  # tokens before each conversation
    targets = np.arange(n_shards + 1) * encoded.n_tokens / n_shards
    limits = np.unique(np.searchsorted(ends, targets))
    limits[0], limits[-1] = 0, encoded.n_conversations
    if len(limits) == 1:
        limits = np.array([0, encoded.n_conversations])
    return [_shard(encoded, int(first), int(last)) for first, last in pairwise(limits)]


def _shard(encoded: Encoded, first: int, last: int) -> Shard:
    """Return conversations ``first`` to ``last - 1`` as a shard."""
    messages = slice(
        int(encoded.conversation_offsets[first]), int(encoded.conversation_offsets[last])
    )
    tokens = slice(
        int(encoded.message_offsets[messages.start]), int(encoded.message_offsets[messages.stop])
    )
    parents = encoded.parents[messages]
    if messages.start:
        parents = np.where(parents < 0, -1, parents - messages.start).astype(np.int32)
    return Shard(
        np.ascontiguousarray(encoded.tokens[tokens]),
        encoded.message_offsets[messages.start : messages.stop + 1] - tokens.start,
        np.ascontiguousarray(parents),
        encoded.conversation_offsets[first : last + 1] - messages.start,
        tokens.start,
        messages.start,
        first,
    )
