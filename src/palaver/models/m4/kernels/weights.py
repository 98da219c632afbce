"""The steps that learn M4's transition weights, or sample them.

Objective, gradient and curvature are those of
:mod:`palaver.models.m4.kernels.weight_statistics`. The log posterior is the objective minus
``|weights|^2 / (2 variance)``. With softmax transitions its Hessian is bounded from below by
``-(curvature / 2 + I / variance)`` for each target class (Böhning 1992), whatever the weights.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Scale of the Langevin proposal. The bound overstates the curvature, so steps of about this
#: size are accepted often in a (K + 2) K-dimensional space (Roberts & Rosenthal 1998: d^-1/6).
_PROPOSAL_SCALE = 1.65


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
    """Return the objective with the log of the normal prior, up to a constant."""
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
