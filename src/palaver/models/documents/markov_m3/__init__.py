"""Markov M3: topics as a random walk on a graph (Zhang & Paisley 2015).

Equations in ``docs/models/markov_m3.md``. ::

    pi, theta_k ~ Dirichlet(alpha / K)     first topic, and steps from topic k to the next
    beta_k      ~ Dirichlet(beta)          words of topic k
    z_d1, z_d2, ... ~ Markov chain of pi, theta;   nu_d ~ GEM(gamma), weights of the positions
    l_dn ~ nu_d,   w_dn ~ beta of the topic at position l_dn
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import betaincinv

from palaver.encoding.documents import DocumentShard
from palaver.errors import ParameterError
from palaver.models.documents.engine import STREAM_START
from palaver.models.documents.markov_m3.engine import (
    SMALLEST_STEP,
    MarkovM3Engine,
    log_steps,
    position_weights,
)
from palaver.models.documents.markov_m3.graph import TopicGraph, topic_graph
from palaver.models.documents.markov_m3.kernels.paths import best_paths
from palaver.models.documents.model import DOCUMENT_LIMITS, DocumentModel
from palaver.models.views.transitions import Interval
from palaver.parallel import Arrays, Globals
from palaver.params import Limit, check, either, nothing, one_of, real, unless_learned, whole

#: Maximum iterations for a document that starts from scratch, and the share of its words that may
#: still move.
ITERATIONS, ITERATION_TOLERANCE = 20, 0.01


#: Positions of the longest walk: at least, and for each topic (benchmarks/markov_m3_defaults.py).
FEWEST_POSITIONS, POSITIONS_PER_TOPIC = 15, 0.3
#: Topics that a document may visit in addition to the positions of a walk.
MORE_VISITS = 1


def longest_walk(n_topics: int) -> int:
    """Return how many positions a walk over so many topics may have."""
    return max(FEWEST_POSITIONS, math.ceil(POSITIONS_PER_TOPIC * n_topics))


class MarkovM3(DocumentModel):
    """Markov mixed membership model: a document is a random walk over topics.

    Parameters
    ----------
    n_topics : int
        Number of topics, K.
    truncation : int or "auto"
        Maximum number of positions of a document's walk, T; a document uses as many as it has
        words for. "auto" grows with the number of topics: :func:`longest_walk`.
    position_concentration : float or "learn"
        Of the weights of the positions: the larger, the more topics in a document.
    step_concentration : float or "learn"
        Of the steps from each topic, spread over all topics.
    word_prior : float or "learn"
        Dirichlet prior of the words of a topic.
    max_visits : int, "auto" or None
        Topics that a document may visit, its heaviest ones; None is all. "auto" is a few more
        than the positions of a walk.
    least_words : float
        Positions with fewer expected words are dropped from a document's walk. 0 keeps all of
        them, as the paper does; empty ones blur the transitions.
    unit : {"message", "conversation"}
        What a document of a corpus is.
    start_sweeps : int or "auto"
        Sweeps of a Gibbs sampler before the first pass, for topics to begin with; a stream makes
        them over its first documents, 30 or more of a million words. "auto" is 100, or two per
        topic if that is more. From topics that mean nothing yet (``partial_fit``), the first steps
        are those of plain LDA.
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
    transitions_ : array of float64, shape (n_topics + 1, n_topics)
        Expected step probabilities; rows are the source, the last one is the start.
    step_concentration_, position_concentration_, word_prior_ : float

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.MarkovM3(n_topics=20).fit(pv.sample())  # doctest: +SKIP
    >>> model.graph(0.1).write("topics.graphml")  # doctest: +SKIP
    """

    name = "markov-m3"
    transition_rows: ClassVar[list[str]] = ["start"]
    transition_kind = "probabilities"
    transition_steps = "document"
    limits: ClassVar[dict[str, Limit]] = {
        **DOCUMENT_LIMITS,
        "truncation": either(whole(1, 1000), one_of("auto")),
        "position_concentration": either(real(above=0), one_of("learn")),
        "step_concentration": either(real(above=0), one_of("learn")),
        "max_visits": either(whole(1), one_of("auto"), nothing()),
        "least_words": real(0),
    }

    def __init__(
        self,
        n_topics: int = 100,
        truncation: int | str = "auto",
        position_concentration: float | str = 1.0,
        step_concentration: float | str = "learn",
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
        self.truncation = truncation
        self.position_concentration = position_concentration
        self.step_concentration = step_concentration
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

    def check_params(self) -> None:
        """Compare the parameters with their limits."""
        super().check_params()
        given, least = self.step_concentration, SMALLEST_STEP * self.n_topics
        if given != "learn" and float(given) < least:
            raise ParameterError(
                f"MarkovM3: step_concentration must be at least {SMALLEST_STEP:g} for each of the "
                f"{self.n_topics} topics ({least:g}), got {given}"
            )

    @property
    def _n_positions(self) -> int:
        """Positions of a walk, T."""
        if isinstance(self.truncation, str):
            return longest_walk(self.n_topics)
        return self.truncation

    @property
    def _n_visits(self) -> int:
        """Topics that a document may visit."""
        most = self.max_visits
        if isinstance(most, str):
            most = self._n_positions + MORE_VISITS
        return min(most or self.n_topics, self.n_topics)

    def _make_engine(
        self, n_words: int, *, informed: bool = False, **changes: Any
    ) -> MarkovM3Engine:
        return MarkovM3Engine(
            n_words,
            self.n_topics,
            unless_learned(self.word_prior),
            self._n_start_sweeps,
            self._n_positions,
            self._n_visits,
            unless_learned(self.step_concentration),
            unless_learned(self.position_concentration),
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
        rows = np.vstack((best["transitions"], best["start"]))
        self.transitions_ = rows / rows.sum(axis=1, keepdims=True)
        self.step_concentration_ = float(best["alpha"])
        self.position_concentration_ = float(best["gamma"])

    def _transition_totals(self) -> NDArray[np.float64]:
        return np.asarray(self.chains_[self.best_chain_]["transitions"].sum(axis=1))

    def _transition_interval(self, level: float) -> Interval:
        """Return limits of the steps by the variational posterior."""
        best = self.chains_[self.best_chain_]
        rows = np.vstack((best["transitions"], best["start"]))
        rest = np.maximum(rows.sum(axis=1, keepdims=True) - rows, np.finfo(float).tiny)
        low, high = (betaincinv(rows, rest, q) for q in ((1 - level) / 2, (1 + level) / 2))
        return low, high

    def path(self, X: Any) -> pl.DataFrame:
        """Return the most probable walk of each document (Viterbi).

        Parameters
        ----------
        X : scipy sparse matrix, array, Corpus, Encoded or Documents
            One document or more.

        Returns
        -------
        polars.DataFrame
            Columns document, position, topic, weight (expected share of the position in the
            document), words (the three most characteristic of the topic). Positions without words
            are not listed, so that weights sum to a little less than one; documents without known
            words have no rows.
        """
        documents = self._known_documents(X)
        shape = (documents.n_documents, self._n_positions)
        topics, weights = np.zeros(shape, np.int32), np.zeros(shape)
        lengths = np.zeros(documents.n_documents, np.int32)

        def visit(engine: MarkovM3Engine, frozen: Globals, shard: DocumentShard, state: Arrays,
                  ) -> None:  # fmt: skip
            rows = slice(shard.first_document, shard.first_document + shard.n_documents)
            best_paths(
                shard.offsets, shard.words, shard.counts, engine.log_words(frozen, shard),
                log_steps(frozen.arrays), *engine.room(shard), state["visits"], state["lengths"],
                state["probabilities"], state["log_weights"], topics[rows],
            )  # fmt: skip
            weights[rows] = position_weights(state["position_counts"], self.position_concentration_)
            lengths[rows] = state["lengths"]

        self._fold(documents, visit)
        names = self._topic_names(3)
        owners, places = np.nonzero(np.arange(self._n_positions) < lengths[:, None])
        numbers = topics[owners, places]
        return pl.DataFrame(
            {
                "document": owners,
                "position": places + 1,
                "topic": numbers.astype(np.int64),
                "weight": weights[owners, places],
                "words": pl.Series([names[k] for k in numbers.tolist()], dtype=pl.String),
            }
        )

    def _topic_names(self, n_words: int) -> list[str]:
        top = self.top_words(n_words, by="distinctiveness")
        return (
            top.group_by("class", maintain_order=True)
            .agg(pl.col("word").str.join(" "))["word"]
            .to_list()
        )

    def graph(self, threshold: float = 0.05, n_words: int = 5) -> TopicGraph:
        """Return the topics and the steps between them that are likely enough.

        Parameters
        ----------
        threshold : float
            Smallest probability of a step that is kept.
        n_words : int
            Characteristic words in the name of a topic.

        Returns
        -------
        TopicGraph
            ``graph.write("x.graphml")``, also ``.gexf`` and ``.json``.
        """
        self._check_fitted()
        check("graph", {"threshold": real(0, 1), "n_words": whole(1)},
              {"threshold": threshold, "n_words": n_words})  # fmt: skip
        n = len(self.class_shares_)
        return topic_graph(
            self._topic_names(n_words), self.class_shares_, self.transitions_[:n],
            self.transitions_[n], threshold,
        )  # fmt: skip
