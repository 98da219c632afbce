"""Gaussian emissions of every model whose states emit vectors, and their first states.

:class:`GaussianEmissions` is a Normal-inverse-Wishart prior and what follows from it given
sufficient statistics (:func:`palaver.kernels.gaussian.statistics`). It knows nothing of how states
follow each other. Equations are those of Brychcín & Král (2017).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import betaln, gammaln, multigammaln
from threadpoolctl import threadpool_limits

from palaver.kernels import gaussian
from palaver.kernels.cholesky import factorize
from palaver.parallel import Arrays
from palaver.parallel.restored import Expected

Floats = NDArray[np.float64]

_KMEANS_ITERATIONS = 30


def log_rows(counts: NDArray[np.int64], alpha: float) -> float:
    """Return the log probability of the transitions with the rows integrated out.

    Parameters
    ----------
    counts : array of int64, shape (K + 1, K)
    alpha : float
        Symmetric Dirichlet prior of the rows.
    """
    n_states = counts.shape[1]
    totals = counts.sum(axis=1)
    result = (gammaln(counts + alpha) - gammaln(alpha)).sum()
    result -= (gammaln(totals + n_states * alpha) - gammaln(n_states * alpha)).sum()
    return float(result)


@dataclass(frozen=True)
class GaussianEmissions:
    """Normal-inverse-Wishart prior of the means and covariances of states.

    Brychcín & Král (2017), section 2; its posterior is equation 3. (Equations 3 to 5 of the paper
    print K where the dimension M belongs.)

    Attributes
    ----------
    covariance : {"full", "diag", "tied"}
        One per state, one per state without correlations, or one for all states. A diagonal
        covariance has the prior that a full one gives to the entries of its diagonal.
    mean : array of float64, shape (M,)
        mu0.
    strength : float
        kappa, in vectors; at zero a state that becomes empty is removed.
    dof : float
        nu, above M - 1.
    scale : array of float64, shape (M,)
        The diagonal of Lambda.
    n_marks : int
        Columns of zeros and ones behind the M of the vectors: marks, each of which a state has
        with a probability of its own, uniform a priori.
    weight : float
        Power of the densities of vectors. What is sampled is then not the posterior of the
        model, but that of the joint in which each vector's density has this power; marks and
        transitions count in full. Raised to a power, the densities of n vectors are those of
        ``weight`` n vectors, so that all statistics of vectors are multiplied by it.
    """

    covariance: str
    mean: Floats
    strength: float
    dof: float
    scale: Floats
    n_marks: int = 0
    weight: float = 1.0

    @property
    def kind(self) -> int:
        """The kind of covariance as a number, for kernels."""
        return gaussian.KINDS[self.covariance]

    @property
    def size(self) -> int:
        """The number of dimensions, M."""
        return len(self.mean)

    def _of_vectors(self, statistics: Arrays) -> Arrays:
        """Return the statistics of the vectors alone, times their weight."""
        if not self.n_marks and self.weight == 1:
            return statistics
        squares = statistics["state_squares"][..., : self.size]
        if self.covariance != "diag":
            squares = squares[..., : self.size, :]
        return {
            "state_counts": self.weight * statistics["state_counts"],
            "state_sums": self.weight * statistics["state_sums"][:, : self.size],
            "state_squares": self.weight * squares,
        }

    def _mark_counts(self, statistics: Arrays) -> tuple[Floats, Floats]:
        """Return how many vectors of each state have each mark, and how many have not, (K, B)."""
        having = np.asarray(statistics["state_sums"][:, self.size :], float)
        return having, np.asarray(statistics["state_counts"], float)[:, None] - having

    def posterior(self, statistics: Arrays) -> tuple[Floats, Floats, Floats, Floats]:
        """Return kappa_k (K,), nu_k (K,), mu_k (K, M) and Lambda_k given statistics: equation 3.

        The last has the shape of ``state_squares``; for a tied covariance nu_k counts all
        vectors, for a diagonal one it is that of each dimension.
        """
        statistics = self._of_vectors(statistics)
        counts, sums = statistics["state_counts"], statistics["state_sums"]
        strengths = self.strength + np.asarray(counts, float)
        safe = np.where(strengths > 0, strengths, 1.0)
        means = (self.strength * self.mean + sums) / safe[:, None]
        means[strengths == 0] = self.mean
        dofs = np.full(len(counts), self.dof) + (
            counts.sum() if self.covariance == "tied" else counts
        )
        if self.covariance == "diag":
            dofs = dofs - self.size + 1
        return strengths, dofs, means, self._scatter(statistics, strengths, means)

    def _scatter(self, statistics: Arrays, strengths: Floats, means: Floats) -> Floats:
        """Return Lambda + sum x x' + kappa mu0 mu0' - kappa_k mu_k mu_k'."""
        squares = statistics["state_squares"]
        if self.covariance == "diag":
            prior = self.scale + self.strength * self.mean**2
            return np.asarray(
                np.maximum(prior + squares - strengths[:, None] * means**2, self.scale)
            )
        prior = np.diag(self.scale)
        centre = self.strength * np.outer(self.mean, self.mean)
        if self.covariance == "full":
            spread = strengths[:, None, None] * means[:, :, None] * means[:, None, :]
            return np.asarray(prior + (squares + centre - spread))
        spread = np.einsum("k,ki,kj->ij", strengths, means, means)
        return np.asarray(prior + (squares + len(means) * centre - spread))

    def _factors(self, scatters: Floats, statistics: Arrays) -> list[Floats]:
        """Return the upper factors of all Lambda_k; of one Lambda if tied."""
        squares = self._of_vectors(statistics)["state_squares"]
        if self.covariance == "tied":
            scatters, squares = scatters[None], squares[None]
        return [
            factorize(scatter, float(np.diagonal(part).max()))
            for scatter, part in zip(scatters, squares, strict=True)
        ]

    def draw(self, statistics: Arrays, generator: np.random.Generator) -> Arrays:
        """Draw the parameters of all states from their posterior.

        Returns
        -------
        dict
            ``means`` (K, M), ``factors`` and ``log_scales`` (K,), as
            :func:`palaver.kernels.gaussian.log_densities` takes them; ``log_marks`` (2, K, B),
            of having a mark and of not having it. A state without vectors is drawn from the
            prior; without strength of the prior it is removed.
        """
        strengths, dofs, means, scatters = self.posterior(statistics)
        noise = generator.standard_normal(means.shape)
        noise /= np.sqrt(np.where(strengths > 0, strengths, 1.0))[:, None]
        if self.covariance == "diag":
            shape = np.broadcast_to(dofs[:, None] / 2, scatters.shape)
            precisions = np.maximum(generator.standard_gamma(shape), np.finfo(float).tiny)
            factors = np.sqrt(2 * precisions / scatters)
            noise /= factors
        elif self.covariance == "tied":
            factor = self._factors(scatters, statistics)[0]
            factors = self._draw_factor(factor, float(dofs[0]), generator)
            noise = solve_triangular(factors, noise.T, trans="T").T
        else:
            factors = np.stack([
                self._draw_factor(factor, float(dof), generator)
                for factor, dof in zip(self._factors(scatters, statistics), dofs, strict=True)
            ])  # fmt: skip
            noise = np.stack([
                solve_triangular(factor, part, trans="T")
                for factor, part in zip(factors, noise, strict=True)
            ])  # fmt: skip
        drawn = self._parameters(means + noise, factors, strengths > 0)
        if self.n_marks:
            having, lacking = self._mark_counts(statistics)
            drawn["log_marks"] = log_shares(
                generator.standard_gamma(1 + having), generator.standard_gamma(1 + lacking)
            )
        return drawn

    def forms(self, n_states: int) -> dict[str, Expected]:
        """Return what :meth:`draw` returns for so many states."""
        one = (self.size,) if self.covariance == "diag" else (self.size, self.size)
        found = {
            "means": Expected((n_states, self.size)),
            "factors": Expected(one if self.covariance == "tied" else (n_states, *one)),
            "log_scales": Expected((n_states,)),
        }
        if self.n_marks:
            found["log_marks"] = Expected((2, n_states, self.n_marks), most=0)
        return found

    def _draw_factor(self, factor: Floats, dof: float, generator: np.random.Generator) -> Floats:
        """Draw the upper factor of a Wishart precision, by Bartlett's decomposition reversed."""
        upper = np.triu(generator.standard_normal((self.size, self.size)), 1)
        degrees = dof - self.size + 1 + np.arange(self.size)
        chi = np.maximum(generator.chisquare(degrees), np.finfo(float).tiny)
        upper[np.diag_indices(self.size)] = np.sqrt(chi)
        return np.asarray(solve_triangular(factor, upper))

    def expected(self, statistics: Arrays) -> tuple[Floats, Floats, Arrays]:
        """Return means (K, M), covariances and the parameters for predictions.

        Means are posterior means, covariances the inverses of the posterior mean precisions,
        Lambda_k / nu_k, which exist for every state.
        """
        strengths, dofs, means, scatters = self.posterior(statistics)
        if self.covariance == "diag":
            covariances = scatters / dofs[:, None]
            factors = 1 / np.sqrt(covariances)
        else:
            roots = [
                factor / np.sqrt(dof)
                for factor, dof in zip(self._factors(scatters, statistics), dofs, strict=False)
            ]
            covariances = np.stack([root.T @ root for root in roots])
            identity = np.eye(self.size)
            factors = np.stack([solve_triangular(root, identity) for root in roots])
            if self.covariance == "tied":
                covariances, factors = covariances[0], factors[0]
        parameters = self._parameters(means, factors, strengths > 0)
        if self.n_marks:
            having, lacking = self._mark_counts(statistics)
            parameters["log_marks"] = log_shares(1 + having, 1 + lacking)
        return means, covariances, parameters

    def _parameters(self, means: Floats, factors: Floats, alive: NDArray[np.bool_]) -> Arrays:
        diagonal = factors if self.covariance == "diag" else np.diagonal(factors, 0, -2, -1)
        log_scales = np.log(diagonal).sum(axis=-1) - self.size / 2 * np.log(2 * np.pi)
        return {
            "means": means,
            "factors": np.ascontiguousarray(factors),
            "log_scales": np.where(alive, log_scales, -np.inf),
        }

    def log_marginal(self, statistics: Arrays) -> float:
        """Return the log density of all vectors given their states, parameters integrated out.

        Up to a constant if the prior has no strength.
        """
        result = self._log_marginal_vectors(statistics)
        if self.n_marks:
            having, lacking = self._mark_counts(statistics)
            result += float(betaln(1 + having, 1 + lacking).sum())
        return result

    def _log_marginal_vectors(self, statistics: Arrays) -> float:
        counts = np.asarray(self._of_vectors(statistics)["state_counts"], float)
        strengths, dofs, _, scatters = self.posterior(statistics)
        prior_strength = self.strength or 1.0
        alive = strengths > 0
        result = -0.5 * self.size * np.log(np.pi) * counts.sum()
        result += 0.5 * self.size * np.log(prior_strength / strengths[alive]).sum()
        log_scale = np.log(self.scale).sum()
        if self.covariance == "diag":
            prior_dof = self.dof - self.size + 1
            result += self.size * (gammaln(dofs / 2) - gammaln(prior_dof / 2)).sum()
            result += 0.5 * (prior_dof * log_scale * len(dofs))
            result -= 0.5 * (dofs[:, None] * np.log(scatters)).sum()
            return float(result)
        dofs = dofs[:1] if self.covariance == "tied" else dofs
        diagonals = np.stack([np.diagonal(part) for part in self._factors(scatters, statistics)])
        result += multigammaln(dofs / 2, self.size).sum()
        result -= len(dofs) * multigammaln(self.dof / 2, self.size)
        result += 0.5 * self.dof * log_scale * len(dofs)
        result -= (dofs * np.log(diagonals).sum(axis=1)).sum()
        return float(result)

    def log_densities(self, vectors: Floats, parameters: Any) -> Floats:
        """Return the weighted log density of each vector and its marks under each state, (n, K)."""
        own = np.ascontiguousarray(vectors[:, : self.size]) if self.n_marks else vectors
        logs = gaussian.log_densities(
            self.kind, own, parameters["means"], parameters["factors"], parameters["log_scales"]
        )
        if self.weight != 1:
            logs *= self.weight
        if self.n_marks:
            marks, (having, lacking) = vectors[:, self.size :], parameters["log_marks"]
            for column in range(self.n_marks):  # zeros and ones: no product, whose bits may vary
                has = marks[:, column, None] > 0
                logs += np.where(has, having[:, column], lacking[:, column])
        return logs


def log_shares(first: Floats, second: Floats) -> Floats:
    """Return the logs of the shares of two positive numbers in their sum, stacked."""
    tiny = np.finfo(float).tiny
    first, second = np.maximum(first, tiny), np.maximum(second, tiny)
    return np.stack((np.log(first / (first + second)), np.log(second / (first + second))))


def k_means(
    vectors: NDArray[np.float64], n_states: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return at most ``n_states`` centres."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(
        min(n_states, len(vectors)), n_init=1, max_iter=_KMEANS_ITERATIONS,
        random_state=int(generator.integers(2**31)),
    )  # fmt: skip
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer vectors than states
        means.fit(vectors)
    return np.asarray(means.cluster_centers_, np.float64)


def nearest(vectors: Floats, centres: Floats) -> NDArray[np.int64]:
    """Return the number of the centre that is nearest to each vector."""
    distances = (centres**2).sum(axis=1) - 2 * vectors @ centres.T
    return np.asarray(distances.argmin(axis=1))
