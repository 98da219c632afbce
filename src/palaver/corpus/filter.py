"""Filtering a corpus: which messages are kept, and what they then reply to."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.replies import components, ids_at
from palaver.errors import ParameterError

_CONDITION = re.compile(r"\s*(.+?)\s*(!=|>=|<=|==|=|>|<)\s*(.*?)\s*", re.DOTALL)
_TIME = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-[0-3]\d([T ][0-2]\d(:[0-5]\d(:[0-5]\d)?)?)?)?)?")
_TRUE = {"true": True, "false": False}


class Kept(NamedTuple):
    """What is left of a corpus; its fields are those of the corpus."""

    table: pl.DataFrame
    parents: NDArray[np.int32]
    conversation_offsets: NDArray[np.int64]


def kept_messages(
    table: pl.DataFrame,
    parents: NDArray[np.int32],
    conversation_offsets: NDArray[np.int64],
    keep: NDArray[np.bool_],
) -> Kept:
    """Keep some messages; a reply to a dropped message becomes a reply to that message's parent.

    Parameters
    ----------
    table, parents, conversation_offsets
        As in a corpus.
    keep : array of bool, shape (n_messages,)
    """
    # dropped messages hang below their nearest kept ancestor, or a dropped start
    nearest = components(np.where(keep, -1, parents))
    above = np.where(parents < 0, -1, nearest[parents])
    above[(above >= 0) & ~keep[above]] = -1
    places = np.cumsum(keep) - 1
    moved = np.where(above < 0, -1, places[above])[keep].astype(np.int32)
    counts = np.concatenate(([0], np.cumsum(keep)))[conversation_offsets]
    left = table.filter(pl.Series(keep))
    left = left.with_columns(reply_to=ids_at(left["id"], moved))
    return Kept(left, moved, np.unique(counts).astype(np.int64))


def as_condition(given: pl.Expr | str, table: pl.DataFrame) -> pl.Expr:
    """Return a condition as an expression that is true or false for each message."""
    if isinstance(given, str):
        return condition(given, table)
    if not isinstance(given, pl.Expr):
        raise ParameterError(
            f"a condition must be a polars expression or a string like 'act=thanks', got {given!r}"
        )
    try:
        dtype = table.head(0).select(given).to_series().dtype
    except (pl.exceptions.PolarsError, TypeError) as error:
        raise ParameterError(f"the condition {given} does not fit the table: {error}") from None
    if dtype != pl.Boolean:
        raise ParameterError(f"the condition {given} must be true or false, but gives {dtype}")
    return given


def condition(text: str, table: pl.DataFrame) -> pl.Expr:
    """Return ``COLUMN=VALUE`` as an expression; ``!=``, ``>``, ``>=``, ``<``, ``<=`` work too.

    An empty value stands for a missing one. Times may be truncated and then stand for a period:
    ``time=2002-03`` is all of March, ``time>2002`` everything after that year.
    """
    name, sign, value = _split(text)
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
        if not _TIME.fullmatch(value):
            raise ParameterError(f"{text!r}: write times like 2002-03-31 14:00, or a part of that")
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


def _split(text: str) -> tuple[str, str, str]:
    """Return the column, sign and value of a condition."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ParameterError(
            f"a condition must be COLUMN=VALUE (or !=, >, >=, <, <=), got {text!r}"
        )
    name, sign, value = match.groups()
    return name, "=" if sign == "==" else sign, value


def column_of(text: str) -> str:
    """Return the column that a condition refers to."""
    return _split(text)[0]


def _negated(found: pl.Expr, sign: str, text: str) -> pl.Expr:
    if sign != "!=":
        raise ParameterError(f"{text!r}: the column has lists; use = or != to search them")
    return ~found.fill_null(False)


def _value(value: str, dtype: pl.DataType, text: str) -> str | float | bool:
    """Convert a value to the type of its column."""
    if dtype == pl.Boolean:
        if value.lower() not in _TRUE:
            raise ParameterError(f"{text!r}: the column holds true and false")
        return _TRUE[value.lower()]
    if dtype.is_numeric():
        try:
            return float(value)
        except ValueError:
            raise ParameterError(f"{text!r}: the column holds numbers") from None
    return value


def examples(text: str, table: pl.DataFrame, n: int = 8) -> str:
    """List the most frequent values of the column that a condition refers to."""
    column = table[_split(text)[0]]
    column = column.explode() if isinstance(column.dtype, pl.List) else column
    counts = column.drop_nulls().value_counts(sort=True)
    values = ", ".join(str(value)[:40] for value in counts[column.name].head(n))
    more = ", ..." if counts.height > n else ""
    return f"{column.name} has {values or 'no values'}{more}"
