"""Variational models of documents: topics learned in whole passes or from a stream."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.encoding import Vocabulary
from palaver.encoding.document_stream import document_source, planned
from palaver.encoding.documents import Documents, DocumentShard, cut_documents, documents_of
from palaver.errors import ParameterError, StoppedError
from palaver.fit.fold import fold_in
from palaver.fit.loop import Fit
from palaver.fit.schedule import Schedule
from palaver.fit.stream import Rates, StreamCallback
from palaver.fit.trace import trace_table
from palaver.models.base.fitting import FitOptions
from palaver.models.base.model import Model
from palaver.models.base.stored import Extras
from palaver.models.documents.engine import DocumentEngine
from palaver.models.documents.heldout import log_predictive, perplexity, predict_words
from palaver.models.documents.stream import (
    STREAM_SHARD,
    begin_stream,
    check_stream,
    start_stream,
    take_steps,
)
from palaver.parallel import Arrays, Executor, Globals
from palaver.params import Limit, check, either, nothing, one_of, real, whole

FOLD_ITERATIONS = 50
#: Sweeps of the Gibbs sampler that `fit` begins with: at least, and for each topic
#: (benchmarks/markov_m3_start.py).
FEWEST_START, START_PER_TOPIC = 100, 2

#: Parameters that every model of documents has.
DOCUMENT_LIMITS: dict[str, Limit] = {
    "n_topics": whole(1, 32_000),
    "word_prior": either(real(above=0), one_of("learn")),
    "unit": one_of("message", "conversation"),
    "n_sweeps": whole(1),
    "tolerance": real(0),
    "start_sweeps": either(whole(0), one_of("auto")),
    "n_chains": whole(1),
    "max_seconds": either(real(above=0), nothing()),
    "n_jobs": whole(1),
}


class DocumentModel(Model):
    """A topic model of documents, by variational inference.

    Subclasses make an engine (:meth:`_make_engine`).

    Attributes
    ----------
    word_prior_ : float
    n_seen_ : int
        Documents seen, by all steps of a stream.
    is_informed_ : bool
        Whether the topics that a stream began with mean something, so that documents may choose a
        few.
    """

    #: How documents are inferred for their shares; a word for the engine.
    share_phase: str = "fresh"
    size_parameter = "n_topics"
    finds_topics = True

    n_seen_: int
    is_informed_: bool = False
    _steps: list[dict[str, float]]

    @abstractmethod
    def _make_engine(self, n_words: int, **changes: Any) -> DocumentEngine:
        """Return the engine for a vocabulary of this size."""

    @property
    def elbo_(self) -> float:
        """The evidence bound at the end; after a stream, of its last documents, per token."""
        self._check_fitted()
        own = self.trace_.filter(pl.col("chain") == self.best_chain_)
        return float(own["log_joint"][-1])

    @property
    def _n_start_sweeps(self) -> int:
        """Sweeps of the Gibbs sampler before the first pass."""
        given = self.get_params()["start_sweeps"]
        if given == "auto":
            return max(FEWEST_START, START_PER_TOPIC * int(self.get_params()["n_topics"]))
        return int(given)

    def _engine(self, data: Documents) -> DocumentEngine:
        return self._make_engine(len(data.vocabulary))

    def _shards(self, data: Documents, engine: Any) -> list[DocumentShard]:
        return cut_documents(data)

    def _sampler(self, data: Any) -> str:
        return "variational"

    def _schedule(self) -> Schedule:
        params = self.get_params()
        first = self._n_start_sweeps
        return Schedule(
            first + params["n_sweeps"],
            first,
            max_seconds=params["max_seconds"],
            tolerance=params["tolerance"],
        )

    # data

    def _documents(self, data: Any, vocabulary: Any = None) -> Documents:
        """Turn what a user gave into documents."""
        return documents_of(data, vocabulary, self.get_params()["unit"])

    def _known_documents(self, data: Any) -> Documents:
        """Turn new data into documents of the words that the model knows."""
        self._check_fitted()
        documents = self._documents(data, self.vocabulary_)
        if documents.vocabulary.words != self.vocabulary_.words:
            raise ParameterError(
                "the documents have a different vocabulary; pass vocabulary=model.vocabulary_"
            )
        return documents

    # fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        vocabulary: Vocabulary | Sequence[str] | None = None,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Learn topics by passes over all documents, until the bound no longer rises.

        Parameters
        ----------
        X : scipy sparse matrix, array, Corpus, Encoded or Documents
            Counts of words, one row per document; or a corpus, also a bag of words that
            ``palaver.read`` has read.
        y : None
            Ignored; present for scikit-learn compatibility.
        vocabulary : sequence of str, optional
            Names of a matrix's columns; for a corpus, the words to keep.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        return self._fit(
            self._documents(X, vocabulary),
            **options,
        )

    def fit_stream(
        self,
        source: Any,
        *,
        batch_size: int = 500,
        passes: int = 1,
        learning_offset: float = 10.0,
        learning_decay: float = 0.75,
        total_documents: int | None = None,
        vocabulary: Vocabulary | Sequence[str] | None = None,
        topics: NDArray[np.float64] | None = None,
        executor: Executor | None = None,
        callbacks: Sequence[StreamCallback] = (),
    ) -> Self:
        """Learn topics from mini-batches; memory does not grow with the number of documents.

        The first 4,000 documents, or fewer if they have more than a million words, are kept for a
        moment: a Gibbs sampler finds the topics to begin with in them (``start_sweeps=0`` begins
        with random ones).

        Parameters
        ----------
        source : path, URL, scipy sparse matrix, Corpus, Encoded, Documents or iterable of these
            A path is a bag of words in UCI form, read as it streams by, or a folder that
            ``Documents.write`` or ``Encoded.write`` made, mapped from disk; a URL is that of such
            a folder.
        batch_size : int
            Documents per step. What an iterable yields is a batch as it is.
        passes : int
            Times to go through the source; an iterator can be gone through once.
        learning_offset, learning_decay : float
            The rate of step t is ``(learning_offset + t) ** -learning_decay``.
        total_documents : int, optional
            How many there are, where the source does not say: an iterable.
        vocabulary : sequence of str, optional
            Names of a matrix's columns; for a corpus, the words to keep.
        topics : array, shape (n_words, n_topics), optional
            Topics to start from, as positive weights; by default those found in the first
            documents.
        executor : Executor, optional
            Where sweeps run; threads of this process by default.
        callbacks : sequence of callable
            Called after each step as ``callback(step, info, globals)``; True stops.
        """
        check_stream(self, batch_size=batch_size, passes=passes, learning_offset=learning_offset,
                     learning_decay=learning_decay, total_documents=total_documents)  # fmt: skip
        stream = document_source(source, vocabulary, self.get_params()["unit"])
        stream = planned(stream, executor)
        batches = start_stream(
            self,
            stream,
            lambda: stream.batches(batch_size, passes, self.seed_),
            topics,
            executor,
            total_documents,
        )
        rate = Rates(learning_offset, learning_decay).at
        take_steps(self, batches, rate, total_documents or stream.n_documents, callbacks, executor)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        total_documents: int | None = None,
        learning_offset: float = 10.0,
        learning_decay: float = 0.75,
        rate: float | None = None,
        vocabulary: Vocabulary | Sequence[str] | None = None,
    ) -> Self:
        """Take one step with one mini-batch; the first call sets the vocabulary.

        After :meth:`fit` it continues from the best chain; the result is one chain.

        Parameters
        ----------
        X : scipy sparse matrix, array, Corpus, Encoded or Documents
        y : None
            Ignored; present for scikit-learn compatibility.
        total_documents : int, optional
            How many documents the stream has in all; those seen so far by default.
        learning_offset, learning_decay : float
            The rate of step t is ``(learning_offset + t) ** -learning_decay``.
        rate : float, optional
            The rate itself; 1 forgets everything before.
        vocabulary : sequence of str, optional
        """
        check_stream(self, learning_offset=learning_offset, learning_decay=learning_decay,
                     total_documents=total_documents, rate=rate)  # fmt: skip
        is_first = not hasattr(self, "chains_")
        documents = self._documents(X, vocabulary) if is_first else self._known_documents(X)
        self.check_data(documents)
        if is_first:
            begin_stream(self, documents.vocabulary, None)
        rates = Rates(learning_offset, learning_decay).at
        take_steps(self, [documents], rates if rate is None else lambda step: rate, total_documents)
        return self

    def _learn(self, fit: Fit, schedule: Schedule, data: Documents, seed: int) -> None:
        """Set the learned attributes: the last globals of the chain with the highest bound."""
        self.vocabulary_, self.fingerprint_ = data.vocabulary, data.fingerprint
        self.seed_, self.sampler_ = seed, self._sampler(data)
        first = schedule.burn_in  # sweeps that are not the model's yet
        if fit.sweep <= first:
            raise StoppedError(
                f"stopped after {fit.sweep} of {first} initial sweeps; allow more time, or lower "
                "start_sweeps"
            )
        self.n_sweeps_, self.burn_in_ = fit.sweep - first, 0
        self.trace_ = trace_table([chain.trace[first:] for chain in fit.chains])
        self._steps, self.n_seen_, self.is_informed_ = [], data.n_documents, False
        ends = [chain.trace[-1]["log_joint"] for chain in fit.chains]
        self._keep_globals([chain.shared for chain in fit.chains], int(np.argmax(ends)))

    def _keep_globals(self, shared: Sequence[Globals], best: int = 0) -> None:
        """Set the globals of all chains as what was learned."""
        self.chains_ = [dict(chain.arrays) for chain in shared]
        self.best_chain_, self.draws_ = best, {}
        self._set_estimates()

    def _extras(self) -> Extras:
        return {"n_seen": int(self.n_seen_), "is_informed": self.is_informed_}, {}

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.n_seen_ = int(content["n_seen"])
        self.is_informed_ = bool(content.get("is_informed", False))
        streamed = self.sampler_ == "stochastic"
        self._steps = self.trace_.drop("chain", "sweep").to_dicts() if streamed else []

    def _set_estimates(self) -> None:
        """Set the estimates of the best chain as attributes."""
        best = self.chains_[self.best_chain_]
        topics, totals = best["topics"], best["topic_totals"]
        self.word_prior_ = float(best["beta"])
        self.class_words_ = np.ascontiguousarray((topics / totals).T)
        counts = np.maximum(totals - self.word_prior_ * len(topics), 0) + np.finfo(float).tiny
        self.class_shares_ = counts / counts.sum()

    def _all_words(self) -> NDArray[np.float64]:
        return np.asarray(self.class_shares_ @ self.class_words_)

    @property
    def convergence_(self) -> dict[str, float]:
        """The last rise of the bound, as a share of it; R-hat means nothing here."""
        self._check_fitted()
        last = self.trace_.filter(pl.col("chain") == self.best_chain_)["log_joint"].tail(2)
        rise = (last[-1] - last[0]) / abs(last[-1]) if len(last) == 2 else float("nan")
        return {"r_hat": float("nan"), "effective_samples": float("nan"), "last_rise": rise}

    # using

    def transform(self, X: Any, n_sweeps: int = FOLD_ITERATIONS) -> NDArray[np.float64]:
        """Return the share of each topic in each document.

        Parameters
        ----------
        X : scipy sparse matrix, array, Corpus, Encoded or Documents
        n_sweeps : int
            Most iterations of a document.

        Returns
        -------
        array of float64, shape (n_documents, n_topics)
            Rows sum to one; a document without known words has the corpus' shares.
        """
        documents = self._known_documents(X)
        shares = np.empty((documents.n_documents, len(self.class_shares_)))

        def visit(engine: DocumentEngine, frozen: Globals, shard: DocumentShard, state: Arrays,
                  ) -> None:  # fmt: skip
            rows = slice(shard.first_document, shard.first_document + shard.n_documents)
            shares[rows] = engine.shares(frozen, state)

        self._fold(documents, visit, n_sweeps, self.share_phase)
        shares[np.diff(documents.offsets) == 0] = self.class_shares_
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _fold(
        self,
        documents: Documents,
        visit: Callable[..., None],
        n_iterations: int = FOLD_ITERATIONS,
        phase: str = "fresh",
    ) -> None:
        """Infer documents with frozen topics; call ``visit(engine, frozen, shard, state)``."""
        check(type(self).__name__, {"n_sweeps": whole(1)}, {"n_sweeps": n_iterations})
        engine = self._make_engine(len(self.vocabulary_), n_iterations=n_iterations)
        frozen = Globals(phase, self.chains_[self.best_chain_])
        fold_in(
            engine,
            frozen,
            cut_documents(documents, STREAM_SHARD),  # type: ignore[arg-type]
            lambda shard, state: visit(engine, frozen, shard, state),
            seed=self.seed_,
            n_sweeps=1,
            burn_in=0,
            n_jobs=self.get_params()["n_jobs"],
        )

    def message_shares(self, corpus: Any, n_sweeps: int = FOLD_ITERATIONS) -> NDArray[np.float64]:
        """Return the shares of each message; a conversation's where that is the document."""
        shares = self.transform(corpus, n_sweeps)
        if self.get_params()["unit"] == "conversation":
            shares = np.repeat(shares, np.diff(corpus.conversation_offsets), axis=0)
        return shares

    def score(self, X: Any, y: Any = None) -> float:
        """Return the evidence bound of documents, in nats, with the topics as they are."""
        documents = self._known_documents(X)
        bounds = np.zeros(documents.n_documents)

        def visit(engine: DocumentEngine, frozen: Globals, shard: DocumentShard, state: Arrays,
                  ) -> None:  # fmt: skip
            rows = slice(shard.first_document, shard.first_document + shard.n_documents)
            bounds[rows] = state["bounds"]

        self._fold(documents, visit)
        return float(bounds.sum())

    def log_predictive(self, observed: Any, heldout: Any) -> tuple[float, float]:
        """Return the log probability of held-out words and their number.

        Every word is predicted on its own from the observed words of its document:
        ``p(w) = sum_k E[share_k] E[beta_kw]``.
        """
        return log_predictive(self, observed, heldout)

    def perplexity(
        self, X: Any, heldout: Any = None, *, observed: float = 0.9, random_state: int = 0
    ) -> float:
        """Return the perplexity of held-out words given the others of their documents.

        Parameters
        ----------
        X : scipy sparse matrix, array, Corpus, Encoded or Documents
            Documents; if ``heldout`` is given, their observed part.
        heldout : same, optional
            The part to predict, of the same documents.
        observed : float
            Share of the tokens of each document that are shown, where ``X`` is to be split.
        random_state : int
            Of the split.

        Returns
        -------
        float
            ``exp(-mean log p(w))``, equation 19 of Zhang & Paisley (2015); lower is better.
        """
        return perplexity(self, X, heldout, observed, random_state)

    def split(self, X: Any, topic: int, into: int = 2) -> Self:
        """Return the model with one topic split, by a fit within its tokens.

        Counts of words, and of steps between topics, add up to those of the topic. The other
        topics stay as they are; ``merge`` undoes it.

        Parameters
        ----------
        X : scipy sparse matrix, array, Corpus, Encoded or Documents
            Documents to look into, such as those that the model has learned from.
        topic : int
        into : int
            Number of parts. The first keeps the topic's number, the others get new ones, after
            all others.
        """
        from palaver.models.documents.split import split_topic

        return split_topic(self, X, topic, into)  # type: ignore[return-value]

    def predict_words(self, X: Any, vocabulary_subset: Sequence[Any]) -> NDArray[np.float64]:
        """Return the probabilities of some words, such as tags, in documents without them.

        Parameters
        ----------
        X : scipy sparse matrix, array, Corpus, Encoded or Documents
            The words in question are hidden, if there are any.
        vocabulary_subset : sequence of str or int
            Words, or their numbers.

        Returns
        -------
        array of float64, shape (n_documents, n_subset)
            Given that the next word is one of them: rows sum to one.
        """
        return predict_words(self, X, vocabulary_subset)
