"""How well a model of documents predicts words that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.encoding.documents import Documents
from palaver.errors import CorpusError, ParameterError
from palaver.params import check, real, whole

if TYPE_CHECKING:
    from palaver.models.documents.model import DocumentModel

_ROWS = 200_000  # words scored at a time


def hold_out_words(
    documents: Documents, observed: float = 0.9, random_state: int = 0
) -> tuple[Documents, Documents]:
    """Split the words of each document at random into observed and held-out ones.

    Parameters
    ----------
    documents : Documents
        With whole counts.
    observed : float
        Share of each document's tokens to keep, rounded up.
    random_state : int

    Returns
    -------
    observed, heldout : Documents
    """
    limits = {"observed": real(above=0, high=1), "random_state": whole(0)}
    check("hold_out_words", limits, {"observed": observed, "random_state": random_state})
    counts = np.rint(documents.counts).astype(np.int64)
    if not np.array_equal(counts, documents.counts):
        raise CorpusError(
            "only whole counts can be split; split them yourself and pass "
            "perplexity(observed_counts, heldout_counts)"
        )
    owners = np.repeat(np.arange(documents.n_documents), np.diff(documents.offsets))
    places = np.repeat(np.arange(len(counts)), counts)  # one row per token
    token_owners = owners[places]
    draws = rng.generator(random_state, "split words").random(len(places))
    order = np.lexsort((draws, token_owners))
    sizes = np.bincount(token_owners, minlength=documents.n_documents)
    firsts = np.cumsum(sizes) - sizes
    rank = np.arange(len(order)) - firsts[token_owners[order]]
    kept = rank < np.ceil(observed * sizes)[token_owners[order]]
    kept_counts = np.bincount(places[order[kept]], minlength=len(counts))
    return _with_counts(documents, kept_counts), _with_counts(documents, counts - kept_counts)


def _with_counts(documents: Documents, counts: NDArray[Any]) -> Documents:
    """Return documents with other counts, words without any left out."""
    some = counts > 0
    offsets = np.concatenate(([0], np.cumsum(some)))[documents.offsets]
    return Documents(
        offsets, documents.words[some], counts[some].astype(float), documents.vocabulary
    )


def log_predictive(model: DocumentModel, observed: Any, heldout: Any) -> tuple[float, float]:
    """Return the log probability of held-out words and their number.

    See :meth:`DocumentModel.log_predictive`.
    """
    seen, hidden = model._known_documents(observed), model._known_documents(heldout)
    if seen.n_documents != hidden.n_documents:
        raise ParameterError(
            f"{seen.n_documents:,} observed documents, but {hidden.n_documents:,} held out"
        )
    shares = model.transform(seen)
    words = np.ascontiguousarray(model.class_words_.T)
    owners = np.repeat(np.arange(hidden.n_documents), np.diff(hidden.offsets))
    total = 0.0
    for first in range(0, len(owners), _ROWS):
        rows = slice(first, first + _ROWS)
        p = np.einsum("nk,nk->n", shares[owners[rows]], words[hidden.words[rows]])
        total += float(np.dot(hidden.counts[rows], np.log(p)))
    return total, hidden.n_tokens


def perplexity(
    model: DocumentModel, X: Any, heldout: Any, observed: float, random_state: int
) -> float:
    """Return the perplexity of held-out words; see :meth:`DocumentModel.perplexity`."""
    if heldout is None:
        X, heldout = hold_out_words(model._known_documents(X), observed, random_state)
    total, n_tokens = log_predictive(model, X, heldout)
    if not n_tokens:
        raise CorpusError("no words are held out; give longer documents or lower observed")
    return float(np.exp(-total / n_tokens))


def predict_words(
    model: DocumentModel, X: Any, vocabulary_subset: Sequence[Any]
) -> NDArray[np.float64]:
    """Return the probabilities of some words; see :meth:`DocumentModel.predict_words`."""
    documents = model._known_documents(X)
    chosen = _word_numbers(model, vocabulary_subset)
    hidden = np.isin(documents.words, chosen)
    shown = _with_counts(documents, np.where(hidden, 0, documents.counts))
    scores = model.transform(shown) @ model.class_words_[:, chosen]
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def _word_numbers(model: DocumentModel, words: Sequence[Any]) -> NDArray[np.int64]:
    """Return the numbers of words given by name or number."""
    index, n_words = model.vocabulary_.index, len(model.vocabulary_)
    numbers = [index.get(word, -1) if isinstance(word, str) else int(word) for word in words]
    if not numbers:
        raise ParameterError("predict_words: vocabulary_subset is empty")
    for word, number in zip(words, numbers, strict=True):
        if not 0 <= number < n_words:
            raise ParameterError(f"predict_words: {word!r} is not in the vocabulary")
    return np.array(numbers)
