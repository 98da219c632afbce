"""The steps that learn M4's transition weights, and the proposals that sample them.

Objective, gradient and curvature of the weights are those of
:mod:`palaver.models.m4.kernels.weight_statistics`, all without the prior. Paul (2012), section
3.2, adds the prior to the gradient (its equation 3) and climbs by small steps (its equation 4,
:func:`gradient_step`). The other steps are ours: they maximize a bound that touches the log
posterior at the weights at hand, so none of them lowers it. With softmax transitions the Hessian
of the objective is above ``-curvature / 2`` for each target class (Böhning 1992), whatever the
weights; for Dirichlet transitions see the statistics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
#: Objective, gradient, and a bound on the precision of each target class.
Facts = tuple[float, FloatArray, FloatArray]

#: Scale of the Langevin proposal. The bound overstates the curvature, so steps of about this
#: size are accepted often in a (K + F) K-dimensional space (Roberts & Rosenthal 1998: d^-1/6).
_PROPOSAL_SCALE = 1.65
#: No score may grow by more in one step: within it ``exp`` stays below a parabola.
_LARGEST_GROWTH = 1.0
_PARABOLA = 2.0 * (math.exp(_LARGEST_GROWTH) - 1.0 - _LARGEST_GROWTH) / _LARGEST_GROWTH**2


@dataclass(frozen=True)
class NormalPrior:
    """The normal prior of all weights, of mean zero (Paul 2012, section 2.2).

    Attributes
    ----------
    variance : float
    """

    variance: float

    def log(self, weights: FloatArray) -> float:
        """Return the log density, up to a constant."""
        return -float((weights**2).sum()) / (2 * self.variance)

    def ascent(self, weights: FloatArray, gradient: FloatArray) -> FloatArray:
        """Return the gradient of the log posterior from that of the objective."""
        return gradient - weights / self.variance

    def precision(self, n_weights: int) -> FloatArray:
        """Return the precision of the weights of one target class, (n_weights, n_weights)."""
        return np.eye(n_weights) / self.variance


def softmax_precision(curvature: FloatArray, prior: NormalPrior) -> FloatArray:
    """Return Böhning's bound on the precision of each target class, (1, K + F, K + F)."""
    return (curvature / 2 + prior.precision(len(curvature)))[None]


def dirichlet_precision(
    curvature: FloatArray, prior: NormalPrior, scale: float = 1.0
) -> FloatArray:
    """Return the precision of the Poisson bound for each target class, (K, K + F, K + F).

    curvature : (K + F, K + F, K), as :mod:`palaver.models.m4.kernels.weight_statistics` has it.
    """
    return scale * np.moveaxis(curvature, 2, 0) + prior.precision(len(curvature))


def gradient_step(
    weights: FloatArray,
    gradient: FloatArray,
    prior: NormalPrior,
    sweep: int,
    step_size: float = 0.1,
) -> FloatArray:
    """Return weights after the paper's step of ``step_size / (1000 + sweep)`` (section 5.4)."""
    return weights + step_size / (1000 + sweep) * prior.ascent(weights, gradient)


def bound_step(
    weights: FloatArray, gradient: FloatArray, curvature: FloatArray, prior: NormalPrior
) -> FloatArray:
    """Return weights after a step that never lowers the log posterior of softmax transitions."""
    precision = softmax_precision(curvature, prior)[0]
    return weights + np.linalg.solve(precision, prior.ascent(weights, gradient))


def dirichlet_step(
    weights: FloatArray, gradient: FloatArray, curvature: FloatArray, prior: NormalPrior
) -> FloatArray:
    """Return weights after a step that never lowers the log posterior of Dirichlet transitions.

    For each target class it maximizes a parabola below the Poisson bound, which holds as long as
    no score grows by more than one; longer steps are shortened, and the parabola is concave.
    Features other than the bias must be within 0 and 1, the parents' histograms sum to one at
    most.

    Parameters
    ----------
    weights, gradient : arrays of float64, shape (K + F, K)
        Rows of start and bias come first of the F.
    curvature : array of float64, shape (K + F, K + F, K)
    prior : NormalPrior
    """
    n_classes = weights.shape[1]
    ascent = prior.ascent(weights, gradient).T[:, :, None]
    precision = dirichlet_precision(curvature, prior, _PARABOLA)
    step = np.linalg.solve(precision, ascent)[:, :, 0].T
    rises = np.maximum(step, 0.0)
    growth = rises[:n_classes].max(axis=0) + rises[n_classes:].sum(axis=0)
    growth += np.minimum(step[n_classes + 1], 0.0)  # the bias is always there
    return np.asarray(
        weights + step * np.minimum(1.0, _LARGEST_GROWTH / np.maximum(growth, 1e-300))
    )


def propose_weights(
    weights: FloatArray,
    gradient: FloatArray,
    precision: FloatArray,
    prior: NormalPrior,
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
    mean, factor, scale = _langevin(weights, gradient, precision, prior)
    noise = generator.standard_normal(weights.shape)
    turned = np.linalg.solve(np.swapaxes(factor, 1, 2), noise.T[:, :, None])[:, :, 0].T
    return np.asarray(mean + scale * turned)


def accept_weights(
    weights: FloatArray,
    facts: Facts,
    proposal: FloatArray,
    proposed: Facts,
    prior: NormalPrior,
    generator: np.random.Generator,
) -> bool:
    """Decide on a proposal by the Metropolis-Hastings ratio.

    Parameters
    ----------
    weights, proposal : arrays of float64, shape (K + F, K)
    facts, proposed : (objective, gradient, precision)
        Of the weights and of the proposal, given the same classes. Böhning's bound is the same
        for both, that of Dirichlet transitions is not.
    """
    objective, gradient, precision = facts
    new_objective, new_gradient, new_precision = proposed
    ratio = new_objective + prior.log(proposal)
    ratio -= objective + prior.log(weights)
    ratio += _log_proposal(weights, proposal, new_gradient, new_precision, prior)
    ratio -= _log_proposal(proposal, weights, gradient, precision, prior)
    return bool(math.log(1.0 - generator.random()) < ratio)


def _langevin(
    weights: FloatArray, gradient: FloatArray, precision: FloatArray, prior: NormalPrior
) -> tuple[FloatArray, FloatArray, float]:
    """Return the proposal's mean, the Cholesky factors of its precision and its scale."""
    scale = _PROPOSAL_SCALE * weights.size ** (-1 / 6)
    ascent = prior.ascent(weights, gradient).T[:, :, None]
    drift = np.linalg.solve(precision, ascent)[:, :, 0].T
    mean = np.asarray(weights + scale**2 / 2 * drift)
    return mean, np.asarray(np.linalg.cholesky(precision), np.float64), float(scale)


def _log_proposal(
    to: FloatArray,
    at: FloatArray,
    gradient: FloatArray,
    precision: FloatArray,
    prior: NormalPrior,
) -> float:
    """Return the log density of proposing ``to`` from ``at``, up to a constant."""
    mean, factor, scale = _langevin(at, gradient, precision, prior)
    turned = np.swapaxes(factor, 1, 2) @ (to - mean).T[:, :, None] / scale
    logs = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum() * (to.shape[1] / len(factor))
    return float(logs - (turned**2).sum() / 2)
