"""Vectors from the prior of Gaussian states, and given their parameters: for Geweke tests."""

from __future__ import annotations

import numpy as np

from palaver.models.states.emissions.gaussian import GaussianEmissions


def draw_vectors(prior: GaussianEmissions, states, generator: np.random.Generator) -> np.ndarray:
    """Means and covariances from the prior, by definition, then vectors given the states."""
    size = prior.size

    def inverse_wishart():
        normals = generator.standard_normal((int(prior.dof), size)) / np.sqrt(prior.scale)
        return np.linalg.inv(normals.T @ normals)

    tied = inverse_wishart()
    vectors = np.empty((len(states), size))
    for k in np.unique(states):
        covariance = tied
        if prior.covariance == "full":
            covariance = inverse_wishart()
        elif prior.covariance == "diag":
            dof = prior.dof - size + 1
            covariance = np.diag(prior.scale / 2 / generator.standard_gamma(dof / 2, size))
        root = np.linalg.cholesky(covariance)
        mean = prior.mean + root @ generator.standard_normal(size) / np.sqrt(prior.strength)
        noise = generator.standard_normal(((states == k).sum(), size))
        vectors[states == k] = mean + noise @ root.T
    return vectors


def vectors_given(arrays, kind: str, states, generator: np.random.Generator) -> np.ndarray:
    """Vectors given the parameters that a blocked sampler drew."""
    vectors = np.empty((len(states), arrays["means"].shape[1]))
    for i, k in enumerate(states):
        noise = generator.standard_normal(vectors.shape[1])
        factor = arrays["factors"] if kind == "tied" else arrays["factors"][k]
        spread = noise / factor if kind == "diag" else np.linalg.solve(factor.T, noise)
        vectors[i] = arrays["means"][k] + spread
    return vectors
