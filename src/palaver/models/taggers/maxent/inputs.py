"""What maximum entropy sees of a message: words, pairs of words, a vector, the tags around."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from palaver.encoding import Encoded, WordVectors
from palaver.encoding.utterances import WordPooling, learn_pooling, word_counts, word_vectors_of
from palaver.parallel import Arrays

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Inputs:
    """How messages become rows of numbers, learned once from the training corpus.

    Attributes
    ----------
    pairs : array of int64, shape (n_pairs,), or None
        Pairs of neighbouring words that count, as :func:`word_pairs` numbers them, in order.
        None if words do not count at all.
    pooling : WordPooling or None
        How words become an utterance vector; None without vectors.
    """

    pairs: Numbers | None
    pooling: WordPooling | None

    def __call__(self, encoded: Encoded) -> sparse.csr_array:
        """Return the inputs of each message, (n_messages, n_inputs)."""
        parts: list[Any] = []
        if self.pairs is not None:
            parts += [word_counts(encoded), pair_counts(encoded, self.pairs)]
        if self.pooling is not None:
            parts.append(sparse.csr_array(self.pooling(encoded)))
        return sparse.csr_array(sparse.hstack(parts, "csr"))

    def size(self, n_words: int) -> int:
        """Return the number of inputs of a message, given the size of the vocabulary."""
        found = 0 if self.pairs is None else n_words + len(self.pairs)
        return found if self.pooling is None else found + len(self.pooling.centre)

    def arrays(self) -> Arrays:
        """Return what was learned as named arrays, for a stored model."""
        found: Arrays = {} if self.pairs is None else {"pairs": self.pairs}
        if self.pooling is not None:
            found["word_vectors"] = self.pooling.word_vectors
            found["word_weights"] = self.pooling.word_weights
            found["centre"] = self.pooling.centre
        return found

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make inputs of what :meth:`arrays` returned."""
        pooling = None
        if "word_vectors" in arrays:
            pooling = WordPooling(
                arrays["word_vectors"], arrays["word_weights"], arrays["centre"], "mean"
            )
        return cls(arrays.get("pairs"), pooling)


def learn_inputs(
    encoded: Encoded,
    kind: str,
    *,
    min_count: int,
    vectors: str | WordVectors,
    whiten: int | None,
) -> Inputs:
    """Learn from a corpus which pairs of words count, and how words become vectors.

    Parameters
    ----------
    encoded : Encoded
    kind : {"words", "vectors", "both"}
    min_count : int
        Drop pairs seen less often.
    vectors, whiten
        As for :class:`palaver.MaxEntTagger`.
    """
    pairs, pooling = None, None
    if kind != "vectors":
        found, counts = np.unique(word_pairs(encoded)[1], return_counts=True)
        pairs = found[counts >= min_count]
    if kind != "words":
        pooling = learn_pooling(encoded, word_vectors_of(encoded, vectors), whiten=whiten)
    return Inputs(pairs, pooling)


def word_pairs(encoded: Encoded) -> tuple[Numbers, Numbers]:
    """Return all pairs of neighbouring words; both ends of a message count as a word.

    Returns
    -------
    messages : array of int64, shape (n_tokens + n_messages,)
        Message of each pair.
    pairs : array of int64, shape (n_tokens + n_messages,)
        ``left * (n_words + 1) + right``; word number ``n_words`` is an end.
    """
    n_words = len(encoded.vocabulary)
    lengths = np.diff(encoded.message_offsets)
    messages = np.arange(encoded.n_messages)
    places = np.concatenate((np.repeat(messages, lengths), messages, messages))
    order = np.argsort(places * 3 + np.repeat([1, 0, 2], [encoded.n_tokens, *[len(messages)] * 2]),
                       kind="stable")  # fmt: skip
    ends = np.full(2 * len(messages), n_words, np.int64)
    words = np.concatenate((np.asarray(encoded.tokens, np.int64), ends))[order]
    places = places[order]
    together = places[1:] == places[:-1]
    codes = words[:-1] * (n_words + 1) + words[1:]
    return places[1:][together], codes[together]


def pair_counts(encoded: Encoded, known: Numbers) -> sparse.csr_array:
    """Return how often each known pair of words occurs in each message, (n_messages, n_pairs)."""
    messages, pairs = word_pairs(encoded)
    columns = np.searchsorted(known, pairs)
    columns[columns == len(known)] = 0
    is_known = known[columns] == pairs if len(known) else np.zeros(len(pairs), bool)
    ones = np.ones(int(is_known.sum()))
    shape = (encoded.n_messages, len(known))
    return sparse.coo_array((ones, (messages[is_known], columns[is_known])), shape).tocsr()


def neighbour_inputs(n_tags: int) -> int:
    """Return how many columns :func:`neighbours` has."""
    return 2 * (n_tags + 2)


def neighbours(
    shares: NDArray[np.float64], conversation_offsets: Numbers, speakers: NDArray[np.int32]
) -> sparse.csr_array:
    """Return the tags of the messages before and after, and whether their speaker is the same.

    Parameters
    ----------
    shares : array of float64, shape (n_messages, n_tags)
        Probabilities of the tags.
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    speakers : array of int32, shape (n_messages,)
        -1 for unknown speakers, who count as different ones.

    Returns
    -------
    sparse array of float64, shape (n_messages, 2 * (n_tags + 2))
        First of the message before, then of the message after, within the conversation: shares of
        its tags, whether it has the same speaker, whether it has another one.
    """
    n, n_tags = shares.shape
    lengths = np.diff(conversation_offsets)
    conversations = np.repeat(np.arange(len(lengths)), lengths)
    parts = []
    for step in (-1, 1):
        there = np.arange(n) + step
        inside = (there >= 0) & (there < n)
        there = np.clip(there, 0, max(n - 1, 0))
        inside &= conversations[there] == conversations
        same = (inside & (speakers[there] == speakers) & (speakers >= 0))[:, None]
        part = np.hstack((shares[there] * inside[:, None], same, inside[:, None] & ~same))
        parts.append(part.reshape(n, n_tags + 2).astype(float))
    return sparse.csr_array(np.hstack(parts))
