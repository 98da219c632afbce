"""How likely held-out conversations are under the M4: a particle filter, word by word.

See :mod:`palaver.kernels.heldout` and :mod:`palaver.kernels.particles`. Messages come parents
first, their words in order. A particle holds the topic counts of the conversation, the class
counts of the message at hand and, for every message that still waits for replies, what its
histogram adds to the scores of these. Each word is weighed by its probability given all that a
particle holds, then its outcome is drawn: nothing that comes later is used.

Where nothing but the parents ties the words of a message together (softmax transitions, tokens
that bear classes themselves, no topics, one switch for the corpus), they are weighed all at once
and drawn afterwards, for replies alone: so few particles are lost, and so little is drawn.

A segment is a run of tokens of one class; where tokens bear classes themselves, every token is
one. ``beliefs`` are the probabilities of the segment's class given its words so far, so the class
is only drawn at the end of the segment.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

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


@njit(cache=True, nogil=True)
def _last_replies(first, last, parent_offsets, parent_list, last_reply):  # type: ignore[no-untyped-def]
    """Set the last reply of each message of a conversation, -1 without; return how many wait."""
    for b in range(first, last):
        last_reply[b - first] = -1
        for p in range(parent_offsets[b], parent_offsets[b + 1]):
            last_reply[parent_list[p] - first] = b
    n_waiting = most = 0
    for b in range(first, last):
        n_waiting += last_reply[b - first] >= 0
        most = max(most, n_waiting)
        for p in range(parent_offsets[b], parent_offsets[b + 1]):
            n_waiting -= last_reply[parent_list[p] - first] == b
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def _set_shares(  # type: ignore[no-untyped-def]
    is_dirichlet, base, slots, n_parents, waiting, shares, total
):
    """Set ``shares`` (K, P) OUT to the message's weights of classes, and their sums ``total``."""
    n_classes, n_particles = shares.shape
    for j in range(n_classes):
        for i in range(n_particles):
            shares[j, i] = base[j]
    for p in range(n_parents):
        scores = waiting[slots[p]]
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


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def _switch(  # type: ignore[no-untyped-def]
    is_message_switch, switch_prior, switch_probabilities, switches, kind, particle
):
    """Return the probability of a kind of outcome for the next token of a message."""
    if not is_message_switch:
        return switch_probabilities[kind]
    seen = switches[0, particle] + switches[1, particle] + switches[2, particle]
    return (switches[kind, particle] + switch_prior[kind]) / (seen + switch_prior.sum())


@njit(cache=True, nogil=True)
def _draw_column(weights, particle, aim):  # type: ignore[no-untyped-def]
    """Return the row of ``weights`` (n, P) at which their sum passes ``aim``."""
    last = weights.shape[0] - 1
    for k in range(last):
        aim -= weights[k, particle]
        if aim < 0.0:
            return k
    return last


@njit(cache=True, nogil=True, error_model="numpy")
def _weigh_message(  # type: ignore[no-untyped-def]
    words, shares, word_weights, switch_probabilities, mixed, factors, log_weights
):
    """Add the log probability of words that tell nothing about each other to the weights.

    words : (n,) IN; shares : (K, P) IN, summing to one; mixed, factors : (P,) scratch;
    log_weights : (P,) IN-OUT.
    """
    n_classes, n_particles = shares.shape
    factors[:] = 1.0
    for word in words:
        row = word_weights[word]
        mix(shares, row, mixed)
        background = switch_probabilities[0] * row[n_classes]
        for i in range(n_particles):
            mixed[i] = switch_probabilities[1] * mixed[i] + background
        multiply_weights(mixed, factors, log_weights)
    take_logs(factors, log_weights)


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_message(  # type: ignore[no-untyped-def]
    words, shares, word_weights, switch_probabilities, state, mixed, outcomes, counts
):
    """Draw the outcomes of the same words and count their classes in ``counts`` (K, P) IN-OUT."""
    n_classes, n_particles = shares.shape
    for word in words:
        row = word_weights[word]
        mix(shares, row, mixed)
        background = switch_probabilities[0] * row[n_classes] / switch_probabilities[1]
        for i in range(n_particles):
            mixed[i] = uniform(state) * (mixed[i] + background)
        draw_outcomes(shares, row, mixed, outcomes)
        for i in range(n_particles):
            outcome = outcomes[i]
            if outcome == n_classes and switch_probabilities[0] == 0.0:  # by rounding
                outcome -= 1
            if outcome < n_classes:
                counts[outcome, i] += 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def filter_log_likelihoods(  # type: ignore[no-untyped-def]
    is_segmented, is_dirichlet, tokens, parent_offsets, parent_list,
    conversation_offsets, first_conversation, base_index, designs, segment_offsets, unit_offsets,
    word_weights, weights, alpha, is_message_switch, switch_prior, switch_probabilities,
    n_particles, key, log_likelihoods,
):  # fmt: skip
    """Set an estimate of the log likelihood of each conversation; ``exp`` of it is unbiased.

    Parameters
    ----------
    is_segmented ... switch_probabilities
        As in :func:`palaver.models.m4.kernels.sweep.sweep_shard`. IN
    n_particles : int. IN
    key : array of uint64, shape (2,). IN
        One stream for each conversation.
    log_likelihoods : array of float64, shape (n_conversations,). OUT

    O((K + T) n_particles) for each token and O(K^2 n_particles) for each message with replies.
    """
    n_classes, n_topics = weights.shape[1], alpha.shape[0]
    bases = designs @ weights[n_classes:]
    longest = longest_stretch(conversation_offsets)
    last_reply, slot_of = np.empty(longest, np.int64), np.empty(longest, np.int64)
    n_slots = 0
    for c in range(len(conversation_offsets) - 1):
        most = _last_replies(
            conversation_offsets[c], conversation_offsets[c + 1], parent_offsets, parent_list,
            last_reply,
        )  # fmt: skip
        n_slots = max(n_slots, most)
    waiting = np.empty((n_slots, n_classes, n_particles))
    free, slots = np.empty(n_slots, np.int64), np.empty(max(n_slots, 1), np.int64)
    in_use = np.zeros(n_slots, np.bool_)
    shares, counts = np.empty((n_classes, n_particles)), np.empty((n_classes, n_particles))
    beliefs = np.empty((n_classes, n_particles))
    topics = np.empty((n_topics, n_particles))
    switches = np.empty((3, n_particles))  # tokens of the message: background, class, topic
    total, n_units = np.empty(n_particles), np.empty(n_particles)
    kinds = np.empty((3, n_particles))  # weights of the next word's outcomes
    topic_total, mixed = np.empty(n_particles), np.empty(n_particles)
    log_weights, spare = np.empty(n_particles), np.empty(n_particles)
    survivors, outcomes = np.empty(n_particles, np.int64), np.empty(n_particles, np.int64)
    are_apart = not (is_segmented or is_dirichlet or is_message_switch or n_topics > 0)
    rows = (shares, counts, beliefs, switches, kinds)
    singles = (total, n_units, topic_total)
    state = np.empty(4, np.uint64)
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        first, last = conversation_offsets[c], conversation_offsets[c + 1]
        _last_replies(first, last, parent_offsets, parent_list, last_reply)
        n_free = n_slots
        for slot in range(n_slots):
            free[slot] = slot
            in_use[slot] = False
        for t in range(n_topics):
            topics[t, :] = alpha[t]
        topic_total[:] = alpha.sum() if n_topics > 0 else 1.0
        log_weights[:] = 0.0
        result = 0.0
        for b in range(first, last):
            n_parents = parent_offsets[b + 1] - parent_offsets[b]
            for p in range(n_parents):
                slots[p] = slot_of[parent_list[parent_offsets[b] + p] - first]
            _set_shares(
                is_dirichlet, bases[base_index[b]], slots, n_parents, waiting, shares, total
            )
            counts[:] = 0.0
            switches[:] = 0.0
            n_units[:] = 0.0
            if are_apart:
                shares /= total
                own_words = tokens[unit_offsets[b] : unit_offsets[b + 1]]
                _weigh_message(
                    own_words, shares, word_weights, switch_probabilities, mixed, spare,
                    log_weights,
                )  # fmt: skip
                result += choose_survivors(log_weights, state, survivors)
                if survivors[0] >= 0:
                    keep_survivors(survivors, spare, shares)
                    for slot in range(n_slots):
                        if in_use[slot]:
                            keep_survivors(survivors, spare, waiting[slot])
                if last_reply[b - first] >= 0:
                    _draw_message(
                        own_words, shares, word_weights, switch_probabilities, state, mixed,
                        outcomes, counts,
                    )  # fmt: skip
            n_left = 0 if are_apart else unit_offsets[b + 1] - unit_offsets[b]
            for u in range(unit_offsets[b + 1] - n_left, unit_offsets[b + 1]):
                start, end = u, u + 1
                if is_segmented:
                    start, end = segment_offsets[u], segment_offsets[u + 1]
                for k in range(n_classes):
                    for i in range(n_particles):
                        beliefs[k, i] = shares[k, i] / total[i]
                        if is_dirichlet:
                            mass = shares[k, i] + counts[k, i]
                            beliefs[k, i] = mass / (total[i] + n_units[i])
                for n in range(start, end):
                    row = word_weights[tokens[n]]
                    mix(beliefs, row, mixed)
                    for i in range(n_particles):
                        for kind in range(3):
                            kinds[kind, i] = _switch(
                                is_message_switch, switch_prior, switch_probabilities, switches,
                                kind, i,
                            )  # fmt: skip
                        kinds[0, i] *= row[n_classes]
                        kinds[1, i] *= mixed[i]
                    if n_topics > 0:
                        mix(topics, row[n_classes + 1 :], mixed)
                        for i in range(n_particles):
                            kinds[2, i] *= mixed[i] / topic_total[i]
                    for i in range(n_particles):
                        if n_topics == 0:
                            kinds[2, i] = 0.0
                        log_weights[i] += math.log(kinds[0, i] + kinds[1, i] + kinds[2, i])
                    result += choose_survivors(log_weights, state, survivors)
                    if survivors[0] >= 0:
                        for array in rows:
                            keep_survivors(survivors, spare, array)
                        keep_survivors(survivors, spare, topics)
                        for slot in range(n_slots):
                            if in_use[slot]:
                                keep_survivors(survivors, spare, waiting[slot])
                        for single in singles:
                            keep_survivors(survivors, spare, single.reshape(1, -1))
                    _draw_word(
                        row, kinds, beliefs, topics, topic_total, switches, state, is_segmented,
                        counts, n_units,
                    )  # fmt: skip
                if is_segmented:
                    for i in range(n_particles):
                        k = _draw_column(beliefs, i, uniform(state))
                        counts[k, i] += 1.0
                        n_units[i] += 1.0
            if last_reply[b - first] >= 0:
                n_free -= 1
                own = free[n_free]
                slot_of[b - first] = own
                in_use[own] = True
                _set_scores(counts, weights, waiting[own])
            for p in range(n_parents):
                parent = parent_list[parent_offsets[b] + p]
                if last_reply[parent - first] == b:
                    in_use[slots[p]] = False
                    free[n_free] = slots[p]
                    n_free += 1
            if are_apart and n_free == n_slots:  # nothing that follows depends on what was drawn
                result += log_mean(log_weights)
                log_weights[:] = 0.0
        log_likelihoods[c] = result + log_mean(log_weights)


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_word(  # type: ignore[no-untyped-def]
    row, kinds, beliefs, topics, topic_total, switches, state, is_segmented, counts, n_units
):
    """Draw each particle's outcome of a word with these weights, and count it.

    Where tokens bear classes, the class is drawn; in a segment, beliefs follow the word.
    """
    n_classes, n_particles = beliefs.shape
    for i in range(n_particles):
        aim = uniform(state) * (kinds[0, i] + kinds[1, i] + kinds[2, i])
        if aim < kinds[1, i]:
            kind = 1
        elif aim < kinds[1, i] + kinds[0, i] or kinds[2, i] == 0.0:
            kind = 0 if kinds[0, i] > 0.0 else 1
        else:
            kind = 2
        switches[kind, i] += 1.0
        if kind == 1:
            sum_ = 0.0
            for k in range(n_classes):
                beliefs[k, i] *= row[k]
                sum_ += beliefs[k, i]
            for k in range(n_classes):
                beliefs[k, i] /= sum_
            if not is_segmented:
                k = _draw_column(beliefs, i, uniform(state))
                counts[k, i] += 1.0
                n_units[i] += 1.0
        elif kind == 2:
            sum_ = 0.0
            for t in range(topics.shape[0]):
                sum_ += topics[t, i] * row[n_classes + 1 + t]
            aim = uniform(state) * sum_
            chosen = topics.shape[0] - 1
            for t in range(topics.shape[0]):
                aim -= topics[t, i] * row[n_classes + 1 + t]
                if aim < 0.0:
                    chosen = t
                    break
            topics[chosen, i] += 1.0
            topic_total[i] += 1.0
