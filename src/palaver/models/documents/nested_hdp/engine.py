"""The nested HDP as the loop sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.documents import DocumentShard
from palaver.models.documents.engine import STREAM_START, DocumentEngine
from palaver.models.documents.nested_hdp.kernels import sweep as kernels
from palaver.models.documents.nested_hdp.kernels.choose import MOST_LEVELS
from palaver.models.documents.nested_hdp.kernels.subtree import Priors
from palaver.models.documents.nested_hdp.tree import (
    arrange,
    choices,
    has_children,
    levels_of,
    log_choices,
    nearest_parents,
    stick_bound,
)
from palaver.parallel.executor import Arrays, Globals
from palaver.parallel.restored import POSITIVE, Expected, check_arrays

#: Where learning a concentration starts, and its bounds.
FIRST_ALPHA, FIRST_BETA = 5.0, 1.0
_CONCENTRATIONS = (0.05, 100.0)
#: Most iterations of a document in a sweep that continues from what it has.
KEEP_ITERATIONS = 5
_MODES = {"keep": kernels.KEEP, "fresh": kernels.FRESH, "better": kernels.BETTER,
          "whole": kernels.WHOLE}  # fmt: skip
_TERMS = ("words", "choices", "sticks", "switches")
_STRUCTURE = ("parents", "uses", "tree_concentration", "document_concentration")


@dataclass
class NestedHDPEngine(DocumentEngine):
    """The tree of topics, for the loop.

    Attributes
    ----------
    sizes : list of int
        Topics of each level.
    n_visits : int
        Most topics of a document's subtree.
    tree_concentration, document_concentration : float or None
        Alpha and beta: of the sticks of the tree and of documents; None learns them.
    stop, descend : float
        Prior of the switches.
    least_words : float
        Topics with fewer words at or below them are dropped from a document.
    n_iterations : int
        Most iterations of a document that starts from scratch.
    tolerance : float
        A document is done when a smaller share of its words changes topic.
    n_lda_steps : int
        First steps of a stream that are plain LDA's.
    """

    bound_terms: ClassVar[tuple[str, ...]] = (*_TERMS, "tree")
    n_document_terms: ClassVar[int] = kernels.N_TERMS

    sizes: list[int]
    n_visits: int
    tree_concentration: float | None
    document_concentration: float | None
    stop: float
    descend: float
    least_words: float
    n_iterations: int
    tolerance: float
    n_lda_steps: int = STREAM_START

    def phase(self, steps: int, whole: bool = True) -> str:
        """Find topics first; then start from what documents have, sometimes from scratch."""
        return self.choosing_phase(steps, whole, self.n_lda_steps)

    def start_structure(self) -> Arrays:
        """Return concentrations, and a tree of no documents yet."""
        alpha, beta = self.tree_concentration, self.document_concentration
        return {
            "uses": np.zeros(self.n_topics),
            "tree_concentration": np.array(FIRST_ALPHA if alpha is None else alpha),
            "document_concentration": np.array(FIRST_BETA if beta is None else beta),
        }

    def start_from(self, topics: NDArray[np.float64]) -> Globals:
        """Return the first globals for given topics, (n_words, n_topics), the first level first."""
        shared = super().start_from(topics)
        return Globals(shared.phase, shared.arrays | self._tree_of(topics))

    def _tree_of(self, topics: NDArray[np.float64]) -> Arrays:
        return {"parents": nearest_parents(topics, self.sizes)}

    def settled(self, topics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return topics in the order of the tree's levels."""
        return np.ascontiguousarray(topics[:, arrange(topics, self.sizes)])

    def update_tokens(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Draw the word distributions, or leave a tree of topics behind."""
        moved, info = super().update_tokens(shared, statistics, generator)
        if moved.phase == "tokens":
            return moved, info
        return Globals(moved.phase, moved.arrays | self._tree_of(moved.arrays["topics"])), info

    def step(
        self, shared: Globals, statistics: Arrays, rate: float = 1.0, scale: float = 1.0
    ) -> tuple[Globals, dict[str, float]]:
        """Move the globals; after the steps that were plain LDA's, make a tree of the topics."""
        moved, info = super().step(shared, statistics, rate, scale)
        steps = int(moved.arrays["steps"])
        if shared.phase != "lda" or self.phase(steps, whole=False) == "lda":
            return moved, info
        topics = self.settled(moved.arrays["topics"])
        made = {"topics": topics, **self.topic_sums(topics), **self._tree_of(topics)}
        return Globals(moved.phase, moved.arrays | made), info

    def open(self, shared: Globals, shard: DocumentShard, key: NDArray[np.uint64]) -> Arrays:
        """Return room for the subtrees of a shard's documents; the first sweep chooses them."""
        n = shard.n_documents
        n_visits = self.n_topics if shared.phase == "whole" else self.n_visits
        tokens = self.open_tokens(shard, key) if shared.phase == "tokens" else {}
        return tokens | {
            "nodes": np.zeros((n, n_visits), np.int32),
            "lengths": np.zeros(n, np.int32),
            "node_counts": np.zeros((n, n_visits)),
            "bounds": np.zeros(n),
        }

    def check(self, shared: Globals, shard: DocumentShard, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        super().check(shared, shard, state)
        check_tree(shared.arrays, self.n_topics)
        k = self.n_topics
        n, n_visits = shard.n_documents, self.n_visits
        check_arrays(
            state,
            {
                "nodes": Expected((n, n_visits), np.int32, 0, k),
                "lengths": Expected((n,), np.int32, 0, n_visits + 1),
                "node_counts": Expected((n, n_visits), least=0, most=1e100),
                "bounds": Expected((n,)),
            },
        )

    def sweep(
        self, shared: Globals, shard: DocumentShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Infer the subtrees of a shard's documents; return their expected counts."""
        if shared.phase == "tokens":
            return self.sweep_tokens(shared, shard, state, key)
        state.pop("classes", None)
        statistics: Arrays = {
            "word_ids": shard.word_ids,
            "word_topics": np.zeros((len(shard.word_ids), self.n_topics)),
            "uses": np.zeros(self.n_topics),
            "terms": np.zeros(kernels.N_SUMS),
        }
        if shared.phase == "lda":
            found = self.sweep_lda(shared, shard, statistics["word_topics"])
            statistics["terms"][[kernels.WORDS, kernels.STICKS]] = found
        else:
            self._sweep_subtrees(shared, shard, state, statistics)
        return statistics

    def _sweep_subtrees(
        self, shared: Globals, shard: DocumentShard, state: Arrays, statistics: Arrays
    ) -> None:
        """Infer the subtrees of a shard's documents."""
        arrays, keeps = shared.arrays, shared.phase == "keep"
        chooses = shared.phase in ("fresh", "better")
        logs = self.log_words(shared, shard)
        weights = np.empty_like(logs if chooses else logs[:0])
        if chooses:
            self.weigh_words(logs, weights)
        kernels.sweep_documents(
            shard.offsets, shard.words, shard.counts, logs, weights, arrays["parents"],
            has_children(arrays["parents"]), self._log_choices(arrays), self._priors(arrays),
            _MODES[shared.phase], KEEP_ITERATIONS if keeps else self.n_iterations, self.tolerance,
            self.least_words, state["nodes"], state["lengths"], state["node_counts"],
            state["bounds"], statistics["word_topics"], statistics["uses"], statistics["terms"],
        )  # fmt: skip

    def _priors(self, arrays: Arrays) -> Priors:
        return Priors(float(arrays["document_concentration"]), self.stop, self.descend)

    def _log_choices(self, arrays: Arrays) -> NDArray[np.float64]:
        alpha = float(arrays["tree_concentration"])
        return log_choices(arrays["parents"], arrays["uses"], alpha)

    def bound_structure(self, shared: Globals, statistics: Arrays) -> dict[str, float]:
        """Return the documents' terms and that of the tree's sticks."""
        arrays = shared.arrays
        alpha = float(arrays["tree_concentration"])
        tree, _ = stick_bound(arrays["parents"], arrays["uses"], alpha)
        terms = dict(zip(_TERMS, statistics["terms"][: kernels.N_TERMS].tolist(), strict=True))
        return {**terms, "tree": tree}

    def step_structure(
        self, shared: Globals, statistics: Arrays, rate: float, scale: float
    ) -> Arrays:
        """Move the uses of topics, from which sticks follow; then what is learned of priors."""
        old = shared.arrays
        if shared.phase == "lda":
            return {name: old[name] for name in _STRUCTURE}
        uses = (1.0 - rate) * old["uses"] + rate * scale * statistics["uses"]
        alpha, beta = float(old["tree_concentration"]), float(old["document_concentration"])
        if self.tree_concentration is None:
            _, log_left = stick_bound(old["parents"], uses, alpha)
            alpha = _concentration(self.n_topics, log_left, alpha, 1.0)
        log_left, n_sticks = statistics["terms"][[kernels.LOG_LEFT, kernels.N_STICKS]]
        if self.document_concentration is None:
            beta = _concentration(n_sticks, log_left, beta, rate)
        return {
            "parents": old["parents"],
            "uses": uses,
            "tree_concentration": np.array(alpha),
            "document_concentration": np.array(beta),
        }

    def shares(self, shared: Globals, state: Arrays) -> NDArray[np.float64]:
        """Return ``E[pi]``; what is left of a document's sticks goes where the tree's sticks go."""
        arrays = shared.arrays
        found = np.empty((len(state["lengths"]), self.n_topics))
        kernels.find_shares(
            arrays["parents"], has_children(arrays["parents"]),
            choices(arrays["parents"], arrays["uses"], float(arrays["tree_concentration"])),
            self._priors(arrays), state["nodes"], state["lengths"], state["node_counts"], found,
        )  # fmt: skip
        return found


def check_tree(arrays: Arrays, n_topics: int) -> None:
    """Raise ValueError unless arrays hold a tree that kernels can follow."""
    concentration = Expected((), least=POSITIVE, most=1e100)
    check_arrays(
        arrays,
        {
            "parents": Expected((n_topics,), np.int64, -1, n_topics),
            "uses": Expected((n_topics,), least=0, most=1e100),
            "tree_concentration": concentration,
            "document_concentration": concentration,
        },
    )
    if not (arrays["parents"] < np.arange(n_topics)).all():
        raise ValueError("parents must come before their children")
    if levels_of(arrays["parents"]).max() > MOST_LEVELS:
        raise ValueError("parents have too many levels")


def _concentration(n_sticks: float, log_left: float, old: float, rate: float) -> float:
    """Return the concentration that maximizes the bound of sticks ``Beta(1, concentration)``."""
    if log_left >= 0:
        return old
    return (1.0 - rate) * old + rate * float(np.clip(-n_sticks / log_left, *_CONCENTRATIONS))
