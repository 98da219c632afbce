"""Word vectors learned from the corpus itself: PPMI and a truncated SVD.

Levy & Goldberg (2014): the positive pointwise mutual information of words that occur near each
other, with the context distribution raised to the power 0.75, reduced to its leading dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from palaver import rng
from palaver.encoding.tokens import Encoded
from palaver.encoding.vectors import WordVectors

_SMOOTHING = 0.75
_DENSE_WORDS = 300


def learn_word_vectors(encoded: Encoded, n_dimensions: int = 100, window: int = 5) -> WordVectors:
    """Learn a vector for each word of the vocabulary.

    Parameters
    ----------
    encoded : Encoded
    n_dimensions : int
        Upper limit; a vocabulary of n words gives at most n dimensions.
    window : int
        Words of a message count as near if they are at most this far apart, with a weight of
        one over the distance.

    Returns
    -------
    WordVectors
        Deterministic for a given corpus, whatever the number of threads.
    """
    information = positive_information(near_counts(encoded, window))
    n_words = information.shape[0]
    n_dimensions = min(n_dimensions, n_words)
    with threadpool_limits(1):
        if n_words <= max(_DENSE_WORDS, n_dimensions + 1):
            left, values, _ = np.linalg.svd(information.toarray())
        else:
            from scipy.sparse.linalg import svds  # slow to load, and seldom needed

            start = rng.generator(0, "word vectors").standard_normal(n_words)
            left, values, _ = svds(information, n_dimensions, v0=start)
    order = np.argsort(-values, kind="stable")[:n_dimensions]
    vectors = left[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    return WordVectors(encoded.vocabulary.words, upright(vectors).astype(np.float32))


def upright(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Flip columns whose sign is arbitrary so that their largest entry is positive."""
    if not axes.size:
        return axes
    peaks = np.abs(axes).argmax(axis=0)
    return axes * np.where(axes[peaks, np.arange(axes.shape[1])] < 0, -1.0, 1.0)


def fill_missing(encoded: Encoded, vectors: WordVectors) -> WordVectors:
    """Estimate vectors for words of the vocabulary that have none, from how the corpus uses them.

    Vectors learned from the corpus are mapped to the given ones by the linear map that is best for
    the words that have both (least squares, by the words' frequencies, with a small ridge). A word
    that never stands near another gets the zero vector.

    Returns
    -------
    WordVectors
        Of all words of the vocabulary; ``vectors`` itself if none is missing, or all are.
    """
    words, counts = encoded.vocabulary.words, encoded.vocabulary.counts
    given, known = vectors.look_up(words)
    if known.all() or not known.any():
        return vectors
    own, _ = learn_word_vectors(encoded).look_up(words)
    weighted = own[known] * counts[known, None]
    with threadpool_limits(1):
        square = weighted.T @ own[known]
        ridge = 1e-3 * np.trace(square) / len(square) + np.finfo(float).tiny
        mapping = np.linalg.solve(square + ridge * np.eye(len(square)), weighted.T @ given[known])
        filled = np.where(known[:, None], given, own @ mapping)
    return WordVectors(words, filled.astype(np.float32))


def near_counts(encoded: Encoded, window: int) -> sparse.csr_array:
    """Return how often each pair of words occurs near each other, symmetric, (W, W)."""
    n_words = len(encoded.vocabulary)
    lengths = np.diff(encoded.message_offsets)
    messages = np.repeat(np.arange(len(lengths)), lengths)
    tokens = np.asarray(encoded.tokens)
    total = sparse.csr_array((n_words, n_words))
    for distance in range(1, window + 1):
        together = messages[distance:] == messages[:-distance]
        left, right = tokens[:-distance][together], tokens[distance:][together]
        weights = np.full(len(left), 1.0 / distance)
        total = total + sparse.coo_array((weights, (left, right)), (n_words, n_words)).tocsr()
    return sparse.csr_array(total + total.T)


def positive_information(counts: sparse.csr_array) -> sparse.csr_array:
    """Return the positive pointwise mutual information of counts, in nats, (W, W)."""
    pairs = counts.tocoo()
    rows: NDArray[np.float64] = np.asarray(counts.sum(axis=1)).ravel()
    smooth = rows**_SMOOTHING
    smooth /= max(smooth.sum(), np.finfo(float).tiny)
    information = np.log(pairs.data / (rows[pairs.row] * smooth[pairs.col]))
    kept = information > 0
    # symmetric again, because only one side is smoothed
    half = sparse.coo_array(
        (information[kept] / 2, (pairs.row[kept], pairs.col[kept])), counts.shape
    ).tocsr()
    return sparse.csr_array(half + half.T)
