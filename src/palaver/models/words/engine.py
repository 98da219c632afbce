"""What the engines of the thread models share: words, background, switch.

An engine is a model as the loop sees it (:class:`palaver.parallel.Engine`).
:class:`ThreadEngine` has everything that LDA, the block HMM and M4 have in common; each adds how
classes are opened, swept and explained. The background, the switch and its Beta prior are those of
Paul (2012, section 5.3), the word prior and its Metropolis-Hastings step those of section 5.4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.shards import Shard
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
from palaver.kernels.word_weights import draw_word_weights, mean_word_weights, word_key
from palaver.parallel.executor import Arrays, Globals
from palaver.parallel.restored import (
    POSITIVE,
    Expected,
    check_arrays,
    check_counts,
    indices,
)

#: Where the word prior starts if it is learned.
FIRST_WORD_PRIOR = 0.1
#: For M4's sweeps: only tests record distributions, and a fold-in counts no words.
NO_RECORD, NOT_COUNTED = np.empty((0, 0, 0)), np.empty((0, 0), np.int32)
_SWITCHES = {"off": SWITCH_OFF, "corpus": SWITCH_CORPUS, "message": SWITCH_MESSAGE}


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return counts as shares; even ones where there is nothing to count."""
    total = counts.sum()
    return counts / total if total else np.full(len(counts), 1 / len(counts))


@dataclass(frozen=True, eq=False)
class ThreadSettings:
    """What every thread engine is told.

    Attributes
    ----------
    n_words, n_classes : int
    switch : {"off", "corpus", "message"}
        Whether there is a background, and which tokens share a switch probability.
    switch_prior : array of float64, shape (2,)
        Beta prior of (background, class).
    word_prior : float or None
        Dirichlet prior of the words of a class; None if it is learned.
    sampler : {"collapsed", "parallel"}
        Whether word distributions are drawn ("parallel") or integrated out; if they are integrated
        out, there is one shard, with the counts in its state.
    seeds : array of int32, shape (n_words, n_columns), optional
        Counts that the word prior has in addition, for classes with seed words.
    """

    n_words: int
    n_classes: int
    switch: str
    switch_prior: NDArray[np.float64]
    word_prior: float | None
    sampler: str
    seeds: NDArray[np.int32] | None = None


class ThreadEngine(ABC):
    """The part of an engine that all thread models share.

    Parameters
    ----------
    settings : ThreadSettings
        Its fields become attributes.

    Attributes
    ----------
    collapsed : bool
        Whether word distributions are integrated out.
    run : callable
        ``map``, or the parallel one of an executor.
    """

    exact: ClassVar[tuple[str, ...]] = ("word_class_counts",)
    run: Any

    def __init__(self, settings: ThreadSettings) -> None:
        self.n_words, self.n_classes = settings.n_words, settings.n_classes
        self.switch_flag = _SWITCHES[settings.switch]
        self.switch_prior = settings.switch_prior
        self.word_prior = settings.word_prior
        self.collapsed = settings.sampler != "parallel"
        self.seeds = settings.seeds
        self.run = map

    @property
    def n_columns(self) -> int:
        """Number of distributions of words: classes, then the background."""
        return self.n_classes + 1

    def start(self, generator: np.random.Generator) -> Globals:
        """Return the first globals; the first parallel sweep only counts what was opened."""
        first = FIRST_WORD_PRIOR if self.word_prior is None else self.word_prior
        arrays = {"omega": np.array(first), **self.start_transitions()}
        return Globals("sweep" if self.collapsed else "count", arrays)

    def empty_counts(self) -> NDArray[np.int32]:
        """Return zero counts of words by class, the background last."""
        return np.zeros((self.n_words, self.n_columns), np.int32)

    def count(self, shard: Shard, classes: NDArray[np.int16]) -> NDArray[np.int32]:
        """Return the counts of a collapsed state: its tokens, and the seeds."""
        counts = self.empty_counts() if self.seeds is None else self.seeds.copy()
        count_classes(shard.tokens, classes, counts)
        return counts

    def check(self, shared: Globals, shard: Any, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        wanted = {"omega": Expected((), least=POSITIVE)}
        if not self.collapsed and shared.phase != "count":
            wanted["word_weights"] = Expected((self.n_words, self.n_columns), least=0)
            if "class_probability" in shared.arrays:
                wanted["class_probability"] = Expected((), least=0, most=1)
        check_arrays(shared.arrays, wanted)

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
        """Draw or optimize every parameter given the merged counts.

        Work whose result is needed last is handed to ``run`` first, so that all threads stay
        busy; the results do not depend on it.
        """
        counts = self._counts(statistics)
        learns = self.word_prior is None
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
        drawn: Arrays = {}
        if not self.collapsed:
            drawn = {"word_counts": counts, "word_key": word_key(generator)}
        weights = self._draw_words({**arrays, **drawn})
        totals, *logs = found
        if not self.collapsed:
            arrays |= self.draw_switches(totals, generator)
        log_joint = sum(logs) + self.log_switches(totals, statistics)
        share = totals[self.n_classes] / max(totals.sum(), 1)
        trace = {"log_joint": log_joint, "word_prior": omega, "background": float(share), **info}
        made = self.prepare({**arrays, **weights})
        return Globals(self.next_phase(shared), made, sent={**arrays, **drawn}), trace

    def _draw_words(self, sent: Arrays) -> Arrays:
        """Draw the words of all classes, unless they are integrated out."""
        if self.collapsed:
            return {}
        counts, key = sent["word_counts"], sent["word_key"]
        return {"word_weights": draw_word_weights(counts, float(sent["omega"]), key, self.run)}

    def complete(self, sent: Arrays) -> Arrays:
        """Return the arrays of globals of which a network has carried less."""
        weights = self._draw_words(sent)
        rest = {name: sent[name] for name in sent if name not in ("word_counts", "word_key")}
        return self.prepare({**rest, **weights})

    def next_phase(self, shared: Globals) -> str:
        """Return what the next sweep does."""
        return "sweep"

    def draw_switches(self, totals: NDArray[np.int64], generator: np.random.Generator) -> Arrays:
        """Draw the probability that a token has a class, given tokens by column."""
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
            "word_prior": np.array(omega),
            **self.mean_switches(totals),
            **self.sample_transitions(shared, statistics),
        }

    def frozen(self, mean: Arrays) -> Globals:
        """Return globals for fold-in from the samples' mean."""
        arrays = {
            "omega": mean["word_prior"],
            "word_weights": np.ascontiguousarray(mean["class_words"]),
            "class_probability": mean["class_probability"],
            **self.frozen_transitions(mean),
        }
        return Globals("sweep", self.prepare(arrays))

    def prepare(self, arrays: Arrays) -> Arrays:
        """Add what kernels of all shards need, computed once per round."""
        return arrays

    # what each model adds

    @abstractmethod
    def start_transitions(self) -> Arrays:
        """Return the first transition parameters."""

    @abstractmethod
    def open(self, shared: Globals, shard: Shard, key: NDArray[np.uint64]) -> Arrays:
        """Return the first state of a shard."""

    @abstractmethod
    def sweep(
        self, shared: Globals, shard: Shard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Sweep a shard once; return its statistics."""

    @abstractmethod
    def update_transitions(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Arrays, dict[str, Any]]:
        """Return new transition parameters and facts, ``log_transitions`` among them.

        That is the log probability of the classes or, if it takes time, a function that computes
        it, which is called in a thread.
        """

    @abstractmethod
    def sample_transitions(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the transition parameters of a sweep that are kept."""

    @abstractmethod
    def frozen_transitions(self, mean: Arrays) -> Arrays:
        """Return the transition parameters for fold-in from the samples' mean."""

    @abstractmethod
    def add_shares(self, shard: Shard, state: Arrays, shares: NDArray[np.float64]) -> None:
        """Add the class counts of each message of a shard to ``shares`` (n_messages, K)."""

    @abstractmethod
    def token_outcomes(self, shard: Shard, state: Arrays) -> NDArray[np.int16]:
        """Return the class of each token of a shard, ``n_classes`` for background."""

    @abstractmethod
    def expected_shares(self, shared: Globals, shard: Shard, state: Arrays) -> NDArray[np.float64]:
        """Return the class shares that predict each message's words, (n_messages, K)."""

    @abstractmethod
    def log_likelihoods(
        self, shared: Globals, shard: Shard, key: NDArray[np.uint64], n_particles: int
    ) -> NDArray[np.float64]:
        """Return the log likelihood of each conversation of a shard, without looking ahead."""

    # scores of messages given sampled classes

    def add_scores(
        self,
        method: str,
        shared: Globals,
        shard: Shard,
        state: Arrays,
        scores: NDArray[np.float64],
    ) -> None:
        """Add each message's log probability by one of the protocols that sample classes."""
        self.add_paper_scores(shared, shard, state, scores)

    def add_paper_scores(
        self, shared: Globals, shard: Shard, state: Arrays, scores: NDArray[np.float64]
    ) -> None:
        """Add each message's log probability, word by word, given its expected shares.

        The protocol of Paul (2012), section 5.5.1.
        """
        add_mixture_scores(
            shard.tokens, shard.message_offsets, self.expected_shares(shared, shard, state),
            self.class_probabilities(shared, shard, state), shared.arrays["word_weights"], scores,
        )  # fmt: skip

    def class_probabilities(
        self, shared: Globals, shard: Shard, state: Arrays
    ) -> NDArray[np.float64]:
        """Return the probability that a word of each message has a class, (n_messages,).

        Where each message has its own, it is the posterior mean given its sampled switches.
        """
        if self.switch_flag != SWITCH_MESSAGE:
            return np.full(shard.n_messages, float(shared.arrays["class_probability"]))
        is_classed = self.token_outcomes(shard, state) < self.n_classes
        before = np.concatenate(([0], np.cumsum(is_classed)))
        classed = np.diff(before[shard.message_offsets])
        prior = self.switch_prior
        return np.asarray((classed + prior[1]) / (np.diff(shard.message_offsets) + prior.sum()))


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
    """An engine whose tokens each have a class (LDA, M4)."""

    def open(self, shared: Globals, shard: Shard, key: NDArray[np.uint64]) -> Arrays:
        """Draw switches from their prior, classes uniformly; count them if the state has counts."""
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

    def check(self, shared: Globals, shard: Any, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        super().check(shared, shard, state)
        check_arrays(state, {"classes": indices(shard.n_tokens, self.n_columns)})
        if self.collapsed:
            counts = self.count(shard, state["classes"])
            totals = counts.sum(axis=0, dtype=np.int64)
            check_counts(state, {"word_class_counts": counts, "class_totals": totals})

    def switch_statistics(self, shard: Shard, classes: NDArray[np.int16]) -> Arrays:
        """Return the log probability of the switches, if each message has its own probability."""
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
