"""CSV rows that strict readers reject: stray quotes, unclosed quotes, ragged rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import polars as pl

from palaver.corpus.names import CELLS
from palaver.corpus.notes import Notes

_LONGEST_CELL = 2**31 - 1
_PATIENCE = 20  # lines reread, in multiples of the file's, before quotes are taken literally


def read_header(text: str, separator: str) -> tuple[list[str], int]:
    """Return the column names and the offset of the first row."""
    stream = io.StringIO(text, newline="")
    try:
        for cells in csv.reader(stream, delimiter=separator, strict=True):
            if cells:
                return cells, stream.tell()
    except csv.Error:
        line, _, _ = text.lstrip("\r\n").partition("\n")
        start = text.index(line) + len(line) + 1
        return [cell.strip('"\r') for cell in line.split(separator)], start
    return [], len(text)


def read_rows(body: str, separator: str, width: int, notes: Notes) -> pl.DataFrame:
    """Read row by row, counting repairs and dropping rows with too many cells.

    The last column holds the number of cells in each row.

    An unclosed quote would swallow the rest of the file. So if a record of several lines has
    the wrong number of cells, only its first line is used.
    """
    columns: list[list[str | None]] = [[] for _ in range(width)]
    counts: list[int] = []
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        for number, (cells, kind) in enumerate(_records(body, separator, width), 1):
            if kind:
                notes.add(kind, [f"row {number}"])
            kept = [] if kind == "bad_line" else cells
            counts.append(len(kept))
            for index, column in enumerate(columns):
                column.append((kept[index] or None) if index < len(kept) else None)
    finally:
        csv.field_size_limit(limit)
    return pl.DataFrame(
        [pl.Series(str(i), column, dtype=pl.String) for i, column in enumerate(columns)]
    ).with_columns(pl.Series(CELLS, counts, dtype=pl.Int64))


def count_cells(body: str, separator: str) -> list[int]:
    """Return the number of cells in each row of a body without stray quotes."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        return [len(cells) for cells in csv.reader(io.StringIO(body, newline=""),
                                                   delimiter=separator)]  # fmt: skip
    finally:
        csv.field_size_limit(limit)


def _records(body: str, separator: str, width: int) -> Iterator[tuple[list[str], str]]:
    """Yield the cells of each row and the kind of note that it calls for, if any."""
    lines = body.split("\n")
    if not lines[-1]:
        lines.pop()
    patience = _PATIENCE * len(lines) + 1000
    first = start = 0
    while start < len(lines):
        first = start
        reader = csv.reader(
            (lines[i] + "\n" for i in range(first, len(lines))), delimiter=separator, strict=True
        )
        try:
            for cells in reader:
                several = first + reader.line_num > start + 1
                if len(cells) > width or (len(cells) < width and several):
                    break
                yield cells, ""
                start = first + reader.line_num
        except csv.Error:
            pass
        if start == len(lines):
            return
        patience -= first + reader.line_num - start
        for line in lines[start:] if patience < 0 else lines[start : start + 1]:
            start += 1
            cells, kind = _one_line(line, separator, width)
            is_cut = start == len(lines) and not body.endswith("\n") and line.count('"') % 2
            yield cells, "truncated" if kind == "stray_quote" and is_cut else kind


def _one_line(line: str, separator: str, width: int) -> tuple[list[str], str]:
    """Split a line in the first way that yields no more cells than there are columns."""
    line = line.rstrip("\r").replace("\r", " ")
    for spaced in (False, True):
        reader = csv.reader([line], delimiter=separator, skipinitialspace=spaced)
        cells = next(reader, [])
        if len(cells) <= width:
            return cells, "stray_quote"
    cells = line.split(separator)
    return cells, "stray_quote" if len(cells) <= width else "bad_line"
