"""A fixed number of Gaussian states as the loop sees them: collapsed, blocked, or a mixture.

With ``n_states=None`` the Gaussian models run on :class:`palaver.models.states.engine.StateEngine`.
That engine could also run the blocked sampler below, with dense filtering and equal weights; the
two target the same posterior. They stay apart because they draw differently: this one draws
emissions before rows, filters in another kernel and takes its random numbers from other streams, so
that a merged engine would give other fits for the same seed. It also keeps the sufficient
statistics of every sample, whose mean is the model: states of a fixed number have a mean, states
that come and go do not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.shards import VectorShard
from palaver.kernels import chains, gaussian
from palaver.kernels.dirichlet import draw_rows
from palaver.models.gaussian.kernels.collapsed import collapsed_sweep
from palaver.models.states.emissions.gaussian import (
    GaussianEmissions,
    k_means,
    log_rows,
    nearest,
)
from palaver.parallel import Arrays, Globals
from palaver.parallel.restored import check_arrays, check_rows, indices


@dataclass
class VectorEngine:
    """A hidden Markov model with Gaussian emissions; a mixture if every sequence has length one.

    Brychcín & Král (2017), section 2; without context, the mixture, equation 5.

    Attributes
    ----------
    n_states : int
    transition_prior : float
        alpha, symmetric Dirichlet prior of the transition rows.
    emissions : GaussianEmissions
    collapsed : bool
        Draw one state at a time with all parameters integrated out; needs all data in one shard.
    sketch : array of float64, shape (n, M)
        Vectors on which k-means finds the first states; none for random ones.
    """

    n_states: int
    transition_prior: float
    emissions: GaussianEmissions
    collapsed: bool
    sketch: NDArray[np.float64]
    run: Any = field(init=False, default=map)
    exact: ClassVar[tuple[str, ...]] = ()

    def start(self, generator: np.random.Generator) -> Globals:
        """Return the first globals; the first blocked sweep only counts the first states."""
        arrays: Arrays = {"centres": np.zeros((0, self.emissions.size))}
        if len(self.sketch):
            arrays["centres"] = k_means(self.sketch, self.n_states, generator)
        return Globals("sweep" if self.collapsed else "count", arrays)

    def open(self, shared: Globals, shard: VectorShard, key: NDArray[np.uint64]) -> Arrays:
        """Give each vector the state of its nearest centre, or a random one."""
        states = np.empty(shard.n_messages, np.int16)
        centres = shared.arrays["centres"]
        if len(centres):
            states[:] = nearest(shard.vectors[:, : self.emissions.size], centres)
        else:
            chains.start_states(shard.offsets, shard.first_sequence, self.n_states, key, states)
        return {"states": states}

    def check(self, shared: Globals, shard: VectorShard, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        check_arrays(state, {"states": indices(shard.n_messages, self.n_states)})
        if not self.collapsed and shared.phase == "sweep":
            check_rows(shared.arrays["rows"], (self.n_states + 1, self.n_states))
            check_arrays(shared.arrays, self.emissions.forms(self.n_states))

    def sweep(
        self, shared: Globals, shard: VectorShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Resample the states of a shard; return what parameters are drawn from.

        Collapsed, state by state: equation 4 of Brychcín & Král (2017).
        """
        states, prior = state["states"], self.emissions
        if self.collapsed:
            collapsed_sweep(
                prior.kind, shard.vectors, shard.offsets, shard.first_sequence,
                self.transition_prior, prior.mean, prior.strength, prior.dof, prior.scale,
                shared.temperature, key, states, self.n_states,
            )  # fmt: skip
        elif shared.phase == "sweep":
            logs = prior.log_densities(shard.vectors, shared.arrays)
            logs /= shared.temperature
            chains.sample_chains(
                logs, shard.offsets, shard.first_sequence, shared.arrays["rows"], key, states
            )
        return gaussian.statistics(prior.kind, shard.vectors, states, shard.offsets, self.n_states)

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up statistics; those of the left are used up."""
        for name, value in right.items():
            left[name] += value
        return left

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Draw means, covariances and rows given the merged statistics."""
        counts = statistics["transition_counts"]
        arrays: Arrays = {}
        if not self.collapsed:
            arrays = self.emissions.draw(statistics, generator)
            arrays["rows"] = draw_rows(counts, self.transition_prior, generator)
        log_joint = self.emissions.log_marginal(statistics) + log_rows(
            counts, self.transition_prior
        )
        used = float((statistics["state_counts"] > 0).sum())
        return Globals("sweep", arrays), {"log_joint": log_joint, "states": used}

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the statistics: their mean over samples gives the estimates."""
        return statistics
