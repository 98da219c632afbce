"""Replies as rows of parents: their ids, their trees, and reordering messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


def ids_at(ids: pl.Series, rows: NDArray[Any]) -> pl.Series:
    """Return the ids of rows, such as parents; null for negative rows."""
    nobody = pl.Series([None], dtype=pl.String)
    return ids.gather(np.maximum(rows, 0)).zip_with(pl.Series(rows >= 0), nobody)


def components(parents: NDArray[Any]) -> NDArray[np.int64]:
    """Return the root of each message; messages with the same root form one conversation.

    Parameters
    ----------
    parents : array of int, shape (n_messages,)
        A forest; any negative number is a root.
    """
    rows = np.arange(len(parents))
    above = np.where(np.asarray(parents) < 0, rows, parents)
    while not np.array_equal(above, further := above[above]):  # doubles the steps each time
        above = further
    return np.asarray(above, np.int64)


def moved_parents(parents: NDArray[Any], order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the parents of messages that were reordered.

    Parameters
    ----------
    parents : array of int, shape (n_messages,)
        -1 for a start.
    order : array of int64, shape (n_messages,)
        Old row of each new row.
    """
    places = np.empty(len(order) + 1, np.int32)
    places[order] = np.arange(len(order))
    places[-1] = -1  # so that -1, a start, stays -1
    return np.asarray(places[parents[order]])
