"""Gibbs sampling of the topic of every token, for topics to begin with.

It is :func:`palaver.kernels.lda.sweep_parallel` without a background, draw by draw, and every
document is a conversation of its own; a fifth of its code, which everyone waits for on the first
run.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import uint64

from palaver.kernels.compiled import compact, kernel
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import TOKENS_AHEAD, choose_outcome, prefetch_line
from palaver.kernels.simd.spaces import padded


def slots_of_ranks(n_topics: int) -> npt.NDArray[np.uint64]:
    """Return a table from ranks of :func:`~palaver.kernels.simd.lanes.choose_outcome` to topics.

    Any rank without a topic, and the last one, maps to the first number that is a multiple of
    eight and no topic: the old topic.
    """
    width = padded(n_topics)
    slots = np.full(width + 2, width, np.uint64)
    topics = np.arange(width, dtype=np.uint64).reshape(-1, LANES).T.ravel()
    slots[:width] = np.where(topics < n_topics, topics, width)
    return slots


@kernel(error_model="numpy")
def draw_topics(  # type: ignore[no-untyped-def]
    tokens, offsets, first_document, topics, word_weights, row_length, alpha, slots, key, state,
    factors, running, word_topics,
):  # fmt: skip
    """Draw the topic of every token given word distributions and the document's other tokens.

    One stream per document, one uniform per token.

    Parameters
    ----------
    tokens : array of int32, shape (n_tokens,). IN
    offsets : array of int64, shape (n_documents + 1,). IN
    first_document : int. IN
    topics : array of int16, shape (n_tokens,). IN-OUT
    word_weights : array of float64, 1-d. IN
        Rows of ``row_length``, one per word, and at least eight numbers after the last. If there
        are none, topics are drawn uniformly, and not counted.
    alpha : float. IN
        Prior of one topic in a document.
    slots : array of uint64. IN
        Of :func:`slots_of_ranks`.
    key : array of uint64, shape (2,). IN
    state : array of uint64, shape (4,). OUT
    factors, running : array of float64, shape (8 n_blocks,), on a cache line. OUT
    word_topics : array of float64, shape (n_words, n_topics). IN-OUT
        The counts of the new topics are added.

    O(n_tokens n_topics), by eights.
    """
    compact()
    n_topics, n_blocks = word_topics.shape[1], len(factors) >> 3
    n_lines = ((n_topics + 7) >> 3) + 1  # of 64 bytes, for a row that begins inside one
    last_token, none = uint64(len(tokens) - 1), uint64(len(factors))
    for d in range(len(offsets) - 1):
        open_stream(key, first_document + d, state)
        first, last = uint64(offsets[d]), uint64(offsets[d + 1])
        if len(word_weights) == 0:
            for i in range(first, last):
                drawn = int(uniform(state) * n_topics)
                topics[i] = drawn if drawn < n_topics else n_topics - 1
            continue
        for k in range(len(factors)):
            factors[k] = alpha if k < n_topics else 0.0
        for i in range(first, last):
            factors[uint64(topics[i])] += 1.0
        for i in range(first, last):
            next_token = i + uint64(TOKENS_AHEAD)
            next_token = next_token if next_token < last_token else last_token
            ahead = uint64(tokens[next_token]) * uint64(row_length)
            for line in range(n_lines):
                prefetch_line(word_weights, ahead + uint64(8 * line))
            start, old = uint64(tokens[i]) * uint64(row_length), uint64(topics[i])
            old_weight = (factors[old] - 1.0) * word_weights[start + old]
            rank = choose_outcome(
                word_weights, start, running, 0.0, factors, old, running, n_blocks, 0.0, old_weight,
                uniform(state),
            )  # fmt: skip
            new = slots[rank]
            if new == none:
                new = old
            factors[old] -= 1.0
            factors[new] += 1.0
            word_topics[tokens[i], new] += 1.0
            topics[i] = new
