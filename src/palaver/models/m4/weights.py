"""How the engines of M4 learn their transition weights, sweep by sweep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.models.m4.kernels import weights as m4_weights
from palaver.models.m4.kernels.weight_statistics import dirichlet_step
from palaver.parallel import Arrays, Globals


@dataclass
class WeightLearner:
    """Moves the weights after each sweep, or samples them.

    Where they are sampled, phases alternate: after "sweep" a proposal is drawn, the shards "weigh"
    it given their unchanged classes, and then it is decided.

    Attributes
    ----------
    learning : {"bound", "paper", "sample"}
    variance : float
        Of the weights' prior.
    step : float
        Numerator of the paper's step.
    is_dirichlet : bool
        Kind of transitions: each target class has a curvature of its own.
    """

    learning: str
    variance: float
    step: float
    is_dirichlet: bool = False

    def next_phase(self, phase: str) -> str:
        """Weigh a proposal after each sweep if weights are sampled."""
        return "weigh" if self.learning == "sample" and phase != "weigh" else "sweep"

    def weights_of(self, shared: Globals) -> NDArray[np.float64]:
        """Return the weights that statistics are wanted of."""
        return shared.arrays["proposal" if shared.phase == "weigh" else "weights"]

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Arrays, float]:
        """Return what changes of the globals, and the log probability of the classes.

        statistics : objective, gradient and curvature of :meth:`weights_of`, summed over shards.
        """
        weights, sweep = shared.arrays["weights"], int(shared.arrays["sweep"]) + 1
        gradient, curvature = statistics["gradient"], statistics["curvature"]
        objective = float(statistics["objective"])
        arrays: Arrays = {"sweep": np.array(sweep)}
        if self.learning == "paper":
            weights = m4_weights.paper_step(weights, gradient, self.variance, sweep, self.step)
        elif self.learning == "bound" and self.is_dirichlet:
            weights = dirichlet_step(weights, gradient, curvature, self.variance)
        elif self.learning == "bound":
            weights = m4_weights.bound_step(weights, gradient, curvature, self.variance)
        elif shared.phase == "weigh":
            weights, objective = self._decide(shared, statistics, generator)
        else:
            arrays["proposal"] = m4_weights.propose_weights(
                weights, gradient, self._precision(curvature), self.variance, generator
            )
            arrays |= {name: statistics[name] for name in ("objective", "gradient", "curvature")}
        arrays["weights"] = weights
        return arrays, objective

    def _precision(self, curvature: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bound on the precision of each target class' weights."""
        if not self.is_dirichlet:
            return m4_weights.softmax_precision(curvature, self.variance)
        return m4_weights.dirichlet_precision(curvature, self.variance)

    def _decide(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[NDArray[np.float64], float]:
        """Accept or reject the proposal that the shards have weighed."""
        weights, proposal = shared.arrays["weights"], shared.arrays["proposal"]
        before, after = (
            (float(facts["objective"]), facts["gradient"], self._precision(facts["curvature"]))
            for facts in (shared.arrays, statistics)
        )
        accepted = m4_weights.accept_weights(
            weights, before, proposal, after, self.variance, generator
        )
        return (proposal, after[0]) if accepted else (weights, before[0])
