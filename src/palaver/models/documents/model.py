"""Variational models of documents: topics learned in whole passes or from a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.encode import Vocabulary
from palaver.encode.documents import Documents, DocumentShard, cut_documents, documents_of
from palaver.errors import ParameterError, StoppedError
from palaver.fit.fold import fold_in
from palaver.fit.loop import Fit
from palaver.fit.schedule import Schedule
from palaver.fit.trace import trace_table
from palaver.models.base.fitting import FitOptions
from palaver.models.base.stored import Extras
from palaver.models.documents.engine import DocumentEngine
from palaver.models.documents.heldout import DocumentHeldOut
from palaver.models.documents.stream import STREAM_SHARD, DocumentStream
from palaver.parallel import Arrays, Globals
from palaver.params import Limit, check, either, nothing, one_of, real, whole

FOLD_ITERATIONS = 50

#: Parameters that every model of documents has.
DOCUMENT_LIMITS: dict[str, Limit] = {
    "n_topics": whole(1, 32_000),
    "beta": either(real(above=0), one_of("learn")),
    "documents": one_of("message", "conversation"),
    "n_sweeps": whole(1),
    "tolerance": real(0),
    "start_sweeps": whole(0),
    "n_chains": whole(1),
    "max_seconds": either(real(above=0), nothing()),
    "n_jobs": whole(1),
}


class DocumentModel(DocumentHeldOut, DocumentStream):
    """A topic model of documents, by variational inference.

    Attributes
    ----------
    beta_ : float
    """

    size_parameter = "n_topics"
    finds_topics = True

    @property
    def elbo_(self) -> float:
        """The evidence bound at the end; a stream gives that of its last documents, a token."""
        self._check_fitted()
        own = self.trace_.filter(pl.col("chain") == self.best_chain_)
        return float(own["log_joint"][-1])

    def _engine(self, data: Documents) -> DocumentEngine:
        return self._make_engine(len(data.vocabulary))

    def _shards(self, data: Documents, engine: Any) -> list[DocumentShard]:
        return cut_documents(data)

    def _sampler(self, data: Any) -> str:
        return "variational"

    def _schedule(self) -> Schedule:
        params = self.get_params()
        first = params["start_sweeps"]
        return Schedule(
            first + params["n_sweeps"],
            first,
            max_seconds=params["max_seconds"],
            tolerance=params["tolerance"],
        )

    # data

    def _documents(self, data: Any, vocabulary: Any = None) -> Documents:
        """Turn what a user gave into documents."""
        return documents_of(data, vocabulary, self.get_params()["documents"])

    def _known_documents(self, data: Any) -> Documents:
        """Turn new data into documents of the words that the model knows."""
        self._check_fitted()
        documents = self._documents(data, self.vocabulary_)
        if documents.vocabulary.words != self.vocabulary_.words:
            raise ParameterError(
                "the documents have another vocabulary; make them with vocabulary=model.vocabulary_"
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
            Counts of words, a row a document; or a corpus, also a bag of words that
            ``palaver.read`` has read.
        y : None
            For scikit-learn's sake.
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

    def _learn(self, fit: Fit, schedule: Schedule, data: Documents, seed: int) -> None:
        """Set the learned attributes: the last globals of the chain with the highest bound."""
        self.vocabulary_, self.fingerprint_ = data.vocabulary, data.fingerprint
        self.seed_, self.sampler_ = seed, self._sampler(data)
        first = schedule.burn_in  # sweeps that are not the model's yet
        if fit.sweep <= first:
            raise StoppedError(
                f"stopped after {fit.sweep} of {first} first sweeps; allow more time, or lower "
                "start_sweeps"
            )
        self.n_sweeps_, self.burn_in_ = fit.sweep - first, 0
        self.trace_ = trace_table([chain.trace[first:] for chain in fit.chains])
        self._steps, self.n_seen_ = [], data.n_documents
        ends = [chain.trace[-1]["log_joint"] for chain in fit.chains]
        self._keep_globals([chain.shared for chain in fit.chains], int(np.argmax(ends)))

    def _extras(self) -> Extras:
        return {"n_seen": int(self.n_seen_)}, {}

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.n_seen_ = int(content["n_seen"])
        streamed = self.sampler_ == "stochastic"
        self._steps = self.trace_.drop("chain", "sweep").to_dicts() if streamed else []

    def _set_estimates(self) -> None:
        """Set the estimates of the best chain as attributes."""
        best = self.chains_[self.best_chain_]
        topics, totals = best["topics"], best["topic_totals"]
        self.beta_ = float(best["beta"])
        self.class_words_ = np.ascontiguousarray((topics / totals).T)
        counts = np.maximum(totals - self.beta_ * len(topics), 0) + np.finfo(float).tiny
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

        self._fold(documents, visit, n_sweeps)
        shares[np.diff(documents.offsets) == 0] = self.class_shares_
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _fold(
        self, documents: Documents, visit: Callable[..., None], n_iterations: int = FOLD_ITERATIONS
    ) -> None:
        """Infer documents with frozen topics; call ``visit(engine, frozen, shard, state)``."""
        check(type(self).__name__, {"n_sweeps": whole(1)}, {"n_sweeps": n_iterations})
        engine = self._make_engine(len(self.vocabulary_), n_iterations=n_iterations)
        frozen = Globals("fresh", self.chains_[self.best_chain_])
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
        if self.get_params()["documents"] == "conversation":
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
