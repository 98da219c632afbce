"""Texts as tf-idf vectors, and the graph that links texts with shared words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from palaver.encoding.stem import stem
from palaver.encoding.tokenizer import split_words, word_type

_ROWS = 1024  # rows of a graph at a time; limits memory before the threshold applies
_HAS_LETTER = r"[\p{L}\p{N}\p{Extended_Pictographic}]"


def tfidf(texts: Sequence[str] | pl.Series, *, stemmed: bool = False) -> Any:
    """Return texts as rows of word weights, scaled to length one.

    A word has the weight ``count * log(n_texts / n_texts_with_it)``; punctuation is ignored. A
    text without weighted words is a row of zeros.

    scikit-learn's ``TfidfVectorizer`` adds 1 to the logarithm, so that words of all texts count,
    and counts words one by one in Python, which takes several times as long.

    Parameters
    ----------
    texts : sequence of str, or polars.Series of list of str
        Lists are words, as :func:`split_words` returns them.
    stemmed : bool
        Whether words with the same Porter stem (English) count as the same.

    Returns
    -------
    csr matrix of float64, shape (n_texts, n_words)
    """
    if isinstance(texts, pl.Series) and texts.dtype == pl.List(pl.String):
        lists = texts
    else:
        lists = split_words(pl.Series(texts, dtype=pl.String))
    words = pl.DataFrame({"word": lists}).with_row_index("text")
    words = words.explode("word").drop_nulls().filter(pl.col("word").str.contains(_HAS_LETTER))
    types = words["word"].unique(maintain_order=True)
    kinds = [word_type(word) for word in types]
    kinds = [stem(word) for word in kinds] if stemmed else kinds
    numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    codes = words["word"].replace_strict(
        types, pl.Series([numbers[kind] for kind in kinds], dtype=pl.Int64)
    )
    places = (words["text"].to_numpy(), codes.to_numpy())
    counts = sparse.csr_matrix(
        (np.ones(len(codes)), places), shape=(len(texts), max(len(numbers), 1))
    )
    counts.sum_duplicates()
    spread = np.bincount(counts.indices, minlength=counts.shape[1])
    counts.data *= np.log(len(texts) / spread[counts.indices])
    counts.eliminate_zeros()
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    scale = sparse.diags(1 / np.where(lengths > 0, lengths, 1.0))
    return sparse.csr_matrix(scale @ counts)


def cosine_graph(vectors: Any, threshold: float = 0.1) -> Any:
    """Link texts whose cosine exceeds a threshold (Zhu et al. 2007, equation 6).

    Parameters
    ----------
    vectors : csr matrix, shape (n_texts, n_words)
        Rows of length one, as returned by :func:`tfidf`.
    threshold : float

    Returns
    -------
    csr matrix of float64, shape (n_texts, n_texts)
        Cosines; a text with words is linked to itself.
    """
    columns = sparse.csc_matrix(vectors.T)
    parts = []
    for start in range(0, vectors.shape[0], _ROWS):
        part = sparse.csr_matrix(vectors[start : start + _ROWS] @ columns)
        part.data[part.data <= threshold] = 0.0
        part.eliminate_zeros()
        parts.append(part)
    return sparse.vstack(parts, format="csr")


def without_near_duplicates(
    vectors: Any, preference: NDArray[np.float64], limit: float = 0.8
) -> NDArray[np.int64]:
    """Return the rows that remain if only the preferred one of near-duplicates is kept.

    Parameters
    ----------
    vectors : csr matrix, shape (n_texts, n_words)
    preference : array of float64, shape (n_texts,)
        Larger is better; of equals, the first is kept.
    limit : float
        Smallest cosine at which two texts are near-duplicates.

    Returns
    -------
    array of int64
        In ascending order. All rows of zeros are kept.
    """
    near = cosine_graph(vectors, limit)
    is_left = np.ones(vectors.shape[0], bool)
    for row in np.argsort(-preference, kind="stable"):
        if is_left[row]:
            is_left[near.indices[near.indptr[row] : near.indptr[row + 1]]] = False
            is_left[row] = True
    return np.flatnonzero(is_left)
