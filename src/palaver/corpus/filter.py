"""A part of a corpus: which messages are kept, and whom they answer then."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.replies import components, ids_at
from palaver.errors import ParameterError

_CONDITION = re.compile(r"\s*(.+?)\s*(!=|>=|<=|=|>|<)\s*(.*?)\s*", re.DOTALL)
_TRUE = {"true": True, "false": False}


class Kept(NamedTuple):
    """What is left of a corpus; fields as there."""

    table: pl.DataFrame
    parents: NDArray[np.int32]
    conversation_offsets: NDArray[np.int64]


def kept_messages(
    table: pl.DataFrame,
    parents: NDArray[np.int32],
    conversation_offsets: NDArray[np.int64],
    keep: NDArray[np.bool_],
) -> Kept:
    """Keep some messages; a reply to one that is left out answers what that one answered.

    Parameters
    ----------
    table, parents, conversation_offsets
        Of a corpus.
    keep : array of bool, shape (n_messages,)
    """
    # left-out messages hang below the nearest kept one above them, or a left-out start
    nearest = components(np.where(keep, -1, parents))
    above = np.where(parents < 0, -1, nearest[parents])
    above[(above >= 0) & ~keep[above]] = -1
    places = np.cumsum(keep) - 1
    moved = np.where(above < 0, -1, places[above])[keep].astype(np.int32)
    counts = np.concatenate(([0], np.cumsum(keep)))[conversation_offsets]
    left = table.filter(pl.Series(keep))
    left = left.with_columns(reply_to=ids_at(left["id"], moved))
    return Kept(left, moved, np.unique(counts).astype(np.int64))


def condition(text: str, table: pl.DataFrame) -> pl.Expr:
    """Return what ``COLUMN=VALUE`` says: also ``!=``, ``>``, ``>=``, ``<``, ``<=``.

    An empty value stands for a missing one; values of times may be cut off, as ``2002-03``.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ParameterError(f"a condition is COLUMN=VALUE (or !=, >, >=, <, <=), got {text!r}")
    name, sign, value = match.groups()
    if name not in table.columns:
        raise ParameterError(f"there is no column {name!r}; there are {', '.join(table.columns)}")
    column = pl.col(name)
    if not value:
        if sign not in ("=", "!="):
            raise ParameterError(f"{text!r}: {sign} needs a value")
        return column.is_null() if sign == "=" else column.is_not_null()
    dtype = table.schema[name]
    if isinstance(dtype, pl.List):
        found = column.list.contains(_value(value, dtype.inner, text))  # type: ignore[arg-type]
        return found if sign == "=" else _negated(found, sign, text)
    if dtype.is_temporal():
        column = column.dt.to_string("iso:strict").str.slice(0, len(value))
        value = value.replace(" ", "T")
        other = pl.lit(value)
    else:
        other = pl.lit(_value(value, dtype, text))
    compared = {
        "=": column == other, "!=": column.ne_missing(other), ">": column > other,
        ">=": column >= other, "<": column < other, "<=": column <= other,
    }  # fmt: skip
    return compared[sign]


def _negated(found: pl.Expr, sign: str, text: str) -> pl.Expr:
    if sign != "!=":
        raise ParameterError(f"{text!r}: the column has lists, which = and != look into")
    return ~found.fill_null(False)


def _value(value: str, dtype: pl.DataType, text: str) -> str | float | bool:
    """Return a value as a column has it."""
    if dtype == pl.Boolean:
        if value.lower() not in _TRUE:
            raise ParameterError(f"{text!r}: the column has true and false")
        return _TRUE[value.lower()]
    if dtype.is_numeric():
        try:
            return float(value)
        except ValueError:
            raise ParameterError(f"{text!r}: the column has numbers") from None
    return value
