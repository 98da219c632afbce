"""What a fitted model of vectors answers: the acts of new utterances, how likely they are.

Everything is exact given the model's parameters, by summing over all sequences of states.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from palaver.corpus.table import Corpus
from palaver.encode import Encoded, Utterances, cut_vectors
from palaver.encode.utterances import WordPooling, sentence_vectors, with_text, word_counts
from palaver.errors import ParameterError
from palaver.kernels.chains import chain_posteriors
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.gaussian.acts import members
from palaver.models.states.emissions.gaussian import GaussianEmissions
from palaver.parallel import Arrays


class VectorAnswers(Model):
    """The part of the model that is asked."""

    #: Whether utterances do not know what came before.
    _single: ClassVar[bool] = False
    acts_: NDArray[np.int64]
    means_: NDArray[np.float64]
    _centre: NDArray[np.float64]
    _rows: NDArray[np.float64]
    _parameters: Arrays
    #: What turns conversations into vectors; None where vectors were given.
    _source: Any

    def _emissions(self) -> GaussianEmissions:
        """Return the prior, around the centre of the data."""
        raise NotImplementedError

    @property
    def n_states_(self) -> int:
        """States that there are."""
        self._check_fitted()
        return len(self.means_)

    def _posteriors(self, data: Utterances) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the acts' probabilities (n, n_acts) and each sequence's log-likelihood."""
        self._check_fitted()
        if data.vectors.shape[1] != self.means_.shape[1]:
            raise ParameterError(
                f"{type(self).__name__}: fitted on vectors of {self.means_.shape[1]} dimensions, "
                f"got {data.vectors.shape[1]}"
            )
        shares = np.empty((data.n_messages, len(self.class_shares_)))
        scores = []
        emissions, joined = self._emissions(), members(self.acts_)
        with threadpool_limits(1):
            for shard in cut_vectors(data, self._centre, single=self._single):
                logs = emissions.log_densities(shard.vectors, self._parameters)
                part = np.empty_like(logs)
                scores.append(chain_posteriors(logs, shard.offsets, self._rows, part))
                rows = slice(shard.first_message, shard.first_message + shard.n_messages)
                shares[rows] = part @ joined
        return shares, np.concatenate(scores)

    @property
    def needs_texts(self) -> bool:
        """Whether a sentence encoder makes the vectors."""
        return callable(self._source) and not isinstance(self._source, WordPooling)

    def _new(self, X: Any, lengths: ArrayLike | None) -> Utterances:
        """Return new utterances as vectors."""
        self._check_fitted()
        if not isinstance(X, Corpus | Encoded):
            return Utterances.of_arrays(X, lengths)
        if isinstance(self._source, WordPooling):
            encoded = self._encode(X)
            found, words = self._source(encoded), word_counts(encoded)
            offsets = np.asarray(encoded.conversation_offsets)
            data = Utterances(found, offsets, words, encoded.vocabulary)
            return data.only(self._source.has_known_words(encoded))
        if callable(self._source) and isinstance(X, Corpus):
            found = sentence_vectors(X, self._source, X.n_messages)
            data = Utterances.of_arrays(found, np.diff(X.conversation_offsets))
            return data.only(with_text(X))
        raise ParameterError(
            f"{type(self).__name__}: fitted on an array, so new utterances are needed as one: "
            "predict_proba(X, lengths)"
        )

    def predict_proba(
        self, X: Corpus | Encoded | ArrayLike, lengths: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of each act for each utterance, given its conversation.

        Parameters
        ----------
        X : array of shape (n, M), Corpus or Encoded
        lengths : array of int, optional
            Of the conversations, if X are vectors.

        Returns
        -------
        array of float64, shape (n, n_acts)
            A message without a vector has the shares of all utterances, for nothing is known
            of it.
        """
        data = self._new(X, lengths)
        return data.spread(self._posteriors(data)[0], self.class_shares_)

    def predict(
        self, X: Corpus | Encoded | ArrayLike, lengths: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Return the likeliest act of each utterance, (n,); -1 for those without a vector."""
        data = self._new(X, lengths)
        return data.spread(self._posteriors(data)[0].argmax(axis=1), -1)

    def known_messages(self, corpus: Corpus | Encoded) -> NDArray[np.bool_]:
        """Return which messages have a vector, (n_messages,)."""
        data = self._new(corpus, None)
        return np.ones(data.n_messages, bool) if data.has_vector is None else data.has_vector

    def score(self, X: Corpus | Encoded | ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return the log-likelihood of all utterances, states summed out."""
        return float(self._posteriors(self._new(X, lengths))[1].sum())

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the probability of each act for each message, also of new conversations.

        Exact, by summing over all state sequences: ``n_sweeps`` is not needed.
        """
        return self.predict_proba(corpus)
