"""Corpora with changed replies: rebuilt ones, and conversations mixed into channels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.replies import components, ids_at, moved_parents
from palaver.corpus.table import Corpus
from palaver.kernels.trees import parents_first
from palaver.models.views.reconstruct import order_of


def relinked(
    corpus: Corpus, rows: NDArray[np.int64], parents: NDArray[np.int64], *, split: bool = False
) -> Corpus:
    """Return a corpus with other replies and another order of messages.

    Parameters
    ----------
    corpus : Corpus
    rows : array of int64, shape (n_messages,)
        Message of the corpus at each place in the order; conversations keep their places.
    parents : array of int64, shape (n_messages,)
        Place that the message at each place replies to, -1 for a start.
    split : bool
        Make every tree a conversation: ``name/1``, ``name/2``, in order of their starts.
    """
    table = corpus.table[rows]
    roots = components(parents)
    groups = np.repeat(np.arange(corpus.n_conversations), np.diff(corpus.conversation_offsets))
    if split:
        table = table.with_columns(_tree_names(table["conversation"], roots))
        groups = roots
    order = parents_first(parents.astype(np.int32))
    order = order[np.argsort(groups[order], kind="stable")]
    moved = moved_parents(parents, order)
    table = table[order]
    table = table.with_columns(reply_to=ids_at(table["id"], moved))
    offsets = _offsets(groups[order])
    return replace(corpus, table=table, parents=moved, conversation_offsets=offsets)


def _offsets(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where runs of equal numbers begin, and where the last one ends."""
    return np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(groups))


def _tree_names(conversations: pl.Series, roots: NDArray[np.int64]) -> pl.Series:
    """Return names that include the number of the tree in its conversation."""
    is_root = roots == np.arange(len(roots))
    return (
        pl.DataFrame({"conversation": conversations, "root": is_root})
        .select(number=pl.col("root").cum_sum().over("conversation"))
        .select(pl.format("{}/{}", conversations, pl.col("number").gather(roots)))
        .to_series()
        .alias("conversation")
    )


def interleaved(corpus: Corpus, by: NDArray[Any] | None = None) -> Corpus:
    """Mix conversations by time into channels, as in a log.

    Parameters
    ----------
    corpus : Corpus
        Messages with equal times keep their order; a message without a time gets that of the
        previous one.
    by : array, shape (n_conversations,), optional
        Channel of each conversation; one for all by default.
    """
    offsets = corpus.conversation_offsets
    lengths = np.diff(offsets)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    rows = np.argsort(np.repeat(offsets[:-1], lengths) + order_of(corpus, "time").ranks)
    filled = corpus.table["time"].gather(rows).cast(pl.Int64)
    times = filled.fill_null(strategy="forward").fill_null(strategy="backward").fill_null(0)
    names = (
        np.zeros(len(lengths), np.int64) if by is None else np.unique(by, return_inverse=True)[1]
    )
    order = np.lexsort((times.to_numpy(), names[owners[rows]]))
    channel = names[owners[rows]][order]
    rows = rows[order]
    parents = moved_parents(corpus.parents, rows)
    late = parents > np.arange(len(rows))  # clocks differ; a reply cannot precede its parent
    parents[late] = -1
    ids = pl.format("{}|{}", "conversation", "id")
    own = corpus.table.select(ids.alias("id")).to_series().gather(rows)
    table = corpus.table[rows].with_columns(
        id=own,
        reply_to=ids_at(own, parents),
        conversation=pl.lit("channel ") + pl.Series(channel.astype(str)),
    )
    return replace(corpus, table=table, parents=parents, conversation_offsets=_offsets(channel))
