"""Opinosis with settings chosen by nested cross-validation over topics.

The paper tunes its two parameters on a grid. Here each topic is summarized with the setting that
has the largest mean ROUGE-1 F on all *other* topics, and the methods that GRASSHOPPER is compared
with choose theirs in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

import palaver as pv
from palaver.encoding.tokenizer import split_words
from palaver.evaluate import mean_rouge
from palaver.ranking.similarity import cosine_graph, tfidf
from palaver.ranking.summarize import shortened

WEIGHTS = (0.25, 0.5, 0.95)
#: Cosines above which sentences are linked.
THRESHOLDS = (0.0, 0.1, 0.2, 0.3)
#: Graphs of words: links of weight one above 0.1 (the paper's), of the cosine, and of its square.
WORD_GRAPHS = (
    "binary 0.1",
    *(f"{weighted} {limit:g}" for weighted in ("cosine", "squared") for limit in THRESHOLDS),
)
GRAPHS = (*WORD_GRAPHS, "vectors")
PRIORS = ("even", "centroid", "length")
_TOP = 25  # sentences that are ranked; summaries of 100 words have about six
_USUAL_LENGTH = 20  # words; longer sentences have no larger prior


class Setting(NamedTuple):
    """A method with its parameters."""

    method: str
    graph: str
    prior: str
    weight: float

    def __str__(self) -> str:
        return f"{self.graph}, {self.prior}, {self.weight:g}"


def settings() -> list[Setting]:
    """Return all settings of all methods."""
    grid = [Setting("grasshopper", graph, prior, weight)
            for graph in GRAPHS for prior in PRIORS for weight in WEIGHTS]  # fmt: skip
    grid += [Setting("mmr", graph, "edges", weight)
             for graph in WORD_GRAPHS for weight in (0.3, 0.5, 0.7)]  # fmt: skip
    grid += [Setting("lexrank", graph, "even", 0.85) for graph in WORD_GRAPHS]
    return grid


def grid_scores(
    topics: Sequence[Mapping[str, Any]], words: Sequence[int], vectors: Path
) -> dict[str, Any]:
    """Return the ROUGE scores of every setting for every topic and length of summaries.

    Returns
    -------
    dict
        ``settings``, and for every length an array (n_settings, n_topics, 4): recall and F of
        ROUGE-1 and of ROUGE-2.
    """
    known = pv.WordVectors.read(vectors)
    scores: dict[str, list[list[list[float]]]] = {str(n): [] for n in words}
    for topic in topics:
        for n, found in zip(words, _topic(topic, words, known), strict=True):
            scores[str(n)].append(found)
    turned = {n: np.array(found).transpose(1, 0, 2).round(6).tolist()
              for n, found in scores.items()}  # fmt: skip
    return {"settings": [list(setting) for setting in settings()], "scores": turned}


def _topic(
    topic: Mapping[str, Any], words: Sequence[int], vectors: pv.WordVectors
) -> list[list[list[float]]]:
    """Return the scores of one topic, by length and setting."""
    texts = [sentence["text"] for sentence in topic["sentences"]]
    weighted = tfidf(texts, stemmed=True)
    cosines = cosine_graph(weighted, 0.1)
    graphs = {
        "binary 0.1": (cosines > 0).astype(np.float64),
        "vectors": vector_graph(texts, vectors),
    }
    for limit in THRESHOLDS:
        graphs[f"cosine {limit:g}"] = links = cosine_graph(weighted, limit)
        graphs[f"squared {limit:g}"] = links.multiply(links).tocsr()
    priors = {"even": None, "edges": None, "centroid": centroid_prior(weighted),
              "length": length_prior(texts)}  # fmt: skip
    found: list[list[list[float]]] = [[] for _ in words]
    for order in _orders(graphs, priors, cosines):
        for place, n in enumerate(words):
            summary = " ".join(shortened([texts[item] for item in order], words=n))
            rouge = mean_rouge(summary, topic["references"], stemmed=True)
            one, two = rouge["rouge1"], rouge["rouge2"]
            found[place].append([one.recall, one.f, two.recall, two.f])
    return found


def _orders(
    graphs: Mapping[str, Any], priors: Mapping[str, Any], cosines: Any
) -> Iterator[NDArray[np.int64]]:
    """Yield the order of the sentences by each setting."""
    for setting in settings():
        more: dict[str, Any] = {} if setting.method == "grasshopper" else {"similarity": cosines}
        yield pv.rank(graphs[setting.graph], method=setting.method, prior=priors[setting.prior],
                      weight=setting.weight, top=_TOP, **more).order  # fmt: skip


def centroid_prior(weighted: Any) -> NDArray[np.float64]:
    """Return the cosine of each sentence with the sum of all."""
    centre = np.asarray(weighted.sum(axis=0)).ravel()
    return np.asarray(weighted @ (centre / max(np.linalg.norm(centre), 1e-12))).ravel() + 1e-6


def length_prior(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the number of words of each sentence, up to a usual length."""
    n_words = np.array([len(text.split()) for text in texts], np.float64)
    return np.clip(n_words, 1, _USUAL_LENGTH)


def vector_graph(texts: Sequence[str], vectors: pv.WordVectors) -> Any:
    """Return the positive cosines of mean word vectors, after their common mean is subtracted."""
    lists = split_words(pl.Series(texts, dtype=pl.String))
    means = np.zeros((len(texts), vectors.n_dimensions))
    for row, words in enumerate(lists):
        found, known = vectors.look_up(words.to_list())
        means[row] = found.sum(axis=0) / max(known.sum(), 1)
    means -= means.mean(axis=0)
    lengths = np.linalg.norm(means, axis=1)
    means /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return sparse.csr_matrix(np.maximum(means @ means.T, 0.0))


def nested(
    result: Mapping[str, Any], n_words: int, method: str
) -> tuple[NDArray[np.float64], dict[str, int]]:
    """Return each topic's scores with the setting that is best on all other topics.

    Returns
    -------
    scores : array of float64, shape (n_topics, 4)
    chosen : dict of str to int
        How often each setting was chosen.
    """
    own = [n for n, setting in enumerate(result["settings"]) if setting[0] == method]
    scores = np.array(result["scores"][str(n_words)])[own]
    sums = scores[:, :, 1].sum(axis=1, keepdims=True) - scores[:, :, 1]
    best = sums.argmax(axis=0)
    names = [str(Setting(*result["settings"][own[number]])) for number in best]
    chosen = {name: names.count(name) for name in dict.fromkeys(names)}
    return scores[best, np.arange(scores.shape[1])], chosen
