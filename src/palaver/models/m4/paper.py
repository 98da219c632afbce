"""The M4 of the paper as the loop sees it, on the sweep that is tuned for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.encode.shards import Shard
from palaver.kernels.states import count_classes
from palaver.models.m4.kernels import paper_sweep as kernels
from palaver.models.m4.kernels import weights as m4_weights
from palaver.models.m4.kernels.pairs import NO_PAIRS
from palaver.models.m4.kernels.paper_heldout import m4_log_likelihoods
from palaver.models.m4.kernels.parents import MOST_CANDIDATES, draw_parents_m4
from palaver.models.m4.weights import WeightLearner
from palaver.models.views.reconstruct import Order
from palaver.models.words.engine import NO_RECORD, NOT_COUNTED, TokenEngine
from palaver.parallel import Arrays, Globals


class M4Engine(TokenEngine):
    """M4 as the loop sees it."""

    def __init__(self, *common: Any, metropolis: bool, learner: WeightLearner) -> None:
        super().__init__(*common)
        self.metropolis, self.learner = metropolis, learner

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
        objective, gradient, curvature = m4_weights.weight_statistics(
            shard.message_offsets, shard.parents, classes, self.learner.weights_of(shared)
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
                key, NO_RECORD,
            )  # fmt: skip
        else:
            kernels.sweep_parallel(
                shard.tokens, shard.message_offsets, shard.parents, shard.conversation_offsets,
                shard.first_conversation, state["classes"], arrays["word_weights"],
                arrays["weights"], self.switch_flag, self.switch_prior,
                float(arrays["class_probability"]), self.metropolis, key, counts, NO_RECORD,
            )  # fmt: skip

    def next_phase(self, shared: Globals) -> str:
        """Weigh a proposal after each sweep if weights are sampled."""
        return self.learner.next_phase(shared.phase)

    def update_transitions(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Arrays, dict[str, Any]]:
        """Move the weights, or propose or decide where they are sampled."""
        arrays, objective = self.learner.update(shared, statistics, generator)
        return arrays, {"log_transitions": objective}

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
        self._resample(shared, shard, state, NOT_COUNTED, key)
        draw_parents_m4(
            shard.message_offsets, shard.conversation_offsets, shard.first_conversation,
            state["classes"], shared.arrays["weights"], temperature, order.is_given, order.ranks,
            MOST_CANDIDATES, key[::-1].copy(), shard.parents, False, NO_PAIRS,
        )  # fmt: skip

    def add_rebuilt_scores(
        self, shared: Globals, shard: Shard, state: Arrays, scores: NDArray[np.float64]
    ) -> None:
        """Add each message's log probability given its parent's classes."""
        self.add_paper_scores(shared, shard, state, scores)
