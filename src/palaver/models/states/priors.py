"""Priors of infinitely many states: how many there are, how much they weigh.

The hyperparameter steps of Van Gael et al. (2009), section 3, given which states follow which and
how many tables serve each state (``tables``, m_k: how often the state was drawn from the
weights that all rows share). Each step has a closed form or moves by Metropolis-Hastings. The
concentrations alpha (of rows) and gamma (of states) have Gamma priors, the discount a Beta prior
(:class:`Hyperpriors`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEPS = (1.0, 0.3, 0.1)
_FIRST_DISCOUNT = 0.05  # low: a large one calls for thousands of states


@dataclass(frozen=True)
class Hyperpriors:
    """Priors of the numbers that are learned.

    Attributes
    ----------
    concentration : (float, float)
        Shape and rate of the Gamma prior of both concentrations.
    discount : (float, float)
        Of the Beta prior of the discount. By default it keeps the discount low, because a large one
        calls for more states than can be represented.
    """

    concentration: tuple[float, float] = (1.0, 1.0)
    discount: tuple[float, float] = (1.0, 9.0)

    @property
    def first_discount(self) -> float:
        """Where a discount that is learned starts."""
        return _FIRST_DISCOUNT

    def log_concentration(self, value: float) -> float:
        """Return the log density of the logarithm of a concentration, up to a constant."""
        shape, rate = self.concentration
        return shape * math.log(value) - rate * value

    def log_discount(self, value: float) -> float:
        """Return the log density of the logit of the discount, up to a constant."""
        first, second = self.discount
        return first * math.log(value) + second * math.log1p(-value)


HYPERPRIORS = Hyperpriors()


def draw_dirichlets(shapes: Floats, generator: np.random.Generator) -> Floats:
    """Draw a distribution for each row of Dirichlet shapes; a zero shape gets zero.

    Uses logs of Gamma draws because shapes may be tiny: Gamma(a) is Gamma(a + 1) U^(1/a).
    """
    with np.errstate(divide="ignore"):
        logs = np.log(generator.standard_gamma(shapes + 1))
        logs += np.log(1 - generator.random(shapes.shape)) / np.maximum(shapes, 1e-290)
    logs[shapes == 0] = -np.inf
    draws = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(draws / draws.sum(axis=-1, keepdims=True))


def draw_row_concentration(
    alpha: float, n_tables: int, row_totals: Ints, generator: np.random.Generator,
    hyperpriors: Hyperpriors,
) -> float:  # fmt: skip
    """Resample alpha, by the auxiliary variables of Teh et al. (2006), appendix A.

    Parameters
    ----------
    alpha : float
    n_tables : int
        In all restaurants.
    row_totals : array of int64
        Transitions out of each state and the start.
    """
    totals = row_totals[row_totals > 0]
    logs = np.log(generator.beta(alpha + 1, totals))
    switches = generator.random(len(totals)) * (totals + alpha) < totals
    shape, rate = hyperpriors.concentration
    shape += n_tables - switches.sum()
    return max(float(generator.standard_gamma(shape) / (rate - logs.sum())), 1e-12)


def draw_state_concentration(
    gamma: float, tables: Ints, generator: np.random.Generator, hyperpriors: Hyperpriors
) -> float:
    """Resample gamma of a Dirichlet process given m_k (Escobar & West 1995, section 6)."""
    n_tables, n_states = int(tables.sum()), len(tables)
    shape, rate = hyperpriors.concentration
    rate -= math.log(generator.beta(gamma + 1, n_tables))
    shape += n_states - 1
    odds = shape / (n_tables * rate)
    shape += generator.random() * (1 + odds) < odds
    return max(float(generator.standard_gamma(shape) / rate), 1e-12)


def log_partition(tables: Ints, gamma: float, discount: float) -> float:
    """Return the log probability of a partition under a Pitman-Yor process (EPPF).

    ``prod_{k=1}^{K-1} (gamma + k d) / (gamma + 1)^(m - 1)  prod_k (1 - d)^(m_k - 1)``, with rising
    factorials.
    """
    n_tables, n_states = int(tables.sum()), len(tables)
    result = np.log(gamma + discount * np.arange(1, n_states)).sum()
    result -= gammaln(gamma + n_tables) - gammaln(gamma + 1)
    result += (gammaln(tables - discount) - gammaln(1 - discount)).sum()
    return float(result)


def move_pitman_yor(
    gamma: float,
    discount: float,
    tables: Ints,
    generator: np.random.Generator,
    hyperpriors: Hyperpriors,
    *,
    learn_concentration: bool,
    learn_discount: bool,
) -> tuple[float, float]:
    """Resample gamma, the discount or both by Metropolis-Hastings on :func:`log_partition`.

    Proposals are normal steps in ``log gamma`` and in the logit of the discount.
    """

    def log_density(log_gamma: float, logit: float) -> float:
        value, share = math.exp(log_gamma), 1 / (1 + math.exp(-logit))
        result = log_partition(tables, value, share if learn_discount else discount)
        if learn_concentration:
            result += hyperpriors.log_concentration(value)
        if learn_discount:
            result += hyperpriors.log_discount(share)
        return result

    place = [math.log(gamma), math.log(discount / (1 - discount)) if learn_discount else 0.0]
    current = log_density(*place)
    for step in _STEPS:
        for which, learned in enumerate((learn_concentration, learn_discount)):
            if not learned:
                continue
            proposal = list(place)
            proposal[which] += step * float(generator.standard_normal())
            threshold = math.log(1 - generator.random())
            if abs(proposal[which]) > 30:
                continue  # no mass there, and exp would overflow
            proposed = log_density(*proposal)
            if threshold < proposed - current:
                place, current = proposal, proposed
    if learn_concentration:
        gamma = math.exp(place[0])
    return gamma, 1 / (1 + math.exp(-place[1])) if learn_discount else discount


def log_states(counts: Ints, alpha: float, weights: Floats) -> float:
    """Return the log probability of all transitions given the weights, rows integrated out.

    Parameters
    ----------
    counts : array of int64, shape (n_states + 1, n_states)
    alpha : float
    weights : array of float64, shape (n_states,)
        beta.
    """
    shapes = alpha * weights
    totals = counts.sum(axis=1)
    result = (gammaln(counts + shapes) - gammaln(shapes))[counts > 0].sum()
    return float(result - (gammaln(totals + alpha) - gammaln(alpha)).sum())
