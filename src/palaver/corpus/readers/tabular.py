"""CSV, TSV and Parquet tables with one message per row."""

from __future__ import annotations

import io
import re

import polars as pl

from palaver.corpus.names import CELLS, PLACE, names_for_ours, text_column
from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, check_columns
from palaver.corpus.readers.csv_rows import count_cells, read_header, read_rows
from palaver.corpus.readers.parquet_rows import PARQUET_ERRORS
from palaver.corpus.readers.source import Source, decode
from palaver.errors import FormatError

_SEPARATORS = ",\t;|"
_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_WHOLE = r"^(?:0|-?[1-9]\d{0,18})$"
_REAL = r"^(?:-?(?:0|[1-9]\d*)(?:\.0|\.\d*[1-9])?(?:[eE][+-]?\d+)?|NaN|-?inf)$"
_FIXED = r"^-?(?:0|[1-9]\d*)\.(\d+)$"
_TOO_WIDE = r"^-?\d{16,}$"  # whole numbers that floats cannot represent exactly
_TRUTH = r"^(?:true|false)$"
_PACKED = ("x\x01", "x\x5e")  # words that polars mistakes for compressed data and unpacks


def looks_like_csv(source: Source) -> bool:
    """Whether the name says CSV or TSV."""
    return source.suffix in (".csv", ".tsv")


def looks_like_parquet(source: Source) -> bool:
    """Whether the file starts with Parquet's magic bytes."""
    return source.head.startswith(b"PAR1")


def read_csv(source: Source, notes: Notes) -> pl.DataFrame:
    """Read a table with a header line; rows with too many cells are counted and skipped.

    Missing cells at the end of a row are null, empty cells are null, and ``""`` is an empty
    string. Blank rows are skipped. If rows may end before their text, a column
    :data:`CELLS` holds their numbers of cells. Columns beyond our six become numbers only if all
    cells are numbers and nothing is lost, so ``007`` stays as it is.
    """
    text, separator = _named_separator(_text(source, notes))
    separator = separator or _separator(text, source.suffix)
    header, start = read_header(text, separator)
    if not header:
        return pl.DataFrame()
    check_columns(len(header), source)
    body = text[start:]
    table = _compiled(body, separator, len(header))
    if table is None:
        table = read_rows(body, separator, len(header), notes)
    elif _may_be_short(table, header):
        counts = count_cells(body, separator)
        if len(counts) == table.height:
            table = table.with_columns(pl.Series(CELLS, counts, dtype=pl.Int64))
    return _finish(table, header)


def read_parquet(source: Source, notes: Notes) -> pl.DataFrame:
    """Read a Parquet table."""
    try:
        table = pl.read_parquet(io.BytesIO(source.read_bytes()))
    except PARQUET_ERRORS as error:
        reason = str(error).partition("\n")[0]
        raise FormatError(f"{source}: cannot be read as Parquet ({reason})") from error
    check_columns(table.width, source)
    return table.with_columns(_row_numbers())


def _text(source: Source, notes: Notes) -> str:
    """Decode the file, line by line if it is not all UTF-8, and normalize old line endings."""
    data = source.read_bytes()
    try:
        text = decode(data) if data.startswith(_MARKS) else data.decode("utf-8")
    except UnicodeDecodeError:
        lines = data.split(b"\n")
        text = "\n".join(decode(line, notes, f"line {n}") for n, line in enumerate(lines, 1))
    return text if "\n" in text else text.replace("\r", "\n")


def _named_separator(text: str) -> tuple[str, str]:
    """Remove the first line ``sep=;`` that spreadsheets write."""
    first, _, rest = text.partition("\n")
    word = first.strip('"\r')
    is_named = len(word) == 5 and word.lower().startswith("sep=")
    return (rest, word[4]) if is_named else (text, "")


def _separator(text: str, suffix: str) -> str:
    """Find the separator in the header line; if it has none, the suffix decides."""
    header = re.sub(r'"[^"\n]*"', "", text.lstrip("\r\n").partition("\n")[0])
    counts = {mark: header.count(mark) for mark in _SEPARATORS}
    best = max(counts, key=lambda mark: counts[mark])
    default = "\t" if suffix == ".tsv" else ","
    return best if counts[best] > counts[default] else default


def _compiled(body: str, separator: str, width: int) -> pl.DataFrame | None:
    """Read rows with polars, all cells as strings; None if quotes or lengths are wrong."""
    names = [str(i) for i in range(width)]
    if not body.strip("\r\n"):
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    if _has_stray_quote(body, separator) or body.startswith(_PACKED):
        return None
    try:
        return pl.read_csv(
            io.BytesIO(body.encode()),
            separator=separator,
            has_header=False,
            schema=dict.fromkeys(names, pl.String),
        )
    except (pl.exceptions.PolarsError, ValueError, OSError):
        return None


def _has_stray_quote(body: str, separator: str) -> bool:
    """Whether some quote neither opens nor closes a cell and is not doubled."""
    around = f'["\\r\\n{re.escape(separator)}]'
    stray = rf'"(?<!\A")(?<!{around}")(?!{around}|\Z)'
    return body.count('"') % 2 == 1 or re.search(stray, body) is not None


def _may_be_short(table: pl.DataFrame, header: list[str]) -> bool:
    """Whether some row has neither a text nor anything after it."""
    names = _distinct(header)
    text = text_column(names)
    behind = table.columns[names.index(text) if text else -1 :]
    empty = table.select(pl.all_horizontal(pl.col(behind).is_null()).any())
    return table.height > 0 and bool(empty.item())


def _finish(table: pl.DataFrame, header: list[str]) -> pl.DataFrame:
    """Name the columns, number the rows, drop blank ones, and find the numbers."""
    table = table.rename(dict(zip(table.columns[: len(header)], _distinct(header), strict=True)))
    blank = pl.all_horizontal(pl.exclude(CELLS).is_null())
    table = table.with_columns(_row_numbers(), ~blank.alias("\0kept"))
    table = table.filter("\0kept").drop("\0kept")
    ours = names_for_ours(table.columns)
    ours |= {CELLS}
    return table.with_columns(_typed(column) for column in table if column.name not in ours)


def _distinct(header: list[str]) -> list[str]:
    """Make names unique: of two columns ``text``, the later becomes ``text_2``."""
    names: dict[str, None] = {}
    for name in header:
        number, free = 2, name
        while free in names:
            free, number = f"{name}_{number}", number + 1
        names[free] = None
    return list(names)


def _row_numbers() -> pl.Expr:
    """Return places of messages: by row, since texts with line breaks span several lines."""
    return pl.format("row {}", pl.int_range(1, pl.len() + 1)).alias(PLACE)


def _typed(column: pl.Series) -> pl.Series:
    """Convert a column to numbers or booleans if all of its cells allow it."""
    cells = column.drop_nulls()
    if not _all(cells, f"{_WHOLE}|{_REAL}|{_FIXED}|{_TRUTH}"):
        return column
    if _all(cells, _TRUTH):
        return (column == "true").alias(column.name)
    if _all(cells, _WHOLE):
        numbers = column.cast(pl.Int64, strict=False)
        return numbers if numbers.null_count() == column.null_count() else column
    decimals = cells.str.extract(_FIXED).str.len_bytes()
    same_places = not decimals.has_nulls() and decimals.n_unique() == 1
    is_real = _all(cells, _REAL) and not cells.str.contains(_TOO_WIDE).any()
    return column.cast(pl.Float64) if is_real or same_places else column


def _all(cells: pl.Series, pattern: str) -> bool:
    """Whether there are cells and all match; most text columns fail on the first few."""
    return all(len(some) and some.str.contains(pattern).all() for some in (cells.head(20), cells))


CSV = Format("csv", "CSV or TSV with a header line", looks_like_csv, read_csv)
PARQUET = Format("parquet", "Parquet", looks_like_parquet, read_parquet)
