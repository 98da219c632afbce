"""What the thread models share: words of classes and background, the switch, opening states.

An engine is a model as the loop sees it (:class:`palaver.parallel.Engine`).
:class:`ThreadEngine` has everything that LDA, the block HMM and M4 do alike; each adds how
classes are opened, swept and explained.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.encode.shards import Shard
from palaver.kernels import dirichlet
from palaver.kernels.states import (
    add_message_counts,
    count_classes,
    log_message_switches,
    start_classes,
)
from palaver.kernels.switch import (
    SWITCH_CORPUS,
    SWITCH_MESSAGE,
    SWITCH_OFF,
    draw_class_probability,
    log_switch,
)
from palaver.parallel.executor import Arrays, Globals

FIRST_OMEGA = 0.1
_SWITCHES = {"off": SWITCH_OFF, "corpus": SWITCH_CORPUS, "message": SWITCH_MESSAGE}


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return counts as shares; even ones where there is nothing to count."""
    total = counts.sum()
    return counts / total if total else np.full(len(counts), 1 / len(counts))


@dataclass
class ThreadEngine:
    """The part of an engine that all thread models share.

    Attributes
    ----------
    n_words, n_classes : int
    switch : {"off", "corpus", "message"}
        Whether there is a background, and which tokens share a switch probability.
    switch_prior : array of float64, shape (2,)
        Beta prior of (background, class).
    omega : float or None
        Word prior; None samples it.
    collapsed : bool
        Whether word distributions are integrated out: one shard, counts in the state.
    """

    n_words: int
    n_classes: int
    switch: str
    switch_prior: NDArray[np.float64]
    omega: float | None
    collapsed: bool
    switch_flag: int = field(init=False)
    run: Any = field(init=False)

    def __post_init__(self) -> None:
        self.switch_flag = _SWITCHES[self.switch]
        self.run = map

    def start(self, generator: np.random.Generator) -> Globals:
        """Return the first globals; the first parallel sweep only counts what was opened."""
        arrays = {"omega": np.array(FIRST_OMEGA if self.omega is None else self.omega)}
        arrays |= self.start_transitions()
        return Globals("sweep" if self.collapsed else "count", arrays)

    def empty_counts(self) -> NDArray[np.int32]:
        """Return zero counts of words by class, the background last."""
        return np.zeros((self.n_words, self.n_classes + 1), np.int32)

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up statistics; those of the left are used up."""
        for name, value in right.items():
            left[name] += value
        return left

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Draw or optimise every parameter given the merged counts."""
        counts = statistics["word_class_counts"]
        totals = counts.sum(axis=0, dtype=np.int64)
        omega = float(shared.arrays["omega"])
        transitions, info = self.update_transitions(shared, statistics, generator)
        if self.omega is None:
            values, occurrences = dirichlet.count_histogram(counts)
            omega, _ = dirichlet.sample_concentration(
                omega, values, occurrences, totals, self.n_words, generator
            )
        arrays: Arrays = {"omega": np.array(omega), **transitions}
        if not self.collapsed:
            arrays["word_weights"] = dirichlet.draw_word_weights(counts, omega, generator, self.run)
            arrays["class_probability"] = np.array(self._draw_switch(totals, generator))
        log_joint = info.pop("log_transitions")
        log_joint += float(dirichlet.log_dirichlet_multinomial(counts, omega).sum())
        log_joint += self._log_switches(totals, statistics)
        share = totals[-1] / max(totals.sum(), 1)
        trace = {"log_joint": log_joint, "omega": omega, "background": float(share), **info}
        return Globals(self.next_phase(shared), self.prepare(arrays)), trace

    def next_phase(self, shared: Globals) -> str:
        """Return what the next sweep does."""
        return "sweep"

    def _draw_switch(self, totals: NDArray[np.int64], generator: np.random.Generator) -> float:
        if self.switch_flag != SWITCH_CORPUS:
            return 1.0
        return draw_class_probability(
            int(totals[-1]), int(totals[:-1].sum()), self.switch_prior, generator
        )

    def _log_switches(self, totals: NDArray[np.int64], statistics: Arrays) -> float:
        if self.switch_flag == SWITCH_CORPUS:
            return float(log_switch(totals[-1], totals[:-1].sum(), self.switch_prior))
        return float(statistics["log_switches"]) if "log_switches" in statistics else 0.0

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the posterior means given this sweep's counts."""
        counts = statistics["word_class_counts"]
        totals = counts.sum(axis=0, dtype=np.int64)
        omega = float(shared.arrays["omega"])
        prior, n_tokens = self.switch_prior, totals.sum()
        classed = (totals[:-1].sum() + prior[1]) / (n_tokens + prior.sum())
        return {
            "class_words": dirichlet.mean_word_weights(counts, omega),
            "class_shares": _shares(totals[:-1]),
            "class_probability": np.array(classed if self.switch_flag else 1.0),
            "omega": np.array(omega),
            **self.sample_transitions(shared, statistics),
        }

    def frozen(self, mean: Arrays) -> Globals:
        """Return globals for fold-in from the samples' mean."""
        arrays = {
            "omega": mean["omega"],
            "word_weights": np.ascontiguousarray(mean["class_words"]),
            "class_probability": mean["class_probability"],
            **self.frozen_transitions(mean),
        }
        return Globals("sweep", self.prepare(arrays))

    def prepare(self, arrays: Arrays) -> Arrays:
        """Add what kernels need once a round for all shards."""
        return arrays

    # What each model adds.

    def start_transitions(self) -> Arrays:
        """Return the first transition parameters."""
        raise NotImplementedError

    def open(self, shared: Globals, shard: Shard, key: NDArray[np.uint64]) -> Arrays:
        """Return the first state of a shard."""
        raise NotImplementedError

    def sweep(
        self, shared: Globals, shard: Shard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Sweep a shard once; return its statistics."""
        raise NotImplementedError

    def update_transitions(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Arrays, dict[str, Any]]:
        """Return new transition parameters and infos, ``log_transitions`` among them."""
        raise NotImplementedError

    def sample_transitions(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the transition parameters worth keeping of a sweep."""
        raise NotImplementedError

    def frozen_transitions(self, mean: Arrays) -> Arrays:
        """Return the transition parameters for fold-in from the samples' mean."""
        raise NotImplementedError

    def add_shares(self, shard: Shard, state: Arrays, shares: NDArray[np.float64]) -> None:
        """Add the class counts of each message of a shard to ``shares`` (n_messages, K)."""
        raise NotImplementedError

    def token_outcomes(self, shard: Shard, state: Arrays) -> NDArray[np.int16]:
        """Return the class of each token of a shard, ``n_classes`` for background."""
        raise NotImplementedError

    def expected_shares(self, shared: Globals, shard: Shard, state: Arrays) -> NDArray[np.float64]:
        """Return the class shares from which each message's words are foretold, (n_messages, K)."""
        raise NotImplementedError

    def log_likelihoods(
        self, shared: Globals, shard: Shard, key: NDArray[np.uint64], n_particles: int
    ) -> NDArray[np.float64]:
        """Return the log likelihood of each conversation of a shard, without looking ahead."""
        raise NotImplementedError

    def add_block_scores(
        self, shared: Globals, shard: Shard, state: Arrays, scores: NDArray[np.float64]
    ) -> None:
        """Add each message's score as a whole, where messages have one class."""
        raise NotImplementedError


class TokenEngine(ThreadEngine):
    """An engine whose tokens have classes of their own (LDA, M4)."""

    def open(self, shared: Globals, shard: Shard, key: NDArray[np.uint64]) -> Arrays:
        """Draw switches by their prior and classes evenly; count them if the counts live here."""
        classes = np.empty(shard.n_tokens, np.int16)
        start_classes(
            shard.message_offsets, shard.conversation_offsets, shard.first_conversation,
            self.n_classes, self.switch_flag, self.switch_prior, key, classes,
        )  # fmt: skip
        state: Arrays = {"classes": classes}
        if self.collapsed:
            counts = self.empty_counts()
            count_classes(shard.tokens, classes, counts)
            state["word_class_counts"] = counts
            state["class_totals"] = counts.sum(axis=0, dtype=np.int64)
        return state

    def switch_statistics(self, shard: Shard, classes: NDArray[np.int16]) -> Arrays:
        """Return the log probability of switches that each message has for itself."""
        if self.switch_flag != SWITCH_MESSAGE:
            return {}
        log_probability = log_message_switches(
            shard.message_offsets, classes, self.n_classes, self.switch_prior
        )
        return {"log_switches": np.array(log_probability)}

    def add_shares(self, shard: Shard, state: Arrays, shares: NDArray[np.float64]) -> None:
        """Count the classes of each message's tokens."""
        add_message_counts(shard.message_offsets, state["classes"], shares)

    def token_outcomes(self, shard: Shard, state: Arrays) -> NDArray[np.int16]:
        """Return the classes as they are."""
        return state["classes"]
