"""Conversations as a table: how long they are, who takes part, what is done in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.describe import bots

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus

#: Columns that say what messages do, the first that is there counts.
_ACTS = ("class_name", "class", "act", "label", "tag")


def conversations_table(corpus: Corpus) -> pl.DataFrame:
    """Make the table of :attr:`palaver.Corpus.conversations`."""
    lengths = np.diff(corpus.conversation_offsets)
    number = np.repeat(np.arange(corpus.n_conversations), lengths)
    people = pl.when(~pl.col("speaker").is_in(bots(corpus))).then("speaker")
    acts = next((name for name in _ACTS if name in corpus.labels), None)
    table = corpus.table.with_columns(
        pl.Series("_number", number), pl.Series("_depth", depths(corpus.parents))
    )
    own = [] if acts is None else [_acts(acts)]
    return (
        table.group_by("_number", maintain_order=True)
        .agg(
            pl.col("conversation").first(),
            pl.len().cast(pl.Int64).alias("messages"),
            people.drop_nulls().n_unique().cast(pl.Int64).alias("people"),
            pl.col("text").str.count_matches(r"\w+").sum().cast(pl.Int64).alias("words"),
            pl.col("time").min().alias("start"),
            pl.col("time").max().alias("end"),
            (pl.col("time").max() - pl.col("time").min()).alias("duration"),
            pl.col("_depth").max().alias("depth"),
            *own,
        )
        .drop("_number")
    )


def _acts(column: str) -> pl.Expr:
    """Return the acts of a conversation and how often each occurs."""
    told = pl.col(column).drop_nulls().cast(pl.String)
    counts = told.value_counts(sort=True).struct.rename_fields(["act", "messages"])
    return counts.implode().alias("acts")


def depths(parents: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return how deep each message is, 1 for a start; parents precede their replies."""
    found = np.ones(len(parents), np.int64)
    for row in np.flatnonzero(parents >= 0).tolist():
        found[row] = found[parents[row]] + 1
    return found
