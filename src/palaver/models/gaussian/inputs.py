"""Conversations and arrays as the vectors that Gaussian models are fitted on and asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Utterances
from palaver.encoding.utterances import (
    VectorSource,
    WordPooling,
    learn_pooling,
    sentence_vectors,
    with_text,
    word_counts,
    word_vectors_of,
)
from palaver.errors import ParameterError

if TYPE_CHECKING:
    from palaver.models.gaussian.model import VectorModel


def training_utterances(
    model: VectorModel, X: Any, lengths: ArrayLike | None, vectors: VectorSource | None
) -> tuple[Utterances, Any]:
    """Return utterances as vectors, and what turns new conversations into vectors.

    Parameters
    ----------
    model : VectorModel
        Its parameters say how word vectors make one vector of an utterance.
    X, lengths, vectors
        As :meth:`VectorModel.fit` takes them.

    Returns
    -------
    data : Utterances
    source : WordPooling, function or None
        None where X are vectors.
    """
    who = type(model).__name__
    if not isinstance(X, Corpus | Encoded):
        if vectors is not None:
            raise ParameterError(f"{who}: vectors= requires a corpus, not an array")
        return Utterances.of_arrays(X, lengths), None
    if lengths is not None:
        raise ParameterError(f"{who}: lengths= is only for arrays; a corpus has its own lengths")
    encoded = model._as_encoded(X)
    source = model.vectors if vectors is None else vectors
    if callable(source) or isinstance(source, np.ndarray):
        return _from_encoder(X, encoded, source), source
    model.check_data(encoded)
    known = word_vectors_of(encoded, source)
    pooling = learn_pooling(
        encoded, known, weighting=model.weighting, pooling=model.pooling, normalize=model.normalize,
        whiten=model.whiten,
    )  # fmt: skip
    return _pooled(encoded, pooling, known.coverage(encoded)), pooling


def new_utterances(model: VectorModel, X: Any, lengths: ArrayLike | None) -> Utterances:
    """Return new utterances as vectors, made as those that the model was fitted on."""
    model._check_fitted()
    if not isinstance(X, Corpus | Encoded):
        return Utterances.of_arrays(X, lengths)
    source = model._source
    if isinstance(source, WordPooling):
        return _pooled(model._encode(X), source)
    if callable(source) and isinstance(X, Corpus):
        found = sentence_vectors(X, source, X.n_messages)
        return Utterances.of_arrays(found, np.diff(X.conversation_offsets)).only(with_text(X))
    raise ParameterError(
        f"{type(model).__name__}: fitted on an array, so new utterances must be given as one: "
        "predict_proba(X, lengths)"
    )


def _pooled(encoded: Encoded, pooling: WordPooling, coverage: float = np.nan) -> Utterances:
    """Return the pooled word vectors of the messages that have any."""
    offsets = np.asarray(encoded.conversation_offsets)
    words, vocabulary = word_counts(encoded), encoded.vocabulary
    data = Utterances(pooling(encoded), offsets, words, vocabulary, coverage)
    return data.only(pooling.has_known_words(encoded))


def _from_encoder(X: Corpus | Encoded, encoded: Encoded, source: Any) -> Utterances:
    """Return what a sentence encoder, or an array in its place, gives the messages."""
    corpus = X if isinstance(X, Corpus) else None
    found = sentence_vectors(corpus, source, encoded.n_messages)
    offsets = np.asarray(encoded.conversation_offsets)
    data = Utterances(found, offsets, word_counts(encoded), encoded.vocabulary)
    return data.only(with_text(corpus)) if corpus else data
