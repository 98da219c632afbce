"""What else a message can be conditioned on: numbers, further parents, sentence boundaries."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding.numbering import split_all
from palaver.encoding.sentences import may_have_several, split_sentences

OTHER_PARENTS = "other_parents"


def numbers_of(corpus: Corpus) -> dict[str, NDArray[np.float64]]:
    """Return columns of numbers or booleans, and the time in seconds; NaN where missing."""
    table = corpus.table
    found = {}
    for name in ["time", *corpus.labels]:
        column = table[name]
        if name == "time":
            column = column.dt.epoch("ms") / 1000
        elif not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
            continue
        if column.null_count() < len(column):
            found[name] = column.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
    return found


def other_parents_of(corpus: Corpus) -> NDArray[np.int32]:
    """Return pairs (message, further parent) of rows from the column ``other_parents``.

    Ids that belong to no earlier message of the conversation are skipped, and so is the message
    that ``reply_to`` already names.
    """
    table = corpus.table
    if table.schema.get(OTHER_PARENTS) != pl.List(pl.String):
        return np.empty((0, 2), np.int32)
    ids = table.select("conversation", parent="id").with_row_index("row")
    pairs = (
        table.select("conversation", parent=OTHER_PARENTS)
        .with_row_index("message")
        .explode("parent")
        .drop_nulls("parent")
        .join(ids, on=["conversation", "parent"], how="inner", maintain_order="left")
        .filter(pl.col("row") < pl.col("message"))
        .unique(["message", "row"])
        .sort("message", "row")
    )
    messages = pairs["message"].to_numpy().astype(np.int32)
    rows = pairs["row"].to_numpy().astype(np.int32)
    kept = corpus.parents[messages] != rows
    return np.column_stack((messages[kept], rows[kept]))


def sentence_lengths(
    corpus: Corpus,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of words in each sentence of messages that may have several.

    Sentences come from the column ``sentences`` if there is one, or else from
    :func:`split_sentences`.

    Returns
    -------
    messages : array of int64, shape (n,)
        Rows; all others are one sentence.
    n_sentences : array of int64, shape (n,)
    lengths : array of int64, shape (sum(n_sentences),)
    """
    table = corpus.table
    if table.schema.get("sentences") == pl.List(pl.String):
        messages = np.arange(table.height)
        sentences = table["sentences"].to_list()
    else:
        several = may_have_several(table["text"])
        messages = np.flatnonzero(several.to_numpy())
        sentences = [split_sentences(text) for text in table["text"].filter(several).to_list()]
    flat = pl.Series([piece for own in sentences for piece in own or ()], dtype=pl.String)
    n_sentences = np.fromiter((len(own or ()) for own in sentences), np.int64, len(sentences))
    lengths = split_all(flat).list.len().fill_null(0).to_numpy().astype(np.int64)
    return messages, n_sentences, lengths
