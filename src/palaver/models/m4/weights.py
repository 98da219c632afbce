"""How M4 learns its transition weights, sweep by sweep (Paul 2012, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.models.m4 import weight_steps
from palaver.models.m4.weight_steps import NormalPrior
from palaver.parallel import Arrays, Globals


@dataclass
class WeightLearner:
    """Moves the weights after each sweep, or samples them.

    Where they are sampled, phases alternate: after "sweep" a proposal is drawn, the shards "weigh"
    it given their unchanged classes, and then it is decided.

    Attributes
    ----------
    weight_step : {"bound", "gradient", "metropolis"}
    prior : NormalPrior
    step_size : float
        Numerator of the size of the gradient step.
    is_dirichlet : bool
        Kind of transitions: each target class has a curvature of its own.
    """

    weight_step: str
    prior: NormalPrior
    step_size: float
    is_dirichlet: bool = False

    def next_phase(self, phase: str) -> str:
        """Weigh a proposal after each sweep if weights are sampled."""
        return "weigh" if self.weight_step == "metropolis" and phase != "weigh" else "sweep"

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
        if self.weight_step == "gradient":
            weights = weight_steps.gradient_step(
                weights, gradient, self.prior, sweep, self.step_size
            )
        elif self.weight_step == "bound" and self.is_dirichlet:
            weights = weight_steps.dirichlet_step(weights, gradient, curvature, self.prior)
        elif self.weight_step == "bound":
            weights = weight_steps.bound_step(weights, gradient, curvature, self.prior)
        elif shared.phase == "weigh":
            weights, objective = self._decide(shared, statistics, generator)
        else:
            arrays["proposal"] = weight_steps.propose_weights(
                weights, gradient, self._precision(curvature), self.prior, generator
            )
            arrays |= {name: statistics[name] for name in ("objective", "gradient", "curvature")}
        arrays["weights"] = weights
        return arrays, objective

    def _precision(self, curvature: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bound on the precision of each target class' weights."""
        if not self.is_dirichlet:
            return weight_steps.softmax_precision(curvature, self.prior)
        return weight_steps.dirichlet_precision(curvature, self.prior)

    def _decide(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[NDArray[np.float64], float]:
        """Accept or reject the proposal that the shards have weighed."""
        weights, proposal = shared.arrays["weights"], shared.arrays["proposal"]
        before, after = (
            (float(facts["objective"]), facts["gradient"], self._precision(facts["curvature"]))
            for facts in (shared.arrays, statistics)
        )
        accepted = weight_steps.accept_weights(
            weights, before, proposal, after, self.prior, generator
        )
        return (proposal, after[0]) if accepted else (weights, before[0])
