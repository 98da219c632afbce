"""Column types: what a table may hold so that it can be written in every format."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from palaver.corpus.readers.base import COLUMNS

_LARGEST_EXACT = 2.0**53


def plain_types(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with our columns as strings, except the time, and no nested columns.

    In other columns, lists of scalars are kept; anything deeper becomes JSON text, bytes become
    text, and a column of nulls becomes one of strings. Any of our columns that are missing are
    added; ours come first.
    """
    missing = [name for name in COLUMNS if name not in table.columns]
    table = table.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)
    others = [name for name in table.columns if name not in COLUMNS]
    words = [_as_words(table[name]) for name in COLUMNS if name != "time"]
    rest = [_as_plain(table[name]) for name in ("time", *others)]
    return table.with_columns(*words, *rest).select(*COLUMNS, *others)


def json_text(column: pl.Series) -> pl.Series:
    """Write each value of a column as JSON; null stays null."""
    name = column.name
    frame = pl.DataFrame({"v": column})
    try:
        encoded = frame.select(pl.struct("v").struct.json_encode()).to_series()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # bytes, objects inside
        texts = [None if v is None else _json(v) for v in column.to_list()]
        return pl.Series(name, texts, dtype=pl.String)
    inner = encoded.str.slice(len('{"v":')).str.head(-1)
    return inner.set(column.is_null(), None).alias(name)


def _as_words(column: pl.Series) -> pl.Series:
    """Convert to strings; whole numbers that a null made real lose their ``.0`` again."""
    column = _as_plain(column)
    if isinstance(column.dtype, pl.List):
        return json_text(column)
    if column.dtype.is_float():
        known = column.drop_nulls()
        exact = known.is_finite().all() and (known.abs() < _LARGEST_EXACT).all()
        if exact and (known == known.round()).all():
            column = column.cast(pl.Int64)
    return column.cast(pl.String, strict=False)


def _as_plain(column: pl.Series) -> pl.Series:
    """Keep scalars and lists of scalars; turn everything else into text."""
    dtype = column.dtype
    if dtype == pl.Null:
        return column.cast(pl.String)
    if dtype == pl.Binary:
        return _decoded(column)
    if dtype == pl.Object:
        texts = [None if value is None else str(value) for value in column.to_list()]
        return pl.Series(column.name, texts, dtype=pl.String)
    if isinstance(dtype, pl.List) and dtype.inner == pl.Null:
        return column.cast(pl.List(pl.String))
    return json_text(column) if _is_nested(dtype) else column


def _is_nested(dtype: Any) -> bool:
    if isinstance(dtype, pl.List):
        return _is_nested(dtype.inner) or dtype.inner in (pl.Binary, pl.Object, pl.List)
    return isinstance(dtype, pl.Struct | pl.Array)


def _decoded(column: pl.Series) -> pl.Series:
    """Decode bytes as UTF-8; some programs write Parquet strings without declaring them."""
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        texts = [None if v is None else v.decode("utf-8", "replace") for v in column.to_list()]
        return pl.Series(column.name, texts, dtype=pl.String)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
