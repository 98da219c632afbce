"""What any model must beat: one class, random classes, a question mark or none, and k-means.

Plain functions of texts that return a class per text. None of them knows conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode
from palaver.encoding.marks import QUESTION_MARKS
from palaver.encoding.utterances import word_counts, word_vectors_of
from palaver.encoding.vectors import WordVectors
from palaver.encoding.vocabulary import Vocabulary
from palaver.evaluate import random_classes
from palaver.params import check, whole

Classes = NDArray[np.int64]

#: Names of the rivals in tables.
ONE_CLASS, RANDOM, QUESTION, KMEANS = "one class", "random", "has a ?", "k-means of tf-idf"

_DIMENSIONS, _STARTS, _LEARNED_FROM = 100, 5, 30_000


def one_class(n_items: int) -> Classes:
    """Return the same class for all items."""
    return np.zeros(n_items, np.int64)


def has_question(texts: Sequence[str | None] | pl.Series) -> Classes:
    """Return 1 for texts with a question mark and 0 for the others."""
    column = pl.Series(texts, dtype=pl.String).fill_null("")
    return column.str.contains(f"[{QUESTION_MARKS}]").cast(pl.Int64).to_numpy()


def kmeans_tfidf(
    texts: Sequence[str | None] | pl.Series,
    n_classes: int,
    random_state: rng.RandomState = 0,
    *,
    new: Sequence[str | None] | pl.Series | None = None,
) -> Classes:
    """Cluster texts by k-means on the 100 leading dimensions of tf-idf (LSA).

    Parameters
    ----------
    texts : sequence of str
        Words are what the models see, marks included.
    n_classes : int
        Fewer are found if fewer texts differ.
    random_state : int, numpy.random.Generator or None
    new : sequence of str, optional
        Texts to classify by the clusters of ``texts``; by default, ``texts`` themselves.

    Returns
    -------
    array of int64, shape (n,)
    """
    known = encode_texts(texts)
    seed = _checked(n_classes, random_state)
    if not known.n_tokens:
        return one_class(known.n_messages if new is None else len(new))
    rarity = _rarity(known)
    axes = _leading(_weighted(known, rarity), seed)

    def features(encoded: Encoded) -> NDArray[np.float64]:
        return np.asarray(_weighted(encoded, rarity) @ axes)

    return _clusters(features, known, n_classes, seed, new)


def kmeans_vectors(
    texts: Sequence[str | None] | pl.Series,
    n_classes: int,
    random_state: rng.RandomState = 0,
    *,
    new: Sequence[str | None] | pl.Series | None = None,
    vectors: str | WordVectors = "corpus",
    ends: bool = True,
) -> Classes:
    """Cluster texts by k-means on word vectors: their mean, and those of the first and last word.

    Parameters
    ----------
    texts, n_classes, random_state, new
        See :func:`kmeans_tfidf`.
    vectors : "corpus", path or WordVectors
        Learned from the texts by default; all are scaled to length one.
    ends : bool
        Whether the first and last words count, or only the mean.

    Returns
    -------
    array of int64, shape (n,)
    """
    known = encode_texts(texts)
    seed = _checked(n_classes, random_state)
    if not known.n_tokens:
        return one_class(known.n_messages if new is None else len(new))
    found, _ = word_vectors_of(known, vectors).look_up(known.vocabulary.words)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    found = np.vstack((found / np.where(lengths > 0, lengths, 1.0), np.zeros_like(found[:1])))

    def features(encoded: Encoded) -> NDArray[np.float64]:
        counts = word_counts(encoded)
        totals = np.maximum(counts.sum(axis=1), 1)
        mean = counts @ found[:-1] / totals[:, None]
        return np.hstack([mean, *(found[word] for word in _ends(encoded))]) if ends else mean

    return _clusters(features, known, n_classes, seed, new)


def rival_classes(
    texts: Sequence[str | None] | pl.Series,
    numbers: Sequence[int],
    random_state: rng.RandomState = 0,
    *,
    new: Sequence[str | None] | pl.Series | None = None,
) -> list[tuple[str, int, Classes]]:
    """Return the classes of all rivals that compete with models.

    Parameters
    ----------
    texts, random_state, new
        See :func:`kmeans_tfidf`.
    numbers : sequence of int
        Numbers of classes; random classes and k-means have each of them.

    Returns
    -------
    list of (name, n_classes, classes)
    """
    judged = pl.Series(texts if new is None else new, dtype=pl.String)
    seed = rng.resolve_seed(random_state)
    rivals = [(KMEANS, k, kmeans_tfidf(texts, k, seed, new=new)) for k in numbers]
    rivals += [(QUESTION, 2, has_question(judged)), (ONE_CLASS, 1, one_class(len(judged)))]
    return rivals + [(RANDOM, k, random_classes(len(judged), k, seed)) for k in numbers]


def texts_of(corpus: Corpus) -> pl.Series:
    """Return the texts of a corpus; where it has words in their place, these, joined."""
    if "tokens" in corpus.table.columns:
        return corpus.table["tokens"].list.join(" ").alias("text")
    return corpus.table["text"]


def encode_texts(
    texts: Sequence[str | None] | pl.Series, vocabulary: Vocabulary | None = None
) -> Encoded:
    """Return texts as flat arrays, one message per text."""
    column = pl.Series("text", texts, dtype=pl.String)
    table = pl.DataFrame({"conversation": pl.repeat("0", len(column), eager=True), "text": column})
    return encode(Corpus.from_polars(table), vocabulary)


def _checked(n_classes: int, random_state: rng.RandomState) -> int:
    check("k-means", {"n_classes": whole(1)}, {"n_classes": n_classes})
    return rng.resolve_seed(random_state)


def _rarity(encoded: Encoded) -> NDArray[np.float64]:
    """Return a weight per word: the log of texts over texts that contain it, smoothed, plus one."""
    spread = np.bincount(word_counts(encoded).indices, minlength=len(encoded.vocabulary))
    return np.asarray(np.log((1 + encoded.n_messages) / (1 + spread)) + 1)


def _weighted(encoded: Encoded, rarity: NDArray[np.float64]) -> sparse.csr_array:
    """Return tf-idf, each text scaled to length one."""
    weighted = sparse.csr_array(word_counts(encoded).multiply(rarity))
    lengths = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    return sparse.csr_array(weighted.multiply(1 / np.maximum(lengths, 1e-300)[:, None]))


def _leading(weighted: sparse.csr_array, seed: int) -> NDArray[np.float64]:
    """Return the leading dimensions of a table, (n_words, at most 100)."""
    from sklearn.decomposition import TruncatedSVD

    size = min(_DIMENSIONS, *(side - 1 for side in weighted.shape))
    if size < 1:
        return np.eye(weighted.shape[1])
    with threadpool_limits(1):
        found = TruncatedSVD(size, random_state=seed % 2**32).fit(weighted)
    return np.asarray(found.components_.T)


def _ends(encoded: Encoded) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last word of each text; -1 where it has none."""
    offsets, tokens = np.asarray(encoded.message_offsets), np.asarray(encoded.tokens)
    padded = np.append(tokens, -1).astype(np.int64)
    there = offsets[1:] > offsets[:-1]
    return (np.where(there, padded[offsets[:-1]], -1), np.where(there, padded[offsets[1:] - 1], -1))


def _clusters(
    features: Callable[[Encoded], NDArray[np.float64]],
    known: Encoded,
    n_classes: int,
    seed: int,
    new: Sequence[str | None] | pl.Series | None,
) -> Classes:
    """Learn centres from at most 30,000 texts; return the nearest one of each text."""
    from sklearn.cluster import KMeans

    rows = features(known)
    if len(rows) > _LEARNED_FROM:
        chosen = rng.generator(seed, "k-means").choice(len(rows), _LEARNED_FROM, replace=False)
        learned = rows[np.sort(chosen)]
    else:
        learned = rows
    n_centres = min(n_classes, len(np.unique(learned.round(9), axis=0)))
    with threadpool_limits(1):
        means = KMeans(n_centres, n_init=_STARTS, random_state=seed % 2**32).fit(learned)
        if new is not None:
            rows = features(encode_texts(new, known.vocabulary))
        return np.asarray(means.predict(rows), np.int64)
