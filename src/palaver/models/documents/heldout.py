"""How well a model of documents foretells words that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.encode.documents import Documents
from palaver.errors import CorpusError, ParameterError
from palaver.params import check, real, whole

_ROWS = 200_000  # words scored at a time


def split_words(
    documents: Documents, observed: float = 0.9, seed: int = 0
) -> tuple[Documents, Documents]:
    """Split the words of each document at random into observed and held-out ones.

    Parameters
    ----------
    documents : Documents
        With whole counts.
    observed : float
        Share of each document's tokens to keep, rounded up.
    seed : int

    Returns
    -------
    observed, heldout : Documents
    """
    check("split_words", {"observed": real(above=0, high=1), "seed": whole(0)},
          {"observed": observed, "seed": seed})  # fmt: skip
    counts = np.rint(documents.counts).astype(np.int64)
    if not np.array_equal(counts, documents.counts):
        raise CorpusError(
            "only whole counts can be split; split them yourself and pass "
            "perplexity(observed_counts, heldout_counts)"
        )
    owners = np.repeat(np.arange(documents.n_documents), np.diff(documents.offsets))
    places = np.repeat(np.arange(len(counts)), counts)  # a row a token
    token_owners = owners[places]
    order = np.lexsort((rng.generator(seed, "split words").random(len(places)), token_owners))
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


class DocumentHeldOut:
    """What a fitted model of documents says of words it was not shown."""

    def log_predictive(self: Any, observed: Any, heldout: Any) -> tuple[float, float]:
        """Return the log probability of held-out words and their number.

        Every word is predicted for itself from the observed words of its document:
        ``p(w) = sum_k E[share_k] E[beta_kw]``.
        """
        seen, hidden = self._known_documents(observed), self._known_documents(heldout)
        if seen.n_documents != hidden.n_documents:
            raise ParameterError(
                f"{seen.n_documents:,} observed documents, but {hidden.n_documents:,} held out"
            )
        shares = self.transform(seen)
        words = np.ascontiguousarray(self.class_words_.T)
        owners = np.repeat(np.arange(hidden.n_documents), np.diff(hidden.offsets))
        total = 0.0
        for first in range(0, len(owners), _ROWS):
            rows = slice(first, first + _ROWS)
            p = np.einsum("nk,nk->n", shares[owners[rows]], words[hidden.words[rows]])
            total += float(np.dot(hidden.counts[rows], np.log(p)))
        return total, hidden.n_tokens

    def perplexity(
        self: Any, X: Any, heldout: Any = None, *, observed: float = 0.9, seed: int = 0
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
        seed : int
            Of the split.

        Returns
        -------
        float
            ``exp(-mean log p(w))`` (19); lower is better.
        """
        if heldout is None:
            X, heldout = split_words(self._known_documents(X), observed, seed)
        total, n_tokens = self.log_predictive(X, heldout)
        if not n_tokens:
            raise CorpusError("no words are held out; give longer documents or lower observed")
        return float(np.exp(-total / n_tokens))

    def predict_words(self: Any, X: Any, vocabulary_subset: Sequence[Any]) -> NDArray[np.float64]:
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
        documents = self._known_documents(X)
        chosen = self._word_numbers(vocabulary_subset)
        hidden = np.isin(documents.words, chosen)
        shown = _with_counts(documents, np.where(hidden, 0, documents.counts))
        scores = self.transform(shown) @ self.class_words_[:, chosen]
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def _word_numbers(self: Any, words: Sequence[Any]) -> NDArray[np.int64]:
        """Return the numbers of words given by name or number."""
        index, n_words = self.vocabulary_.index, len(self.vocabulary_)
        numbers = [index.get(word, -1) if isinstance(word, str) else int(word) for word in words]
        if not numbers:
            raise ParameterError("predict_words: vocabulary_subset is empty")
        for word, number in zip(words, numbers, strict=True):
            if not 0 <= number < n_words:
                raise ParameterError(f"predict_words: {word!r} is not in the vocabulary")
        return np.array(numbers)
