"""The likelihood of held-out messages: the paper's score, and sequential estimates.

Parameters are frozen. ``word_weights`` (W, K+1) has the background in its last column; a
message draws a class with probability ``class_probability`` and otherwise the background
(:mod:`palaver.kernels.switch`).

The paper's score (:func:`add_mixture_scores`) takes the class shares of each message as given::

    log p(w_bn) = log( p sum_k shares[b, k] phi_k(w) + (1 - p) phi_B(w) )                    (1)

The sequential estimates, in the systems' own kernels, give the likelihood of the words
themselves, in order.
"""

from __future__ import annotations

import math

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.switch import SWITCH_MESSAGE, SWITCH_OFF


@kernel(error_model="numpy")
def add_mixture_scores(  # type: ignore[no-untyped-def]
    tokens, message_offsets, shares, class_probabilities, word_weights, scores
):
    """Add (1), summed over tokens, to the score of each message.

    Parameters
    ----------
    tokens, message_offsets : arrays of the shard. IN
    shares : array of float64, shape (n_messages, K). IN
    class_probabilities : array of float64, shape (n_messages,). IN
    word_weights : array of float64, shape (W, K+1). IN
    scores : array of float64, shape (n_messages,). IN-OUT

    Cost O(K) per token.
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


@inner(error_model="numpy")
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


@inner
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
