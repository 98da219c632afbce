"""The telling and different messages of each class of a model."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encode.tokenizer import split_words
from palaver.errors import InputError, ParameterError
from palaver.params import check, whole
from palaver.ranking.grasshopper import grasshopper
from palaver.ranking.similarity import cosine_graph, tfidf, without_near_duplicates

#: Messages of a class among which examples are looked for.
N_CANDIDATES = 300
#: Words within which a message is neither too short nor too long to be read as an example.
SHORT, LONG = 6, 60
#: Telling words of a class that speak for it.
TELLING = 50
_FAINT = 0.02  # what a text without any of them has
_WORD = r"[\p{L}\p{N}]+"


class Transforms(Protocol):
    """A fitted model that gives the share of each class in each message."""

    def transform(self, corpus: Any) -> NDArray[np.float64]:
        """Return shares, (n_messages, n_classes)."""
        ...


def exemplars(
    model: Transforms,
    corpus: Corpus,
    k: int = 5,
    *,
    shares: NDArray[np.float64] | None = None,
    weight: float = 0.5,
) -> pl.DataFrame:
    """Return the k most telling messages of each class, different from each other.

    GRASSHOPPER over the messages with the largest shares of a class: edges are tf-idf
    cosines, the prior is the share, damped for messages below 6 or above 60 words (or the
    median length of the corpus, where that lies beyond) and for those with few of the words
    that tell the class from others. Of near-duplicates one is kept.

    Parameters
    ----------
    model : Model
        Any fitted model: what ``model.message_shares(corpus)`` says is used.
    corpus : Corpus
        Where to look for examples; not only what the model was fitted on.
    k : int
        Examples a class. A class has fewer if there are not so many messages.
    shares : array of float64, shape (n_messages, n_classes), optional
        What ``model.message_shares(corpus)`` returned, where it is at hand.
    weight : float
        Weight of the graph against the shares, as in :func:`grasshopper`.

    Returns
    -------
    polars.DataFrame
        Columns class, rank, message (row in the corpus), id, conversation, share, text.

    Examples
    --------
    >>> model = pv.M4(n_classes=8).fit(corpus)       # doctest: +SKIP
    >>> pv.exemplars(model, corpus, k=3)             # doctest: +SKIP
    """
    check("exemplars", {"k": whole(1)}, {"k": k})
    if not isinstance(corpus, Corpus):
        raise ParameterError(
            f"exemplars: takes a Corpus, whose texts are shown, got {type(corpus).__name__}"
        )
    if shares is None:
        shares = getattr(model, "message_shares", model.transform)(corpus)
    shares = np.asarray(shares, np.float64)
    if shares.ndim != 2 or len(shares) != corpus.n_messages:
        raise InputError(
            f"exemplars: shares must have a row for each of the {corpus.n_messages} messages; "
            f"their shape is {shares.shape}"
        )
    texts = corpus.table["text"]
    preference = shares * readability(texts)[:, None]
    candidates = _candidates(model, texts, preference, max(N_CANDIDATES, 3 * k))
    pool = _together(candidates)
    vectors = tfidf(texts.gather(pool))
    rows = [
        found[_choose(vectors[np.searchsorted(pool, found)], preference[found, number], k, weight)]
        if len(found)
        else found
        for number, found in enumerate(candidates)
    ]
    return _table(corpus, shares, rows)


def readability(texts: pl.Series) -> NDArray[np.float64]:
    """Return how well each text serves as an example by its length alone, 0 to 1."""
    lengths = texts.str.count_matches(_WORD).fill_null(0).to_numpy().astype(np.float64)
    typical = float(np.median(lengths[lengths > 0])) if (lengths > 0).any() else 1.0
    low, high = min(SHORT, typical), max(LONG, typical)
    distance = np.log(np.maximum(lengths, 0.5) / np.clip(lengths, low, high))
    return np.where(lengths > 0, np.exp(-(distance**2)), 0.0)


def evidence(texts: pl.Series, words: pl.DataFrame, n_classes: int) -> NDArray[np.float64]:
    """Return how much of each text speaks for each class, (n_texts, n_classes), above zero.

    The root of the share of its words that are among the telling ones of the class. A model's
    share alone may rest on a word or two, or on what is answered.
    """
    tokens = pl.DataFrame({"text": np.arange(len(texts)), "word": split_words(texts)})
    tokens = tokens.explode("word").drop_nulls("word")
    sizes = np.bincount(tokens["text"].to_numpy(), minlength=len(texts))
    hits = tokens.join(words.select("class", "word"), on="word").group_by("text", "class").len()
    found = np.zeros((len(texts), n_classes))
    found[hits["text"].to_numpy(), hits["class"].to_numpy()] = hits["len"].to_numpy()
    return np.sqrt(found / np.maximum(sizes, 1)[:, None] + _FAINT)


def _candidates(
    model: Any, texts: pl.Series, preference: NDArray[np.float64], number: int
) -> list[NDArray[np.int64]]:
    """Return the messages from which each class's examples are chosen, at most ``number``.

    Where the model has telling words, the best four times as many are weighed by them.

    Parameters
    ----------
    preference : array of float64, shape (n_messages, n_classes). IN-OUT
        Of the messages that are weighed, times their evidence.
    """
    first = [np.arange(len(preference))] * preference.shape[1]
    if hasattr(model, "top_words"):
        first = [_largest(column, 4 * number) for column in preference.T]
        pool = _together(first)
        words = model.top_words(TELLING, by="distinctiveness")
        preference[pool] *= evidence(texts.gather(pool), words, preference.shape[1])
    return [rows[_largest(preference[rows, k], number)] for k, rows in enumerate(first)]


def _together(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return all that is in any part, in rising order."""
    return np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))


def _largest(preference: NDArray[np.float64], n_candidates: int) -> NDArray[np.int64]:
    """Return the rows of the largest preferences, in rising order; among equals the first."""
    if len(preference) > n_candidates:
        limit = np.partition(preference, -n_candidates)[-n_candidates]
        above = np.flatnonzero(preference > limit)
        level = np.flatnonzero(preference == limit)[: n_candidates - len(above)]
        rows = np.sort(np.concatenate((above, level)))
    else:
        rows = np.arange(len(preference))
    return rows[preference[rows] > 0]


def _choose(
    vectors: Any, preference: NDArray[np.float64], k: int, weight: float
) -> NDArray[np.int64]:
    """Return the places of k candidates, the best first."""
    distinct = without_near_duplicates(vectors, preference)
    graph = cosine_graph(vectors[distinct])
    return distinct[grasshopper(graph, preference[distinct], weight, top=k).order]


def _table(
    corpus: Corpus, shares: NDArray[np.float64], rows: list[NDArray[np.int64]]
) -> pl.DataFrame:
    sizes = [len(part) for part in rows]
    classes = np.repeat(np.arange(len(rows)), sizes)
    messages = np.concatenate([np.zeros(0, np.int64), *rows])
    ranks = np.concatenate([np.zeros(0, np.int64), *(np.arange(size) + 1 for size in sizes)])
    said = corpus.table.select("id", "conversation", "text")[messages]
    return pl.DataFrame(
        {
            "class": classes,
            "rank": ranks,
            "message": messages,
            "id": said["id"],
            "conversation": said["conversation"],
            "share": shares[messages, classes],
            "text": said["text"],
        }
    )
