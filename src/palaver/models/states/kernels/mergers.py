"""What merging two hidden states would gain, for all pairs of states."""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel


@inner
def _rise(shape, n):  # type: ignore[no-untyped-def]
    """Return the log of the rising factorial of ``shape``, n factors."""
    return math.lgamma(shape + n) - math.lgamma(shape) if n > 0 else 0.0


@kernel
def transition_gains(counts, alpha, weights, gamma, discount):  # type: ignore[no-untyped-def]
    """Return by how much the log joint of transitions and weights changes with each merge.

    Rows are integrated out; the merged state has the weights of both. The weights of a split state
    are a uniform share of it, so that the joints of K and K - 1 weights can be compared.

    Parameters
    ----------
    counts : array of int64, shape (K + 1, K). IN
        The last row is the start.
    alpha, gamma, discount : float. IN
    weights : array of float64, shape (K + 1,). IN
        The last entry is that of all other states.

    Returns
    -------
    array of float64, shape (K, K)
        Symmetric; minus infinity on the diagonal.

    Cost: K³.
    """
    n_states = counts.shape[1]
    shapes = alpha * weights
    alone = np.zeros((n_states + 1, n_states))
    totals = np.zeros(n_states)
    for j in range(n_states + 1):
        for k in range(n_states):
            alone[j, k] = _rise(shapes[k], counts[j, k])
            if j < n_states:
                totals[j] += counts[j, k]
    less = -math.log(gamma + (n_states - 1) * discount) + math.lgamma(1 - discount)
    less += math.lgamma(gamma + n_states * discount)
    less -= math.lgamma(gamma + (n_states - 1) * discount)
    if discount > 0:
        less -= discount * math.log(weights[n_states])
    gains = np.full((n_states, n_states), -np.inf)
    for a in range(n_states):
        for b in range(a):
            both = shapes[a] + shapes[b]
            gain = less - (2 + discount) * math.log(weights[a] + weights[b])
            gain += (1 + discount) * (math.log(weights[a]) + math.log(weights[b]))
            for j in range(n_states + 1):
                if j != a and j != b:
                    gain += _rise(both, counts[j, a] + counts[j, b])
                    gain -= alone[j, a] + alone[j, b]
            for k in range(n_states):
                if k != a and k != b and counts[a, k] > 0 and counts[b, k] > 0:
                    gain += _rise(shapes[k], counts[a, k] + counts[b, k])
                    gain -= alone[a, k] + alone[b, k]
            gain += _rise(both, counts[a, a] + counts[a, b] + counts[b, a] + counts[b, b])
            gain -= alone[a, a] + alone[a, b] + alone[b, a] + alone[b, b]
            gain += _rise(alpha, totals[a]) + _rise(alpha, totals[b])
            gain -= _rise(alpha, totals[a] + totals[b])
            gains[a, b] = gains[b, a] = gain
    return gains


@kernel
def word_gains(counts, etas):  # type: ignore[no-untyped-def]
    """Return by how much the log joint of words changes with each merge.

    The merged state has the prior of the state with more words.

    Parameters
    ----------
    counts : array of int32, shape (n_words, K). IN
    etas : array of float64, shape (K,). IN

    Returns
    -------
    array of float64, shape (K, K)
    """
    n_words, n_states = counts.shape
    totals, sizes = np.zeros(n_states), np.zeros(n_states + 1, np.int64)
    for w in range(n_words):
        for k in range(n_states):
            if counts[w, k] > 0:
                totals[k] += counts[w, k]
                sizes[k + 1] += 1
    offsets = np.cumsum(sizes)
    words, at = np.empty(offsets[-1], np.int64), offsets[:-1].copy()
    alone = np.zeros(n_states)
    for w in range(n_words):
        for k in range(n_states):
            if counts[w, k] > 0:
                words[at[k]] = w
                at[k] += 1
                alone[k] += _rise(etas[k], counts[w, k])
    gains = np.zeros((n_states, n_states))
    for i in range(n_states):
        for j in range(i):
            a, b = (i, j) if totals[i] >= totals[j] else (j, i)
            eta, whole = etas[a], n_words * etas[a]
            gain = _rise(whole, totals[a]) - _rise(whole, totals[a] + totals[b])
            gain += _rise(n_words * etas[b], totals[b]) - alone[b]
            for at_b in range(offsets[b], offsets[b + 1]):
                w = words[at_b]
                gain += _rise(eta + counts[w, a], counts[w, b])
            gains[i, j] = gains[j, i] = gain
    return gains
