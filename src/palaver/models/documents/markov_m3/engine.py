"""Markov M3 as the loop sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from palaver.encoding.documents import DocumentShard
from palaver.kernels.simd.spaces import padded
from palaver.kernels.special import dirichlet_sums, log_expectations
from palaver.models.documents.engine import (
    STREAM_START,
    DocumentEngine,
    learn_prior,
    prior_term,
)
from palaver.models.documents.markov_m3.kernels import walk as kernels
from palaver.models.documents.markov_m3.kernels.sweep import sweep_again, sweep_fresh
from palaver.parallel.executor import Arrays, Globals
from palaver.parallel.restored import POSITIVE, Expected, check_arrays

#: Smallest prior weight of a step from topic to topic: E[ln theta] stays above -300, so that
#: the scaled forward-backward of the kernels never underflows.
SMALLEST_STEP = 0.005
FIRST_ALPHA_STEP = 0.1
FIRST_GAMMA = 1.0
_GAMMAS = (0.05, 100.0)
#: Steps of EM that break a document's symmetry.
START_STEPS = 10
#: Iterations of a document in a sweep that continues from what it has.
KEEP_ITERATIONS = 5
_TERMS = ("words", "walk", "allocation", "sticks")


@dataclass
class MarkovM3Engine(DocumentEngine):
    """The random walk on topics, for the loop.

    Attributes
    ----------
    n_positions, n_visits : int
        Length of a walk, and topics that one may visit.
    alpha, gamma : float or None
        Concentrations of the transitions and of the sticks; None learns them.
    least_words : float
        Positions with fewer words are dropped.
    n_iterations : int
        Maximum iterations for a document that starts from scratch.
    tolerance : float
        A document is done when a smaller share of its words changes position.
    n_lda_steps : int
        First steps of a stream that are plain LDA's.
    """

    bound_terms: ClassVar[tuple[str, ...]] = (*_TERMS, "transitions")
    n_document_terms: ClassVar[int] = kernels.N_TERMS

    n_positions: int
    n_visits: int
    alpha: float | None
    gamma: float | None
    least_words: float
    n_iterations: int
    tolerance: float
    n_lda_steps: int = STREAM_START

    def phase(self, steps: int, whole: bool = True) -> str:
        """Find topics first; then start from what documents have, sometimes from scratch."""
        return self.choosing_phase(steps, whole, self.n_lda_steps)

    def start_structure(self) -> Arrays:
        """Return even transitions."""
        step = FIRST_ALPHA_STEP if self.alpha is None else self.alpha / self.n_topics
        return {
            "alpha": np.array(max(step, SMALLEST_STEP) * self.n_topics),
            "gamma": np.array(FIRST_GAMMA if self.gamma is None else self.gamma),
            "start": np.ones(self.n_topics),
            "transitions": np.ones((self.n_topics, self.n_topics)),
        }

    def open(self, shared: Globals, shard: DocumentShard, key: NDArray[np.uint64]) -> Arrays:
        """Return room for the walks of a shard's documents; the first sweep starts them."""
        n, n_positions, n_visits = shard.n_documents, self.n_positions, self.n_visits
        tokens = self.open_tokens(shard, key) if shared.phase == "tokens" else {}
        return tokens | {
            "visits": np.zeros((n, n_visits), np.int32),
            "lengths": np.zeros(n, np.int32),
            "probabilities": np.zeros((n, n_positions, n_visits)),
            "log_weights": np.zeros((n, n_positions)),
            "position_counts": np.zeros((n, n_positions)),
            "bounds": np.zeros(n),
        }

    def check(self, shared: Globals, shard: DocumentShard, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        super().check(shared, shard, state)
        k, least = self.n_topics, {"least": POSITIVE, "most": 1e100}
        check_arrays(
            shared.arrays,
            {
                "start": Expected((k,), **least),
                "transitions": Expected((k, k), **least),
                "alpha": Expected((), **least),
                "gamma": Expected((), **least),
            },
        )
        n, n_positions, n_visits = shard.n_documents, self.n_positions, self.n_visits
        check_arrays(
            state,
            {
                "visits": Expected((n, n_visits), np.int32, 0, k),
                "lengths": Expected((n,), np.int32, 0, n_visits + 1),
                "probabilities": Expected((n, n_positions, n_visits), least=0, most=1 + 1e-6),
                "log_weights": Expected((n, n_positions)),
                "position_counts": Expected((n, n_positions), least=0),
                "bounds": Expected((n,)),
            },
        )

    def sweep(
        self, shared: Globals, shard: DocumentShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Infer the walks of a shard's documents; return their expected counts."""
        if shared.phase == "tokens":
            return self.sweep_tokens(shared, shard, state, key)
        state.pop("classes", None)
        pairs = np.zeros((self.n_topics + 1, self.n_topics))
        statistics: Arrays = {
            "word_ids": shard.word_ids,
            "word_topics": np.zeros((len(shard.word_ids), self.n_topics)),
            "starts": pairs[-1],
            "pairs": pairs[:-1],
            "terms": np.zeros(kernels.N_SUMS),
            "n_documents": np.array(np.count_nonzero(np.diff(shard.offsets))),
        }
        if shared.phase == "lda":
            found = self.sweep_lda(shared, shard, statistics["word_topics"])
            statistics["terms"][[kernels.WORDS, kernels.ALLOCATION]] = found
        else:
            self._sweep_walks(shared, shard, state, statistics, pairs)
        return statistics

    def _sweep_walks(
        self,
        shared: Globals,
        shard: DocumentShard,
        state: Arrays,
        statistics: Arrays,
        pairs: NDArray[np.float64],
    ) -> None:
        """Infer the walks of a shard's documents."""
        keeps, is_fresh = shared.phase == "keep", shared.phase == "fresh"
        logs = self.log_words(shared, shard)
        weights = np.empty_like(logs if not keeps else logs[:0])
        if not keeps:
            self.weigh_words(logs, weights)
        given = (
            shard.offsets, shard.words, shard.counts, logs, weights,
            np.exp(log_steps(shared.arrays)), float(shared.arrays["gamma"]), START_STEPS,
            KEEP_ITERATIONS if keeps else self.n_iterations, self.tolerance, self.least_words,
        )  # fmt: skip
        found = (
            *self.room(shard), state["visits"], state["lengths"], state["probabilities"],
            state["log_weights"], state["position_counts"], state["bounds"],
            statistics["word_topics"], pairs, statistics["terms"],
        )  # fmt: skip
        if is_fresh:
            sweep_fresh(*given, *found)
        else:
            sweep_again(*given, not keeps, *found)

    def room(self, shard: DocumentShard) -> kernels.Room:
        """Return room for the documents of a shard, one at a time."""
        return kernels.make_room(self.n_positions, self.n_visits, shard.longest, self.n_topics)

    def bound_structure(self, shared: Globals, statistics: Arrays) -> dict[str, float]:
        """Return the documents' terms and those of the transitions."""
        arrays = shared.arrays
        prior, n = float(arrays["alpha"]) / self.n_topics, self.n_topics
        log_sums, own = _step_sums(arrays)
        totals = np.append(arrays["transitions"].sum(axis=1), arrays["start"].sum())
        transitions = prior_term(prior, n, log_sums) + float(np.sum(own - gammaln(totals)))
        terms = dict(zip(_TERMS, statistics["terms"][: kernels.N_TERMS].tolist(), strict=True))
        return {**terms, "transitions": transitions}

    def step_structure(
        self, shared: Globals, statistics: Arrays, rate: float, scale: float
    ) -> Arrays:
        """Move the transitions (14, 15, 18), then what is learned of alpha and gamma."""
        old = shared.arrays
        if shared.phase == "lda":
            return {name: old[name] for name in ("alpha", "gamma", "start", "transitions")}
        alpha, gamma = float(old["alpha"]), float(old["gamma"])
        arrays: Arrays = {}
        for name, counts in (("start", "starts"), ("transitions", "pairs")):
            new = rate * (alpha / self.n_topics + scale * statistics[counts])
            arrays[name] = new if rate == 1.0 else (1.0 - rate) * old[name] + new
        if self.alpha is None:
            log_sums, _ = _step_sums(arrays)
            step = learn_prior(alpha / self.n_topics, self.n_topics, log_sums, SMALLEST_STEP)
            alpha = step * self.n_topics
        log_left, n_sticks = statistics["terms"][[kernels.LOG_LEFT, kernels.N_STICKS]]
        if self.gamma is None and log_left < 0:
            best = float(np.clip(-n_sticks / log_left, *_GAMMAS))
            gamma = best if rate == 1.0 else (1.0 - rate) * gamma + rate * best
        return {**arrays, "alpha": np.array(alpha), "gamma": np.array(gamma)}

    def shares(self, shared: Globals, state: Arrays) -> NDArray[np.float64]:
        """Return ``sum_i E[nu_i] q(z_i = k)``; the walk continues after a document's last word."""
        weights = position_weights(state["position_counts"], float(shared.arrays["gamma"]))
        steps = shared.arrays["transitions"]
        steps = steps / steps.sum(axis=1, keepdims=True)
        rows = np.arange(len(weights))[:, None]
        shares, now = np.zeros((2, len(weights), self.n_topics))
        for i in range(self.n_positions):
            own = i < state["lengths"]
            now[~own] = now[~own] @ steps
            now[own] = 0
            np.add.at(now, (rows[own], state["visits"][own]), state["probabilities"][own, i])
            shares += weights[:, i, None] * now
        return shares


def position_weights(position_counts: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Return ``E[nu_i]`` of each document, (n_documents, n_positions); rows sum to one."""
    later = position_counts[:, ::-1].cumsum(axis=1)[:, ::-1] - position_counts
    broken = (1 + position_counts) / (1 + gamma + position_counts + later)
    broken[:, -1] = 1
    left = np.cumprod(1 - broken, axis=1)[:, :-1]
    return np.asarray(broken * np.concatenate((np.ones((len(broken), 1)), left), axis=1))


def _step_columns(arrays: Arrays) -> NDArray[np.float64]:
    """Return the concentrations of the steps, (n_topics, n_topics + 1): from each topic, first."""
    # rows in memory as those of the topics, so that kernels are compiled once
    return np.ascontiguousarray(np.column_stack((arrays["transitions"].T, arrays["start"])))


def log_steps(arrays: Arrays) -> NDArray[np.float64]:
    """Return E[ln theta], and E[ln pi] in the last row, (n_topics + 1, n_topics)."""
    columns = _step_columns(arrays)
    logs = np.empty((len(columns), padded(columns.shape[1])))
    log_expectations(columns, columns.sum(axis=0), logs)
    return np.ascontiguousarray(logs[:, : columns.shape[1]].T)


def _step_sums(arrays: Arrays) -> NDArray[np.float64]:
    """Return what the bound needs of the rows of theta, then of pi, (2, n_topics + 1)."""
    columns = _step_columns(arrays)
    return np.asarray(dirichlet_sums(columns, columns.sum(axis=0)))
