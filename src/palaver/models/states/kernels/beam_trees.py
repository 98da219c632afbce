"""The beam sampler on reply trees: one state per message, which depends on its parent's.

The same slices as on chains (:mod:`palaver.models.states.kernels.beam`), under ``rows[s_parent,
s_b]``. Likelihoods are collected from the leaves up, then states are drawn from the roots down.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.chains import draw_state
from palaver.kernels.compiled import inner, kernel
from palaver.kernels.random import open_stream, uniform


@kernel
def draw_tree_slices(  # type: ignore[no-untyped-def]
    states, parents, conversation_offsets, first_conversation, rows, key, slices
):
    """Draw the slice of every message, from one stream per conversation.

    Parameters
    ----------
    states : array of int16, shape (n_messages,). IN
    parents : array of int32, shape (n_messages,). IN
        Each earlier than its replies; -1 for a start.
    conversation_offsets : array of int64. IN
    first_conversation : int. IN
    rows : array of float64, the last row is the start. IN
    key : array of uint64, shape (2,). IN
    slices : array of float64, shape (n_messages,). OUT

    Returns
    -------
    float
        The smallest slice.
    """
    start = rows.shape[0] - 1
    stream = np.empty(4, np.uint64)
    smallest = np.inf
    for conversation in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + conversation, stream)
        for b in range(conversation_offsets[conversation], conversation_offsets[conversation + 1]):
            source = states[parents[b]] if parents[b] >= 0 else start
            slices[b] = (1.0 - uniform(stream)) * rows[source, states[b]]
            smallest = min(smallest, slices[b])
    return smallest


@kernel
def beam_trees(  # type: ignore[no-untyped-def]
    log_densities, parents, conversation_offsets, first_conversation, slices, with_slices, rows,
    groups, allowed, key, states,
):  # fmt: skip
    """Resample all states of each conversation given its slices.

    Parameters
    ----------
    log_densities : array of float64, shape (n_messages, n_states). IN-OUT
        Up to a constant per message; overwritten.
    parents, conversation_offsets, first_conversation : see :func:`draw_tree_slices`. IN
    slices : array of float64, shape (n_messages,). IN
    with_slices : bool. IN
        False weighs transitions by the rows: the blocked sampler of a finite model.
    rows : array of float64, shape (n_states + 1, n_states). IN
    groups, allowed : as in :func:`palaver.models.states.kernels.beam.filter_states`. IN
    key : array of uint64, shape (2,). IN
    states : array of int16, shape (n_messages,). OUT

    Cost: n_states² additions per message.
    """
    n_states = rows.shape[1]
    weights = np.empty(n_states)
    stream = np.empty(4, np.uint64)
    for conversation in range(len(conversation_offsets) - 1):
        first, last = conversation_offsets[conversation], conversation_offsets[conversation + 1]
        open_stream(key, first_conversation + conversation, stream)
        for b in range(last - 1, first - 1, -1):
            logs = log_densities[b]
            if len(groups):
                for k in range(n_states):
                    if not allowed[groups[b], k]:
                        logs[k] = -np.inf
            if parents[b] < 0:
                continue
            largest = logs.max()
            for k in range(n_states):
                weights[k] = math.exp(logs[k] - largest)
            above = log_densities[parents[b]]
            for j in range(n_states):
                total = 0.0
                for k in range(n_states):
                    if not with_slices:
                        total += rows[j, k] * weights[k]
                    elif rows[j, k] >= slices[b]:
                        total += weights[k]
                if total > 0.0:
                    above[j] += largest + math.log(total)
                else:
                    above[j] = _reached(logs, rows[j], slices[b], with_slices, above[j])
        for b in range(first, last):
            source = states[parents[b]] if parents[b] >= 0 else n_states
            states[b] = _draw(
                log_densities[b], rows[source], slices[b], with_slices, weights, uniform(stream)
            )


@inner
def _reached(logs, row, u, with_slices, before):  # type: ignore[no-untyped-def]
    """Return a sum that underflowed, in logs; minus infinity where no state can be reached."""
    largest = -np.inf
    for k in range(len(logs)):
        if with_slices and row[k] >= u:
            largest = max(largest, logs[k])
        elif not with_slices and row[k] > 0.0:
            largest = max(largest, logs[k] + math.log(row[k]))
    return before + largest


@inner
def _draw(logs, row, u, with_slices, weights, threshold):  # type: ignore[no-untyped-def]
    """Return a state drawn from what the row admits. weights: scratch."""
    largest = -np.inf
    for k in range(len(logs)):
        if row[k] >= u if with_slices else row[k] > 0.0:
            largest = max(largest, logs[k])
    for k in range(len(logs)):
        weights[k] = 0.0
        if row[k] >= u if with_slices else row[k] > 0.0:
            weights[k] = math.exp(logs[k] - largest)
            if not with_slices:
                weights[k] *= row[k]
    return draw_state(weights, threshold)


@kernel
def count_tree_transitions(states, parents, counts):  # type: ignore[no-untyped-def]
    """Add all transitions to ``counts`` (n_states + 1, n_states), int64, IN-OUT."""
    n_states = counts.shape[1]
    for b in range(len(states)):
        source = states[parents[b]] if parents[b] >= 0 else n_states
        counts[source, states[b]] += 1


@kernel
def message_log_densities(tokens, message_offsets, log_words, power, logs):  # type: ignore[no-untyped-def]
    """Add up the log probabilities of each message's words in each state, times ``power``.

    Parameters
    ----------
    tokens : array of int32; -1 for unknown words, which are skipped. IN
    message_offsets : array of int64, shape (n_messages + 1,). IN
    log_words : array of float64, shape (n_words, n_states). IN
    power : float. IN
    logs : array of float64, shape (n_messages, n_states). OUT
    """
    n_states = log_words.shape[1]
    for b in range(len(message_offsets) - 1):
        logs[b] = 0.0
        for i in range(message_offsets[b], message_offsets[b + 1]):
            if tokens[i] >= 0:
                for k in range(n_states):
                    logs[b, k] += log_words[tokens[i], k]
        for k in range(n_states):
            logs[b, k] *= power


@kernel
def tree_posteriors(log_densities, parents, conversation_offsets, rows, posteriors):  # type: ignore[no-untyped-def]
    """Fill ``p(s_b = k | whole conversation)``, from the leaves up and from the roots down.

    Parameters
    ----------
    log_densities : array of float64, shape (n_messages, n_states). IN
    parents : array of int32, shape (n_messages,). IN
    conversation_offsets : array of int64, shape (n_conversations + 1,). IN
    rows : array of float64, shape (n_states + 1, n_states), all positive. IN
    posteriors : array of float64, shape (n_messages, n_states). OUT

    Returns
    -------
    array of float64, shape (n_conversations,)
        Log-likelihood of each conversation.
    """
    n_states = rows.shape[1]
    log_likelihoods = np.zeros(len(conversation_offsets) - 1)
    upward = log_densities.copy()  # log p(words of b and all below | s_b), up to known constants
    passed = np.empty_like(upward)  # what b tells its parent, at most one
    for conversation in range(len(conversation_offsets) - 1):
        first, last = conversation_offsets[conversation], conversation_offsets[conversation + 1]
        for b in range(last - 1, first - 1, -1):
            largest = upward[b].max()
            weights = np.exp(upward[b] - largest)
            log_likelihoods[conversation] += largest
            if parents[b] < 0:
                root = 0.0
                for k in range(n_states):
                    posteriors[b, k] = rows[n_states, k] * weights[k]
                    root += posteriors[b, k]
                posteriors[b] /= root
                log_likelihoods[conversation] += math.log(root)
                continue
            for j in range(n_states):
                total = 0.0
                for k in range(n_states):
                    total += rows[j, k] * weights[k]
                passed[b, j] = total
                upward[parents[b], j] += math.log(total)
        for b in range(first, last):
            if parents[b] < 0:
                continue
            weights = np.exp(upward[b] - upward[b].max())
            posteriors[b] = 0.0
            for j in range(n_states):
                share = posteriors[parents[b], j] / passed[b, j]
                for k in range(n_states):
                    posteriors[b, k] += share * rows[j, k] * weights[k]
            posteriors[b] /= posteriors[b].sum()
    return log_likelihoods
