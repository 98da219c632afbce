"""How likely held-out messages are under the block HMM: exactly, by filtering up the trees.

With one class per message the sum over all classes of a tree is a product of small matrices, so
that no particles are needed. :func:`add_block_scores` is for the protocol of Paul (2012), section
5.5.1, with a message scored as a whole. Parameters are frozen; :mod:`palaver.kernels.heldout` has
the notation.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import highest_of, longest_stretch
from palaver.models.block_hmm.kernels.trees import filter_beliefs, floored_columns

_TINY = 1e-250


@inner
def log_sum(values):  # type: ignore[no-untyped-def]
    """Return the log of the sum of exponentials of ``values``. IN."""
    highest = highest_of(values)
    if highest == -np.inf:
        return highest
    total = 0.0
    for i in range(values.shape[0]):
        total += math.exp(values[i] - highest)
    return highest + math.log(total)


@kernel(error_model="numpy")
def message_emissions(  # type: ignore[no-untyped-def]
    tokens, message_offsets, word_weights, nodes, log_node_weights, emissions
):
    """Set the log probability of each message's words, each from its class or the background.

    The switch probability is summed out over ``nodes``: the one of the corpus, or those of
    a quadrature for the Beta prior, if each message has its own.

    Parameters
    ----------
    tokens, message_offsets : arrays of the shard. IN
    word_weights : array of float64, shape (W, K+1). IN
    nodes, log_node_weights : arrays of float64, shape (n_nodes,). IN
    emissions : array of float64, shape (n_messages, K). OUT

    Cost O(K n_nodes) per token.
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


@kernel
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


@kernel
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

    Cost O(K²) per message.
    """
    columns = floored_columns(rows)
    longest = longest_stretch(conversation_offsets)
    sums = np.empty((longest, rows.shape[0]))
    for c in range(len(conversation_offsets) - 1):
        first, last = conversation_offsets[c], conversation_offsets[c + 1]
        log_likelihoods[c] = filter_beliefs(
            first, last, parents, columns, emissions[first:last], sums
        )
