"""How likely held-out conversations are under M4: a particle filter, parents before replies.

See :mod:`palaver.kernels.heldout`. A particle holds, for every message that still waits for
replies, the distribution (1) of :mod:`palaver.models.m4.kernels.paper_sweep` that its sampled
classes give its replies. A message is weighed given its parent, then particles are resampled, then
its classes are drawn given its own words: what its replies say is never used.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from palaver.kernels.heldout import count_outcomes, set_switch
from palaver.kernels.particles import (
    choose_survivors,
    draw_outcomes,
    keep_survivors,
    log_mean,
    mix,
    multiply_weights,
    take_logs,
)
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.switch import SWITCH_MESSAGE


@njit(cache=True, nogil=True)
def find_last_replies(parents, first, last, last_reply):  # type: ignore[no-untyped-def]
    """Set the last reply of each message of a conversation; return how many wait at most.

    parents : (n_messages,) IN; messages ``first`` to ``last - 1``; last_reply : at least
    (last - first,) OUT, -1 without replies. A message waits from itself to its last reply.
    """
    for b in range(first, last):
        last_reply[b - first] = -1
        if parents[b] >= 0:
            last_reply[parents[b] - first] = b
    n_waiting = most = 0
    for b in range(first, last):
        n_waiting += last_reply[b - first] >= 0
        most = max(most, n_waiting)
        if parents[b] >= 0 and last_reply[parents[b] - first] == b:
            n_waiting -= 1
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def set_transitions(counts, totals, weights, transitions):  # type: ignore[no-untyped-def]
    """Set each particle's distribution for the replies of a message with these classes.

    counts : (K, P) IN; totals : (2, P) IN, class-bearing tokens second;
    weights : (K+2, K) IN; transitions : (K, P) OUT. Cost O(K²) for each particle.
    """
    n_classes, n_particles = counts.shape
    for i in range(n_particles):
        totals[1, i] = 1.0 / max(totals[1, i], 1.0)
    for j in range(n_classes):
        transitions[j, :] = 0.0
        for k in range(n_classes):
            weight = weights[k, j]
            for i in range(n_particles):
                transitions[j, i] += counts[k, i] * weight
    for i in range(n_particles):
        highest = -np.inf
        for j in range(n_classes):
            score = transitions[j, i] * totals[1, i] + weights[n_classes + 1, j]
            transitions[j, i] = score
            highest = max(highest, score)
        total = 0.0
        for j in range(n_classes):
            transitions[j, i] = math.exp(transitions[j, i] - highest)
            total += transitions[j, i]
        for j in range(n_classes):
            transitions[j, i] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def _weigh_message(  # type: ignore[no-untyped-def]
    words, shares, word_weights, switch, switch_prior, class_probability, state, counts,
    totals, log_weights,
):  # fmt: skip
    """Add the log probability of a message's words, given its ``shares`` (K, P), to the weights.

    If each message has its own switch probability, outcomes are drawn on the way into
    ``counts`` and ``totals``: they tell the switches of the words that follow.
    """
    n_classes, n_particles = shares.shape
    mixed, values, spare = np.empty(n_particles), np.empty(n_particles), np.empty(n_particles)
    factors, chances = np.ones(n_particles), np.empty((2, n_particles))
    outcomes = np.empty(n_particles, np.int64)
    for word in words:
        row = word_weights[word]
        mix(shares, row, mixed)
        set_switch(switch, switch_prior, class_probability, totals, chances)
        for i in range(n_particles):
            values[i] = chances[1, i] * mixed[i] + chances[0, i] * row[n_classes]
        multiply_weights(values, factors, log_weights)
        if switch == SWITCH_MESSAGE:
            for i in range(n_particles):
                spare[i] = uniform(state) * values[i] / chances[1, i]
            draw_outcomes(shares, row, spare, outcomes)
            count_outcomes(outcomes, switch, counts, totals)
    take_logs(factors, log_weights)


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_message(  # type: ignore[no-untyped-def]
    words, shares, word_weights, switch, switch_prior, class_probability, state, counts, totals
):
    """Draw the outcomes of a message's words, given its ``shares`` (K, P), and count them."""
    n_classes, n_particles = shares.shape
    mixed, chances = np.empty(n_particles), np.empty((2, n_particles))
    outcomes = np.empty(n_particles, np.int64)
    set_switch(switch, switch_prior, class_probability, totals, chances)
    for word in words:
        row = word_weights[word]
        mix(shares, row, mixed)
        for i in range(n_particles):
            odds = chances[0, i] * row[n_classes] / chances[1, i]
            mixed[i] = uniform(state) * (mixed[i] + odds)
        draw_outcomes(shares, row, mixed, outcomes)
        count_outcomes(outcomes, switch, counts, totals)


@njit(cache=True, nogil=True, error_model="numpy")
def m4_log_likelihoods(  # type: ignore[no-untyped-def]
    tokens, message_offsets, parents, conversation_offsets, first_conversation, word_weights,
    weights, switch, switch_prior, class_probability, n_particles, key, log_likelihoods,
):  # fmt: skip
    """Set an estimate of the log likelihood of each conversation under M4.

    Parameters
    ----------
    tokens, message_offsets, parents, conversation_offsets : arrays of the shard. IN
    first_conversation : int. IN
    word_weights : array of float64, shape (W, K+1); weights : (K+2, K). IN
    switch : int; switch_prior : array of float64, shape (2,); class_probability : float. IN
    n_particles : int. IN
    key : array of uint64, shape (2,). IN
        One stream for each conversation.
    log_likelihoods : array of float64, shape (n_conversations,). OUT

    Cost O(K n_particles) for each token and O(K² n_particles) for each message with replies;
    memory O(K n_particles) for each message that waits for replies at the same time.
    """
    n_classes = weights.shape[1]
    longest = longest_stretch(conversation_offsets)
    last_reply, slots = np.empty(longest, np.int64), np.empty(longest, np.int64)
    n_slots = 0
    for c in range(len(conversation_offsets) - 1):
        most = find_last_replies(
            parents, conversation_offsets[c], conversation_offsets[c + 1], last_reply
        )
        n_slots = max(n_slots, most)
    transitions = np.empty((n_slots + 1, n_classes, n_particles))  # the last one: starts
    free = np.empty(n_slots, np.int64)
    counts, totals = np.zeros((n_classes, n_particles)), np.zeros((2, n_particles))
    both = weights.copy()
    both[n_classes + 1] += both[n_classes]
    set_transitions(counts, totals, both, transitions[n_slots])
    log_weights, spare = np.empty(n_particles), np.empty(n_particles)
    survivors = np.empty(n_particles, np.int64)
    state = np.empty(4, np.uint64)
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        first, last = conversation_offsets[c], conversation_offsets[c + 1]
        find_last_replies(parents, first, last, last_reply)
        in_use = np.zeros(n_slots + 1, np.bool_)
        n_free = n_slots
        for slot in range(n_slots):
            free[slot] = slot
        log_weights[:] = 0.0
        result = 0.0
        for b in range(first, last):
            words = tokens[message_offsets[b] : message_offsets[b + 1]]
            parent = parents[b]
            slot = n_slots if parent < 0 else slots[parent - first]
            has_replies = last_reply[b - first] >= 0
            counts[:] = 0.0
            totals[:] = 0.0
            _weigh_message(
                words, transitions[slot], word_weights, switch, switch_prior, class_probability,
                state, counts, totals, log_weights,
            )  # fmt: skip
            if has_replies or n_free < n_slots:
                result += choose_survivors(log_weights, state, survivors)
                if survivors[0] >= 0:
                    for other in range(n_slots):
                        if in_use[other]:
                            keep_survivors(survivors, spare, transitions[other])
                    keep_survivors(survivors, spare, counts)
                    keep_survivors(survivors, spare, totals)
            if has_replies:
                if switch != SWITCH_MESSAGE:
                    _draw_message(
                        words, transitions[slot], word_weights, switch, switch_prior,
                        class_probability, state, counts, totals,
                    )  # fmt: skip
                n_free -= 1
                own = free[n_free]
                slots[b - first] = own
                in_use[own] = True
                set_transitions(counts, totals, weights, transitions[own])
            if parent >= 0 and last_reply[parent - first] == b:
                in_use[slot] = False
                free[n_free] = slot
                n_free += 1
            if n_free == n_slots:  # nothing that follows depends on what was drawn
                result += log_mean(log_weights)
                log_weights[:] = 0.0
        log_likelihoods[c] = result
