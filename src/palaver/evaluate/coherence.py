"""Coherence: do the top words of a class co-occur? Normalised pointwise mutual information."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from palaver.errors import ParameterError


def word_pairs_together(
    tokens: ArrayLike, document_offsets: ArrayLike, words: ArrayLike
) -> tuple[NDArray[np.int64], int]:
    """Count the documents in which each pair of some words occurs.

    Parameters
    ----------
    tokens : array-like of int, shape (n_tokens,)
        Word numbers of all documents, concatenated.
    document_offsets : array-like of int, shape (n_documents + 1,)
    words : array-like of int, shape (n_words,)
        The words to count, without duplicates.

    Returns
    -------
    counts : array of int64, shape (n_words, n_words)
        The diagonal counts the documents that contain each word.
    n_documents : int
        Number of documents with at least one token.
    """
    flat, limits = np.asarray(tokens, np.int64), np.asarray(document_offsets, np.int64)
    chosen = np.asarray(words, np.int64)
    lengths = np.diff(limits)
    size = max(int(flat.max(initial=-1)), int(chosen.max(initial=-1))) + 1
    place = np.full(size, -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    columns = place[flat]
    kept = columns >= 0
    cells = np.repeat(np.arange(len(lengths)), lengths)[kept] * len(chosen) + columns[kept]
    cells = np.unique(cells)
    rows, columns = np.divmod(cells, max(len(chosen), 1))
    there = csr_array(
        (np.ones(len(cells), np.int64), (rows, columns)), shape=(len(lengths), len(chosen))
    )
    return (there.T @ there).toarray(), int((lengths > 0).sum())


def npmi_pairs(counts: NDArray[np.int64], n_documents: int) -> NDArray[np.float64]:
    """Return ``log(p(v,w) / (p(v) p(w))) / -log p(v,w)`` for each pair of words (Bouma 2009).

    Parameters
    ----------
    counts : array of int, shape (n_words, n_words)
        Returned by :func:`word_pairs_together`.
    n_documents : int

    Returns
    -------
    array of float64, shape (n_words, n_words)
        1 for words that occur only together, 0 for independent ones, -1 for words that never
        co-occur. NaN if a word never occurs; 0 for two words that are in every document, about
        which nothing can be said.
    """
    single = np.diag(counts).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.log(counts / n_documents)
        alone = np.log(single / n_documents)
        values = (joint - alone[:, None] - alone[None, :]) / -joint
    values[counts == 0] = -1.0
    values[counts == n_documents] = 0.0
    values[single == 0, :] = values[:, single == 0] = np.nan
    return np.asarray(values)


def npmi(
    tokens: ArrayLike, document_offsets: ArrayLike, top_words: ArrayLike
) -> NDArray[np.float64]:
    """Return the coherence of classes: the mean NPMI of all pairs of their top words.

    Parameters
    ----------
    tokens, document_offsets
        Documents as flat arrays; words co-occur if one document contains both.
    top_words : array-like of int, shape (n_classes, n_top)
        Word numbers.

    Returns
    -------
    array of float64, shape (n_classes,)
        From -1 to 1. Pairs with a word that never occurs are left out; NaN if no pair is left.
    """
    tops = np.asarray(top_words, np.int64)
    if tops.ndim != 2:
        raise ParameterError(f"top_words must have a row for each class, got shape {tops.shape}")
    words, places = np.unique(tops, return_inverse=True)
    counts, n_documents = word_pairs_together(tokens, document_offsets, words)
    if not n_documents:
        raise ParameterError("npmi: the documents contain no words")
    values = npmi_pairs(counts, n_documents)
    places = places.reshape(tops.shape)
    first, second = np.triu_indices(tops.shape[1], 1)
    pairs = values[places[:, first], places[:, second]]
    known = ~np.isnan(pairs)
    total = np.where(known, pairs, 0).sum(axis=1)
    return np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)
