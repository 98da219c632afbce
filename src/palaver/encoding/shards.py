"""Shards: groups of whole conversations, determined by the data alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import checks
from palaver.encoding.tokens import Encoded
from palaver.encoding.utterances import Utterances

#: Smaller shards cost more in merging than they gain in balance; larger ones leave workers idle.
SMALLEST, MOST, LARGEST = 100_000, 32, 4_000_000
SMALLEST_UTTERANCES = 4_000
#: Sentences are many and short, so shards of them can be even.
SMALLEST_SENTENCES = 40_000


@dataclass(frozen=True, eq=False)
class Shard:
    """Contiguous conversations as flat arrays, renumbered from zero; views where possible.

    Attributes
    ----------
    tokens : array of int32, shape (n_tokens,)
    message_offsets : array of int64, shape (n_messages + 1,)
    parents : array of int32, shape (n_messages,)
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    first_token, first_message, first_conversation : int
        Where the shard starts in the corpus; the last of them names the random streams.
    n_words : int
        Number of words that there are.
    """

    tokens: NDArray[np.int32]
    message_offsets: NDArray[np.int64]
    parents: NDArray[np.int32]
    conversation_offsets: NDArray[np.int64]
    first_token: int
    first_message: int
    first_conversation: int
    n_words: int

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse arrays that refer to what is not there: kernels check no bounds.

        Raises
        ------
        CorpusError
        """
        n = self.n_messages
        checks.whole_numbers("Shard.tokens", self.tokens, np.int32, -1, self.n_words - 1)
        checks.offsets("Shard.message_offsets", self.message_offsets, self.n_tokens)
        checks.same_length(
            "Shard.message_offsets", self.message_offsets, n + 1, "messages and an end"
        )
        checks.offsets("Shard.conversation_offsets", self.conversation_offsets, n)
        checks.whole_numbers("Shard.parents", self.parents, np.int32, -1, n - 1)
        # parents that are being found may be later messages
        checks.same_conversation("Shard.parents", self.parents, self.conversation_offsets)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.tokens)

    @property
    def n_messages(self) -> int:
        """Number of messages."""
        return len(self.parents)


def cut(
    encoded: Encoded,
    *,
    whole: bool = False,
    smallest: int | None = None,
    most: int | None = MOST,
) -> list[Shard]:
    """Cut a corpus into shards of at least 100,000 tokens: up to 32, more above 4 M tokens each.

    Beyond four, their number is a multiple of four, so that two or four threads get equal parts.

    Parameters
    ----------
    encoded : Encoded
    whole : bool
        Return a single shard, for collapsed samplers.
    smallest, most : int, optional
        Other limits for the tokens per shard and the number of shards (None: no limit).
    """
    n_shards = max(encoded.n_tokens // (smallest or SMALLEST), 1)
    if most is not None:
        n_shards = max(min(n_shards, most), encoded.n_tokens // LARGEST)
    n_shards = 1 if whole else n_shards - (n_shards % 4 if n_shards > 4 else 0)
    ends = encoded.message_offsets[encoded.conversation_offsets]  # tokens before each conversation
    return [_shard(encoded, first, last) for first, last in even_parts(ends, n_shards)]


def even_parts(ends: NDArray[np.int64], n_parts: int) -> list[tuple[int, int]]:
    """Cut a sequence of units into parts of about equal size without splitting units.

    Parameters
    ----------
    ends : array of int64, shape (n_units + 1,)
        Total size of all units before each, followed by that of all units.
    n_parts : int
        Upper limit; large units may lead to fewer parts.

    Returns
    -------
    list of (first, last)
        Each part has the units ``first`` to ``last - 1``; one empty part if there are no units.
    """
    n_units = len(ends) - 1
    targets = np.arange(n_parts + 1) * ends[-1] / n_parts
    limits = np.unique(np.searchsorted(ends, targets))
    limits[0], limits[-1] = 0, n_units
    if len(limits) == 1:
        limits = np.array([0, n_units])
    return list(pairwise(limits.tolist()))


def cut_sentences(
    encoded: Encoded, *, whole: bool = False, smallest: int | None = None, most: int | None = MOST
) -> list[Shard]:
    """Cut messages that are independent of each other into shards of about equal size.

    Parameters
    ----------
    encoded : Encoded
    whole : bool
        Return a single shard.
    smallest : int, optional
        Fewest tokens per shard; 40,000 by default.
    most : int or None
        Largest number of shards.
    """
    single = replace(
        encoded,
        parents=np.full(encoded.n_messages, -1, np.int32),
        conversation_offsets=np.arange(encoded.n_messages + 1, dtype=np.int64),
        other_parents=np.empty((0, 2), np.int32),
    )
    return cut(single, whole=whole, smallest=smallest or SMALLEST_SENTENCES, most=most)


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
        len(encoded.vocabulary),
    )


@dataclass(frozen=True, eq=False)
class VectorShard:
    """Contiguous sequences of vectors.

    Attributes
    ----------
    vectors : array of float64, shape (n_messages, M)
    offsets : array of int64, shape (n_sequences + 1,)
    first_message, first_sequence : int
        Where the shard starts in the data; the last of them names the random streams.
    """

    vectors: NDArray[np.float64]
    offsets: NDArray[np.int64]
    first_message: int
    first_sequence: int

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse offsets that refer to what is not there: kernels check no bounds.

        Raises
        ------
        CorpusError
        """
        checks.offsets("VectorShard.offsets", self.offsets, len(self.vectors))

    @property
    def n_messages(self) -> int:
        """Number of utterances."""
        return len(self.vectors)


def cut_vectors(
    utterances: Utterances,
    centre: NDArray[np.float64],
    *,
    whole: bool = False,
    single: bool = False,
) -> list[VectorShard]:
    """Cut utterances into at most 32 shards of at least 4,000 each, and centre them.

    Parameters
    ----------
    utterances : Utterances
    centre : array of float64, shape (M,)
        Subtracted from every vector.
    whole : bool
        Return a single shard, for collapsed samplers.
    single : bool
        Treat every utterance as a sequence of its own, for mixtures.
    """
    offsets = utterances.conversation_offsets
    if single:
        offsets = np.arange(utterances.n_messages + 1, dtype=np.int64)
    n_shards = 1 if whole else int(np.clip(utterances.n_messages // SMALLEST_UTTERANCES, 1, MOST))
    return [
        VectorShard(
            utterances.vectors[offsets[first] : offsets[last]] - centre,
            offsets[first : last + 1] - offsets[first],
            int(offsets[first]),
            first,
        )
        for first, last in even_parts(offsets, n_shards)
    ]
