"""How likely held-out messages are: the paper's score, and sequential estimates.

Parameters are frozen. ``word_weights`` (W, K+1) has the background in its last column; a
message draws a class with probability ``class_probability`` and else the background
(:mod:`palaver.kernels.switch`).

The paper's score (:func:`add_mixture_scores`) takes the class shares of each message as given::

    log p(w_bn) = log( p sum_k shares[b, k] phi_k(w) + (1 - p) phi_B(w) )                    (1)

The sequential ones estimate the likelihood of the words themselves, earlier ones first.
:func:`m4_log_likelihoods` goes through a conversation parents first: given a sample of the
parent's classes the words of a message are independent draws from (1) with ``shares`` the
transition distribution, so a particle's weight is exact and the message's classes, which its
replies will need, are drawn given its own words only. :func:`lda_log_likelihoods` goes through
each message word by word (the sequential sampler of Buntine 2009). The block HMM needs no
samples: :func:`message_emissions`, then :func:`block_log_likelihoods`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from palaver.kernels.block_hmm_trees import filter_beliefs, floored_columns
from palaver.kernels.particles import (
    choose_survivors,
    draw_outcomes,
    keep_survivors,
    log_mean,
    mix,
)
from palaver.kernels.plain import highest_of, longest_stretch
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.switch import SWITCH_MESSAGE, SWITCH_OFF

_TINY = 1e-250


@njit(cache=True, nogil=True, error_model="numpy")
def add_mixture_scores(  # type: ignore[no-untyped-def]
    tokens, message_offsets, shares, class_probabilities, word_weights, scores
):
    """Add (1), summed over its tokens, to the score of each message.

    Parameters
    ----------
    tokens, message_offsets : arrays of the shard. IN
    shares : array of float64, shape (n_messages, K). IN
    class_probabilities : array of float64, shape (n_messages,). IN
    word_weights : array of float64, shape (W, K+1). IN
    scores : array of float64, shape (n_messages,). IN-OUT

    Cost O(K) for each token.
    """
    n_classes = shares.shape[1]
    for b in range(shares.shape[0]):
        probability = class_probabilities[b]
        for n in range(message_offsets[b], message_offsets[b + 1]):
            row = word_weights[tokens[n]]
            mixed = 0.0
            for k in range(n_classes):
                mixed += shares[b, k] * row[k]
            scores[b] += math.log(probability * mixed + (1.0 - probability) * row[n_classes])


@njit(cache=True, nogil=True)
def log_sum(values):  # type: ignore[no-untyped-def]
    """Return the log of the sum of exponentials of ``values``. IN."""
    highest = highest_of(values)
    if highest == -np.inf:
        return highest
    total = 0.0
    for i in range(values.shape[0]):
        total += math.exp(values[i] - highest)
    return highest + math.log(total)


@njit(cache=True, nogil=True, error_model="numpy")
def message_emissions(  # type: ignore[no-untyped-def]
    tokens, message_offsets, word_weights, nodes, log_node_weights, emissions
):
    """Set the log probability of each message's words if all are of one class or background.

    The probability of a class is summed out over ``nodes``: the corpus' only one, or those of
    a quadrature for the Beta prior of each message's own.

    Parameters
    ----------
    tokens, message_offsets : arrays of the shard. IN
    word_weights : array of float64, shape (W, K+1). IN
    nodes, log_node_weights : arrays of float64, shape (n_nodes,). IN
    emissions : array of float64, shape (n_messages, K). OUT

    Cost O(K n_nodes) for each token.
    """
    n_classes = emissions.shape[1]
    n_nodes = nodes.shape[0]
    factors = np.empty(n_nodes)
    logs = np.empty(n_nodes)
    for b in range(emissions.shape[0]):
        for k in range(n_classes):
            factors[:] = 1.0
            logs[:] = log_node_weights
            for n in range(message_offsets[b], message_offsets[b + 1]):
                for_class = word_weights[tokens[n], k]
                for_background = word_weights[tokens[n], n_classes]
                for q in range(n_nodes):
                    factors[q] *= nodes[q] * for_class + (1.0 - nodes[q]) * for_background
                    if factors[q] < _TINY:
                        logs[q] += math.log(max(factors[q], 5e-324))
                        factors[q] = 1.0
            for q in range(n_nodes):
                logs[q] += math.log(factors[q])
            emissions[b, k] = log_sum(logs)


@njit(cache=True, nogil=True)
def add_block_scores(shares, emissions, scores):  # type: ignore[no-untyped-def]
    """Add to each message's score ``log sum_k shares[b, k] exp(emissions[b, k])``.

    The block HMM's probability of a whole message. shares, emissions : (n_messages, K) IN;
    scores : (n_messages,) IN-OUT.
    """
    terms = np.empty(shares.shape[1])
    for b in range(shares.shape[0]):
        for k in range(shares.shape[1]):
            terms[k] = emissions[b, k] + math.log(max(shares[b, k], 5e-324))
        scores[b] += log_sum(terms)


@njit(cache=True, nogil=True)
def block_log_likelihoods(  # type: ignore[no-untyped-def]
    parents, conversation_offsets, rows, emissions, log_likelihoods
):
    """Set the exact log likelihood of each conversation under the block HMM.

    Parameters
    ----------
    parents, conversation_offsets : arrays of the shard. IN
    rows : array of float64, shape (K+1, K). IN
    emissions : array of float64, shape (n_messages, K), of `message_emissions`. IN-OUT: used up
    log_likelihoods : array of float64, shape (n_conversations,). OUT

    Cost O(K²) for each message.
    """
    columns = floored_columns(rows)
    longest = longest_stretch(conversation_offsets)
    sums = np.empty((longest, rows.shape[0]))
    for c in range(len(conversation_offsets) - 1):
        first, last = conversation_offsets[c], conversation_offsets[c + 1]
        log_likelihoods[c] = filter_beliefs(
            first, last, parents, columns, emissions[first:last], sums
        )


@njit(cache=True, nogil=True, error_model="numpy")
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
        One stream for each conversation.
    log_likelihoods : array of float64, shape (n_conversations,). OUT

    Cost O(K n_particles) for each token.
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


@njit(cache=True, nogil=True, error_model="numpy")
def set_switch(  # type: ignore[no-untyped-def]
    switch, switch_prior, class_probability, totals, weights
):
    """Set the probabilities ``weights`` (2, P) OUT of background and class for the next token.

    totals : (2, P) IN, the message's earlier tokens; used if each message has its own switch.
    """
    for i in range(totals.shape[1]):
        if switch == SWITCH_MESSAGE:
            n_tokens = totals[0, i] + totals[1, i] + switch_prior[0] + switch_prior[1]
            weights[0, i] = (totals[0, i] + switch_prior[0]) / n_tokens
            weights[1, i] = (totals[1, i] + switch_prior[1]) / n_tokens
        else:
            weights[1, i] = 1.0 if switch == SWITCH_OFF else class_probability
            weights[0, i] = 1.0 - weights[1, i]


@njit(cache=True, nogil=True)
def count_outcomes(outcomes, switch, counts, totals):  # type: ignore[no-untyped-def]
    """Add each particle's new outcome (P,) to ``counts`` (K, P) and ``totals`` (2, P). IN-OUT."""
    n_classes = counts.shape[0]
    for i in range(outcomes.shape[0]):
        outcome = outcomes[i]
        if outcome >= n_classes and switch == SWITCH_OFF:  # by rounding
            outcome = n_classes - 1
        if outcome < n_classes:
            counts[outcome, i] += 1.0
            totals[1, i] += 1.0
        else:
            totals[0, i] += 1.0
