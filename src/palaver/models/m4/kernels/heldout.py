"""How likely held-out conversations are under M4: a particle filter, parents before replies.

It is ours: Paul (2012), section 5.5.1, scores words given parents' classes that were sampled
having seen the replies (:mod:`palaver.models.m4.kernels.shares`). Here messages come parents
first, their words in order. A particle holds the topic counts of the conversation, the class
counts of the message at hand and, for every message that still waits for replies, what its
histogram adds to the scores of these, the exponents of section 2.2. Words are weighed and drawn as
:mod:`palaver.models.m4.kernels.particles` says: nothing that comes later is used.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.particles import log_mean
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream
from palaver.models.m4.kernels.particles import make_particles, weigh_at_once, weigh_in_turn


@inner
def _last_replies(first, last, threads, last_reply):  # type: ignore[no-untyped-def]
    """Set the last reply of each message of a conversation, -1 without; return how many wait."""
    offsets, parents = threads.parent_offsets, threads.parent_list
    for b in range(first, last):
        last_reply[b - first] = -1
        for p in range(offsets[b], offsets[b + 1]):
            last_reply[parents[p] - first] = b
    n_waiting = most = 0
    for b in range(first, last):
        n_waiting += last_reply[b - first] >= 0
        most = max(most, n_waiting)
        for p in range(offsets[b], offsets[b + 1]):
            n_waiting -= last_reply[parents[p] - first] == b
    return most


@inner
def _count_slots(threads, last_reply):  # type: ignore[no-untyped-def]
    """Return how many messages wait for replies at the same time, at most."""
    n_slots = 0
    offsets = threads.conversation_offsets
    for c in range(offsets.shape[0] - 1):
        n_slots = max(n_slots, _last_replies(offsets[c], offsets[c + 1], threads, last_reply))
    return n_slots


@inner(error_model="numpy")
def _open_message(is_dirichlet, base, slots, n_parents, particles):  # type: ignore[no-untyped-def]
    """Set the message's weights of classes, ``shares``, and their sums; nothing is counted yet."""
    shares, total = particles.shares, particles.total
    n_classes, n_particles = shares.shape
    particles.counts[:] = 0.0
    particles.n_units[:] = 0.0
    particles.switches[:] = 0.0
    for j in range(n_classes):
        for i in range(n_particles):
            shares[j, i] = base[j]
    for p in range(n_parents):
        scores = particles.waiting[slots[p]]
        for j in range(n_classes):
            for i in range(n_particles):
                shares[j, i] += scores[j, i] / n_parents
    for i in range(n_particles):
        total[i] = 0.0
        highest = 0.0
        if not is_dirichlet:
            highest = shares[0, i]
            for j in range(1, n_classes):
                highest = max(highest, shares[j, i])
        for j in range(n_classes):
            shares[j, i] = math.exp(shares[j, i] - highest)
            total[i] += shares[j, i]


@inner(error_model="numpy")
def _set_scores(counts, weights, scores):  # type: ignore[no-untyped-def]
    """Set ``scores`` (K, P) OUT to what a message with class ``counts`` (K, P) adds to replies."""
    n_classes, n_particles = counts.shape
    for j in range(n_classes):
        scores[j, :] = 0.0
        for k in range(n_classes):
            weight = weights[k, j]
            for i in range(n_particles):
                scores[j, i] += counts[k, i] * weight
    for i in range(n_particles):
        n_units = 0.0
        for k in range(n_classes):
            n_units += counts[k, i]
        for j in range(n_classes):
            scores[j, i] /= max(n_units, 1.0)


@kernel(error_model="numpy")
def filter_log_likelihoods(  # type: ignore[no-untyped-def]
    variant, threads, parameters, n_particles, key, log_likelihoods
):
    """Set an estimate of the log likelihood of each conversation; ``exp`` of it is unbiased.

    Parameters
    ----------
    variant : Variant; threads : Threads; parameters : Parameters. IN
    n_particles : int. IN
    key : array of uint64, shape (2,). IN
        One stream for each conversation.
    log_likelihoods : array of float64, shape (n_conversations,). OUT

    O((K + T) n_particles) for each token and O(K^2 n_particles) for each message with replies.
    """
    weights, alpha = parameters.weights, parameters.alpha
    parent_offsets, parent_list = threads.parent_offsets, threads.parent_list
    n_classes, n_topics = weights.shape[1], alpha.shape[0]
    bases = threads.designs @ weights[n_classes:]
    longest = longest_stretch(threads.conversation_offsets)
    last_reply, slot_of = np.empty(longest, np.int64), np.empty(longest, np.int64)
    n_slots = _count_slots(threads, last_reply)
    free, slots = np.empty(n_slots, np.int64), np.empty(max(n_slots, 1), np.int64)
    particles = make_particles(n_classes, n_topics, n_slots, n_particles)
    log_weights, is_waiting = particles.log_weights, particles.is_waiting
    at_once = not (
        variant.is_segmented or variant.is_dirichlet or variant.is_message_switch or n_topics > 0
    )
    state = np.empty(4, np.uint64)
    for c in range(log_likelihoods.shape[0]):
        open_stream(key, threads.first_conversation + c, state)
        first, last = threads.conversation_offsets[c], threads.conversation_offsets[c + 1]
        _last_replies(first, last, threads, last_reply)
        n_free = n_slots
        for slot in range(n_slots):
            free[slot] = slot
            is_waiting[slot] = False
        for t in range(n_topics):
            particles.topics[t, :] = alpha[t]
        particles.topic_total[:] = alpha.sum() if n_topics > 0 else 1.0
        log_weights[:] = 0.0
        result = 0.0
        for b in range(first, last):
            n_parents = parent_offsets[b + 1] - parent_offsets[b]
            for p in range(n_parents):
                slots[p] = slot_of[parent_list[parent_offsets[b] + p] - first]
            base = bases[threads.base_index[b]]
            _open_message(variant.is_dirichlet, base, slots, n_parents, particles)
            has_replies = last_reply[b - first] >= 0
            if at_once:
                words = threads.tokens[threads.message_offsets[b] : threads.message_offsets[b + 1]]
                result = weigh_at_once(words, has_replies, parameters, particles, state, result)
            else:
                result = weigh_in_turn(b, variant, threads, parameters, particles, state, result)
            if has_replies:
                n_free -= 1
                own = free[n_free]
                slot_of[b - first] = own
                is_waiting[own] = True
                _set_scores(particles.counts, weights, particles.waiting[own])
            for p in range(n_parents):
                parent = parent_list[parent_offsets[b] + p]
                if last_reply[parent - first] == b:
                    is_waiting[slots[p]] = False
                    free[n_free] = slots[p]
                    n_free += 1
            if at_once and n_free == n_slots:  # nothing that follows depends on what was drawn
                result += log_mean(log_weights)
                log_weights[:] = 0.0
        log_likelihoods[c] = result + log_mean(log_weights)
