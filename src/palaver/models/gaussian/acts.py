"""Acts as groups of Gaussian states: states are joined where it costs least likelihood.

One Gaussian is a poor shape for an act, and many of them split acts by topic. So a model may have
many states and join them once they are fitted: an act then emits a mixture of Gaussians. With a
common covariance Sigma, joining states i and j of n_i and n_j utterances lowers the log-likelihood
of the utterances by

    1/2  n_i n_j / (n_i + n_j)  (mu_i - mu_j)' Sigma^-1 (mu_i - mu_j)                         (a)

so the pair with the lowest cost is joined, repeatedly (Ward 1963, in units of the covariance).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import entr

from palaver.kernels.cholesky import factorize

Floats = NDArray[np.float64]

#: Number of acts that "auto" makes, and the number of states above which it does.
AUTO_ACTS, AUTO_ABOVE = 12, 36


def number_of_acts(n_acts: int | str | None, n_states: int) -> int:
    """Return the number of acts that ``n_acts`` asks for."""
    if n_acts == "auto":
        n_acts = AUTO_ACTS if n_states > AUTO_ABOVE else None
    return n_states if n_acts is None else min(int(n_acts), n_states)


def common_covariance(kind: str, covariances: Floats, counts: Floats) -> Floats:
    """Return one covariance (M, M) for all states: the tied one, or the mean over utterances."""
    if kind == "tied":
        return covariances
    mean = np.average(covariances, axis=0, weights=np.maximum(counts, np.finfo(float).tiny))
    return np.asarray(np.diag(mean) if kind == "diag" else mean)


def join_states(
    means: Floats,
    covariance: Floats,
    counts: Floats,
    n_acts: int,
    having: Floats | None = None,
    weight: float = 1.0,
) -> NDArray[np.int64]:
    """Return the act of each state, (n_states,); acts are numbered by their first state.

    Parameters
    ----------
    means : array of float64, shape (n_states, M)
    covariance : array of float64, shape (M, M)
        Of all states.
    counts : array of float64, shape (n_states,)
        Utterances of each state; an empty state counts one, so that it joins the nearest.
    n_acts : int
    having : array of float64, shape (n_states, B), optional
        Utterances of each state with each mark. What marks lose adds to (a): the entropy of a mark
        in the joined utterances minus its entropies in the two states, times their numbers.
    weight : float
        Power of the densities of vectors; (a) is multiplied by it.

    Cost O(n_states^2 M).
    """
    root = factorize(covariance, float(np.diagonal(covariance).max()))
    centres = solve_triangular(root, (means - means.mean(axis=0)).T, trans="T").T
    sizes = np.maximum(counts, 1.0)
    centres *= np.sqrt(weight)
    marks = np.zeros((len(means), 0))
    if having is not None:
        marks = np.clip(np.where(counts[:, None] > 0, having, 0.5), 0.0, sizes[:, None])
    acts = np.arange(len(means))
    costs = np.array([_costs(centres, sizes, marks, state) for state in range(len(means))])
    gone = np.zeros(len(means), bool)
    for _ in range(len(means) - n_acts):
        first, second = sorted(divmod(int(costs.argmin()), len(means)))
        weights = sizes[[first, second]]
        centres[first] = np.average(centres[[first, second]], axis=0, weights=weights)
        sizes[first] = weights.sum()
        marks[first] = marks[[first, second]].sum(axis=0)
        acts[acts == second] = first
        gone[second] = True
        costs[first] = costs[:, first] = _costs(centres, sizes, marks, first)
        costs[gone] = costs[:, gone] = np.inf
    return np.unique(acts, return_inverse=True)[1].astype(np.int64)


def _costs(centres: Floats, sizes: Floats, marks: Floats, state: int) -> Floats:
    """Return (a) for one state and each other, with what marks lose; infinite with itself."""
    costs = np.square(centres - centres[state]).sum(axis=1)
    costs *= sizes * sizes[state] / (sizes + sizes[state]) / 2
    costs += _surprise(marks + marks[state], sizes + sizes[state])
    costs -= _surprise(marks, sizes) + _surprise(marks[[state]], sizes[[state]])
    costs[state] = np.inf
    return np.asarray(costs)


def _surprise(marks: Floats, sizes: Floats) -> Floats:
    """Return minus the log likelihood of marks, (n,), each with its own best probability."""
    shares = marks / sizes[:, None]
    shares = np.minimum(shares, 1.0)  # sums of means over samples are rounded
    return np.asarray(sizes * (entr(shares) + entr(1 - shares)).sum(axis=1))


def members(acts: NDArray[np.int64]) -> Floats:
    """Return which states make up which acts, (n_states, n_acts), as zeros and ones."""
    return np.asarray(np.eye(int(acts.max(initial=-1)) + 1)[acts])
