"""Conversations and arrays as the vectors that Gaussian models are fitted on and asked about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from palaver.corpus.table import Corpus, as_corpus
from palaver.encoding import Encoded, Utterances
from palaver.encoding.corpus_vectors import fill_missing
from palaver.encoding.marks import message_marks
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
        return _marked(model, encoded, _from_encoder(X, encoded, source)), source
    model.check_data(encoded)
    known = word_vectors_of(encoded, source)
    coverage = known.coverage(encoded)
    pooling = learn_pooling(
        encoded, fill_missing(encoded, known), weighting=model.weighting, pooling=model.pooling,
        normalize=model.normalize, whiten=model.whiten,
    )  # fmt: skip
    return _marked(model, encoded, _pooled(encoded, pooling, coverage)), pooling


def new_utterances(model: VectorModel, X: Any, lengths: ArrayLike | None) -> Utterances:
    """Return new utterances as vectors, made as those that the model was fitted on."""
    model._check_fitted()
    X = as_corpus(X)
    if not isinstance(X, Corpus | Encoded):
        return Utterances.of_arrays(X, lengths)
    source = model._source
    if isinstance(source, WordPooling):
        encoded = model._encode(X)
        return _marked(model, encoded, _pooled(encoded, source))
    if callable(source) and isinstance(X, Corpus):
        found = sentence_vectors(X, source, X.n_messages)
        data = Utterances.of_arrays(found, np.diff(X.conversation_offsets)).only(with_text(X))
        return _marked(model, model._encode(X), data)
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


def _marked(model: VectorModel, encoded: Encoded, data: Utterances) -> Utterances:
    """Append the marks of the messages to their vectors."""
    if not model.marks_:
        return data
    marks = message_marks(encoded, model.marks_)
    if data.has_vector is not None:
        marks = marks[data.has_vector]
    return replace(data, vectors=np.hstack((data.vectors, marks)))


def _from_encoder(X: Corpus | Encoded, encoded: Encoded, source: Any) -> Utterances:
    """Return what a sentence encoder, or an array in its place, gives the messages."""
    corpus = X if isinstance(X, Corpus) else None
    found = sentence_vectors(corpus, source, encoded.n_messages)
    offsets = np.asarray(encoded.conversation_offsets)
    data = Utterances(found, offsets, word_counts(encoded), encoded.vocabulary)
    return data.only(with_text(corpus)) if corpus else data
