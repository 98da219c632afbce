"""Messages that are characteristic of each class of a model, and different from each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus, as_corpus
from palaver.encoding.tokenizer import split_words
from palaver.errors import InputError, ParameterError
from palaver.params import check, whole
from palaver.ranking.grasshopper import grasshopper
from palaver.ranking.similarity import cosine_graph, tfidf, without_near_duplicates

if TYPE_CHECKING:
    from palaver.models.base.model import Model

#: Number of messages per class to choose examples from.
N_CANDIDATES = 300
#: Shortest and longest messages, in words, that make good examples.
SHORT, LONG = 6, 60
#: Number of characteristic words per class that count as evidence for it.
N_WORDS = 50
_FAINT = 0.02  # evidence of a text without any of them
_WORD = r"[\p{L}\p{N}]+"


def exemplars(
    model: Model,
    corpus: Corpus,
    k: int = 5,
    *,
    shares: NDArray[np.float64] | None = None,
    weight: float = 0.5,
) -> pl.DataFrame:
    """Return k messages for each class that are characteristic of it and differ from each other.

    GRASSHOPPER ranks the messages with the largest shares of a class: edges are tf-idf
    cosines, the prior is the share, damped for messages below 6 or above 60 words (or the
    median length of the class, if that lies outside) and for those with few characteristic
    words of the class. Of near-duplicates, one is kept.

    Parameters
    ----------
    model : Model
        Any fitted model; ``model.message_shares(corpus)`` says how much of a class a message has.
    corpus : Corpus
        Where to look for examples; it need not be what the model was fitted on.
    k : int
        Examples per class; fewer for a class with fewer messages.
    shares : array of float64, shape (n_messages, n_classes), optional
        The result of ``model.message_shares(corpus)``, if already known.
    weight : float
        Weight of the graph relative to the shares, as in :func:`grasshopper`.

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
    corpus = as_corpus(corpus)
    if not isinstance(corpus, Corpus):
        raise ParameterError(
            f"exemplars: pass a Corpus, whose texts are shown, got {type(corpus).__name__}"
        )
    if shares is None:
        shares = model.message_shares(corpus)
    shares = np.asarray(shares, np.float64)
    if shares.ndim != 2 or len(shares) != corpus.n_messages:
        raise InputError(
            f"exemplars: shares must have a row for each of the {corpus.n_messages} messages; "
            f"their shape is {shares.shape}"
        )
    words = model.top_words(N_WORDS, by="distinctiveness")
    return _table(corpus, shares, choose_examples(corpus.table["text"], shares, words, k, weight))


def choose_examples(
    texts: pl.Series,
    shares: NDArray[np.float64],
    words: pl.DataFrame,
    k: int,
    weight: float = 0.5,
    split: pl.Series | None = None,
) -> list[NDArray[np.int64]]:
    """Return the rows of k messages for each class, the best first; see :func:`exemplars`.

    Parameters
    ----------
    texts : polars.Series of str
    shares : array of float64, shape (n_messages, n_classes)
    words : polars.DataFrame
        Columns class and word: the characteristic words of each class.
    k, weight
        As in :func:`exemplars`.
    split : polars.Series of list of str, optional
        The words of the texts, if already known; otherwise candidates are split.
    """
    number = max(N_CANDIDATES, 3 * k)
    preference = shares * readability(texts, shares)
    first = [_largest(column, 4 * number) for column in preference.T]
    pool = _together(first)
    lists = split_words(texts.gather(pool)) if split is None else split.gather(pool)
    preference[pool] *= evidence(lists, words, preference.shape[1])
    candidates = [rows[_largest(preference[rows, c], number)] for c, rows in enumerate(first)]
    near = _together(candidates)
    vectors = tfidf(lists.gather(np.searchsorted(pool, near)))
    return [
        found[_choose(vectors[np.searchsorted(near, found)], preference[found, c], k, weight)]
        if len(found)
        else found
        for c, found in enumerate(candidates)
    ]


def readability(texts: pl.Series, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how suitable each text is as an example of each class, by its length alone, 0 to 1.

    A class whose messages are mostly shorter or longer than a good example, such as "yes", is
    shown by messages of its usual length.

    Parameters
    ----------
    texts : polars.Series of str
    shares : array of float64, shape (n_messages, n_classes)

    Returns
    -------
    array of float64, shape (n_messages, n_classes)
    """
    lengths = texts.str.count_matches(_WORD).fill_null(0).to_numpy().astype(np.float64)
    found = np.zeros(shares.shape)
    main = shares.argmax(axis=1) if shares.shape[1] else np.zeros(len(lengths), np.int64)
    for number in range(shares.shape[1]):
        own = lengths[(lengths > 0) & (main == number)]
        own = own if len(own) else lengths[lengths > 0]
        typical = float(np.median(own)) if len(own) else 1.0
        near = np.clip(lengths, min(SHORT, typical), max(LONG, typical))
        distance = np.log(np.maximum(lengths, 0.5) / near)
        found[:, number] = np.where(lengths > 0, np.exp(-(distance**2)), 0.0)
    return found


def evidence(lists: pl.Series, words: pl.DataFrame, n_classes: int) -> NDArray[np.float64]:
    """Return how much of each text is evidence for each class, (n_texts, n_classes), positive.

    The root of the share of its words that are characteristic of the class. A model's share alone
    may rest on a word or two, or on the message replied to.

    Parameters
    ----------
    lists : polars.Series of list of str
        The words of each text.
    words : polars.DataFrame
        Columns class and word.
    n_classes : int
    """
    tokens = pl.DataFrame({"text": np.arange(len(lists)), "word": lists})
    tokens = tokens.explode("word").drop_nulls("word")
    sizes = np.bincount(tokens["text"].to_numpy(), minlength=len(lists))
    hits = tokens.join(words.select("class", "word"), on="word").group_by("text", "class").len()
    found = np.zeros((len(lists), n_classes))
    found[hits["text"].to_numpy(), hits["class"].to_numpy()] = hits["len"].to_numpy()
    return np.sqrt(found / np.maximum(sizes, 1)[:, None] + _FAINT)


def _together(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return all rows that are in any part, ascending."""
    return np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))


def _largest(preference: NDArray[np.float64], n_candidates: int) -> NDArray[np.int64]:
    """Return the rows of the largest preferences, ascending; of equals, the first."""
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
    """Return the positions of k candidates, the best first."""
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
