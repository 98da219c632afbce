"""M4's transition weights: their statistics, and the steps that learn them (spec 1, "M4").

``weights`` is float64 (K + 2, K), rows are the source: from each class, from start, and bias. All
children of a message share its features ``x``: its class histogram, summing to one (zero if it has
no class-bearing token), the start indicator, and a one. So a message counts once for all its
children together, with their class counts ``m_j`` and ``M = sum_j m_j``; all roots count as one::

    objective = sum m . log pi(x),         pi(x) = softmax(x . weights)                     (1)
    gradient  = sum x (m - M pi(x))'                                                        (2)
    curvature = sum M x x'                                                                  (3)

The log posterior is (1) minus ``|weights|^2 / (2 variance)``. Its Hessian is bounded from below by
``-(curvature / 2 + I / variance)`` for each target class (Böhning 1992), whatever the weights.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from palaver.kernels.plain import highest_of

FloatArray = NDArray[np.float64]

#: Scale of the Langevin proposal. The bound overstates the curvature, so steps of about this
#: size are accepted often in a (K + 2) K-dimensional space (Roberts & Rosenthal 1998: d^-1/6).
_PROPOSAL_SCALE = 1.65


@njit(cache=True)
def _count_message(  # type: ignore[no-untyped-def]
    message_offsets, classes, message, n_classes, counts
):
    """Add the class-bearing tokens of a message to ``counts`` (>= K,) IN-OUT; return how many."""
    n_tokens = 0
    for i in range(message_offsets[message], message_offsets[message + 1]):
        if classes[i] < n_classes:
            counts[classes[i]] += 1.0
            n_tokens += 1
    return n_tokens


@njit(cache=True)
def _add_group(features, counts, weights, shares, gradient, curvature):  # type: ignore[no-untyped-def]
    """Add the messages of common ``features`` and summed ``counts`` to (2), (3); return (1).

    features: (K+2,) IN; counts: (K,) IN; shares: (K,) scratch; gradient, curvature: IN-OUT. O(K^2).
    """
    n_features, n_classes = weights.shape
    total = 0.0
    for j in range(n_classes):
        total += counts[j]
    if total == 0.0:
        return 0.0
    shares[:] = 0.0
    for f in range(n_features):
        if features[f] != 0.0:
            for j in range(n_classes):
                shares[j] += features[f] * weights[f, j]
    highest = highest_of(shares)
    norm = 0.0
    objective = 0.0
    for j in range(n_classes):
        objective += counts[j] * (shares[j] - highest)
        shares[j] = math.exp(shares[j] - highest)
        norm += shares[j]
    objective -= total * math.log(norm)
    for j in range(n_classes):
        shares[j] = counts[j] - total * (shares[j] / norm)
    for f in range(n_features):
        if features[f] == 0.0:
            continue
        for j in range(n_classes):
            gradient[f, j] += features[f] * shares[j]
        scaled = total * features[f]
        for g in range(n_features):
            curvature[f, g] += scaled * features[g]
    return objective


@njit(cache=True, nogil=True)
def weight_statistics(message_offsets, parents, classes, weights):  # type: ignore[no-untyped-def]
    """Return (1), (2) and (3) of a shard.

    Parameters
    ----------
    message_offsets : array of int64, shape (n_messages + 1,). IN
    parents : array of int32, shape (n_messages,). IN
    classes : array of int16, shape (n_tokens,). IN
    weights : array of float64, shape (K + 2, K). IN

    Returns
    -------
    objective : float
    gradient : array of float64, shape (K + 2, K)
    curvature : array of float64, shape (K + 2, K + 2)

    Cost O(n_tokens) and O(K^2) for each message with children.
    """
    n_features, n_classes = weights.shape
    n_messages = parents.shape[0]
    gradient = np.zeros((n_features, n_classes))
    curvature = np.zeros((n_features, n_features))
    features, counts = np.zeros(n_features), np.zeros(n_classes)
    shares = np.empty(n_classes)
    first_child = np.full(n_messages, -1, np.int32)
    next_sibling = np.full(n_messages, -1, np.int32)
    for message in range(n_messages - 1, -1, -1):
        parent = parents[message]
        if parent >= 0:
            next_sibling[message] = first_child[parent]
            first_child[parent] = message
        else:
            _count_message(message_offsets, classes, message, n_classes, counts)
    features[n_classes] = 1.0
    features[n_classes + 1] = 1.0
    objective = _add_group(features, counts, weights, shares, gradient, curvature)
    features[n_classes] = 0.0
    for message in range(n_messages):
        child = first_child[message]
        if child < 0:
            continue
        counts[:] = 0.0
        while child >= 0:
            _count_message(message_offsets, classes, child, n_classes, counts)
            child = next_sibling[child]
        features[:n_classes] = 0.0
        length = _count_message(message_offsets, classes, message, n_classes, features)
        for k in range(n_classes if length > 0 else 0):
            features[k] /= length
        objective += _add_group(features, counts, weights, shares, gradient, curvature)
    return objective, gradient, curvature


def softmax_precision(curvature: FloatArray, variance: float) -> FloatArray:
    """Return Böhning's bound on the precision of each target class' weights, (1, K + F, K + F)."""
    return (curvature / 2 + np.eye(len(curvature)) / variance)[None]


def dirichlet_precision(curvature: FloatArray, variance: float, scale: float = 1.0) -> FloatArray:
    """Return the precision of the Poisson bound for each target class, (K, K + F, K + F).

    curvature : (K + F, K + F, K), as :func:`palaver.models.m4.kernels.weight_statistics` has it.
    """
    return scale * np.moveaxis(curvature, 2, 0) + np.eye(len(curvature)) / variance


def bound_step(
    weights: FloatArray, gradient: FloatArray, curvature: FloatArray, variance: float
) -> FloatArray:
    """Return weights after one bound-optimisation step, which never lowers the log posterior.

    ``weights + (curvature / 2 + I / variance)^-1 (gradient - weights / variance)``.
    """
    ascent = gradient - weights / variance
    return weights + np.linalg.solve(softmax_precision(curvature, variance)[0], ascent)


def paper_step(
    weights: FloatArray, gradient: FloatArray, variance: float, sweep: int, step: float = 0.1
) -> FloatArray:
    """Return weights after the paper's gradient step of size ``step / (1000 + sweep)``."""
    return weights + step / (1000 + sweep) * (gradient - weights / variance)


def log_posterior(weights: FloatArray, objective: float, variance: float) -> float:
    """Return (1) with the log of the normal prior, up to a constant."""
    return objective - float((weights**2).sum()) / (2 * variance)


def propose_weights(
    weights: FloatArray,
    gradient: FloatArray,
    precision: FloatArray,
    variance: float,
    generator: np.random.Generator,
) -> FloatArray:
    """Draw a Langevin proposal, preconditioned by a bound on the curvature.

    ``Normal(weights + scale^2 / 2 P^-1 ascent, scale^2 P^-1)`` for each target class.

    Parameters
    ----------
    weights, gradient : arrays of float64, shape (K + F, K)
    precision : array of float64, shape (K or 1, K + F, K + F)
        ``P`` of each target class, or of all.
    """
    mean, factor, scale = _langevin(weights, gradient, precision, variance)
    noise = generator.standard_normal(weights.shape)
    turned = np.linalg.solve(np.swapaxes(factor, 1, 2), noise.T[:, :, None])[:, :, 0].T
    return np.asarray(mean + scale * turned)


def accept_weights(
    weights: FloatArray,
    statistics: tuple[float, FloatArray, FloatArray],
    proposal: FloatArray,
    proposed: tuple[float, FloatArray, FloatArray],
    variance: float,
    generator: np.random.Generator,
) -> bool:
    """Decide on a proposal by the Metropolis-Hastings ratio.

    Parameters
    ----------
    weights, proposal : arrays of float64, shape (K + F, K)
    statistics, proposed : (objective, gradient, precision)
        Of the weights and of the proposal, given the same classes. Böhning's bound is the same
        for both, that of Dirichlet transitions is not.
    """
    objective, gradient, precision = statistics
    new_objective, new_gradient, new_precision = proposed
    ratio = log_posterior(proposal, new_objective, variance)
    ratio -= log_posterior(weights, objective, variance)
    ratio += _log_proposal(weights, proposal, new_gradient, new_precision, variance)
    ratio -= _log_proposal(proposal, weights, gradient, precision, variance)
    return bool(math.log(1.0 - generator.random()) < ratio)


def _langevin(
    weights: FloatArray, gradient: FloatArray, precision: FloatArray, variance: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return the proposal's mean, the Cholesky factors of its precision and its scale."""
    scale = _PROPOSAL_SCALE * weights.size ** (-1 / 6)
    ascent = (gradient - weights / variance).T[:, :, None]
    drift = np.linalg.solve(precision, ascent)[:, :, 0].T
    mean = np.asarray(weights + scale**2 / 2 * drift)
    return mean, np.asarray(np.linalg.cholesky(precision), np.float64), float(scale)


def _log_proposal(
    to: FloatArray, at: FloatArray, gradient: FloatArray, precision: FloatArray, variance: float
) -> float:
    """Return the log density of proposing ``to`` from ``at``, up to a constant."""
    mean, factor, scale = _langevin(at, gradient, precision, variance)
    turned = np.swapaxes(factor, 1, 2) @ (to - mean).T[:, :, None] / scale
    logs = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum() * (to.shape[1] / len(factor))
    return float(logs - (turned**2).sum() / 2)
