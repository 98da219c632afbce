"""The block HMM as the loop sees it: the baseline of Paul (2012), section 5.2.

The conversation model of Ritter, Cherry & Dolan (2010). Transition rows have one asymmetric
Dirichlet prior, moved by Minka's fixed point; equations in ``docs/models/block_hmm.md``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Shard
from palaver.kernels.dirichlet import draw_rows
from palaver.kernels.states import log_message_switches, open_messages
from palaver.kernels.switch import SWITCH_MESSAGE, class_probability_nodes
from palaver.kernels.word_weights import word_slices
from palaver.models.block_hmm.kernels import collapsed as kernels
from palaver.models.block_hmm.kernels import heldout, trees
from palaver.models.block_hmm.kernels.parents import draw_block_classes, draw_parents_block
from palaver.models.block_hmm.kernels.prior import log_transitions, transition_prior_step
from palaver.models.views.reconstruct import Order
from palaver.models.words.engine import ThreadEngine, ThreadSettings
from palaver.models.words.guided import known_classes
from palaver.parallel import Arrays, Globals
from palaver.parallel.restored import (
    POSITIVE,
    Expected,
    check_arrays,
    check_counts,
    check_rows,
    indices,
)

#: Gamma prior of each entry of the transition prior: K + 1 rows say little about it, and without
#: one it can run away.
_GAMMA_SHAPE, _GAMMA_RATE = 1.1, 0.1


class BlockHMMEngine(ThreadEngine):
    """The block HMM as the loop sees it.

    Parameters
    ----------
    settings : ThreadSettings
    transition_prior : float or None
        Dirichlet prior of the transition rows; None if it is learned.
    """

    def __init__(self, settings: ThreadSettings, *, transition_prior: float | None) -> None:
        super().__init__(settings)
        self.transition_prior = transition_prior

    def start_transitions(self) -> Arrays:
        """Return the first prior of the rows."""
        first = 1.0 if self.transition_prior is None else self.transition_prior
        return {"transition_prior": np.full(self.n_classes, first)}

    def open(self, shared: Globals, shard: Shard, key: NDArray[np.uint64]) -> Arrays:
        """Draw classes and switches uniformly; count them if the state has counts."""
        classes = np.empty(shard.n_messages, np.int16)
        background = np.zeros(shard.n_tokens, np.uint8)
        open_messages(
            shard.message_offsets, shard.conversation_offsets, shard.first_conversation,
            self.n_classes, self.switch_flag, key, classes, background,
        )  # fmt: skip
        fixed = known_classes(shard)
        if len(fixed):
            classes = np.where(fixed >= 0, fixed, classes)
        state: Arrays = {"message_classes": classes, "background": background}
        if self.collapsed:
            state |= self._count(shard, state)
            counts = state["word_class_counts"]
            state["class_totals"] = counts.sum(axis=0, dtype=np.int64)
        return state

    def check(self, shared: Globals, shard: Shard, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        super().check(shared, shard, state)
        n, own = self.n_classes, shared.arrays
        check_arrays(own, {"transition_prior": Expected((n,), least=POSITIVE, most=1e100)})
        if not self.collapsed and shared.phase != "count":
            check_rows(own["rows"], (n + 1, n))
            check_arrays(own, {"emission_logs": Expected((self.n_words, n))})
        check_arrays(
            state,
            {
                "message_classes": indices(shard.n_messages, n),
                "background": indices(shard.n_tokens, 2, np.uint8),
            },
        )
        if self.collapsed:
            counted = self._count(shard, state)
            totals = counted["word_class_counts"].sum(axis=0, dtype=np.int64)
            check_counts(state, counted | {"class_totals": totals})

    def _count(self, shard: Shard, state: Arrays) -> Arrays:
        counts = self.empty_counts()
        if self.collapsed and self.seeds is not None:
            counts += self.seeds
        transitions = np.zeros((self.n_classes + 1, self.n_classes), np.int64)
        kernels.count_assignments(
            shard.tokens, shard.message_offsets, shard.parents, state["message_classes"],
            state["background"], 0, shard.n_messages, counts, transitions,
        )  # fmt: skip
        return {"word_class_counts": counts, "transition_counts": transitions}

    def sweep(
        self, shared: Globals, shard: Shard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Resample all classes and switches of a shard."""
        arrays = shared.arrays
        if self.collapsed:
            kernels.collapsed_sweep(
                shard.tokens, shard.message_offsets, shard.parents, known_classes(shard),
                arrays["transition_prior"], float(arrays["omega"]), self.switch_flag,
                self.switch_prior, key, state["message_classes"], state["background"],
                state["word_class_counts"], state["class_totals"], state["transition_counts"],
            )  # fmt: skip
            statistics = {n: state[n] for n in ("word_class_counts", "transition_counts")}
        elif shared.phase == "count":
            statistics = self._count(shard, state)
        else:
            counts = self.empty_counts()
            transitions = np.zeros((self.n_classes + 1, self.n_classes), np.int64)
            trees.parallel_sweep(
                shard.tokens, shard.message_offsets, shard.parents, known_classes(shard),
                shard.conversation_offsets, shard.first_conversation, arrays["rows"],
                arrays["word_weights"], arrays["emission_logs"], self.switch_flag,
                float(arrays["class_probability"]), self.switch_prior, key,
                state["message_classes"], state["background"], counts, transitions,
            )  # fmt: skip
            statistics = {"word_class_counts": counts, "transition_counts": transitions}
        if self.switch_flag == SWITCH_MESSAGE:
            statistics["log_switches"] = np.array(
                log_message_switches(
                    shard.message_offsets, state["background"], 1, self.switch_prior
                )
            )
        return statistics

    def update_transitions(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Arrays, dict[str, Any]]:
        """Move the prior by Minka's fixed point; draw the rows for the parallel sampler."""
        counts = statistics["transition_counts"]
        prior = shared.arrays["transition_prior"]
        if self.transition_prior is None:
            prior = transition_prior_step(counts, prior, _GAMMA_SHAPE, _GAMMA_RATE)
        arrays: Arrays = {"transition_prior": prior}
        if not self.collapsed:
            arrays["rows"] = draw_rows(counts, prior, generator)
        return arrays, {"log_transitions": partial(log_transitions, counts, prior)}

    def prepare(self, arrays: Arrays) -> Arrays:
        """Take the logs of the words' probabilities, once per round, in slices of the words."""
        if not self.collapsed:
            logs = np.empty((self.n_words, self.n_classes))
            words, probability = arrays["word_weights"], float(arrays["class_probability"])

            def fill(part: slice) -> None:
                trees.fill_emission_logs(words[part], self.switch_flag, probability, logs[part])

            for _ in self.run(fill, word_slices(self.n_words)):
                pass
            arrays["emission_logs"] = logs
        return arrays

    def sample_transitions(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the rows' posterior mean given this sweep's counts."""
        prior = shared.arrays["transition_prior"]
        rows = statistics["transition_counts"] + prior
        totals = rows.sum(axis=1)
        return {
            "transitions": rows / totals[:, None],
            "transition_totals": totals,
            "transition_prior": prior,
        }

    def frozen_transitions(self, mean: Arrays) -> Arrays:
        """Return the rows for fold-in."""
        return {
            "rows": np.ascontiguousarray(mean["transitions"]),
            "transition_prior": mean["transition_prior"],
        }

    def add_shares(self, shard: Shard, state: Arrays, shares: NDArray[np.float64]) -> None:
        """Count each message's class once."""
        shares[np.arange(shard.n_messages), state["message_classes"]] += 1

    def token_outcomes(self, shard: Shard, state: Arrays) -> NDArray[np.int16]:
        """Give each token its message's class, or the background."""
        lengths = np.diff(shard.message_offsets)
        classes = np.repeat(state["message_classes"], lengths)
        return np.where(state["background"] > 0, self.n_classes, classes).astype(np.int16)

    def expected_shares(self, shared: Globals, shard: Shard, state: Arrays) -> NDArray[np.float64]:
        """Return the transition row of each message's parent."""
        classes = np.append(state["message_classes"], np.int16(self.n_classes))
        return np.asarray(shared.arrays["rows"][classes[shard.parents]])

    def emissions(self, shared: Globals, shard: Shard) -> NDArray[np.float64]:
        """Return the log probability of each message's words given its class, switches summed."""
        arrays = shared.arrays
        longest = int(np.diff(shard.message_offsets).max(initial=0))
        nodes, log_weights = class_probability_nodes(
            self.switch_flag, self.switch_prior, float(arrays["class_probability"]), longest
        )
        emissions = np.empty((shard.n_messages, self.n_classes))
        heldout.message_emissions(
            shard.tokens, shard.message_offsets, arrays["word_weights"], nodes, log_weights,
            emissions,
        )  # fmt: skip
        return emissions

    def add_scores(
        self,
        method: str,
        shared: Globals,
        shard: Shard,
        state: Arrays,
        scores: NDArray[np.float64],
    ) -> None:
        """Add each message's log probability: word by word ("paper"), or as a whole ("blocks")."""
        if method == "blocks":
            self.add_block_scores(shared, shard, state, scores)
        else:
            self.add_paper_scores(shared, shard, state, scores)

    def add_block_scores(
        self, shared: Globals, shard: Shard, state: Arrays, scores: NDArray[np.float64]
    ) -> None:
        """Add the log probability of all words of a message together, given its parent's class."""
        shares = self.expected_shares(shared, shard, state)
        heldout.add_block_scores(shares, self._kept_emissions(shared, shard, state), scores)

    def _kept_emissions(self, shared: Globals, shard: Shard, state: Arrays) -> NDArray[np.float64]:
        """Return the emissions, which stay the same while parameters are frozen."""
        if "emissions" not in state:
            state["emissions"] = self.emissions(shared, shard)
        return state["emissions"]

    add_rebuilt_scores = add_block_scores

    def log_likelihoods(
        self, shared: Globals, shard: Shard, key: NDArray[np.uint64], n_particles: int
    ) -> NDArray[np.float64]:
        """Compute them exactly, by summing over all classes of a tree."""
        result = np.empty(len(shard.conversation_offsets) - 1)
        heldout.block_log_likelihoods(
            shard.parents, shard.conversation_offsets, shared.arrays["rows"],
            self.emissions(shared, shard), result,
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
        """Draw all classes given the shard's parents, then the parents."""
        rows = shared.arrays["rows"]
        draw_block_classes(
            shard.conversation_offsets, shard.first_conversation, shard.parents, rows,
            self._kept_emissions(shared, shard, state), key, state["message_classes"],
        )  # fmt: skip
        draw_parents_block(
            shard.conversation_offsets, shard.first_conversation, state["message_classes"], rows,
            temperature, order.is_given, order.ranks, key[::-1].copy(), shard.parents,
        )  # fmt: skip
