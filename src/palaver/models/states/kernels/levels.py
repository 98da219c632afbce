"""Word priors of states, which share a few levels of sparsity; words given counts and priors.

State k's words are Dirichlet(eta_k), symmetric over W words. The priors eta come from a Dirichlet
process with concentration 1 whose base measure is uniform in ``log eta`` between two limits; states
with equal eta share a level (Van Gael et al. 2009, section 2, "Hyperparameter choice"). How often
each count occurs is sufficient for eta.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.forests import draw_by_logs
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.word_weights import log_gamma_draw

_TABLE_SIZE = 512
_CANDIDATES = 3  # draws from the base measure that compete with the current levels
_STEPS = (1.0, 0.3, 0.1)
_LOWEST_LOG = -85.0  # of an emission relative to the largest of its word, in single precision
LOWEST_EMISSION = math.exp(_LOWEST_LOG + 1e-3)  # any that is not above it may be far smaller


@kernel
def count_words(tokens, states, counts):  # type: ignore[no-untyped-def]
    """Add every token to ``counts`` (n_words, n_states), int32, IN-OUT."""
    for i in range(len(tokens)):
        counts[tokens[i], states[i]] += 1


@kernel
def count_shapes(counts, first, last):  # type: ignore[no-untyped-def]
    """Return how often each positive count occurs in each of some columns, as ragged rows.

    Parameters
    ----------
    counts : array of int32, shape (n_words, n_states). IN
    first, last : int. IN
        Columns from ``first`` to ``last - 1``, as far as there are some.

    Returns
    -------
    values, occurrences : arrays of int64
    offsets : array of int64, shape (n_columns + 1,)
        Column ``first + k`` has ``values[offsets[k]:offsets[k + 1]]``; a large value may repeat.
    """
    n_words, n_states = len(counts), min(last, counts.shape[1]) - first
    small = np.zeros((n_states, _TABLE_SIZE), np.int64)
    n_large = np.zeros(n_states, np.int64)
    for w in range(n_words):
        for k in range(n_states):
            n = counts[w, first + k]
            if n >= _TABLE_SIZE:
                n_large[k] += 1
            elif n > 0:
                small[k, n] += 1
    offsets = np.zeros(n_states + 1, np.int64)
    for k in range(n_states):
        offsets[k + 1] = offsets[k] + np.count_nonzero(small[k]) + n_large[k]
    values = np.empty(offsets[n_states], np.int64)
    occurrences = np.ones(offsets[n_states], np.int64)
    filled = offsets[:-1].copy()
    for k in range(n_states):
        for n in range(_TABLE_SIZE):
            if small[k, n] > 0:
                values[filled[k]] = n
                occurrences[filled[k]] = small[k, n]
                filled[k] += 1
    if n_large.sum() > 0:
        for w in range(n_words):
            for k in range(n_states):
                if counts[w, first + k] >= _TABLE_SIZE:
                    values[filled[k]] = counts[w, first + k]
                    filled[k] += 1
    return values, occurrences, offsets


@kernel
def log_words(values, occurrences, eta, n_words):  # type: ignore[no-untyped-def]
    """Return the log probability of one state's words with their distribution integrated out.

    ``sum_w log eta^(n_w) - log (W eta)^(n)`` with rising factorials; values and occurrences are
    one row of :func:`count_shapes`.
    """
    start = math.lgamma(eta)
    result = 0.0
    total = 0
    for i in range(len(values)):
        result += occurrences[i] * (math.lgamma(values[i] + eta) - start)
        total += occurrences[i] * values[i]
    return result + math.lgamma(n_words * eta) - math.lgamma(n_words * eta + total)


@inner
def _base_draw(low, high, stream):  # type: ignore[no-untyped-def]
    """Draw a level from the base measure. stream: IN-OUT."""
    return low * math.exp(uniform(stream) * math.log(high / low))


@kernel
def resample_levels(  # type: ignore[no-untyped-def]
    values, occurrences, offsets, n_words, low, high, key, etas
):
    """Resample which states share a level, then the levels' values.

    Memberships by Neal's (2000) algorithm 8 with :data:`_CANDIDATES` auxiliary values; values by
    Metropolis-Hastings steps in ``log eta``, in which the base measure is uniform.

    Parameters
    ----------
    values, occurrences, offsets : of :func:`count_shapes`. IN
    n_words : int. IN
    low, high : float. IN
        Limits of the base measure.
    key : array of uint64, shape (2,). IN
    etas : array of float64, shape (n_states,). IN-OUT
        Equal values share a level.
    """
    n_states = len(etas)
    stream = np.empty(4, np.uint64)
    open_stream(key, 0, stream)
    levels, logs = np.empty(n_states + _CANDIDATES), np.empty(n_states + _CANDIDATES)
    members = np.empty(n_states + _CANDIDATES)
    for k in range(n_states):
        n_levels = _others(etas, k, levels, members)
        alone = True
        for i in range(n_levels):
            alone = alone and levels[i] != etas[k]
        for i in range(n_levels, n_levels + _CANDIDATES):
            levels[i] = _base_draw(low, high, stream)
            members[i] = 1.0 / _CANDIDATES
        if alone:  # its current value is one of the candidates
            levels[n_levels] = etas[k]
        part = slice(offsets[k], offsets[k + 1])
        for i in range(n_levels + _CANDIDATES):
            logs[i] = math.log(members[i]) + log_words(
                values[part], occurrences[part], levels[i], n_words
            )
        etas[k] = levels[draw_by_logs(logs, n_levels + _CANDIDATES, uniform(stream))]
    _move_levels(values, occurrences, offsets, n_words, low, high, stream, etas)


@inner
def _others(etas, k, levels, members):  # type: ignore[no-untyped-def]
    """Collect the levels of all states but one (OUT) and their sizes (OUT); return their number."""
    n_levels = 0
    for j in range(len(etas)):
        if j == k:
            continue
        at = 0
        while at < n_levels and levels[at] != etas[j]:
            at += 1
        if at == n_levels:
            levels[at] = etas[j]
            members[at] = 0.0
            n_levels += 1
        members[at] += 1.0
    return n_levels


@inner
def _move_levels(values, occurrences, offsets, n_words, low, high, stream, etas):  # type: ignore[no-untyped-def]
    """Move each level's value by Metropolis-Hastings steps of several sizes. etas: IN-OUT."""
    n_states = len(etas)
    for k in range(n_states):
        first = True
        for j in range(k):
            first = first and etas[j] != etas[k]
        if not first:
            continue  # its level has already moved
        for step in _STEPS:
            old = etas[k]
            new = old * math.exp(step * 2.0 * (uniform(stream) - 0.5))
            threshold = math.log(1.0 - uniform(stream))
            if new < low or new > high:
                continue
            difference = 0.0
            for j in range(k, n_states):
                if etas[j] == old:
                    part = slice(offsets[j], offsets[j + 1])
                    difference += log_words(values[part], occurrences[part], new, n_words)
                    difference -= log_words(values[part], occurrences[part], old, n_words)
            if threshold < difference:
                for j in range(k, n_states):
                    if etas[j] == old:
                        etas[j] = new


@kernel
def extend_levels(etas, n_new, low, high, key):  # type: ignore[no-untyped-def]
    """Return priors with those of further states, by the Dirichlet process given those before.

    Parameters
    ----------
    etas : array of float64, shape (n_states,). IN
    n_new : int. IN
    low, high : float. IN
        Equal limits fix the prior.
    key : array of uint64, shape (2,). IN
        One stream per state, named by its number.

    Returns
    -------
    array of float64, shape (n_states + n_new,)
    """
    n_states = len(etas)
    result = np.empty(n_states + n_new)
    result[:n_states] = etas
    stream = np.empty(4, np.uint64)
    for k in range(n_states, n_states + n_new):
        open_stream(key, k, stream)
        at = int(uniform(stream) * (k + 1))
        result[k] = _base_draw(low, high, stream) if at >= k else result[at]
    return result


@kernel
def draw_log_weights(key, first_word, counts, etas, weights):  # type: ignore[no-untyped-def]
    """Draw logs of Gamma(counts + eta) for a slice of the words.

    Parameters
    ----------
    key : array of uint64, shape (2,). IN
        One stream per word.
    first_word : int. IN
    counts : array of int32, shape (n_words, n_states). IN
    etas : array of float64, shape (n_states,). IN
    weights : array of float64, shape (n_words, n_states). OUT

    Returns
    -------
    array of float64, shape (n_states,)
        Logs of the sums of each column.
    """
    n_words, n_states = counts.shape
    maxima, sums = np.full(n_states, -np.inf), np.zeros(n_states)
    stream = np.empty(4, np.uint64)
    for w in range(n_words):
        open_stream(key, first_word + w, stream)
        for k in range(n_states):
            weight = log_gamma_draw(counts[w, k] + etas[k], stream)
            weights[w, k] = weight
            if weight > maxima[k]:
                sums[k] = sums[k] * math.exp(maxima[k] - weight) + 1.0
                maxima[k] = weight
            elif weight > maxima[k] - 40.0:
                sums[k] += math.exp(weight - maxima[k])
    return maxima + np.log(sums)


@kernel
def scale_weights(weights, log_sums, power, scales, emissions):  # type: ignore[no-untyped-def]
    """Turn logs of weights into emissions, relative to each word's likeliest state.

    Parameters
    ----------
    weights : array of float64, shape (n_words, n_states). IN-OUT
        Of :func:`draw_log_weights`; become log probabilities.
    log_sums : array of float64, shape (n_states,). IN
    power : float. IN
        To which likelihoods are raised.
    scales : array of float64, shape (n_words,). OUT
        Log probability of each word in its likeliest state.
    emissions : array of float32, shape (n_words, n_states). OUT
        ``(p(w | k) / p(w | likeliest)) ** power``.
    """
    n_words, n_states = weights.shape
    for w in range(n_words):
        largest = -np.inf
        for k in range(n_states):
            weights[w, k] -= log_sums[k]
            largest = max(largest, weights[w, k])
        scales[w] = largest
        for k in range(n_states):
            emissions[w, k] = math.exp(max(power * (weights[w, k] - largest), _LOWEST_LOG))


@kernel
def draw_new_words(etas, numbers, key, n_words, weights):  # type: ignore[no-untyped-def]
    """Draw the log word probabilities of new states from their prior.

    Parameters
    ----------
    etas : array of float64, shape (n_new,). IN
    numbers : array of int64, shape (n_new,). IN
        The states' numbers, which name their streams.
    key : array of uint64, shape (2,). IN
    n_words : int. IN
    weights : array of float64, shape (n_words, n_new). OUT
    """
    stream = np.empty(4, np.uint64)
    for k in range(len(etas)):
        open_stream(key, numbers[k], stream)
        largest = -np.inf
        for w in range(n_words):
            weights[w, k] = log_gamma_draw(etas[k], stream)
            largest = max(largest, weights[w, k])
        total = 0.0
        for w in range(n_words):
            total += math.exp(weights[w, k] - largest)
        log_sum = largest + math.log(total)
        for w in range(n_words):
            weights[w, k] -= log_sum
