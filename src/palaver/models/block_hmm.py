"""The block HMM: one class a message, which depends on the class of the message it answers.

Ritter, Cherry & Dolan (2010), the baseline of Paul (2012); spec and equations in
``docs/models/block_hmm.md``. ::

    row_a ~ Dirichlet(alpha)                    a = 0..K-1 and start
    z_b   ~ row of the parent's class           start for messages without a parent
    w_bn  ~ phi of z_b, or the background
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encode import Encoded, Shard
from palaver.kernels import block_hmm as kernels
from palaver.kernels import block_hmm_trees as trees
from palaver.kernels import heldout
from palaver.kernels.block_hmm_prior import log_transitions, transition_prior_step
from palaver.kernels.dirichlet import draw_rows
from palaver.kernels.reconstruct_block import draw_block_classes, draw_parents_block
from palaver.kernels.states import log_message_switches, open_messages
from palaver.kernels.switch import SWITCH_MESSAGE, class_probability_nodes
from palaver.kernels.word_weights import word_slices
from palaver.models.guided import (
    GUIDED_LIMITS,
    GuidedModel,
    LabelledShard,
    fixed_classes,
    known_classes,
)
from palaver.models.parts import ThreadEngine
from palaver.models.reconstruct import Order, Reconstructs
from palaver.models.simulate import Layout
from palaver.models.thread_model import COMMON_LIMITS
from palaver.parallel import Arrays, Globals
from palaver.params import Limit, either, one_of, real, unless_learned

#: Gamma prior of alpha: K + 1 rows say little about it, and without one it can run away.
_ALPHA_SHAPE, _ALPHA_RATE = 1.1, 0.1


class BlockHMM(Reconstructs, GuidedModel):
    """Hidden Markov model on reply trees, one class a message.

    Parameters
    ----------
    n_classes : int
        Number of classes, K.
    background : bool or "message"
        Let words come from a background that all messages share; one switch probability
        for the corpus (True), or one for each message ("message").
    alpha : float or "learn"
        Dirichlet prior of the transition rows; "learn" finds an asymmetric one by Minka's
        fixed point.
    seed_words : dict of str to list of str, optional
        Words that a class of that name should have; the other classes are free. For topics or
        features use ``M4(segment="message", ...)``.
    seed_weight : float
        How often a seed word counts for its class, as a multiple of its occurrences.
    labels : str, optional
        A column with the names of classes of some messages; the other messages are free.
    omega : float or "sample"
        Dirichlet prior of the words of a class.
    switch_prior : float
        Both weights of the Beta prior of the switch.
    n_sweeps, burn_in, n_samples : int
        Sweeps in all, before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the best by log joint is the model.
    sampler : {"auto", "collapsed", "parallel"}
        One message at a time with all parameters integrated out; or whole trees at once
        given drawn parameters, for any number of workers.
    max_seconds : float, optional
        Stop after so long; results then depend on the machine.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    transitions_ : array of float64, shape (n_classes + 1, n_classes)
        Probabilities; rows are the source, the last one is the start.
    alpha_ : array of float64, shape (n_classes,)
    class_names_ : list of str
        Names of the first classes, from seed words and labels.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.BlockHMM(n_classes=8, n_sweeps=50).fit(pv.sample())  # doctest: +SKIP
    """

    name = "block-hmm"
    transition_rows: ClassVar = ["start"]
    transition_kind: ClassVar = "probabilities"
    heldout_methods: ClassVar = ("sequential", "paper", "blocks")
    limits: ClassVar[dict[str, Limit]] = {
        **COMMON_LIMITS,
        **GUIDED_LIMITS,
        "alpha": either(real(above=0), one_of("learn")),
    }

    def __init__(
        self,
        n_classes: int = 15,
        background: bool | str = True,
        alpha: float | str = "learn",
        seed_words: Mapping[str, Sequence[str]] | None = None,
        seed_weight: float = 1.0,
        labels: str | None = None,
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
        self.alpha = alpha
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.labels = labels
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

    def _make_engine(self, n_words: int, sampler: str) -> BlockHMMEngine:
        return BlockHMMEngine(*self._engine_arguments(n_words, sampler), unless_learned(self.alpha))

    def _shards(self, data: Encoded, engine: Any) -> list[Shard]:
        shards = super()._shards(data, engine)
        if self.labels is None:
            return shards
        fixed = fixed_classes(self.labels, self.class_names_, data)
        return [
            LabelledShard(**vars(shard), fixed_classes=fixed[first : first + shard.n_messages])
            for shard in shards
            for first in (shard.first_message,)
        ]

    def _set_estimates(self) -> None:
        super()._set_estimates()
        self.transitions_ = self.chains_[self.best_chain_]["transitions"]
        self.alpha_ = self.chains_[self.best_chain_]["alpha"]

    def draw_classes(
        self, layout: Layout, n_classed: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw each message's class given its parent's."""
        n_classes = self.transitions_.shape[1]
        limits = np.cumsum(self.transitions_, axis=1)
        draws = generator.random(len(n_classed))
        classes = np.empty(len(n_classed), np.int64)
        for b, parent in enumerate(layout.parents):
            row = n_classes if parent < 0 else classes[parent]
            classes[b] = min(np.searchsorted(limits[row], draws[b]), n_classes - 1)
        return np.repeat(classes, n_classed)


class BlockHMMEngine(ThreadEngine):
    """The block HMM as the loop sees it."""

    def __init__(self, *common: Any) -> None:
        *shared, self.alpha = common
        super().__init__(*shared)

    def start_transitions(self) -> Arrays:
        """Return the first prior of the rows."""
        first = 1.0 if self.alpha is None else self.alpha
        return {"alpha": np.full(self.n_classes, first)}

    def open(self, shared: Globals, shard: Shard, key: NDArray[np.uint64]) -> Arrays:
        """Draw classes and switches evenly; count them if the counts live in the state."""
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
                arrays["alpha"], float(arrays["omega"]), self.switch_flag, self.switch_prior, key,
                state["message_classes"], state["background"], state["word_class_counts"],
                state["class_totals"], state["transition_counts"],
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
        alpha = shared.arrays["alpha"]
        if self.alpha is None:
            alpha = transition_prior_step(counts, alpha, _ALPHA_SHAPE, _ALPHA_RATE)
        arrays: Arrays = {"alpha": alpha}
        if not self.collapsed:
            arrays["rows"] = draw_rows(counts, alpha, generator)
        return arrays, {"log_transitions": partial(log_transitions, counts, alpha)}

    def prepare(self, arrays: Arrays) -> Arrays:
        """Take the logs of the words' probabilities, once a round, in slices of the words."""
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
        alpha = shared.arrays["alpha"]
        rows = statistics["transition_counts"] + alpha
        return {"transitions": rows / rows.sum(axis=1, keepdims=True), "alpha": alpha}

    def frozen_transitions(self, mean: Arrays) -> Arrays:
        """Return the rows for fold-in."""
        return {"rows": np.ascontiguousarray(mean["transitions"]), "alpha": mean["alpha"]}

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
