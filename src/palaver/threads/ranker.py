"""The ranker: a softmax over the candidates of each message, fitted by L-BFGS."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from palaver.kernels.ranking_loss import add_gradient, normalize_pairs, score_pairs
from palaver.threads.pairs import Pairs


def scores_of(pairs: Pairs, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score of each candidate, (n_pairs,)."""
    scores = np.empty(len(pairs.features))
    score_pairs(pairs.features, weights, scores)
    return scores


def loss_and_gradient(
    weights: NDArray[np.float64],
    pairs: Pairs,
    log_targets: NDArray[np.float64],
    centre: NDArray[np.float64],
    precision: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Return the loss, equation (2) of the kernel, with a quadratic penalty, and its gradient.

    Parameters
    ----------
    weights : array of float64, shape (n_features,)
    pairs : Pairs
    log_targets : array of float64, shape (n_pairs,)
        0 for the true parent and -inf for others, or log evidence.
    centre, precision : array of float64, shape (n_features,)
        The penalty is ``sum(precision * (weights - centre)**2) / 2``.
    """
    scores, prior = np.empty(len(log_targets)), np.empty(len(log_targets))
    posterior = np.empty(len(log_targets))
    score_pairs(pairs.features, weights, scores)
    log_prior = normalize_pairs(scores, pairs.offsets, prior)
    log_posterior = normalize_pairs(scores + log_targets, pairs.offsets, posterior)
    gradient = np.zeros(len(weights))
    add_gradient(pairs.features, prior - posterior, gradient)
    away = weights - centre
    penalty = 0.5 * float(precision @ away**2)
    return log_prior - log_posterior + penalty, gradient + precision * away


def fit_weights(
    pairs: Pairs,
    log_targets: NDArray[np.float64],
    centre: NDArray[np.float64],
    precision: NDArray[np.float64],
    max_iter: int = 200,
    begin: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the weights of least loss, found by L-BFGS from ``begin``, else the centre."""
    found = minimize(
        loss_and_gradient,
        centre if begin is None else begin,
        (pairs, log_targets, centre, precision),
        "L-BFGS-B",
        jac=True,
        options={"maxiter": max_iter, "maxcor": 20, "ftol": 1e-7},
    )
    return np.asarray(found.x)


def normalized(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the softmax of the scores of each message."""
    found = np.empty_like(scores)
    normalize_pairs(scores, offsets, found)
    return found


def fit_temperature(
    scores: NDArray[np.float64], offsets: NDArray[np.int64], right: NDArray[np.bool_]
) -> float:
    """Return what scores must be divided by to be log probabilities, from held-out messages.

    Parameters
    ----------
    scores : array of float64, shape (n_pairs,)
    offsets : array of int64, shape (n_messages + 1,)
    right : array of bool, shape (n_pairs,)
        The true parent, one a message.
    """
    buffer = np.empty_like(scores)

    def loss(log_temperature: float) -> float:
        scaled = scores * np.exp(-log_temperature)
        return float(normalize_pairs(scaled, offsets, buffer) - scaled[right].sum())

    found = minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded")
    return float(np.exp(found.x))
