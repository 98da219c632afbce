"""Gaussian hidden Markov model, one state at a time with all parameters integrated out.

Equation 4 of Brychcín & Král (2017): transition terms (equation 2) with counts that leave out both
edges of the position, times Student's t, the predictive density of each state (equation 3, where
the paper prints K for the dimension M). Means and Cholesky factors are updated for every vector
that joins or leaves; no matrix is inverted or factorized within a sweep.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.chains import count_transitions, draw_state
from palaver.kernels.cholesky import join, leave, squared_distance
from palaver.kernels.compiled import inner, kernel
from palaver.kernels.gaussian import DIAGONAL, FULL, TIED
from palaver.kernels.random import open_stream, uniform


@inner
def _reset(k, factor, prior_mean, prior_scale, means, factors):  # type: ignore[no-untyped-def]
    """Set mean and factor to the prior's."""
    means[k] = prior_mean
    factors[factor] = 0.0
    for j in range(len(prior_mean)):
        factors[factor, j, j] = math.sqrt(prior_scale[j])


@kernel
def add_vector(  # type: ignore[no-untyped-def]
    kind, x, k, prior_strength, counts, means, factors, scratch
):
    """Let a vector join state ``k``.

    Parameters
    ----------
    kind : int; x : array of float64, shape (M,); k : int; prior_strength : float. IN
    counts : array of int64, shape (K,). IN-OUT
    means : array of float64, shape (K, M). IN-OUT
    factors : array of float64, shape (K, M, M); diagonal: (K, 1, M) of sums of squares;
        tied: (1, M, M). IN-OUT
    scratch : array of float64, shape (M,)
    """
    strength = prior_strength + counts[k]
    weight = strength / (strength + 1.0)
    for j in range(len(x)):
        difference = x[j] - means[k, j]
        means[k, j] += difference / (strength + 1.0)
        scratch[j] = math.sqrt(weight) * difference
    if kind == DIAGONAL:
        for j in range(len(x)):
            factors[k, 0, j] += scratch[j] * scratch[j]
    else:
        join(factors[k if kind == FULL else 0], scratch)
    counts[k] += 1


@kernel
def rebuild(  # type: ignore[no-untyped-def]
    kind, only, without, vectors, states, prior_mean, prior_strength, prior_scale, counts, means,
    factors, scratch,
):  # fmt: skip
    """Rebuild counts, means and factors by joining: of state ``only``, or of all if negative.

    The vector numbered ``without`` is left out (-1: none). Arrays as in :func:`add_vector`.
    """
    for k in range(len(counts)):
        if only < 0 or k == only:
            counts[k] = 0
            means[k] = prior_mean
            if kind == DIAGONAL:
                factors[k, 0] = prior_scale
            else:
                _reset(k, k if kind == FULL else 0, prior_mean, prior_scale, means, factors)
    for i in range(len(states)):
        if i != without and (only < 0 or states[i] == only):
            add_vector(kind, vectors[i], states[i], prior_strength, counts, means, factors, scratch)


@kernel
def remove_vector(  # type: ignore[no-untyped-def]
    kind, i, vectors, states, prior_mean, prior_strength, prior_scale, counts, means, factors,
    scratch,
):  # fmt: skip
    """Let vector ``i`` leave its state; rounding never leaves a broken factor.

    Returns
    -------
    bool
        Whether the factor had to be rebuilt.
    """
    k, x = states[i], vectors[i]
    counts[k] -= 1
    strength = prior_strength + counts[k]
    if counts[k] == 0 and kind != FULL:
        means[k] = prior_mean
    elif counts[k] > 0:
        for j in range(len(x)):
            means[k, j] += (means[k, j] - x[j]) / strength
    if counts[k] == 0 and kind == FULL:
        _reset(k, k, prior_mean, prior_scale, means, factors)
        return False
    weight = strength / (strength + 1.0)
    for j in range(len(x)):
        scratch[j] = math.sqrt(weight) * (x[j] - means[k, j])
    if kind == DIAGONAL:
        for j in range(len(x)):
            rest = factors[k, 0, j] - scratch[j] * scratch[j]
            factors[k, 0, j] = max(rest, prior_scale[j])
        return False
    if leave(factors[k if kind == FULL else 0], scratch):
        return False
    rebuild(
        kind, k if kind == FULL else -1, i, vectors, states, prior_mean, prior_strength,
        prior_scale, counts, means, factors, scratch,
    )  # fmt: skip
    return True


@kernel
def log_predictive(  # type: ignore[no-untyped-def]
    kind, x, k, n_all, prior_strength, prior_dof, counts, means, factors, constants, scratch
):
    """Return the log predictive density of a vector in state ``k``: Student's t.

    Parameters
    ----------
    n_all : int. IN
        Vectors in all states, from which a tied covariance is estimated.
    constants : array of float64, shape (K,). IN
        Of :func:`predictive_constant`.

    Cost: M² / 2 multiplications; M logarithms if diagonal.
    """
    size = len(x)
    strength = prior_strength + counts[k]
    weight = strength / (strength + 1.0)
    if kind == DIAGONAL:
        dof = prior_dof - size + 1.0 + counts[k]
        total = 0.0
        for j in range(size):
            difference = x[j] - means[k, j]
            total += math.log1p(weight * difference * difference / factors[k, 0, j])
        return constants[k] - 0.5 * (dof + 1.0) * total
    for j in range(size):
        scratch[j] = x[j] - means[k, j]
    square = squared_distance(factors[k if kind == FULL else 0], scratch)
    dof = prior_dof + (counts[k] if kind == FULL else n_all)
    return constants[k] - 0.5 * (dof + 1.0) * math.log1p(weight * square)


@kernel
def predictive_constant(  # type: ignore[no-untyped-def]
    kind, k, n_all, prior_strength, prior_dof, counts, factors
):
    """Return the terms of Student's t that do not depend on the vector; -inf if removed."""
    size = factors.shape[2]
    strength = prior_strength + counts[k]
    if strength == 0.0:
        return -np.inf
    result = 0.5 * size * math.log(strength / (strength + 1.0) / math.pi)
    if kind == DIAGONAL:
        dof = prior_dof - size + 1.0 + counts[k]
        result += size * (math.lgamma(0.5 * (dof + 1.0)) - math.lgamma(0.5 * dof))
        for j in range(size):
            result -= 0.5 * math.log(factors[k, 0, j])
        return result
    dof = prior_dof + (counts[k] if kind == FULL else n_all)
    result += math.lgamma(0.5 * (dof + 1.0)) - math.lgamma(0.5 * (dof - size + 1.0))
    factor = factors[k if kind == FULL else 0]
    for j in range(size):
        result -= math.log(factor[j, j])
    return result


@kernel(inline="always")
def log_transition(  # type: ignore[no-untyped-def]
    k, before, after, alpha, transitions, totals
):
    """Return the log of the transition terms of state ``k``, up to a constant.

    The product of equation 2 for both edges. Where both leave state ``k``, the first one counts
    in the second. ``transitions`` (K + 1, K) and ``totals`` (K + 1,) leave out both edges;
    ``before`` is K at a start, ``after`` is -1 at an end.
    """
    weight = transitions[before, k] + alpha
    if after >= 0:
        same = 1.0 if before == k else 0.0
        both = same if after == k else 0.0
        n_states = transitions.shape[1]
        weight *= (transitions[k, after] + both + alpha) / (totals[k] + same + n_states * alpha)
    return math.log(weight)


@kernel
def collapsed_sweep(  # type: ignore[no-untyped-def]
    kind, vectors, offsets, first_sequence, alpha, prior_mean, prior_strength, prior_dof,
    prior_scale, temperature, key, states, n_states,
):  # fmt: skip
    """Resample every state once given all others.

    Parameters
    ----------
    kind : int. IN
    vectors : array of float64, shape (n, M). IN
    offsets : array of int64, shape (n_sequences + 1,). IN
    first_sequence : int. IN
    alpha : float. IN
        Dirichlet prior of the transition rows.
    prior_mean, prior_scale : arrays of float64, shape (M,). IN
    prior_strength, prior_dof : float. IN
    temperature : float. IN
        The emission's log density is divided by it.
    key : array of uint64, shape (2,). IN
        One stream per sequence, one draw per position.
    states : array of int16, shape (n,). IN-OUT
    n_states : int. IN

    Returns
    -------
    int
        How often a factor had to be rebuilt because of rounding.

    Cost: n K M² / 2 multiplications; n K M logarithms if diagonal.
    """
    size = vectors.shape[1]
    depth, rows = (1, size) if kind != DIAGONAL else (n_states, 1)
    factors = np.zeros((n_states if kind == FULL else depth, rows, size))
    means, counts = np.empty((n_states, size)), np.zeros(n_states, np.int64)
    scratch, weights, constants = np.empty(size), np.empty(n_states), np.empty(n_states)
    transitions = np.zeros((n_states + 1, n_states), np.int64)
    rebuild(
        kind, -1, -1, vectors, states, prior_mean, prior_strength, prior_scale, counts, means,
        factors, scratch,
    )  # fmt: skip
    count_transitions(states, offsets, transitions)
    totals = transitions.sum(axis=1)
    n_others, n_rebuilt = len(states) - 1, 0
    for k in range(n_states):
        constants[k] = predictive_constant(
            kind, k, n_others, prior_strength, prior_dof, counts, factors
        )
    stream = np.empty(4, np.uint64)
    for sequence in range(len(offsets) - 1):
        open_stream(key, first_sequence + sequence, stream)
        first, last = offsets[sequence], offsets[sequence + 1]
        for i in range(first, last):
            old = states[i]
            before = states[i - 1] if i > first else n_states
            after = states[i + 1] if i < last - 1 else -1
            transitions[before, old] -= 1
            totals[before] -= 1
            if after >= 0:
                transitions[old, after] -= 1
                totals[old] -= 1
            n_rebuilt += remove_vector(
                kind, i, vectors, states, prior_mean, prior_strength, prior_scale, counts, means,
                factors, scratch,
            )  # fmt: skip
            largest = -np.inf
            for k in range(n_states):
                if k == old or kind == TIED:
                    constants[k] = predictive_constant(
                        kind, k, n_others, prior_strength, prior_dof, counts, factors
                    )
                weights[k] = -np.inf
                if constants[k] > -np.inf:
                    weights[k] = log_predictive(
                        kind, vectors[i], k, n_others, prior_strength, prior_dof, counts, means,
                        factors, constants, scratch,
                    ) / temperature + log_transition(
                        k, before, after, alpha, transitions, totals
                    )  # fmt: skip
                largest = max(largest, weights[k])
            for k in range(n_states):
                weights[k] = math.exp(weights[k] - largest) if largest > -np.inf else 1.0
            new = draw_state(weights, uniform(stream))
            states[i] = new
            transitions[before, new] += 1
            totals[before] += 1
            if after >= 0:
                transitions[new, after] += 1
                totals[new] += 1
            add_vector(kind, vectors[i], new, prior_strength, counts, means, factors, scratch)
            if kind != TIED:
                constants[new] = predictive_constant(
                    kind, new, n_others, prior_strength, prior_dof, counts, factors
                )
    return n_rebuilt
