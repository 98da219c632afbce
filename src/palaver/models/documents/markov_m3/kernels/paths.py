"""The most probable walk of a document under Markov M3's variational posterior."""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import compact, kernel
from palaver.models.documents.markov_m3.kernels.sweep import take_counts, take_document, take_walk
from palaver.models.documents.markov_m3.kernels.walk import (
    SCORES,
    STRIDE,
    allocate_words,
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
    offsets, words, counts, log_words, log_steps, space, at, terms, visits, lengths, probabilities,
    log_weights, paths,
):  # fmt: skip
    """Set the topics of the most probable walk over the positions in use of each document.

    Parameters
    ----------
    offsets, words, counts, log_words, space, at, terms, visits, lengths, probabilities, log_weights
        As in :func:`palaver.models.documents.markov_m3.kernels.sweep.sweep_fresh`. IN
    log_steps : array of float64, shape (n_topics + 1, n_topics). IN
        E[ln theta], then E[ln pi].
    paths : array of int32, shape (n_documents, n_positions). OUT
    """
    compact()
    n_documents, n_positions, n_visits = probabilities.shape
    n_topics = log_steps.shape[1]
    own_start, own_transitions = np.empty(n_visits), np.empty((n_visits, n_visits))
    scores, path = np.empty((n_positions, n_visits)), np.empty(n_positions, np.int32)
    for d in range(n_documents):
        first, last, n_used = offsets[d], offsets[d + 1], lengths[d]
        if first == last:
            continue
        own = visits[d]
        take_counts(space, at, first, last, counts)
        take_walk(space, at, probabilities[d], log_weights[d])
        take_document(space, at, first, last, words, log_words, log_steps, own, n_visits)
        allocate_words(space, at, n_visits, last - first, n_used)
        score_positions(space, at, n_visits, last - first, n_used)
        for j in range(n_visits):
            own_start[j] = log_steps[n_topics, own[j]]
            for k in range(n_visits):
                own_transitions[j, k] = log_steps[own[j], own[k]]
            for i in range(n_used):
                scores[i, j] = space[at[SCORES] + i * at[STRIDE] + j]
        viterbi(scores[:n_used], own_start, own_transitions, path)
        for i in range(n_used):
            paths[d, i] = own[path[i]]
