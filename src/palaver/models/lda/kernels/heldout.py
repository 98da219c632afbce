"""How likely held-out messages are under LDA, estimated word by word.

The left-to-right sequential sampler of Buntine (2009): particles of the classes of earlier words
give the probability of the next one, with class shares integrated out as in Griffiths & Steyvers
(2004), equation 5. :mod:`palaver.kernels.heldout` has the notation.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import kernel
from palaver.kernels.heldout import count_outcomes, set_switch
from palaver.kernels.particles import (
    choose_survivors,
    draw_outcomes,
    keep_survivors,
    log_mean,
    mix,
)
from palaver.kernels.random import open_stream, uniform


@kernel(error_model="numpy")
def lda_log_likelihoods(  # type: ignore[no-untyped-def]
    tokens, message_offsets, conversation_offsets, first_conversation, word_weights, alpha,
    switch, switch_prior, class_probability, n_particles, key, log_likelihoods,
):  # fmt: skip
    """Set an estimate of the log likelihood of each conversation under LDA.

    Messages are independent; each has a particle filter over its words.

    Parameters
    ----------
    tokens, message_offsets, conversation_offsets : arrays of the shard. IN
    first_conversation : int. IN
    word_weights : array of float64, shape (W, K+1); alpha : array of float64, shape (K,). IN
    switch : int; switch_prior : array of float64, shape (2,); class_probability : float. IN
    n_particles : int. IN
    key : array of uint64, shape (2,). IN
        One stream per conversation.
    log_likelihoods : array of float64, shape (n_conversations,). OUT

    Cost O(K n_particles) per token.
    """
    n_classes = alpha.shape[0]
    counts = np.empty((n_classes, n_particles))
    totals = np.empty((2, n_particles))  # tokens of the background, tokens of classes
    weights = np.empty((2, n_particles))  # of background and class, divided by what they share
    mixed, values, spare = np.empty(n_particles), np.empty(n_particles), np.empty(n_particles)
    log_weights = np.empty(n_particles)
    outcomes, survivors = np.empty(n_particles, np.int64), np.empty(n_particles, np.int64)
    alpha_sum = alpha.sum()
    state = np.empty(4, np.uint64)
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        result = 0.0
        for b in range(conversation_offsets[c], conversation_offsets[c + 1]):
            for k in range(n_classes):
                counts[k, :] = alpha[k]
            totals[:] = 0.0
            log_weights[:] = 0.0
            for n in range(message_offsets[b], message_offsets[b + 1]):
                row = word_weights[tokens[n]]
                mix(counts, row, mixed)
                set_switch(switch, switch_prior, class_probability, totals, weights)
                for i in range(n_particles):
                    weights[1, i] /= totals[1, i] + alpha_sum
                    values[i] = weights[1, i] * mixed[i] + weights[0, i] * row[n_classes]
                    log_weights[i] += math.log(values[i])
                result += choose_survivors(log_weights, state, survivors)
                if survivors[0] >= 0:
                    keep_survivors(survivors, spare, counts)
                    keep_survivors(survivors, spare, totals)
                    keep_survivors(survivors, spare, weights)
                    for i in range(n_particles):
                        spare[i] = values[survivors[i]]
                    values[:] = spare
                for i in range(n_particles):
                    spare[i] = uniform(state) * values[i] / weights[1, i]
                draw_outcomes(counts, row, spare, outcomes)
                count_outcomes(outcomes, switch, counts, totals)
            result += log_mean(log_weights)
        log_likelihoods[c] = result
