"""The nested hierarchical Dirichlet process: a tree of topics (Paisley et al. 2015).

Equations in ``docs/models/nested_hdp.md``. ::

    theta_k ~ Dirichlet(word prior)           words of topic k, a node of the tree
    V_k ~ Beta(1, alpha)                      how likely topic k is among its siblings, by sticks
    a document draws, below each topic, children z_1, z_2, ... from these,
        with sticks of its own,  V_d ~ Beta(1, beta)
    U_dk ~ Beta(stop, descend)                how likely a word that comes to topic k stays there
    w_dn: down the document's tree from the top until it stays; then a word of that topic
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.models.documents.engine import STREAM_START
from palaver.models.documents.model import DOCUMENT_LIMITS, DocumentModel
from palaver.models.documents.nested_hdp.engine import NestedHDPEngine, check_tree
from palaver.models.documents.nested_hdp.kernels.choose import MOST_LEVELS
from palaver.models.documents.nested_hdp.tree import level_sizes, levels_of
from palaver.params import Limit, check, either, nothing, one_of, real, unless_learned, whole

#: Most iterations of a document that starts from scratch, and the share of its words that may still
#: move.
ITERATIONS, ITERATION_TOLERANCE = 20, 0.01
#: Topics of a document: at most so many, or this share of all.
FEWEST_VISITS, VISITS_PER_TOPIC = 20, 0.3
#: Topics that are compared with each other, all with all, to make a tree of them.
MOST_TOPICS = 5_000


class NestedHDP(DocumentModel):
    """Nested hierarchical Dirichlet process: topics in a tree, from general to special.

    Parameters
    ----------
    n_topics : int
        Number of topics of the whole tree, K.
    n_levels : int
        Levels of the tree.
    branching : int
        Children of a topic, on average over a level.
    tree_concentration : float or "learn"
        Of the sticks of the tree: the larger, the more evenly documents choose among the children
        of a topic.
    document_concentration : float or "learn"
        Of the sticks of a document: the larger, the more children of a topic it uses.
    stop_prior, descend_prior : float
        How likely a word stays at a topic, and how likely it goes on to one below; a Beta
        distribution.
    word_prior : float or "learn"
        Dirichlet prior of the words of a topic.
    max_visits : int, "auto" or None
        Topics that a document may have; None is all. "auto" grows with the number of topics.
    least_words : float
        Topics with fewer expected words, at or below them, are dropped from a document.
    unit : {"message", "conversation"}
        What a document of a corpus is.
    start_sweeps : int or "auto"
        Sweeps of a Gibbs sampler before the first pass, for topics to begin with; a stream makes
        them over its first documents, 30 or more of a million words. "auto" is 100, or two per
        topic if that is more.
    n_sweeps : int
        Maximum number of passes over the documents after these.
    tolerance : float
        Stop when the bound rises by less than this share of itself in a pass.
    n_chains : int
        Runs from different random topics; the one with the highest bound is the model.
    max_seconds : float, optional
        Stop after this many seconds; results then depend on the machine's speed.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    elbo_ : float
        The evidence bound; after a stream, of the last batch's documents, per token.
    parents_ : array of int64, shape (n_topics,)
        The topic above each; -1 for the first level.
    tree_concentration_, document_concentration_, word_prior_ : float

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.NestedHDP(n_topics=30).fit(pv.sample())  # doctest: +SKIP
    >>> model.tree()  # doctest: +SKIP
    """

    name = "nested-hdp"
    share_phase = "whole"
    limits: ClassVar[dict[str, Limit]] = {
        **DOCUMENT_LIMITS,
        "n_topics": whole(1, MOST_TOPICS),
        "n_levels": whole(1, MOST_LEVELS),
        "branching": whole(1, 1000),
        "tree_concentration": either(real(above=0), one_of("learn")),
        "document_concentration": either(real(above=0), one_of("learn")),
        "stop_prior": real(above=0),
        "descend_prior": real(above=0),
        "max_visits": either(whole(1), one_of("auto"), nothing()),
        "least_words": real(0),
    }

    parents_: NDArray[np.int64]

    def __init__(
        self,
        n_topics: int = 100,
        n_levels: int = 3,
        branching: int = 8,
        tree_concentration: float | str = 5.0,
        document_concentration: float | str = 1.0,
        stop_prior: float = 1 / 3,
        descend_prior: float = 2 / 3,
        word_prior: float | str = "learn",
        max_visits: int | str | None = "auto",
        least_words: float = 0.5,
        unit: str = "message",
        start_sweeps: int | str = "auto",
        n_sweeps: int = 100,
        tolerance: float = 1e-5,
        n_chains: int = 1,
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_topics = n_topics
        self.n_levels = n_levels
        self.branching = branching
        self.tree_concentration = tree_concentration
        self.document_concentration = document_concentration
        self.stop_prior = stop_prior
        self.descend_prior = descend_prior
        self.word_prior = word_prior
        self.max_visits = max_visits
        self.least_words = least_words
        self.unit = unit
        self.start_sweeps = start_sweeps
        self.n_sweeps = n_sweeps
        self.tolerance = tolerance
        self.n_chains = n_chains
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _n_visits(self) -> int:
        """Topics that a document may have."""
        most = self.max_visits
        if isinstance(most, str):
            most = max(FEWEST_VISITS, round(VISITS_PER_TOPIC * self.n_topics))
        return min(most or self.n_topics, self.n_topics)

    def _make_engine(
        self, n_words: int, *, informed: bool = False, **changes: Any
    ) -> NestedHDPEngine:
        return NestedHDPEngine(
            n_words,
            self.n_topics,
            unless_learned(self.word_prior),
            self._n_start_sweeps,
            level_sizes(self.n_topics, self.n_levels, self.branching),
            self._n_visits,
            unless_learned(self.tree_concentration),
            unless_learned(self.document_concentration),
            self.stop_prior,
            self.descend_prior,
            self.least_words,
            **{
                "n_iterations": ITERATIONS,
                "tolerance": ITERATION_TOLERANCE,
                "n_lda_steps": 0 if informed else STREAM_START,
                **changes,
            },
        )

    def _set_estimates(self) -> None:
        super()._set_estimates()
        best = self.chains_[self.best_chain_]
        check_tree(best, len(self.class_shares_))
        self.parents_ = best["parents"]
        self.tree_concentration_ = float(best["tree_concentration"])
        self.document_concentration_ = float(best["document_concentration"])

    def lineage(self, topic: int) -> list[int]:
        """Return the topics from the first level down to a topic, which is the last."""
        self._check_fitted()
        check("lineage", {"topic": whole(0, len(self.parents_) - 1)}, {"topic": topic})
        found = [int(topic)]
        while self.parents_[found[-1]] >= 0:
            found.append(int(self.parents_[found[-1]]))
        return found[::-1]

    def tree(self, n_words: int = 5) -> pl.DataFrame:
        """Return the tree, each topic after the one above it.

        Parameters
        ----------
        n_words : int
            Characteristic words of a topic.

        Returns
        -------
        polars.DataFrame
            Columns topic, parent (null on the first level), level, share (of the words, at the
            topic itself), below (of the words, at it or below), words.
        """
        self._check_fitted()
        check("tree", {"n_words": whole(1)}, {"n_words": n_words})
        below = self.class_shares_.copy()
        for k in range(len(below) - 1, -1, -1):
            if self.parents_[k] >= 0:
                below[self.parents_[k]] += below[k]
        top = self.top_words(n_words, by="distinctiveness")
        names = top.group_by("class", maintain_order=True).agg(pl.col("word").str.join(" "))
        table = pl.DataFrame(
            {
                "topic": np.arange(len(below)),
                "parent": pl.Series(self.parents_).replace(-1, None),
                "level": levels_of(self.parents_),
                "share": self.class_shares_,
                "below": below,
                "words": names["word"],
            }
        )
        return table[self._by_branch(below)]

    def _by_branch(self, below: NDArray[np.float64]) -> list[int]:
        """Return all topics, each after the one above it, heavy branches first."""
        children: dict[int, list[int]] = {}
        for k in np.argsort(-below, kind="stable").tolist():
            children.setdefault(int(self.parents_[k]), []).append(k)
        order, open_ = [], children.get(-1, [])[::-1]
        while open_:
            order.append(open_.pop())
            open_ += children.get(order[-1], [])[::-1]
        return order

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tree as a table."""
        return {"tree": self.tree()}
