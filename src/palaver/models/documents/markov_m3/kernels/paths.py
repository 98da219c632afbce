"""The most probable walk of a document under Markov M3's variational posterior."""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import kernel
from palaver.kernels.plain import longest_stretch
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import n_lane_blocks
from palaver.models.documents.markov_m3.kernels.sweep import take_words
from palaver.models.documents.markov_m3.kernels.walk import (
    allocate_words,
    make_walk,
    score_positions,
)


@kernel
def viterbi(scores, log_start, log_transitions, path):  # type: ignore[no-untyped-def]
    """Set ``path`` to the states of the highest ``log_start + scores + log_transitions``.

    Parameters
    ----------
    scores : array of float64, shape (n_positions, n_states). IN
    log_start, log_transitions : array of float64, shape (n_states,), (n_states, n_states). IN
    path : array of int32, shape (n_positions,). OUT

    Of equally good walks, the one with the smallest numbers from the end on. O(n_positions
    n_states**2).
    """
    n_positions, n_states = scores.shape
    before = np.zeros((n_positions, n_states), np.int32)
    best, moved = log_start + scores[0], np.empty(n_states)
    for i in range(1, n_positions):
        for k in range(n_states):
            source = 0
            for j in range(1, n_states):
                if best[j] + log_transitions[j, k] > best[source] + log_transitions[source, k]:
                    source = j
            before[i, k] = source
            moved[k] = best[source] + log_transitions[source, k] + scores[i, k]
        best, moved = moved, best
    state = np.argmax(best)
    for i in range(n_positions - 1, -1, -1):
        path[i] = state
        state = before[i, state]


@kernel
def best_paths(  # type: ignore[no-untyped-def]
    offsets, words, counts, log_words, log_start, log_transitions, visits, lengths, probabilities,
    log_weights, paths,
):  # fmt: skip
    """Set the topics of the most probable walk over the positions in use of each document.

    Parameters
    ----------
    offsets, words, counts, log_words, visits, lengths, probabilities, log_weights
        As in :func:`palaver.models.documents.markov_m3.kernels.sweep.sweep_documents`. IN
    log_start, log_transitions : array of float64, shape (n_topics,), (n_topics, n_topics). IN
        E[ln pi], E[ln theta].
    paths : array of int32, shape (n_documents, n_positions). OUT
    """
    n_documents, n_positions, n_visits = probabilities.shape
    longest = longest_stretch(offsets)
    walk = make_walk(n_positions, n_visits, longest)
    stride = LANES * n_lane_blocks(n_visits)
    own_start, own_transitions = np.empty(n_visits), np.empty((n_visits, n_visits))
    scores, path = np.empty((n_positions, n_visits)), np.empty(n_positions, np.int32)
    for d in range(n_documents):
        n_words, n_used = offsets[d + 1] - offsets[d], lengths[d]
        if n_words == 0:
            continue
        walk.counts[:n_words] = counts[offsets[d] : offsets[d + 1]]
        walk.counts[n_words:] = 0.0
        walk.log_weights[:] = log_weights[d]
        for i in range(n_used):
            walk.probabilities[i * stride : i * stride + n_visits] = probabilities[d, i]
        take_words(walk, log_words, words[offsets[d] : offsets[d + 1]], visits[d], n_visits)
        allocate_words(walk, n_visits, n_words, n_used)
        score_positions(walk, n_visits, n_words, n_used)
        for j in range(n_visits):
            own_start[j] = log_start[visits[d, j]]
            for k in range(n_visits):
                own_transitions[j, k] = log_transitions[visits[d, j], visits[d, k]]
            for i in range(n_used):
                scores[i, j] = walk.scores[i * stride + j]
        viterbi(scores[:n_used], own_start, own_transitions, path)
        for i in range(n_used):
            paths[d, i] = visits[d, path[i]]
