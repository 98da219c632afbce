"""Which messages to label next: those a tagger is unsure of, and different from each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from palaver.corpus.table import Corpus
from palaver.errors import CorpusError
from palaver.params import check, real, whole
from palaver.ranking.grasshopper import grasshopper
from palaver.ranking.similarity import cosine_graph, tfidf, without_near_duplicates

if TYPE_CHECKING:
    from palaver.models.taggers.contract import Tagger

#: Messages among which uncertain and different ones are chosen: at least, and per message wanted.
_CANDIDATES, _PER_MESSAGE = 300, 10
_LEAST = 1e-3  # uncertainty of a message whose tag is certain


def to_label(
    corpus: Corpus,
    n: int = 50,
    tagger: Tagger | None = None,
    *,
    labels: str = "act",
    weight: float = 0.25,
) -> pl.DataFrame:
    """Return the messages that are most worth labelling next.

    GRASSHOPPER ranks messages from all over the corpus: edges are cosines of words and of tag
    probabilities, the prior is how uncertain their tags are (by entropy). So uncertain messages
    that are like many others come first, and none is like those before it. Without a tagger,
    every message is as uncertain as any other.

    Parameters
    ----------
    corpus : Corpus
        Messages with a label already are left out, and so are those without words.
    n : int
        Messages at most.
    tagger : Tagger, optional
        Trained on the labels so far.
    labels : str
        Column of the labels, which may be missing.
    weight : float
        Weight of the graph relative to the uncertainty, as in :func:`grasshopper`.

    Returns
    -------
    polars.DataFrame
        Best first: conversation, id, before (text of the message before), text, suggested (the
        tagger's tag), probability, and the empty column label, to be filled in.

    Raises
    ------
    CorpusError
        All messages with words have a label.
    """
    check("to_label", {"n": whole(1), "weight": real(0, 1)}, {"n": n, "weight": weight})
    table = corpus.table
    is_open = (table["text"].str.strip_chars() != "").to_numpy().copy()
    if labels in table.columns:
        is_open &= table[labels].is_null().to_numpy()
    rows = np.flatnonzero(is_open)
    if not len(rows):
        raise CorpusError("to_label: every message with words has a label")
    shares = None if tagger is None else tagger.predict_proba(corpus)
    unsure = np.ones(len(rows)) if shares is None else _entropy(shares[rows])
    n_candidates = max(_CANDIDATES, _PER_MESSAGE * n)
    # spread over the corpus: the most uncertain ones of all are often odd
    chosen = np.unique(np.linspace(0, len(rows) - 1, n_candidates).astype(np.int64))
    rows, unsure = rows[chosen], np.maximum(unsure[chosen], _LEAST)
    vectors = tfidf(table["text"].gather(rows))
    kept = without_near_duplicates(vectors, unsure)
    rows, unsure, vectors = rows[kept], unsure[kept], vectors[kept]
    graph = cosine_graph(vectors)
    if shares is not None:
        alike = np.sqrt(shares[rows])
        graph = (graph + sparse.csr_matrix(alike @ alike.T)) / 2
    ranking = grasshopper(graph, prior=unsure, weight=weight, top=min(n, len(rows)))
    return _table(corpus, rows[ranking.order], tagger, shares)


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of each row, as a share of the largest possible."""
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return np.asarray(-(shares * logs).sum(axis=1) / np.log(max(shares.shape[1], 2)))


def _table(
    corpus: Corpus,
    rows: NDArray[np.int64],
    tagger: Tagger | None,
    shares: NDArray[np.float64] | None,
) -> pl.DataFrame:
    """Return the messages to label, with what is known about them."""
    table = corpus.table
    before = table.select(pl.col("text").shift(1).over("conversation")).to_series().gather(rows)
    suggested = pl.Series([None] * len(rows), dtype=pl.String)
    probability = pl.Series([None] * len(rows), dtype=pl.Float64)
    if tagger is not None and shares is not None:
        best = shares[rows].argmax(axis=1)
        suggested = pl.Series(np.array(tagger.tags_)[best], dtype=pl.String)
        probability = pl.Series(shares[rows].max(axis=1).round(3))
    return pl.DataFrame(
        {
            "conversation": table["conversation"].gather(rows),
            "id": table["id"].gather(rows),
            "before": before,
            "text": table["text"].gather(rows),
            "suggested": suggested,
            "probability": probability,
            "label": pl.Series([None] * len(rows), dtype=pl.String),
        }
    )
