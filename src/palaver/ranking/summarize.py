"""Summaries: central and diverse sentences of documents (Zhu et al. 2007, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encoding.sentences import split_sentences
from palaver.errors import InputError, ParameterError
from palaver.params import Limit, check, either, flag, nothing, one_of, real, whole
from palaver.ranking.baselines import METHODS
from palaver.ranking.similarity import cosine_graph, tfidf

#: Most sentences to choose a summary from; of more, those closest to the whole are kept.
MAX_SENTENCES = 5000
#: Fewest words, without links, handles and tags, in a usable sentence of a conversation.
FEWEST_WORDS = 4
_ADDRESS = r"(?:https?://|www\.|[@#])\S+"
_WORD = r"\p{L}[\p{L}\p{M}\p{N}'’-]*"
_LIMITS: dict[str, Limit] = {
    "sentences": either(whole(1), nothing()),
    "words": either(whole(1), nothing()),
    "bytes": either(whole(1), nothing()),
    "position_decay": real(0),
    "weight": real(0, 1),
    "threshold": real(0, 1),
    "weighted": flag(),
    "stemmed": flag(),
    "method": one_of(*METHODS),
}


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """A summary as a list of sentences.

    Attributes
    ----------
    table : polars.DataFrame
        Columns rank, document, position (in the document, from 1), message (row in the corpus;
        null for plain texts), score, text; the best sentence first.
    n_sentences : int
        Number of sentences that were available.
    """

    table: pl.DataFrame
    n_sentences: int

    @property
    def sentences(self) -> list[str]:
        """The sentences, the best first."""
        return self.table["text"].to_list()

    @property
    def text(self) -> str:
        """The sentences in document order, one per line."""
        return "\n".join(self.table.sort("document", "position")["text"])

    def __str__(self) -> str:
        return self.text

    def __len__(self) -> int:
        return self.table.height

    def __repr__(self) -> str:
        return f"Summary({len(self)} of {self.n_sentences:,} sentences)"


def summarize(
    texts: str | Sequence[str] | Corpus,
    sentences: int | None = None,
    position_decay: float = 0.25,
    weight: float = 0.5,
    *,
    words: int | None = None,
    bytes: int | None = None,
    threshold: float = 0.1,
    weighted: bool = True,
    stemmed: bool = False,
    method: str = "grasshopper",
    random_state: rng.RandomState = 0,
) -> Summary:
    """Summarize documents by central and diverse sentences.

    Parameters
    ----------
    texts : str, sequence of str, or Corpus
        One document or several. Each conversation of a corpus is a document; for one of them, use
        ``corpus.take([number])``. In conversations, bare links and names, sentences of fewer
        than four words and repetitions are ignored.
    sentences, words, bytes : int, optional
        Length of the summary; 5 sentences by default. To fit a number of words or UTF-8 bytes
        (DUC 2004: 665), the last sentence is cut.
    position_decay : float
        A sentence at position p of its document has the prior ``p ** -position_decay``; use 0
        if the order carries no information.
    weight : float
        Weight of similarities relative to that prior.
    threshold : float
        Cosine above which two sentences are linked.
    weighted : bool
        Whether links are weighted by the cosine, which makes better summaries; False is the
        graph of the paper, in which a link has the weight one.
    stemmed : bool
        Whether English words with the same stem count as the same.
    method : str
        One of the methods of :func:`palaver.rank`.
    random_state : int, numpy.random.Generator or None
        Seed of the random method.

    Examples
    --------
    >>> import palaver as pv
    >>> print(pv.summarize("Cats sleep. Cats sleep a lot. Dogs bark at cats.", sentences=1))
    Cats sleep.
    """
    settings = {"sentences": sentences, "words": words, "bytes": bytes, "weight": weight,
                "position_decay": position_decay, "threshold": threshold, "weighted": weighted,
                "stemmed": stemmed, "method": method}  # fmt: skip
    check("summarize", _LIMITS, settings)
    if sum(limit is not None for limit in (sentences, words, bytes)) > 1:
        raise ParameterError("summarize: pass only one of sentences, words and bytes")
    pool = _sentence_table(texts)
    if not pool.height:
        raise InputError("summarize: the input contains no sentences")
    prior = pool["position"].to_numpy().astype(np.float64) ** -position_decay
    vectors = tfidf(pool["text"], stemmed=stemmed)
    kept = _nearest_to_all(vectors, prior)
    cosines = cosine_graph(vectors[kept], threshold)
    graph = cosines.copy()
    if not weighted:
        graph.data[:] = 1.0
    options: dict[str, Any] = {"prior": prior[kept], "weight": weight}
    if method in ("lexrank", "mmr"):
        options["similarity"] = cosines
    if method == "random":
        options["random_state"] = random_state
    most = sentences or (5 if words is None and bytes is None else None)
    ranking = METHODS[method](graph, top=most, **options)
    ranked = pool[kept[ranking.order]].with_columns(pl.Series("score", ranking.scores))
    return Summary(_cut(ranked, words, bytes), pool.height)


def _sentence_table(texts: str | Sequence[str] | Corpus) -> pl.DataFrame:
    """Return one row per sentence: document, position, message, text."""
    if isinstance(texts, Corpus):
        lengths = np.diff(texts.conversation_offsets)
        documents: list[int] = np.repeat(np.arange(len(lengths)), lengths).tolist()
        sources: list[int | None] = list(range(texts.n_messages))
        parts: list[str] = texts.table["text"].to_list()
    else:
        parts = [texts] if isinstance(texts, str) else list(texts)
        documents, sources = list(range(len(parts))), [None] * len(parts)
    wrong = next((part for part in parts if not isinstance(part, str)), None)
    if wrong is not None:
        raise InputError(f"summarize: pass texts or a Corpus, got {type(wrong).__name__}")
    table = pl.DataFrame(
        {
            "document": pl.Series(documents, dtype=pl.Int64),
            "message": pl.Series(sources, dtype=pl.Int64),
            "text": pl.Series([split_sentences(part) for part in parts], dtype=pl.List(pl.String)),
        }
    )
    table = table.explode("text").drop_nulls("text")
    position = pl.int_range(1, pl.len() + 1).over("document").alias("position")
    table = table.with_columns(position)
    return _substantial(table) if isinstance(texts, Corpus) else table


def _substantial(table: pl.DataFrame) -> pl.DataFrame:
    """Drop what conversations are full of: bare links and names, a word or two, repetitions.

    If there is nothing else, keep everything.
    """
    plain = pl.col("text").str.replace_all(_ADDRESS, " ")
    said = pl.col("text").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " ")
    full = table.filter(plain.str.count_matches(_WORD) >= FEWEST_WORDS)
    return full.filter(said.str.strip_chars().is_first_distinct()) if full.height else table


def _nearest_to_all(vectors: Any, prior: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows to rank: all, or if there are too many, those most like the whole."""
    if vectors.shape[0] <= MAX_SENTENCES:
        return np.arange(vectors.shape[0])
    whole_text = np.asarray(vectors.sum(axis=0)).ravel()
    nearness = (vectors @ whole_text) * prior
    return np.sort(np.argsort(-nearness, kind="stable")[:MAX_SENTENCES])


def _cut(ranked: pl.DataFrame, words: int | None, bytes: int | None) -> pl.DataFrame:
    """Keep the first sentences within a length, and shorten the last one."""
    texts = ranked["text"].to_list()
    if words is not None or bytes is not None:
        texts = shortened(texts, words=words, bytes=bytes)
        ranked = ranked.head(len(texts))
    columns = ["rank", "document", "position", "message", "score", "text"]
    return ranked.with_columns(
        pl.Series("text", texts, dtype=pl.String), pl.int_range(1, pl.len() + 1).alias("rank")
    ).select(columns)


def shortened(
    texts: Sequence[str], *, words: int | None = None, bytes: int | None = None
) -> list[str]:
    """Return the first texts within a number of words or bytes, with the last one cut to fit.

    Bytes include a one-byte separator between texts, as if they were joined.
    """
    kept: list[str] = []
    left = words if words is not None else bytes if bytes is not None else 0
    for text in texts:
        if left <= 0:
            break
        if words is not None:
            parts = text.split()
            kept.append(" ".join(parts[:left]))
            left -= len(parts)
        else:
            cut = text.encode()[:left].decode(errors="ignore").rstrip()
            if cut:
                kept.append(cut)
            left -= len(text.encode()) + 1
    return kept
