"""Splitting a topic by hand: a fit within its tokens; all counts add up to those of before."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.encoding.documents import Documents
from palaver.errors import CorpusError
from palaver.parallel import Arrays
from palaver.params import check, whole

if TYPE_CHECKING:
    from palaver.models.documents.model import DocumentModel

#: A word of a document counts as the topic's if it is its more likely than not.
OWN = 0.5


def split_topic(model: DocumentModel, X: Any, topic: int, into: int) -> DocumentModel:
    """Return a model with one topic split; see :meth:`DocumentModel.split`."""
    documents = model._known_documents(X)
    n_topics = len(model.class_shares_)
    check("split", {"topic": whole(0, n_topics - 1), "into": whole(2, 100)},
          {"topic": topic, "into": into})  # fmt: skip
    own = tokens_of(model, documents, topic)
    if own.n_tokens < into:
        raise CorpusError(f"split: the documents have too few words of topic {topic}")
    parts = _parts(model, own, into)
    best = model.chains_[model.best_chain_]
    arrays = {**best, **_split_topics(best, topic, parts)}
    if "transitions" in best:
        arrays |= _split_steps(best, topic, _shares(best, topic, parts))
    if "parents" in best:
        arrays |= _split_branch(best, topic, _shares(best, topic, parts))
    return _with_arrays(model, arrays)


def tokens_of(model: DocumentModel, documents: Documents, topic: int) -> Documents:
    """Return the words of documents that come from a topic, with their expected counts."""
    shares, words = model.transform(documents), model.class_words_
    owners = np.repeat(np.arange(documents.n_documents), np.diff(documents.offsets))
    every = np.ascontiguousarray(words.T)[documents.words]
    its = shares[owners, topic] * every[:, topic]
    its /= np.einsum("nk,nk->n", shares[owners], every)
    kept = its > OWN
    offsets = np.concatenate(([0], np.cumsum(kept)))[documents.offsets]
    counts = documents.counts[kept] * its[kept]
    return Documents(offsets, documents.words[kept], counts, documents.vocabulary)


def _parts(model: DocumentModel, own: Documents, into: int) -> NDArray[np.float64]:
    """Return how much of each word of a topic each part gets, (n_words, into); rows sum to one."""
    from palaver.models.registry import model_class

    params = model.get_params()
    kind: Any = model_class("online-lda")
    inner = kind(into, start_sweeps=50, n_sweeps=50, random_state=model.seed_,
                      n_jobs=params["n_jobs"]).fit(own, show_progress=False)  # fmt: skip
    counts = np.maximum(inner.chains_[0]["topics"] - inner.word_prior_, 0.0)
    totals = counts.sum(axis=1, keepdims=True)
    even = counts.sum(axis=0) / counts.sum()  # of words that the topic merely might have
    return np.asarray(np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), even))


def _split_topics(best: Arrays, topic: int, parts: NDArray[np.float64]) -> Arrays:
    """Return the topics: the first part has the old number, the others the last ones."""
    beta, topics = float(best["beta"]), best["topics"]
    rest = np.minimum(topics[:, topic], beta)  # what is no count, also below the prior
    counts = (topics[:, topic] - rest)[:, None] * parts
    made = counts + rest[:, None]
    every = np.column_stack((topics, made[:, 1:]))
    every[:, topic] = made[:, 0]
    return {"topics": np.ascontiguousarray(every), "topic_totals": every.sum(axis=0)}


def _shares(best: Arrays, topic: int, parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much of a topic each part is."""
    counts = np.maximum(best["topics"][:, topic] - float(best["beta"]), 0.0) @ parts
    return np.asarray(counts / counts.sum())


def _split_steps(best: Arrays, topic: int, shares: NDArray[np.float64]) -> Arrays:
    """Return the steps between topics: parts are walked to and from by their shares."""
    start, steps, alpha = best["start"], best["transitions"], float(best["alpha"])
    prior, n = alpha / len(start), len(start) + len(shares) - 1
    spread = np.zeros((len(start), n))
    spread[np.arange(len(start)), np.arange(len(start))] = 1.0
    spread[topic, [topic, *range(len(start), n)]] = shares
    place = np.append(np.arange(len(start)), np.full(len(shares) - 1, topic))
    counts = spread.T @ np.maximum(steps - prior, 0.0) @ spread
    return {
        "start": np.minimum(start, prior)[place] + np.maximum(start - prior, 0.0) @ spread,
        "transitions": np.minimum(steps, prior)[np.ix_(place, place)] + counts,
        "alpha": np.array(prior * n),
    }


def _split_branch(best: Arrays, topic: int, shares: NDArray[np.float64]) -> Arrays:
    """Return the tree: parts are siblings; what is below the topic stays below the first."""
    parents, uses = best["parents"], best["uses"]
    used = uses[topic] * shares
    every = np.concatenate((uses, used[1:]))
    every[topic] = used[0]
    return {"parents": np.append(parents, np.full(len(shares) - 1, parents[topic])), "uses": every}


def _with_arrays(model: DocumentModel, arrays: Arrays) -> DocumentModel:
    """Return a copy of a model with other topics."""
    made = copy(model)
    n_topics = arrays["topics"].shape[1]
    made.set_params(n_topics=n_topics, n_chains=1)
    arrays |= made._make_engine(len(model.vocabulary_)).topic_sums(arrays["topics"])
    own = pl.col("chain") == model.best_chain_
    made.trace_ = model.trace_.filter(own).with_columns(
        chain=pl.lit(0, dtype=model.trace_.schema["chain"])
    )
    made.chains_, made.best_chain_, made.draws_ = [arrays], 0, {}
    made._steps = list(model._steps)
    made._set_estimates()
    return made
