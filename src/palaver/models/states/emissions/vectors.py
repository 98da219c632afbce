"""States that emit vectors, for a number of states that is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.encoding.shards import VectorShard
from palaver.kernels import gaussian
from palaver.models.states.emissions import Axes, Run, Table
from palaver.models.states.emissions.gaussian import (
    GaussianEmissions,
    k_means,
    log_shares,
    nearest,
)
from palaver.models.states.kernels.beam import list_states
from palaver.models.states.signs import grouped
from palaver.parallel import Arrays
from palaver.parallel.restored import POSITIVE, Expected

_LOWEST_LOG = -600.0  # of a density relative to the largest of its vector


@dataclass
class VectorEmissions:
    """One vector per position, from a Gaussian distribution.

    Attributes
    ----------
    prior : GaussianEmissions
    sketch : array of float64, shape (n, M)
        Vectors on which k-means finds the first states; none for random ones.
    """

    prior: GaussianEmissions
    sketch: NDArray[np.float64]
    axes: Axes = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        squares = () if self.prior.covariance == "tied" else (0,)
        self.axes = {"state_counts": (0,), "state_sums": (0,), "state_squares": squares}

    def start(self, n_states: int, generator: np.random.Generator) -> Arrays:
        """Find the centres of the first states."""
        return {"centres": k_means(self.sketch, n_states, generator)} if len(self.sketch) else {}

    def first(self, arrays: Arrays, shard: VectorShard) -> NDArray[Any] | None:
        """Return the state of the nearest centre; None for random ones."""
        if "centres" not in arrays:
            return None
        return nearest(shard.vectors[:, : self.prior.size], arrays["centres"])

    def count(self, shard: VectorShard, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Add up vectors and their squares by state."""
        found = gaussian.statistics(self.prior.kind, shard.vectors, states, shard.offsets, n_states)
        return {name: found[name] for name in self.axes}

    def forms(self, arrays: Arrays, n_states: int) -> dict[str, Expected]:
        """Return what the drawn globals of states must be."""
        return self.prior.forms(n_states) | {"power": Expected((), least=POSITIVE, most=1e100)}

    def grown(self, arrays: Arrays, n_states: int) -> Arrays:
        """Return no arrays: the next draw depends on the statistics alone."""
        return {}

    def draw(
        self, arrays: Arrays, statistics: Arrays, power: float, generator: np.random.Generator,
        run: Run,
    ) -> tuple[Arrays, dict[str, float]]:  # fmt: skip
        """Draw means and covariances."""
        drawn = self.prior.draw(statistics, generator)
        log_emissions = self.prior.log_marginal(statistics)
        return {**drawn, "power": np.array(power)}, {"log_emissions": log_emissions}

    def _with_new(self, arrays: Arrays, n_known: int, n_new: int) -> Arrays:
        """Return the parameters, followed by those of new states, drawn from their prior."""
        drawn = [arrays]
        size = self.prior.size
        for number in range(n_known, n_known + n_new):
            generator = rng.generator(int(arrays["stick_key"][0]), "new state", 0, 0, number)
            drawn.append(self._draw_new(arrays, size, generator))
        names = ("means", "log_scales") + (() if self._tied else ("factors",))
        grown = {name: np.concatenate([part[name] for part in drawn]) for name in names}
        if self.prior.n_marks:
            grown["log_marks"] = np.concatenate([part["log_marks"] for part in drawn], axis=1)
        return {**arrays, **grown}

    @property
    def _tied(self) -> bool:
        return self.prior.covariance == "tied"

    def _draw_new(self, arrays: Arrays, size: int, generator: np.random.Generator) -> Arrays:
        """Draw one state; with a tied covariance, its mean given the current covariance."""
        if self._tied:
            factor = arrays["factors"]
            noise = np.linalg.solve(factor.T, generator.standard_normal(size))
            mean = self.prior.mean + noise / np.sqrt(self.prior.strength)
            drawn = {"means": mean[None], "log_scales": arrays["log_scales"][:1]}
            if self.prior.n_marks:
                gammas = generator.standard_exponential((2, 1, self.prior.n_marks))
                drawn["log_marks"] = log_shares(*gammas)
            return drawn
        shape = (1, size) if self.prior.covariance == "diag" else (1, size, size)
        nothing = {"state_counts": np.zeros(1, np.int64), "state_squares": np.zeros(shape),
                   "state_sums": np.zeros((1, size + self.prior.n_marks))}  # fmt: skip
        return self.prior.draw(nothing, generator)

    def table(
        self, arrays: Arrays, shard: VectorShard, n_known: int, new: NDArray[np.bool_]
    ) -> Table:
        """Return the density of each vector in each state, relative to its largest."""
        parameters = self._with_new(arrays, n_known, len(new)) if len(new) else arrays
        logs = self.prior.log_densities(shard.vectors, parameters) * float(arrays["power"])
        logs -= logs.max(axis=1, keepdims=True)
        emissions = np.exp(np.maximum(logs, _LOWEST_LOG))
        nothing = np.zeros((len(logs), 0))
        listed = list_states(emissions, np.exp(_LOWEST_LOG))
        return Table(np.arange(len(logs)), emissions, nothing, *listed)

    def cut(
        self, arrays: Arrays, shard: VectorShard, states: NDArray[np.int16],
        key: NDArray[np.uint64],
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Cut each state by a random plane through its mean."""
        size = self.prior.size
        direction = rng.generator(int(key[0]), "plane").standard_normal(size)
        heights = np.append(arrays["means"] @ direction, np.zeros(int(states.max(initial=0)) + 1))
        return np.asarray(shard.vectors[:, :size] @ direction > heights[states])

    def merge_gains(self, arrays: Arrays, statistics: Arrays) -> NDArray[np.float64]:
        """Compare the vectors of states, means and covariances integrated out."""
        n_states = len(statistics["state_counts"])
        gains = np.zeros((n_states, n_states))
        whole = self.prior.log_marginal(statistics)
        for a, b in zip(*np.triu_indices(n_states, 1), strict=True):
            groups = np.arange(n_states)
            groups[b] = a
            groups[b + 1 :] -= 1
            parts = {
                n: grouped(v, self.axes[n], groups) for n, v in statistics.items() if n in self.axes
            }
            gains[a, b] = gains[b, a] = self.prior.log_marginal(parts) - whole
        return gains
