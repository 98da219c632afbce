"""M4, the mixed membership Markov model: a message mixes classes as its parent's mix predicts.

Paul (2012); spec and equations in ``docs/models/m4.md``. ::

    lambda ~ Normal(0, variance)            weights from each class, from start, and bias
    pi_b   = softmax(lambda . x(parent))    x: the parent's class histogram, summing to one
    z_bn   ~ pi_b,   w_bn ~ phi of z_bn, or the background
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encode import Encoded, Shard
from palaver.kernels import m4 as kernels
from palaver.kernels import m4_weights
from palaver.kernels.heldout import add_mixture_scores
from palaver.kernels.heldout_m4 import m4_log_likelihoods
from palaver.kernels.reconstruct import MOST_CANDIDATES, draw_parents_m4
from palaver.kernels.states import count_classes
from palaver.models.heldout import class_probabilities
from palaver.models.parts import TokenEngine
from palaver.models.reconstruct import Order, Reconstructs
from palaver.models.simulate import Layout
from palaver.models.thread_model import COMMON_LIMITS, ThreadModel
from palaver.parallel import Arrays, Globals
from palaver.params import Limit, one_of, real

_NO_RECORD = np.empty((0, 0, 0))  # the kernel can record its distributions for tests
_NOT_COUNTED = np.empty((0, 0), np.int32)


class M4(Reconstructs, ThreadModel):
    """Mixed membership Markov model of reply trees.

    Parameters
    ----------
    n_classes : int
        Number of classes, K.
    background : bool or "message"
        Let words come from a background that all messages share; one switch probability
        for the corpus (True), or one for each message ("message").
    weights : {"bound", "paper", "sample"}
        How transition weights are learned: by a bound-optimisation step a sweep, which never
        lowers the objective and needs no tuning; by the paper's gradient step; or sampled by
        Metropolis-Hastings, where every second sweep decides on a proposal.
    variance : float
        Variance of the normal prior of the weights.
    step : float
        Numerator of the paper's step size, ``step / (1000 + sweep)``.
    omega : float or "sample"
        Dirichlet prior of the words of a class.
    switch_prior : float
        Both weights of the Beta prior of the switch.
    n_sweeps, burn_in, n_samples : int
        Sweeps in all, before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the best by log joint is the model.
    sampler : {"auto", "collapsed", "parallel", "metropolis"}
        Word distributions integrated out, on one core; or drawn, for any number of workers;
        or integrated out with classes proposed in time linear in K and accepted by the
        replies' factor. "auto" is "parallel" above a million tokens, else "metropolis" with
        background and "collapsed" without (measured: ``docs/performance.md``).
    max_seconds : float, optional
        Stop after so long; results then depend on the machine.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    transitions_ : array of float64, shape (n_classes + 2, n_classes)
        Weights, rows are the source: from each class, from start, and bias.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.M4(n_classes=8, n_sweeps=50).fit(pv.sample())  # doctest: +SKIP
    """

    name = "m4"
    transition_rows: ClassVar = ["start", "bias"]
    transition_kind: ClassVar = "weights"
    limits: ClassVar[dict[str, Limit]] = {
        **COMMON_LIMITS,
        "sampler": one_of("auto", "collapsed", "parallel", "metropolis"),
        "weights": one_of("bound", "paper", "sample"),
        "variance": real(above=0),
        "step": real(above=0),
    }

    def __init__(
        self,
        n_classes: int = 15,
        background: bool | str = True,
        weights: str = "bound",
        variance: float = 10.0,
        step: float = 0.1,
        omega: float | str = "sample",
        switch_prior: float = 10.0,
        n_sweeps: int = 1000,
        burn_in: int | None = None,
        n_samples: int = 10,
        n_chains: int = 1,
        sampler: str = "auto",
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_classes = n_classes
        self.background = background
        self.weights = weights
        self.variance = variance
        self.step = step
        self.omega = omega
        self.switch_prior = switch_prior
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.n_chains = n_chains
        self.sampler = sampler
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _sampler(self, encoded: Encoded) -> str:
        """Return what ``"auto"`` stands for: with background, proposals pay at any K."""
        chosen = super()._sampler(encoded)
        is_free = self.sampler == "auto" and chosen == "collapsed"
        return "metropolis" if is_free and self.background else chosen

    def _make_engine(self, n_words: int, sampler: str) -> M4Engine:
        return M4Engine(
            *self._engine_arguments(n_words, sampler),
            metropolis=sampler == "metropolis",
            learning=self.weights,
            variance=float(self.variance),
            step=float(self.step),
        )

    def _set_estimates(self) -> None:
        super()._set_estimates()
        self.transitions_ = self.chains_[self.best_chain_]["transitions"]

    def draw_classes(
        self, layout: Layout, n_classed: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw each message's classes given its parent's."""
        n_classes = self.transitions_.shape[1]
        start, bias = self.transitions_[n_classes], self.transitions_[n_classes + 1]
        counts = np.zeros((len(n_classed), n_classes), np.int64)
        for b, parent in enumerate(layout.parents):
            if parent < 0:
                scores = start + bias
            else:
                total = max(counts[parent].sum(), 1)
                scores = counts[parent] / total @ self.transitions_[:n_classes] + bias
            shares = np.exp(scores - scores.max())
            counts[b] = generator.multinomial(n_classed[b], shares / shares.sum())
        return np.repeat(np.tile(np.arange(n_classes), len(counts)), counts.ravel())


class M4Engine(TokenEngine):
    """M4 as the loop sees it.

    With ``learning="sample"`` phases alternate: after "sweep" the update proposes weights, the
    shards "weigh" the proposal given their unchanged classes, and the next update decides.
    """

    def __init__(
        self, *common: Any, metropolis: bool, learning: str, variance: float, step: float
    ) -> None:
        super().__init__(*common)
        self.metropolis, self.learning = metropolis, learning
        self.variance, self.step = variance, step

    def start_transitions(self) -> Arrays:
        """Return weights of zero: every message draws from all classes evenly."""
        return {"weights": np.zeros((self.n_classes + 2, self.n_classes)), "sweep": np.array(0)}

    def sweep(
        self, shared: Globals, shard: Shard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Resample all tokens of a shard, or weigh a proposal of weights."""
        classes = state["classes"]
        counts = state["word_class_counts"] if self.collapsed else self.empty_counts()
        if shared.phase == "sweep":
            self._resample(shared, shard, state, counts, key)
        elif not self.collapsed:
            count_classes(shard.tokens, classes, counts)
        name = "proposal" if shared.phase == "weigh" else "weights"
        objective, gradient, curvature = m4_weights.weight_statistics(
            shard.message_offsets, shard.parents, classes, shared.arrays[name]
        )
        return {
            "word_class_counts": counts,
            "objective": np.array(objective),
            "gradient": gradient,
            "curvature": curvature,
            **self.switch_statistics(shard, classes),
        }

    def _resample(
        self,
        shared: Globals,
        shard: Shard,
        state: Arrays,
        counts: NDArray[np.int32],
        key: NDArray[np.uint64],
    ) -> None:
        arrays = shared.arrays
        if self.collapsed:
            kernels.sweep_collapsed(
                shard.tokens, shard.message_offsets, shard.parents, shard.conversation_offsets,
                state["classes"], counts, state["class_totals"], arrays["weights"],
                float(arrays["omega"]), self.switch_flag, self.switch_prior, self.metropolis,
                key, _NO_RECORD,
            )  # fmt: skip
        else:
            kernels.sweep_parallel(
                shard.tokens, shard.message_offsets, shard.parents, shard.conversation_offsets,
                shard.first_conversation, state["classes"], arrays["word_weights"],
                arrays["weights"], self.switch_flag, self.switch_prior,
                float(arrays["class_probability"]), self.metropolis, key, counts, _NO_RECORD,
            )  # fmt: skip

    def next_phase(self, shared: Globals) -> str:
        """Weigh a proposal after each sweep if weights are sampled."""
        return "weigh" if self.learning == "sample" and shared.phase != "weigh" else "sweep"

    def update_transitions(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Arrays, dict[str, Any]]:
        """Move the weights, or propose or decide where they are sampled."""
        weights, sweep = shared.arrays["weights"], int(shared.arrays["sweep"]) + 1
        gradient, curvature = statistics["gradient"], statistics["curvature"]
        objective = float(statistics["objective"])
        arrays: Arrays = {"sweep": np.array(sweep)}
        if self.learning == "bound":
            weights = m4_weights.bound_step(weights, gradient, curvature, self.variance)
        elif self.learning == "paper":
            weights = m4_weights.paper_step(weights, gradient, self.variance, sweep, self.step)
        elif shared.phase == "weigh":
            weights, objective = self._decide(shared, statistics, generator)
        else:
            arrays["proposal"] = m4_weights.propose_weights(
                weights, gradient, curvature, self.variance, generator
            )
            arrays |= {"objective": statistics["objective"], "gradient": gradient}
        arrays["weights"] = weights
        return arrays, {"log_transitions": objective}

    def _decide(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[NDArray[np.float64], float]:
        """Accept or reject the proposal that the shards have weighed."""
        weights, proposal = shared.arrays["weights"], shared.arrays["proposal"]
        before, after = float(shared.arrays["objective"]), float(statistics["objective"])
        accepted = m4_weights.accept_weights(
            weights, (before, shared.arrays["gradient"]), proposal,
            (after, statistics["gradient"]), statistics["curvature"], self.variance, generator,
        )  # fmt: skip
        return (proposal, after) if accepted else (weights, before)

    def sample_transitions(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the weights."""
        return {"transitions": shared.arrays["weights"]}

    def frozen_transitions(self, mean: Arrays) -> Arrays:
        """Return the weights for fold-in."""
        return {"weights": np.ascontiguousarray(mean["transitions"]), "sweep": np.array(0)}

    def expected_shares(self, shared: Globals, shard: Shard, state: Arrays) -> NDArray[np.float64]:
        """Return the transition distribution of each message given its parent's classes."""
        shares = np.empty((shard.n_messages, self.n_classes))
        kernels.message_transitions(
            shard.message_offsets, shard.parents, shard.conversation_offsets, state["classes"],
            shared.arrays["weights"], shares,
        )  # fmt: skip
        return shares

    def log_likelihoods(
        self, shared: Globals, shard: Shard, key: NDArray[np.uint64], n_particles: int
    ) -> NDArray[np.float64]:
        """Estimate them by a particle filter, parents before replies."""
        arrays = shared.arrays
        result = np.empty(len(shard.conversation_offsets) - 1)
        m4_log_likelihoods(
            shard.tokens, shard.message_offsets, shard.parents, shard.conversation_offsets,
            shard.first_conversation, arrays["word_weights"], arrays["weights"],
            self.switch_flag, self.switch_prior, float(arrays["class_probability"]),
            n_particles, key, result,
        )  # fmt: skip
        return result

    def rebuild(
        self,
        shared: Globals,
        shard: Shard,
        state: Arrays,
        key: NDArray[np.uint64],
        temperature: float,
        order: Order,
    ) -> None:
        """Resample all tokens given the shard's parents, then the parents."""
        self._resample(shared, shard, state, _NOT_COUNTED, key)
        draw_parents_m4(
            shard.message_offsets, shard.conversation_offsets, shard.first_conversation,
            state["classes"], shared.arrays["weights"], temperature, order.is_given, order.ranks,
            MOST_CANDIDATES, key[::-1].copy(), shard.parents,
        )  # fmt: skip

    def add_rebuilt_scores(
        self, shared: Globals, shard: Shard, state: Arrays, scores: NDArray[np.float64]
    ) -> None:
        """Add each message's log probability given its parent's classes."""
        shares = self.expected_shares(shared, shard, state)
        chances = class_probabilities(self, shared, shard, state)
        add_mixture_scores(
            shard.tokens, shard.message_offsets, shares, chances, shared.arrays["word_weights"],
            scores,
        )  # fmt: skip
