"""What else a message can be conditioned on: numbers, further parents, sentence boundaries."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding.sentences import split_sentences
from palaver.encoding.tokenizer import split_words

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


def sentence_lengths(corpus: Corpus) -> list[list[int]]:
    """Return the number of words in each sentence of each message.

    Sentences come from the column ``sentences`` if there is one, or else from
    :func:`split_sentences`.
    """
    table = corpus.table
    given = table.schema.get("sentences") == pl.List(pl.String)
    lists = table["sentences"].to_list() if given else map(split_sentences, table["text"])
    sentences = [list(own or ()) for own in lists]
    flat = pl.Series([piece for own in sentences for piece in own], dtype=pl.String)
    lengths = iter(split_words(flat).list.len().to_list())
    return [[next(lengths) for _ in own] for own in sentences]
