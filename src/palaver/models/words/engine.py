"""What the thread models share: words of classes and background, the switch, opening states.

An engine is a model as the loop sees it (:class:`palaver.parallel.Engine`).
:class:`ThreadEngine` has everything that LDA, the block HMM and M4 do alike; each adds how
classes are opened, swept and explained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encode.shards import Shard
from palaver.kernels import dirichlet
from palaver.kernels.heldout import add_mixture_scores
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
from palaver.kernels.word_weights import draw_word_weights, mean_word_weights
from palaver.parallel.executor import Arrays, Globals

FIRST_OMEGA = 0.1
#: For M4's sweeps: distributions are recorded for tests alone, words are not counted in fold-in.
NO_RECORD, NOT_COUNTED = np.empty((0, 0, 0)), np.empty((0, 0), np.int32)
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
    exact: ClassVar[tuple[str, ...]] = ("word_class_counts",)
    #: Counts (n_words, n_columns) that the prior has beyond omega, for guided classes.
    seeds: NDArray[np.int32] | None = field(init=False)

    def __post_init__(self) -> None:
        self.switch_flag = _SWITCHES[self.switch]
        self.run = map
        self.seeds = None

    @property
    def n_columns(self) -> int:
        """Number of distributions of words: classes, then the background."""
        return self.n_classes + 1

    def start(self, generator: np.random.Generator) -> Globals:
        """Return the first globals; the first parallel sweep only counts what was opened."""
        arrays = {"omega": np.array(FIRST_OMEGA if self.omega is None else self.omega)}
        arrays |= self.start_transitions()
        return Globals("sweep" if self.collapsed else "count", arrays)

    def empty_counts(self) -> NDArray[np.int32]:
        """Return zero counts of words by class, the background last."""
        return np.zeros((self.n_words, self.n_columns), np.int32)

    def count(self, shard: Shard, classes: NDArray[np.int16]) -> NDArray[np.int32]:
        """Return the counts of a collapsed state: its tokens, and the seeds."""
        counts = self.empty_counts() if self.seeds is None else self.seeds.copy()
        count_classes(shard.tokens, classes, counts)
        return counts

    def _counts(self, statistics: Arrays) -> NDArray[np.int32]:
        """Return the counts of words by class with the seeds, which a collapsed state has."""
        counts: NDArray[np.int32] = statistics["word_class_counts"]
        return counts if self.seeds is None or self.collapsed else counts + self.seeds

    def _totals(self, counts: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return how many tokens there are in each column, the seeds not counted."""
        totals: NDArray[np.int64] = counts.sum(axis=0, dtype=np.int64)
        return totals if self.seeds is None else totals - self.seeds.sum(axis=0, dtype=np.int64)

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up statistics; those of the left are used up."""
        for name, value in right.items():
            left[name] += value
        return left

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Draw or optimise every parameter given the merged counts.

        What nothing waits for is handed to ``run`` before what is waited for, so that threads
        are busy all the time; the results do not depend on it.
        """
        counts = self._counts(statistics)
        learns = self.omega is None
        facts = self.run(dirichlet.seeded_histogram, [counts] * learns, [self.seeds] * learns)
        omega = float(shared.arrays["omega"])
        transitions, info = self.update_transitions(shared, statistics, generator)
        for values, occurrences, columns, signs in facts:
            omega = dirichlet.sample_concentration(
                omega, values, occurrences, columns, self.n_words, generator, signs=signs
            )
        log_transitions = info.pop("log_transitions")

        def log_classes() -> float:
            return float(log_transitions() if callable(log_transitions) else log_transitions)

        def log_words() -> float:
            own = float(dirichlet.log_dirichlet_multinomial(counts, omega).sum())
            if self.seeds is None:
                return own
            return own - float(dirichlet.log_dirichlet_multinomial(self.seeds, omega).sum())

        works: list[Callable[[], Any]] = [lambda: self._totals(counts), log_classes, log_words]
        found = self.run(lambda work: work(), works)
        arrays: Arrays = {"omega": np.array(omega), **transitions}
        if not self.collapsed:
            arrays["word_weights"] = draw_word_weights(counts, omega, generator, self.run)
        totals, *logs = found
        if not self.collapsed:
            arrays |= self.draw_switches(totals, generator)
        log_joint = sum(logs) + self.log_switches(totals, statistics)
        share = totals[self.n_classes] / max(totals.sum(), 1)
        trace = {"log_joint": log_joint, "omega": omega, "background": float(share), **info}
        return Globals(self.next_phase(shared), self.prepare(arrays)), trace

    def next_phase(self, shared: Globals) -> str:
        """Return what the next sweep does."""
        return "sweep"

    def draw_switches(self, totals: NDArray[np.int64], generator: np.random.Generator) -> Arrays:
        """Draw the probability that a token bears a class, given tokens by column."""
        probability = 1.0
        if self.switch_flag == SWITCH_CORPUS:
            probability = draw_class_probability(
                int(totals[-1]), int(totals[:-1].sum()), self.switch_prior, generator
            )
        return {"class_probability": np.array(probability)}

    def mean_switches(self, totals: NDArray[np.int64]) -> Arrays:
        """Return the mean of the same given the counts."""
        prior = self.switch_prior
        classed = (totals[:-1].sum() + prior[1]) / (totals.sum() + prior.sum())
        return {"class_probability": np.array(classed if self.switch_flag else 1.0)}

    def log_switches(self, totals: NDArray[np.int64], statistics: Arrays) -> float:
        """Return the log probability of all switches."""
        if self.switch_flag == SWITCH_CORPUS:
            return float(log_switch(totals[-1], totals[:-1].sum(), self.switch_prior))
        return float(statistics["log_switches"]) if "log_switches" in statistics else 0.0

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the posterior means given this sweep's counts."""
        counts = self._counts(statistics)
        totals, omega = self._totals(counts), float(shared.arrays["omega"])
        return {
            "class_words": mean_word_weights(counts, omega),
            "class_shares": _shares(totals[: self.n_classes]),
            "omega": np.array(omega),
            **self.mean_switches(totals),
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
        """Return new transition parameters and infos, ``log_transitions`` among them.

        That is the log probability of the classes, or a function that computes it, if it takes
        time: it is called in a thread.
        """
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

    def class_probabilities(
        self, shared: Globals, shard: Shard, state: Arrays
    ) -> NDArray[np.float64]:
        """Return the probability that a word of each message bears a class, (n_messages,).

        Where each message has its own, it is the posterior mean given its sampled switches.
        """
        if self.switch_flag != SWITCH_MESSAGE:
            return np.full(shard.n_messages, float(shared.arrays["class_probability"]))
        bears = self.token_outcomes(shard, state) < self.n_classes
        before = np.concatenate(([0], np.cumsum(bears)))
        classed = np.diff(before[shard.message_offsets])
        prior = self.switch_prior
        return np.asarray((classed + prior[1]) / (np.diff(shard.message_offsets) + prior.sum()))

    def add_paper_scores(
        self, shared: Globals, shard: Shard, state: Arrays, scores: NDArray[np.float64]
    ) -> None:
        """Add each message's log probability, word by word, given its expected shares."""
        add_mixture_scores(
            shard.tokens, shard.message_offsets, self.expected_shares(shared, shard, state),
            self.class_probabilities(shared, shard, state), shared.arrays["word_weights"], scores,
        )  # fmt: skip

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


def merge_histograms(
    left: Arrays, right: Arrays, names: tuple[str, ...]
) -> tuple[Arrays, Arrays, Arrays]:
    """Take histograms out of two statistics and add them up, into the longer one.

    Returns
    -------
    left, right, histograms
        The first two without histograms.
    """
    merged: Arrays = {}
    for name in names:
        if name in left:
            short, long = sorted((left.pop(name), right.pop(name)), key=lambda a: a.shape[-1])
            long[..., : short.shape[-1]] += short
            merged[name] = long
    return left, right, merged


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
            counts = self.count(shard, classes)
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
