"""Learning topics from documents that come and go: mini-batches, one step each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.encode import Vocabulary
from palaver.encode.document_stream import document_source
from palaver.encode.documents import Documents, cut_documents
from palaver.errors import CorpusError, ParameterError
from palaver.fit.stream import Rates, StreamCallback, run_stream
from palaver.fit.trace import trace_table
from palaver.models.base.model import Model
from palaver.models.documents.engine import DocumentEngine
from palaver.parallel import Executor, Globals, LocalExecutor
from palaver.params import check, either, nothing, real, whole

#: Counts of a mini-batch that a thread takes at a time.
STREAM_SHARD = 16_000
_STREAM_LIMITS = {
    "batch_size": whole(1),
    "passes": whole(1),
    "tau": real(0),
    "kappa": real(above=0.5, high=1.0),
    "total_documents": either(whole(1), nothing()),
    "rate": either(real(above=0, high=1), nothing()),
}


class DocumentStream(Model):
    """The part of a model of documents that learns from a stream.

    Attributes
    ----------
    n_seen_ : int
        Documents seen, by all steps of a stream.
    """

    n_seen_: int
    _steps: list[dict[str, float]]

    def _make_engine(self, n_words: int, **changes: Any) -> DocumentEngine:
        """Return the engine for a vocabulary of this size."""
        raise NotImplementedError

    def _documents(self, data: Any, vocabulary: Any = None) -> Documents:
        """Turn what a user gave into documents."""
        raise NotImplementedError

    def _known_documents(self, data: Any) -> Documents:
        """Turn new data into documents of the words that the model knows."""
        raise NotImplementedError

    def fit_stream(
        self,
        source: Any,
        *,
        batch_size: int = 500,
        passes: int = 1,
        tau: float = 10.0,
        kappa: float = 0.75,
        total_documents: int | None = None,
        vocabulary: Vocabulary | Sequence[str] | None = None,
        topics: NDArray[np.float64] | None = None,
        executor: Executor | None = None,
        callbacks: Sequence[StreamCallback] = (),
    ) -> Self:
        """Learn topics from mini-batches; memory does not grow with the number of documents.

        Parameters
        ----------
        source : path, URL, scipy sparse matrix, Corpus, Encoded, Documents or iterable of these
            A path is a bag of words in UCI form, read as it streams by, or a folder that
            ``Documents.write`` or ``Encoded.write`` made, mapped from disk; a URL is that of such
            a folder.
        batch_size : int
            Documents a step. What an iterable yields is a batch as it is.
        passes : int
            Times that the source is gone through; an iterator can be gone through once.
        tau, kappa : float
            The rate of step t is ``(tau + t) ** -kappa``.
        total_documents : int, optional
            How many there are, where the source does not say: an iterable.
        vocabulary : sequence of str, optional
            Names of a matrix's columns; for a corpus, the words to keep.
        topics : array, shape (n_words, n_topics), optional
            Topics to start from, as positive weights; random ones by default.
        executor : Executor, optional
            Where sweeps run; threads of this process by default.
        callbacks : sequence of callable
            Called after each step as ``callback(step, info, globals)``; True stops.
        """
        self.check_params()
        check(type(self).__name__, _STREAM_LIMITS,
              {"batch_size": batch_size, "passes": passes, "tau": tau, "kappa": kappa,
               "total_documents": total_documents})  # fmt: skip
        stream = document_source(source, vocabulary, self.get_params()["documents"])
        self._begin_stream(stream.vocabulary, topics)
        total = total_documents or stream.n_documents
        batches = stream.batches(batch_size, passes, self.seed_)
        return self._stream(batches, Rates(tau, kappa).at, total, callbacks, executor)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        total_documents: int | None = None,
        tau: float = 10.0,
        kappa: float = 0.75,
        rate: float | None = None,
        vocabulary: Vocabulary | Sequence[str] | None = None,
    ) -> Self:
        """Take one step with one mini-batch; the first call sets the vocabulary.

        After :meth:`fit` it goes on from the best chain; what is learned is one chain then.

        Parameters
        ----------
        X : scipy sparse matrix, array, Corpus, Encoded or Documents
        y : None
            For scikit-learn's sake.
        total_documents : int, optional
            How many documents the stream has in all; those seen so far by default.
        tau, kappa : float
            The rate of step t is ``(tau + t) ** -kappa``.
        rate : float, optional
            The rate itself; 1 forgets all before.
        vocabulary : sequence of str, optional
        """
        self.check_params()
        check(type(self).__name__, _STREAM_LIMITS,
              {"tau": tau, "kappa": kappa, "total_documents": total_documents,
               "rate": rate})  # fmt: skip
        is_first = not hasattr(self, "chains_")
        documents = self._documents(X, vocabulary) if is_first else self._known_documents(X)
        self.check_data(documents)
        if is_first:
            self._begin_stream(documents.vocabulary, None)

        def rate_of(step: int) -> float:
            return Rates(tau, kappa).at(step) if rate is None else float(rate)

        return self._stream([documents], rate_of, total_documents, ())

    def _begin_stream(self, vocabulary: Vocabulary, topics: NDArray[np.float64] | None) -> None:
        """Set what a model has before its first step."""
        self.vocabulary_ = vocabulary
        self.seed_ = rng.resolve_seed(self.get_params()["random_state"])
        engine = self._make_engine(len(vocabulary))
        if topics is None:
            shared = engine.start(rng.generator(self.seed_, "start", 0))
        else:
            shape = (len(vocabulary), engine.n_topics)
            given = np.array(topics, np.float64, order="C")
            if given.shape != shape or not (given > 0).all():
                raise ParameterError(f"topics must be positive, of shape {shape}")
            shared = engine.start_from(given)
        self._keep_globals([shared])
        self.n_sweeps_ = self.burn_in_ = self.n_seen_ = 0
        self._steps = []

    def _stream(
        self,
        batches: Any,
        rate: Callable[[int], float],
        total: int | None,
        callbacks: Sequence[Any],
        executor: Executor | None = None,
    ) -> Self:
        """Take a step a batch and set what is learned."""
        engine = self._make_engine(len(self.vocabulary_))
        self.sampler_, self.fingerprint_ = "stochastic", ""  # of no data that could be named
        before = self.n_seen_
        shared, trace = run_stream(
            engine,
            Globals("fresh", self.chains_[self.best_chain_]),
            batches,
            lambda batch: cut_documents(batch, STREAM_SHARD),
            executor or LocalExecutor(self.get_params()["n_jobs"]),
            seed=self.seed_,
            rate=rate,
            total=lambda seen: float(total or before + seen),
            callbacks=callbacks,
        )
        if not trace and not self._steps:
            raise CorpusError(f"{type(self).__name__}: the documents hold no words")
        self.n_seen_ = before + int(trace[-1]["documents"]) if trace else before
        self._steps += [{**info, "documents": before + info["documents"]} for info in trace]
        self.n_sweeps_ = len(self._steps)
        self.trace_ = trace_table([self._steps])
        self._keep_globals([shared])
        return self

    def _keep_globals(self, shared: Sequence[Globals], best: int = 0) -> None:
        self.chains_ = [dict(chain.arrays) for chain in shared]
        self.best_chain_, self.draws_ = best, {}
        self._set_estimates()
