"""M4 as the loop sees it.

Paul (2012), section 3: classes are sampled and transition weights optimized in turn, with the
background of section 5.3. What goes beyond the paper (``docs/models/m4.md`` has the equations) is
in the same sweep (:mod:`palaver.models.m4.kernels.sweep`): topics of conversations alongside the
classes, segments that share a class, Dirichlet transitions, further features, several parents,
messages of known class. What a message is conditioned on is attached to its shard.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.shards import Shard
from palaver.kernels import dirichlet
from palaver.kernels.lda import message_histograms
from palaver.kernels.states import add_message_counts, count_classes, start_outcomes
from palaver.kernels.switch import SWITCH_MESSAGE, SWITCH_OFF
from palaver.models.m4.kernels.arguments import Parameters, State, Threads, Variant
from palaver.models.m4.kernels.heldout import filter_log_likelihoods
from palaver.models.m4.kernels.pairs import NO_PAIRS, Pairs
from palaver.models.m4.kernels.parents import MOST_CANDIDATES, draw_parents_m4
from palaver.models.m4.kernels.shares import add_outcome_scores, message_shares
from palaver.models.m4.kernels.sweep import sweep_shard
from palaver.models.m4.kernels.weight_statistics import weight_statistics
from palaver.models.m4.weights import WeightLearner
from palaver.models.views.reconstruct import Order
from palaver.models.words.engine import (
    NO_RECORD,
    NOT_COUNTED,
    ThreadSettings,
    TokenEngine,
    merge_histograms,
)
from palaver.parallel import Arrays, Globals
from palaver.parallel.restored import POSITIVE, Expected, check_arrays, indices

_HISTOGRAMS = ("topic_histograms", "topic_lengths")
#: In place of what only one of the samplers is given.
_NO_TOTALS, _NO_WORDS, _NO_KINDS = np.empty(0, np.int64), np.empty((0, 0)), np.zeros(3)
#: Sum of a message's Dirichlet weights, and of a conversation's, where a chain starts.
_FIRST_SUM = 5.0
#: No chain gets this far from zero; beyond it exponentials of weights overflow.
_LARGEST_WEIGHT = 500.0


@dataclass(frozen=True, eq=False)
class M4Shard(Shard):
    """A shard with what its messages are conditioned on.

    Attributes
    ----------
    parent_offsets : array of int64, shape (n_messages + 1,)
    parent_list : array of int32
        All parents of each message.
    base_index : array of int32, shape (n_messages,)
        Row of ``designs``.
    designs : array of float64, shape (n_bases, n_features)
        Distinct features beyond the parents' classes: start, bias, further ones.
    fixed_classes : array of int16, shape (n_messages,)
        Known classes; -1 where they are to be found.
    segment_offsets : array of int64, shape (n_segments + 1,)
        Tokens of each segment; one entry where tokens have classes of their own.
    unit_offsets : array of int64, shape (n_messages + 1,)
        Segments of each message, or its tokens.
    """

    parent_offsets: NDArray[np.int64]
    parent_list: NDArray[np.int32]
    base_index: NDArray[np.int32]
    designs: NDArray[np.float64]
    fixed_classes: NDArray[np.int16]
    segment_offsets: NDArray[np.int64]
    unit_offsets: NDArray[np.int64]

    @property
    def threads(self) -> Threads:
        """What kernels are given of it."""
        return Threads(
            self.tokens, self.message_offsets, self.conversation_offsets, self.first_conversation,
            self.parent_offsets, self.parent_list, self.base_index, self.designs,
            self.fixed_classes, self.segment_offsets, self.unit_offsets,
        )  # fmt: skip

    def linked(self) -> M4Shard:
        """Return the shard with what depends on its parents, where these have changed.

        Each message then has one parent at most, and no features.
        """
        own = self.parents >= 0
        return replace(
            self,
            parent_offsets=np.concatenate(([0], np.cumsum(own))).astype(np.int64),
            parent_list=np.ascontiguousarray(self.parents[own]),
            base_index=(~own).astype(np.int32),
            designs=np.array([[0.0, 1.0], [1.0, 1.0]]),  # of replies, of starts
        )

    def pairs(self, weights: NDArray[np.float64]) -> Pairs:
        """Return what messages and their parents are told by in addition to classes."""
        return NO_PAIRS


class M4Engine(TokenEngine):
    """M4. Outcomes of tokens are classes, the background, topics."""

    exact = (*TokenEngine.exact, *_HISTOGRAMS)

    def __init__(
        self,
        settings: ThreadSettings,
        *,
        learner: WeightLearner,
        n_topics: int,
        is_segmented: bool,
        n_features: int,
    ) -> None:
        super().__init__(settings)
        self.learner, self.is_dirichlet = learner, learner.is_dirichlet
        self.n_topics = n_topics
        self.is_segmented, self.n_features = is_segmented, n_features
        self.is_message_switch = self.switch_flag == SWITCH_MESSAGE
        self.variant = Variant(
            self.collapsed, is_segmented, self.is_dirichlet, self.is_message_switch
        )
        has_outcome = [self.switch_flag != SWITCH_OFF, True, n_topics > 0]
        self.kinds_prior = self.switch_prior[[0, 1, 1]] * has_outcome

    @property
    def n_columns(self) -> int:
        """Number of distributions of words: classes, background, topics."""
        return self.n_classes + 1 + self.n_topics

    def start_transitions(self) -> Arrays:
        """Return weights of zero, but for a bias that makes Dirichlet transitions uneven."""
        weights = np.zeros((self.n_classes + self.n_features, self.n_classes))
        if self.is_dirichlet:
            weights[self.n_classes + 1] = np.log(_FIRST_SUM / self.n_classes)
        alpha = np.full(self.n_topics, _FIRST_SUM / max(self.n_topics, 1))
        return {"weights": weights, "alpha": alpha, "sweep": np.array(0)}

    def open(self, shared: Globals, shard: Any, key: NDArray[np.uint64]) -> Arrays:
        """Draw kinds of outcomes by their prior and the rest evenly."""
        n_segments = len(shard.segment_offsets) - 1
        state: Arrays = {
            "classes": np.empty(shard.n_tokens, np.int16),
            "segment_classes": np.empty(n_segments, np.int16),
        }
        start_outcomes(
            shard.message_offsets, shard.conversation_offsets, shard.first_conversation,
            shard.segment_offsets, shard.unit_offsets, shard.fixed_classes, self.n_classes,
            self.n_topics, self.kinds_prior, key, state["classes"], state["segment_classes"],
        )  # fmt: skip
        if self.collapsed:
            counts = self.count(shard, state["classes"])
            state["word_class_counts"] = counts
            state["class_totals"] = counts.sum(axis=0, dtype=np.int64)
        return state

    def check(self, shared: Globals, shard: Any, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        super().check(shared, shard, state)
        shape = (self.n_classes + self.n_features, self.n_classes)
        wanted = {
            "weights": Expected(shape, least=-_LARGEST_WEIGHT, most=_LARGEST_WEIGHT),
            "alpha": Expected((self.n_topics,), least=POSITIVE, most=1e100),
            "sweep": Expected((), np.int64, 0),
        }
        if not self.collapsed and shared.phase == "sweep":
            wanted["switch_probabilities"] = Expected((3,), least=0, most=1)
        check_arrays(shared.arrays, wanted)
        n_segments = len(shard.segment_offsets) - 1
        check_arrays(state, {"segment_classes": indices(n_segments, self.n_classes)})

    def _units(self, state: Arrays) -> NDArray[np.int16]:
        """Return the classes of a message's units."""
        return state["segment_classes" if self.is_segmented else "classes"]

    def sweep(self, shared: Globals, shard: Any, state: Arrays, key: NDArray[np.uint64]) -> Arrays:
        """Resample all outcomes of a shard."""
        counts = state["word_class_counts"] if self.collapsed else self.empty_counts()
        if shared.phase == "sweep":
            self._resample(shared, shard, state, counts, key)
        elif not self.collapsed:
            count_classes(shard.tokens, state["classes"], counts)
        objective, gradient, curvature = weight_statistics(
            self.is_dirichlet, shard.threads, self._units(state), self.learner.weights_of(shared)
        )
        return {
            "word_class_counts": counts,
            "objective": np.array(objective),
            "gradient": gradient,
            "curvature": curvature if self.is_dirichlet else curvature[:, :, 0],
            **self._switch_statistics(shard, state["classes"]),
            **self._topic_statistics(shard, state["classes"]),
        }

    def resample(self, shared: Globals, shard: Any, state: Arrays, key: NDArray[np.uint64]) -> None:
        """Resample all outcomes of a shard by given parameters, and count nothing."""
        self._resample(shared, shard, state, self.empty_counts()[:0], key)

    def _resample(
        self,
        shared: Globals,
        shard: Any,
        state: Arrays,
        counts: NDArray[np.int32],
        key: NDArray[np.uint64],
    ) -> None:
        totals = state["class_totals"] if self.collapsed else _NO_TOTALS
        sweep_shard(
            self.variant, shard.threads, self._parameters(shared),
            State(state["classes"], state["segment_classes"], counts, totals), key, NO_RECORD,
            NO_RECORD,
        )  # fmt: skip

    def _parameters(self, shared: Globals) -> Parameters:
        """Return what kernels are given of the globals."""
        arrays = shared.arrays
        return Parameters(
            arrays["weights"], float(arrays["omega"]),
            _NO_WORDS if self.collapsed else arrays["word_weights"], arrays["alpha"],
            self.kinds_prior, _NO_KINDS if self.collapsed else arrays["switch_probabilities"],
        )  # fmt: skip

    def _kinds(self, totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return tokens of (background, class, topic) from those of each column."""
        k = self.n_classes
        return np.array([totals[k], totals[:k].sum(), totals[k + 1 :].sum()])

    def _message_kinds(self, shard: Shard, classes: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the same for each message, (n_messages, 3)."""
        kinds = np.where(classes < self.n_classes, 1, np.where(classes == self.n_classes, 0, 2))
        steps = np.cumsum(np.eye(3, dtype=np.int64)[kinds], axis=0)
        return np.diff(np.pad(steps, ((1, 0), (0, 0)))[shard.message_offsets], axis=0)

    def _switch_statistics(self, shard: Shard, classes: NDArray[np.int16]) -> Arrays:
        """Return the log probability of switches that each message has for itself."""
        if not self.is_message_switch:
            return {}
        kinds = self._message_kinds(shard, classes)
        used = self.kinds_prior > 0
        log_probability = dirichlet.log_counts(kinds[:, used], self.kinds_prior[used]).sum()
        return {"log_switches": np.array(log_probability)}

    def _topic_statistics(self, shard: Shard, classes: NDArray[np.int16]) -> Arrays:
        """Return histograms of topic counts over conversations."""
        if not self.n_topics:
            return {}
        offsets = shard.message_offsets[shard.conversation_offsets]
        longest = int(np.diff(offsets).max(initial=0))
        histograms = np.zeros((self.n_topics, longest + 1), np.int64)
        lengths = np.zeros(longest + 1, np.int64)
        largest = message_histograms(offsets, classes, self.n_classes + 1, histograms, lengths)
        return {"topic_histograms": histograms[:, : largest + 1], "topic_lengths": lengths}

    def _topics(self, classes: NDArray[np.int16]) -> NDArray[np.int16]:
        """Return the topic of each token, ``n_topics`` for those of none."""
        topics = classes - np.int16(self.n_classes + 1)
        topics[topics < 0] = self.n_topics
        return topics

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up statistics; histograms into the wider one."""
        left, right, histograms = merge_histograms(left, right, _HISTOGRAMS)
        return {**super().merge(left, right), **histograms}

    def update_transitions(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Arrays, dict[str, Any]]:
        """Learn the weights, and the prior of conversations' topics by Minka's fixed point."""
        arrays, log_transitions = self.learner.update(shared, statistics, generator)
        arrays["alpha"] = shared.arrays["alpha"]
        if self.n_topics:
            facts = (statistics["topic_histograms"], statistics["topic_lengths"])
            arrays["alpha"] = dirichlet.update_alpha(*facts, arrays["alpha"], 1)
            log_transitions += float(dirichlet.log_classes(*facts, arrays["alpha"]))
        return arrays, {"log_transitions": log_transitions}

    def next_phase(self, shared: Globals) -> str:
        """Weigh a proposal after each sweep if weights are sampled."""
        return self.learner.next_phase(shared.phase)

    def draw_switches(self, totals: NDArray[np.int64], generator: np.random.Generator) -> Arrays:
        """Draw the probabilities of background, class and topic from their posterior."""
        used = self.kinds_prior > 0
        drawn = np.zeros(3)
        drawn[used] = generator.dirichlet((self._kinds(totals) + self.kinds_prior)[used])
        drawn[1] = max(drawn[1], np.finfo(float).tiny)
        return {"class_probability": np.array(drawn[1]), "switch_probabilities": drawn}

    def mean_switches(self, totals: NDArray[np.int64]) -> Arrays:
        """Return the mean of the same given the counts."""
        mass = self._kinds(totals) * (self.kinds_prior > 0) + self.kinds_prior
        mean = mass / mass.sum()
        k = self.n_classes
        shares = (totals[k + 1 :] + 1e-9) / (totals[k + 1 :] + 1e-9).sum()
        return {
            "class_probability": np.array(mean[1]),
            "switch_probabilities": mean,
            "topic_shares": shares,
        }

    def log_switches(self, totals: NDArray[np.int64], statistics: Arrays) -> float:
        """Return the log probability of all switches."""
        if self.is_message_switch:
            return float(statistics["log_switches"])
        used = self.kinds_prior > 0
        kinds = self._kinds(totals)[used]
        return float(dirichlet.log_counts(kinds[None], self.kinds_prior[used]).sum())

    def sample_transitions(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return weights and the prior of topics."""
        return {"transitions": shared.arrays["weights"], "alpha": shared.arrays["alpha"]}

    def frozen_transitions(self, mean: Arrays) -> Arrays:
        """Return the same for fold-in."""
        return {
            "weights": np.ascontiguousarray(mean["transitions"]),
            "alpha": np.ascontiguousarray(mean["alpha"]),
            "switch_probabilities": np.ascontiguousarray(mean["switch_probabilities"]),
            "sweep": np.array(0),
        }

    def add_shares(self, shard: Any, state: Arrays, shares: NDArray[np.float64]) -> None:
        """Count the classes of each message's units."""
        add_message_counts(shard.unit_offsets, self._units(state), shares)

    def expected_shares(self, shared: Globals, shard: Any, state: Arrays) -> NDArray[np.float64]:
        """Return what each message's classes are expected to be given its parents'."""
        shares = np.empty((shard.n_messages, self.n_classes))
        message_shares(shard.threads, self._units(state), shared.arrays["weights"], shares)
        return shares

    def add_paper_scores(
        self, shared: Globals, shard: Any, state: Arrays, scores: NDArray[np.float64]
    ) -> None:
        """Add each message's log probability, word by word, given expected shares of outcomes.

        Topics have the shares that the sampled topics of the conversation say.
        """
        arrays, classes, k = shared.arrays, state["classes"], self.n_classes
        kinds = np.tile(arrays["switch_probabilities"], (shard.n_messages, 1))
        if self.is_message_switch:
            kinds = self._message_kinds(shard, classes) + self.kinds_prior
            kinds = kinds / kinds.sum(axis=1, keepdims=True)
        shares = np.empty((shard.n_messages, self.n_columns))
        shares[:, :k] = self.expected_shares(shared, shard, state) * kinds[:, 1:2]
        shares[:, k] = kinds[:, 0]
        if self.n_topics:
            offsets = shard.message_offsets[shard.conversation_offsets]
            topics = np.tile(arrays["alpha"], (len(offsets) - 1, 1))
            add_message_counts(offsets, self._topics(classes), topics)
            topics /= topics.sum(axis=1, keepdims=True)
            of_message = np.repeat(topics, np.diff(shard.conversation_offsets), axis=0)
            shares[:, k + 1 :] = of_message * kinds[:, 2:]
        add_outcome_scores(
            shard.tokens, shard.message_offsets, shares, arrays["word_weights"], scores
        )

    def rebuild(
        self,
        shared: Globals,
        shard: Any,
        state: Arrays,
        key: NDArray[np.uint64],
        temperature: float,
        order: Order,
    ) -> None:
        """Resample all outcomes given the shard's parents, then the parents."""
        self._resample(shared, shard.linked(), state, NOT_COUNTED, key)
        draw_parents_m4(
            shard.unit_offsets, shard.conversation_offsets, shard.first_conversation,
            self._units(state), shared.arrays["weights"], temperature, order.is_given,
            order.ranks, MOST_CANDIDATES, key[::-1].copy(), shard.parents, self.is_dirichlet,
            shard.pairs(shared.arrays["weights"]),
        )  # fmt: skip

    def add_rebuilt_scores(
        self, shared: Globals, shard: Any, state: Arrays, scores: NDArray[np.float64]
    ) -> None:
        """Add each message's log probability given its parent's classes."""
        self.add_paper_scores(shared, shard.linked(), state, scores)

    def log_likelihoods(
        self, shared: Globals, shard: Any, key: NDArray[np.uint64], n_particles: int
    ) -> NDArray[np.float64]:
        """Estimate them by a particle filter, parents before replies, word by word."""
        result = np.empty(len(shard.conversation_offsets) - 1)
        filter_log_likelihoods(
            self.variant, shard.threads, self._parameters(shared), n_particles, key, result
        )
        return result
