"""Chains of hidden states: forward filtering, backward sampling, posteriors.

Shared by all hidden Markov models. Emissions come in as log densities, one row per position, so
that the kernels need not know what is emitted. Transition rows are the source; the last row
is the start. A sequence of one position needs the start row only, so a mixture is the hidden
Markov model of sequences of length one.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream, uniform

# A drawn probability may underflow to zero; this floor keeps filters from dividing by zero.
_SMALLEST_PROBABILITY = 1e-290


@inner
def floored(rows):  # type: ignore[no-untyped-def]
    """Return transition rows with no entry below the floor."""
    return np.maximum(rows, _SMALLEST_PROBABILITY)


@kernel(inline="always")
def draw_state(weights, threshold):  # type: ignore[no-untyped-def]
    """Return a state drawn with the given weights (K,) from one uniform number. IN only."""
    total = 0.0
    for k in range(len(weights)):
        total += weights[k]
    target = threshold * total
    cumulative = 0.0
    last = 0
    for k in range(len(weights)):
        if weights[k] > 0.0:
            last = k
            cumulative += weights[k]
            if cumulative > target:
                return k
    return last


@kernel(fastmath={"contract"})
def filter_chain(log_densities, rows, beliefs):  # type: ignore[no-untyped-def]
    """Filter one sequence forwards.

    ``beliefs[t, k]`` becomes ``p(s_t = k | x_1..x_t)``. Every position must have a positive
    density in some state.

    Parameters
    ----------
    log_densities : array of float64, shape (T, K). IN
    rows : array of float64, shape (K + 1, K), of :func:`floored`. IN
    beliefs : array of float64, shape (at least T, K). OUT

    Returns
    -------
    float
        Log-likelihood of the sequence.

    Cost: K² multiplications and K exponentials per position.
    """
    length, n_states = log_densities.shape
    log_likelihood = 0.0
    for t in range(length):
        belief = beliefs[t]
        if t == 0:
            for k in range(n_states):
                belief[k] = rows[n_states, k]
        else:
            before = beliefs[t - 1]
            belief[:] = 0.0
            for j in range(n_states):
                share = before[j]
                if share > 0.0:
                    for k in range(n_states):
                        belief[k] += share * rows[j, k]
        largest = -np.inf
        for k in range(n_states):
            largest = max(largest, log_densities[t, k])
        total = 0.0
        for k in range(n_states):
            belief[k] *= math.exp(log_densities[t, k] - largest)
            total += belief[k]
        for k in range(n_states):
            belief[k] /= total
        log_likelihood += largest + math.log(total)
    return log_likelihood


@kernel
def sample_chain(beliefs, rows, stream, states):  # type: ignore[no-untyped-def]
    """Draw the states of one filtered sequence backwards, one uniform number per position.

    Parameters
    ----------
    beliefs : array of float64, shape (at least T, K), of :func:`filter_chain`. IN
    rows : array of float64, shape (K + 1, K), of :func:`floored`. IN
    stream : array of uint64, shape (4,). IN-OUT
    states : array of int16, shape (T,). OUT
    """
    length, n_states = len(states), beliefs.shape[1]
    weights = np.empty(n_states)
    for t in range(length - 1, -1, -1):
        for k in range(n_states):
            weights[k] = beliefs[t, k]
            if t < length - 1:
                weights[k] *= rows[k, states[t + 1]]
        states[t] = draw_state(weights, uniform(stream))


@kernel
def sample_chains(  # type: ignore[no-untyped-def]
    log_densities, offsets, first_sequence, rows, key, states
):
    """Resample all states of each sequence exactly, given densities and rows.

    Parameters
    ----------
    log_densities : array of float64, shape (n, K). IN
    offsets : array of int64, shape (n_sequences + 1,). IN
    first_sequence : int. IN
        Number of the first sequence, which names its random stream.
    rows : array of float64, shape (K + 1, K). IN
    key : array of uint64, shape (2,). IN
        One stream per sequence; one draw per position, the last position first.
    states : array of int16, shape (n,). OUT

    Returns
    -------
    float
        Log-likelihood of all sequences.
    """
    safe = floored(rows)
    beliefs = np.empty((longest_stretch(offsets), rows.shape[1]))
    stream = np.empty(4, np.uint64)
    log_likelihood = 0.0
    for sequence in range(len(offsets) - 1):
        first, last = offsets[sequence], offsets[sequence + 1]
        open_stream(key, first_sequence + sequence, stream)
        log_likelihood += filter_chain(log_densities[first:last], safe, beliefs)
        sample_chain(beliefs, safe, stream, states[first:last])
    return log_likelihood


@kernel
def chain_posteriors(log_densities, offsets, rows, posteriors):  # type: ignore[no-untyped-def]
    """Fill ``p(s_t = k | whole sequence)``, by a forward and a backward pass.

    Parameters
    ----------
    log_densities : array of float64, shape (n, K). IN
    offsets : array of int64, shape (n_sequences + 1,). IN
    rows : array of float64, shape (K + 1, K). IN
    posteriors : array of float64, shape (n, K). OUT

    Returns
    -------
    array of float64, shape (n_sequences,)
        Log-likelihood of each sequence.

    Cost: 2 K² multiplications per position.
    """
    n_states = rows.shape[1]
    safe = floored(rows)
    predicted, share = np.empty(n_states), np.empty(n_states)
    log_likelihoods = np.empty(len(offsets) - 1)
    for sequence in range(len(offsets) - 1):
        first, last = offsets[sequence], offsets[sequence + 1]
        log_likelihoods[sequence] = filter_chain(
            log_densities[first:last], safe, posteriors[first:last]
        )
        for t in range(last - 2, first - 1, -1):
            predicted[:] = 0.0
            for j in range(n_states):
                for k in range(n_states):
                    predicted[k] += posteriors[t, j] * safe[j, k]
            for k in range(n_states):
                share[k] = posteriors[t + 1, k] / predicted[k] if predicted[k] > 0.0 else 0.0
            for j in range(n_states):
                total = 0.0
                for k in range(n_states):
                    total += safe[j, k] * share[k]
                posteriors[t, j] *= total
    return log_likelihoods


@kernel
def count_transitions(states, offsets, counts):  # type: ignore[no-untyped-def]
    """Add the transitions of all sequences to ``counts`` (K + 1, K), int64, IN-OUT."""
    n_states = counts.shape[1]
    for sequence in range(len(offsets) - 1):
        source = n_states
        for t in range(offsets[sequence], offsets[sequence + 1]):
            counts[source, states[t]] += 1
            source = states[t]


@kernel
def start_states(offsets, first_sequence, n_states, key, states):  # type: ignore[no-untyped-def]
    """Draw every state uniformly, from one stream per sequence. OUT: states (n,)."""
    stream = np.empty(4, np.uint64)
    for sequence in range(len(offsets) - 1):
        open_stream(key, first_sequence + sequence, stream)
        for t in range(offsets[sequence], offsets[sequence + 1]):
            states[t] = min(int(uniform(stream) * n_states), n_states - 1)
