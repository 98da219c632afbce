"""Rows of Parquet files as records, a few thousand at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import polars as pl

from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

#: What polars raises on a damaged file.
PARQUET_ERRORS = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    ValueError,
    OverflowError,
    OSError,
)
_ROWS = 4096


def parquet_schema(source: Source) -> dict[str, pl.DataType] | None:
    """Return the columns of a Parquet file; None if it is not one, or is compressed once more."""
    if not source.head.startswith(b"PAR1") or source.is_packed:
        return None
    try:
        return dict(pl.read_parquet_schema(_for_polars(source)))
    except PARQUET_ERRORS:
        return None


def _for_polars(source: Source) -> Path | IO[bytes]:
    """Return the path, or the open file if its name is not UTF-8, which polars needs."""
    try:
        str(source.path).encode()
    except UnicodeEncodeError:
        return io.BytesIO(source.read_bytes())
    return source.path


def parquet_names(source: Source) -> frozenset[str] | None:
    """Return the names of the columns of a Parquet file; None if it is not one."""
    schema = parquet_schema(source)
    return None if schema is None else frozenset(schema)


def parquet_records(
    source: Source, columns: list[str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and values of each row, with these columns or all."""
    try:
        lazy = pl.scan_parquet(_for_polars(source))
        chosen = lazy if columns is None else lazy.select(columns)
        n_rows = int(lazy.select(pl.len()).collect().item())
        for start in range(0, n_rows, _ROWS):
            part = chosen.slice(start, _ROWS).collect()
            for number, record in enumerate(part.iter_rows(named=True), start + 1):
                yield f"row {number}", record
    except PARQUET_ERRORS as error:
        reason = str(error).partition("\n")[0]
        raise FormatError(f"{source}: cannot be read as Parquet ({reason})") from error
