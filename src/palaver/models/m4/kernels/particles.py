"""Particles of M4's filter: how the words of a message are weighed, and its classes drawn.

See :mod:`palaver.models.m4.kernels.heldout`, and :mod:`palaver.kernels.particles` for what all
filters share. The words of a message come either *in turn*, each weighed by its probability given
all that a particle holds and drawn before the next, or *at once*: where nothing but the parents
ties them together (softmax transitions, tokens with classes of their own, no topics, one switch
for the corpus), all are weighed first, and drawn afterwards, for replies alone. So fewer particles
are lost, and less is drawn.

A segment is a run of tokens of one class; where tokens have classes of their own, every token is
one. ``beliefs`` are the probabilities of the segment's class given its words so far, so the class
is only drawn at the end of the segment.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palaver.kernels.compiled import inner
from palaver.kernels.particles import (
    choose_survivors,
    draw_outcomes,
    keep_survivors,
    mix,
    multiply_weights,
    take_logs,
)
from palaver.kernels.random import uniform

FloatArray = NDArray[np.float64]


class Particles(NamedTuple):
    """What P particles hold, and scratch; the last axis is that of the particles.

    Of the message at hand: shares (K, P), weights of classes given the parents, and total (P,),
    their sums; counts (K, P) of classes, n_units (P,), their sums; beliefs (K, P); switches
    (3, P), tokens of background, class and topic; kinds (3, P), weights of the next word's
    outcomes. Of the conversation: topics (T, P), counts with their prior, and topic_total (P,).
    Of messages that wait for replies: waiting (n_slots, K, P), what their classes add to the
    scores of these; is_waiting (n_slots,). log_weights (P,).
    """

    shares: FloatArray
    total: FloatArray
    counts: FloatArray
    n_units: FloatArray
    beliefs: FloatArray
    switches: FloatArray
    kinds: FloatArray
    topics: FloatArray
    topic_total: FloatArray
    waiting: FloatArray
    is_waiting: NDArray[np.bool_]
    log_weights: FloatArray
    mixed: FloatArray
    spare: FloatArray
    survivors: NDArray[np.int64]
    outcomes: NDArray[np.int64]


@inner
def make_particles(n_classes, n_topics, n_slots, n_particles):  # type: ignore[no-untyped-def]
    """Return particles that hold nothing yet."""
    return Particles(
        np.empty((n_classes, n_particles)), np.empty(n_particles),
        np.empty((n_classes, n_particles)), np.empty(n_particles),
        np.empty((n_classes, n_particles)), np.empty((3, n_particles)),
        np.empty((3, n_particles)), np.empty((n_topics, n_particles)), np.empty(n_particles),
        np.empty((n_slots, n_classes, n_particles)), np.zeros(n_slots, np.bool_),
        np.zeros(n_particles), np.empty(n_particles), np.empty(n_particles),
        np.empty(n_particles, np.int64), np.empty(n_particles, np.int64),
    )  # fmt: skip


@inner
def _resample(particles, state):  # type: ignore[no-untyped-def]
    """Let the particles that fit replace the others, where weights are too uneven.

    Returns what the log likelihood grows by.
    """
    survivors, spare = particles.survivors, particles.spare
    grown = choose_survivors(particles.log_weights, state, survivors)
    if survivors[0] >= 0:
        for array in (particles.shares, particles.counts, particles.beliefs, particles.switches,
                      particles.kinds, particles.topics):  # fmt: skip
            keep_survivors(survivors, spare, array)
        for single in (particles.total, particles.n_units, particles.topic_total):
            keep_survivors(survivors, spare, single.reshape(1, -1))
        for slot in range(particles.is_waiting.shape[0]):
            if particles.is_waiting[slot]:
                keep_survivors(survivors, spare, particles.waiting[slot])
    return grown


@inner(error_model="numpy")
def weigh_at_once(  # type: ignore[no-untyped-def]
    words, has_replies, parameters, particles, state, log_likelihood
):
    """Weigh words that tell nothing about each other, then draw classes if there are replies.

    words : (n,) IN; parameters : Parameters IN; particles : Particles, state : (4,) IN-OUT.
    Returns ``log_likelihood`` with what it grows by. O(K n_particles) for each word.
    """
    shares, mixed, factors = particles.shares, particles.mixed, particles.spare
    n_classes, n_particles = shares.shape
    for_background, for_class, _ = parameters.switch_probabilities
    shares /= particles.total
    factors[:] = 1.0
    for word in words:
        row = parameters.word_weights[word]
        mix(shares, row, mixed)
        for i in range(n_particles):
            mixed[i] = for_class * mixed[i] + for_background * row[n_classes]
        multiply_weights(mixed, factors, particles.log_weights)
    take_logs(factors, particles.log_weights)
    log_likelihood += _resample(particles, state)
    for word in words[: words.shape[0] if has_replies else 0]:
        row = parameters.word_weights[word]
        mix(shares, row, mixed)
        for i in range(n_particles):
            mixed[i] = uniform(state) * (mixed[i] + for_background * row[n_classes] / for_class)
        draw_outcomes(shares, row, mixed, particles.outcomes)
        for i in range(n_particles):
            outcome = particles.outcomes[i]
            if outcome == n_classes and for_background == 0.0:  # by rounding
                outcome -= 1
            if outcome < n_classes:
                particles.counts[outcome, i] += 1.0
    return log_likelihood


@inner(error_model="numpy")
def weigh_in_turn(  # type: ignore[no-untyped-def]
    message, variant, threads, parameters, particles, state, log_likelihood
):
    """Weigh and draw the words of a message one after the other.

    variant : Variant, threads : Threads, parameters : Parameters IN; particles : Particles,
    state : (4,) IN-OUT. Returns ``log_likelihood`` with what it grows by.
    O((K + T) n_particles) for each word.
    """
    n_classes, n_particles = particles.shares.shape
    shares, total, counts = particles.shares, particles.total, particles.counts
    beliefs, n_units = particles.beliefs, particles.n_units
    for u in range(threads.unit_offsets[message], threads.unit_offsets[message + 1]):
        first, last = u, u + 1
        if variant.is_segmented:
            first, last = threads.segment_offsets[u], threads.segment_offsets[u + 1]
        for k in range(n_classes):
            for i in range(n_particles):
                beliefs[k, i] = shares[k, i] / total[i]
                if variant.is_dirichlet:
                    mass = shares[k, i] + counts[k, i]
                    beliefs[k, i] = mass / (total[i] + n_units[i])
        for n in range(first, last):
            row = parameters.word_weights[threads.tokens[n]]
            _weigh_word(row, variant.is_message_switch, parameters, particles)
            log_likelihood += _resample(particles, state)
            _draw_word(row, variant.is_segmented, particles, state)
        if variant.is_segmented:
            for i in range(n_particles):
                k = _draw_row(beliefs, i, uniform(state))
                counts[k, i] += 1.0
                n_units[i] += 1.0
    return log_likelihood


@inner(error_model="numpy")
def _weigh_word(row, is_message_switch, parameters, particles):  # type: ignore[no-untyped-def]
    """Set the weights of a word's outcomes, ``kinds``, and multiply the weights by their sum."""
    n_classes, n_particles = particles.beliefs.shape
    n_topics = particles.topics.shape[0]
    prior, kinds, mixed = parameters.switch_prior, particles.kinds, particles.mixed
    mix(particles.beliefs, row, mixed)
    for i in range(n_particles):
        for kind in range(3):
            kinds[kind, i] = parameters.switch_probabilities[kind]
        if is_message_switch:
            switches = particles.switches[:, i]
            seen = switches[0] + switches[1] + switches[2]
            for kind in range(3):
                kinds[kind, i] = (switches[kind] + prior[kind]) / (seen + prior.sum())
        kinds[0, i] *= row[n_classes]
        kinds[1, i] *= mixed[i]
    if n_topics > 0:
        mix(particles.topics, row[n_classes + 1 :], mixed)
        for i in range(n_particles):
            kinds[2, i] *= mixed[i] / particles.topic_total[i]
    for i in range(n_particles):
        if n_topics == 0:
            kinds[2, i] = 0.0
        particles.log_weights[i] += math.log(kinds[0, i] + kinds[1, i] + kinds[2, i])


@inner(error_model="numpy")
def _draw_word(row, is_segmented, particles, state):  # type: ignore[no-untyped-def]
    """Draw each particle's outcome of a word that has been weighed, and count it.

    Where tokens have classes, the class is drawn; in a segment, beliefs follow the word.
    """
    kinds, beliefs, topics = particles.kinds, particles.beliefs, particles.topics
    n_classes, n_particles = beliefs.shape
    for i in range(n_particles):
        aim = uniform(state) * (kinds[0, i] + kinds[1, i] + kinds[2, i])
        if aim < kinds[1, i]:
            kind = 1
        elif aim < kinds[1, i] + kinds[0, i] or kinds[2, i] == 0.0:
            kind = 0 if kinds[0, i] > 0.0 else 1
        else:
            kind = 2
        particles.switches[kind, i] += 1.0
        if kind == 1:
            sum_ = 0.0
            for k in range(n_classes):
                beliefs[k, i] *= row[k]
                sum_ += beliefs[k, i]
            for k in range(n_classes):
                beliefs[k, i] /= sum_
            if not is_segmented:
                k = _draw_row(beliefs, i, uniform(state))
                particles.counts[k, i] += 1.0
                particles.n_units[i] += 1.0
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
            particles.topic_total[i] += 1.0


@inner
def _draw_row(weights, particle, aim):  # type: ignore[no-untyped-def]
    """Return the row of ``weights`` (n, P) at which their sum passes ``aim``."""
    last = weights.shape[0] - 1
    for k in range(last):
        aim -= weights[k, particle]
        if aim < 0.0:
            return k
    return last
