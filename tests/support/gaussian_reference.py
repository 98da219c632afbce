"""Naive twins of the Gaussian hidden Markov model: urns, scipy's densities, fresh sums."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from scipy import stats

from palaver.models.states.emissions.gaussian import GaussianEmissions

KINDS = ("full", "diag", "tied")


def random_emissions(rng, kind: str, size: int) -> GaussianEmissions:
    return GaussianEmissions(
        kind, rng.normal(size=size), rng.uniform(0.3, 2), size - 1 + rng.uniform(0.5, 4),
        rng.uniform(0.3, 2, size),
    )  # fmt: skip


def parameters_of(prior: GaussianEmissions, vectors):
    """kappa, nu, mu, Lambda given the vectors of one state, from fresh sums."""
    count = len(vectors)
    strength = prior.strength + count
    scatter = np.diag(prior.scale).astype(float)
    mean = prior.mean.copy()
    if count:
        average = vectors.mean(axis=0)
        mean = (prior.strength * prior.mean + count * average) / strength
        for x in vectors:
            scatter += np.outer(x - average, x - average)
        away = average - prior.mean
        scatter += prior.strength * count / strength * np.outer(away, away)
    return strength, prior.dof + count, mean, scatter


def log_predictive(prior: GaussianEmissions, x, vectors, states, k) -> float:
    """log p(x | state k, other vectors with their states), by scipy's t."""
    size = len(x)
    strength, dof, mean, scatter = parameters_of(prior, vectors[states == k])
    if prior.covariance == "tied":
        dof = prior.dof + len(vectors)
        scatter = np.diag(prior.scale).astype(float)
        for other in np.unique(states):
            part = parameters_of(prior, vectors[states == other])[3]
            scatter += part - np.diag(prior.scale)
    widening = (strength + 1) / strength
    free = dof - size + 1
    if prior.covariance == "diag":
        scale = np.sqrt(np.diag(scatter) * widening / free)
        return float(stats.t.logpdf(x, free, mean, scale).sum())
    return float(stats.multivariate_t.logpdf(x, mean, scatter * widening / free, free))


def log_vectors(prior: GaussianEmissions, vectors, states) -> float:
    """log p(vectors | states), one vector after the other."""
    return sum(
        log_predictive(prior, vectors[i], vectors[:i], states[:i], states[i])
        for i in range(len(vectors))
    )


def log_chain(states, offsets, alpha: float, n_states: int) -> float:
    """log p(states), an urn for each row."""
    seen = np.zeros((n_states + 1, n_states))
    total = 0.0
    for first, last in pairwise(offsets):
        source = n_states
        for state in states[first:last]:
            weight = seen[source] + alpha
            total += np.log(weight[state] / weight.sum())
            seen[source, state] += 1
            source = state
    return float(total)


def log_joint(prior, vectors, states, offsets, alpha, n_states) -> float:
    return log_vectors(prior, vectors, states) + log_chain(states, offsets, alpha, n_states)


def all_states(n: int, n_states: int):
    return (np.array(states, np.int16) for states in product(range(n_states), repeat=n))


def normalize(logs) -> np.ndarray:
    weights = np.exp(np.asarray(logs) - np.max(logs))
    return weights / weights.sum()


def conditional(prior, vectors, states, offsets, alpha, n_states, i) -> np.ndarray:
    """Enumerated p(s_i | all else)."""
    logs = []
    for k in range(n_states):
        other = states.copy()
        other[i] = k
        logs.append(log_joint(prior, vectors, other, offsets, alpha, n_states))
    return normalize(logs)


def draw(weights, threshold: float) -> int:
    return int(min(np.searchsorted(np.cumsum(weights), threshold * np.sum(weights), "right"),
                   len(weights) - 1))  # fmt: skip
