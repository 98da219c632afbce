"""Random small corpora in the kernels' arrays: forests of messages with a few tokens.

They branch, a conversation may have several roots, messages may be empty, words repeat.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


@dataclass(frozen=True)
class Forest:
    """One shard: flat tokens, offsets of messages and conversations, parents (-1 for a root)."""

    tokens: NDArray[np.int32]
    message_offsets: NDArray[np.int64]
    parents: NDArray[np.int32]
    conversation_offsets: NDArray[np.int64]
    n_words: int
    first_conversation: int = 0

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)

    @property
    def n_messages(self) -> int:
        return len(self.parents)

    @property
    def n_conversations(self) -> int:
        return len(self.conversation_offsets) - 1

    @property
    def token_messages(self) -> NDArray[np.int64]:
        """The message of each token."""
        return np.repeat(np.arange(self.n_messages), np.diff(self.message_offsets))

    def children(self, message: int) -> list[int]:
        return np.flatnonzero(self.parents == message).tolist()

    def message_tokens(self, message: int) -> list[int]:
        """Positions (not words) of a message's tokens."""
        return list(range(self.message_offsets[message], self.message_offsets[message + 1]))

    def with_tokens(self, tokens: Any) -> Forest:
        """The same forest with other words (what a Geweke simulator draws)."""
        return dataclasses.replace(self, tokens=np.asarray(tokens, dtype=np.int32))


def make_forest(
    messages: list[list[int]],
    parents: list[int],
    conversation_sizes: list[int] | None = None,
    n_words: int | None = None,
    first_conversation: int = 0,
) -> Forest:
    """A forest from the words of each message, in the kernels' dtypes, checked."""
    sizes = [len(messages)] if conversation_sizes is None else conversation_sizes
    words = [word for message in messages for word in message]
    forest = Forest(
        tokens=np.array(words, dtype=np.int32),
        message_offsets=np.cumsum([0] + [len(m) for m in messages], dtype=np.int64),
        parents=np.array(parents, dtype=np.int32),
        conversation_offsets=np.cumsum([0, *sizes], dtype=np.int64),
        n_words=max(words, default=0) + 1 if n_words is None else n_words,
        first_conversation=first_conversation,
    )
    check_forest(forest)
    return forest


def check_forest(forest: Forest) -> None:
    """Raise AssertionError where the arrays break the kernels' conventions."""
    assert forest.tokens.dtype == np.int32
    assert forest.message_offsets.dtype == np.int64
    assert forest.parents.dtype == np.int32
    assert forest.conversation_offsets.dtype == np.int64
    assert forest.message_offsets[0] == 0
    assert forest.message_offsets[-1] == forest.n_tokens
    assert len(forest.message_offsets) == forest.n_messages + 1
    assert forest.conversation_offsets[0] == 0
    assert forest.conversation_offsets[-1] == forest.n_messages
    assert (np.diff(forest.message_offsets) >= 0).all()
    assert (np.diff(forest.conversation_offsets) >= 0).all()
    assert forest.n_tokens == 0 or 0 <= forest.tokens.min() <= forest.tokens.max() < forest.n_words
    for start, end in zip(
        forest.conversation_offsets[:-1], forest.conversation_offsets[1:], strict=True
    ):
        for message in range(start, end):
            parent = forest.parents[message]
            assert parent == -1 or start <= parent < message


def random_forest(
    rng: np.random.Generator,
    n_tokens: int = 6,
    n_messages: int = 5,
    n_conversations: int = 2,
    n_words: int = 3,
    root_probability: float = 0.15,
    first_conversation: int = 0,
) -> Forest:
    """A forest with exactly these sizes.

    Tokens fall on messages at random, so some messages stay empty; words are uniform, so
    few words mean repeats within a message. The first message of a conversation is a root, a
    later one is a root with `root_probability`, else a reply to a uniformly drawn earlier one.
    """
    cuts = np.sort(rng.choice(np.arange(1, n_messages), n_conversations - 1, replace=False))
    conversation_offsets = np.concatenate([[0], cuts, [n_messages]]).astype(np.int64)
    parents = np.full(n_messages, -1, dtype=np.int32)
    for start, end in itertools.pairwise(conversation_offsets):
        for message in range(start + 1, end):
            if rng.random() >= root_probability:
                parents[message] = rng.integers(start, message)
    lengths = np.bincount(rng.integers(0, n_messages, n_tokens), minlength=n_messages)
    forest = Forest(
        tokens=rng.integers(0, n_words, n_tokens).astype(np.int32),
        message_offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        parents=parents,
        conversation_offsets=conversation_offsets,
        n_words=n_words,
        first_conversation=first_conversation,
    )
    check_forest(forest)
    return forest


@st.composite
def forests(
    draw: st.DrawFn,
    max_tokens: int = 6,
    max_messages: int = 5,
    max_conversations: int = 3,
    max_words: int = 4,
) -> Forest:
    """Hypothesis strategy: at least one message, perhaps no tokens; shrinks to one of each."""
    n_messages = draw(st.integers(1, max_messages))
    n_words = draw(st.integers(1, max_words))
    n_conversations = draw(st.integers(1, min(max_conversations, n_messages)))
    cuts = draw(
        st.lists(
            st.integers(1, max(1, n_messages - 1)),
            min_size=n_conversations - 1,
            max_size=n_conversations - 1,
            unique=True,
        )
    )
    bounds = [0, *sorted(cuts), n_messages]
    parents: list[int] = []
    for start, end in itertools.pairwise(bounds):
        for message in range(start, end):
            # drawn as a distance back, 0 for a root: shrinks towards roots, then chains
            back = draw(st.integers(0, message - start))
            parents.append(-1 if back == 0 else message - back)
    messages: list[list[int]] = [[] for _ in range(n_messages)]
    for _ in range(draw(st.integers(0, max_tokens))):
        message = draw(st.integers(0, n_messages - 1))
        messages[message].append(draw(st.integers(0, n_words - 1)))
    sizes = np.diff(bounds).tolist()
    return make_forest(messages, parents, sizes, n_words, draw(st.integers(0, 1000)))
