"""Splitting the texts of a corpus and numbering their words, chunk by chunk on all cores.

Chunks depend on the texts alone and are numbered in order, so the result does not depend on the
number of threads. Polars' own number of threads (``POLARS_MAX_THREADS``) is the limit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.ahead import ahead
from palaver.corpus.table import Corpus
from palaver.encoding.tokenizer import Tokenizer, split_words, word_type

_CHUNK_BYTES = 2 << 20  # bytes of text to split at a time; limits the memory for strings
#: Numbers of the words of a chunk of messages, and how many words each message has.
Chunk = tuple[NDArray[np.int32], NDArray[np.int32]]
#: A chunk with numbers of its own, and the words they stand for.
_Local = tuple[NDArray[np.uint32], list[str], NDArray[np.int32]]


def number_words(corpus: Corpus, tokenizer: Tokenizer | None) -> tuple[list[Chunk], list[str]]:
    """Return all words of a corpus as numbers, in order of first appearance.

    Returns
    -------
    chunks : list of Chunk
    types : list of str
        What the numbers stand for.
    """
    known: dict[str, int] = {}
    chunks: list[Chunk] = []
    found: Iterator[_Local]
    if tokenizer is not None:
        found = (_numbered(_by_function(texts, tokenizer)) for texts in _texts(corpus))
    elif corpus.table.schema.get("tokens") == pl.List(pl.String):
        found = ahead(lambda lists: _numbered(lists, fold=True), _given(corpus))
    else:
        found = ahead(lambda texts: _numbered(split_words(texts), fold=True), _texts(corpus))
    for codes, kinds, lengths in found:
        numbers = np.fromiter(
            (known.setdefault(kind, len(known)) for kind in kinds), np.int32, len(kinds)
        )
        chunks.append((numbers[codes], lengths))
    return chunks, list(known)


def split_all(texts: pl.Series) -> pl.Series:
    """Split a long column of texts as :func:`split_words` does, on all cores."""
    parts = list(ahead(split_words, _parts(texts)))
    return pl.concat(parts) if parts else split_words(texts)


def _numbered(lists: pl.Series, *, fold: bool = False) -> _Local:
    """Return the words of a chunk as numbers of its own, in order of first appearance."""
    lengths = lists.list.len().cast(pl.Int32).to_numpy()
    words = lists.explode().drop_nulls().cast(pl.Categorical(pl.Categories.random()))
    if not len(words):
        return np.zeros(0, np.uint32), [], lengths
    types = words.unique(maintain_order=True)
    codes = types.to_physical().to_numpy()
    places = np.empty(int(codes.max()) + 1, np.uint32)
    places[codes] = np.arange(len(codes))
    kinds = types.cast(pl.String).to_list()
    if fold:
        kinds = [word_type(word) if word else word for word in kinds]
    return places[words.to_physical().to_numpy()], kinds, lengths


def _by_function(texts: pl.Series, tokenizer: Tokenizer) -> pl.Series:
    return pl.Series([list(tokenizer(text)) for text in texts], dtype=pl.List(pl.String))


def _given(corpus: Corpus) -> Iterator[pl.Series]:
    """Yield lists of words that the corpus has, a chunk of messages at a time."""
    lists = corpus.table["tokens"].fill_null([])
    for start in range(0, len(lists), 10_000):
        yield lists[start : start + 10_000]


def _texts(corpus: Corpus) -> Iterator[pl.Series]:
    return _parts(corpus.table["text"])


def _parts(texts: pl.Series) -> Iterator[pl.Series]:
    """Yield the texts, a chunk of messages at a time."""
    ends = np.cumsum(texts.str.len_bytes().fill_null(0).to_numpy(), dtype=np.int64)
    start = 0
    while start < len(texts):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK_BYTES, side="right")))
        yield texts[start:stop]
        start = stop
