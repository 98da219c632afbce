"""JSON lines: one message per line, with our keys or others that are mapped to them.

Compiled code reads clean lines, Python all others; both give the same columns. Scalars
and lists of scalars keep their types, a key with values of several types becomes text, and
objects and nested lists become JSON text. If a line repeats a key, the first one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import polars as pl

from palaver.corpus.ahead import ahead
from palaver.corpus.names import PLACE
from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import MOST_COLUMNS, Format, check_columns, empty_table
from palaver.corpus.readers.json_mend import as_json, mend_lines, mend_surrogates
from palaver.corpus.readers.kernels.json_keys import (
    OTHER,
    SAME,
    has_more_keys,
    only_these_keys,
)
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

Schema = dict[str, pl.DataType]
#: A block's first line, its table, None if it cannot be read, and what was noted.
_Read = tuple[int, pl.DataFrame | None, Notes]

_BLOCK = 4 << 20  # bytes of lines that a thread reads at a time
_FIRST = 1 << 19  # of the first lines, which are read alone

_LONGEST_START = 256
_MOST_KEYS = 63
_LIST_TEXT = r"^(?:true|false|-?\d{19,})$"
_JSON_TEXT = r'^(?:\{["}]|\[(?:["\[{\]\d-]|true|false|null))'


def looks_like(source: Source) -> bool:
    """Whether the first line is a JSON object, or the name says so and the file is empty."""
    named = source.suffix in (".jsonl", ".ndjson")
    first = source.head_text.lstrip("\ufeff \t\r\n").partition("\n")[0].strip()
    if not first:
        return named and not source.is_tree
    return first.startswith("{") and (first.endswith("}") or named)


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read blocks of lines on all cores."""
    tables: list[pl.DataFrame] = []
    names: set[str] = set()
    for line, table, own in _tables(source):
        notes.merge(own)
        if table is None:
            raise FormatError(f"{source}: cannot be read as JSON lines from line {line} onwards")
        if table.height:
            names.update(table.columns)
            check_columns(len(names) - 1, source)  # PLACE is ours
            tables.append(table)
    if not tables and notes.of("loss"):
        raise FormatError(
            f"{source}: none of its lines is a JSON object; a file of JSON lines has one "
            'on each line, such as {"conversation": "c1", "speaker": "Ann", "text": "Hello"}'
        )
    return _stack(tables) if tables else empty_table()


def _tables(source: Source) -> Iterator[_Read]:
    """Yield each block's first line, its table, and what was noted, in the order of the file."""
    blocks, schema = _numbered(source.blocks(_BLOCK)), None

    def work(block: tuple[int, bytes]) -> _Read:
        notes = Notes()
        return block[0], _read_block(block[1], block[0], notes, schema), notes

    # the first block alone: its types save all others from looking at all values twice
    for done in chain(map(work, islice(blocks, 1)), ahead(work, blocks)):
        table = done[1]
        if table is not None and table.height:
            schema = {n: t for n, t in table.schema.items() if n != PLACE}
        yield done


def _numbered(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield blocks with the number of their first line; the first one is short."""
    line = 1
    for block in _divided(iter(blocks)):
        yield line, block
        line += block.count(b"\n")


def _divided(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield blocks, the first one in two parts: all others wait until its types are known."""
    for block in islice(blocks, 1):
        cut = block.find(b"\n", _FIRST) + 1
        yield from filter(None, (block[:cut], block[cut:]))
    yield from blocks


def _read_block(
    block: bytes, first_line: int, notes: Notes, schema: Schema | None = None
) -> pl.DataFrame | None:
    """Read whole lines, in compiled code if that gives the same result as Python.

    Reusing an earlier block's schema saves polars from looking at all values twice.
    """
    if first_line == 1:
        block = block.removeprefix(b"\xef\xbb\xbf")
    is_cut = not block.endswith(b"\n")
    numbers: Sequence[int] = range(first_line, first_line + block.count(b"\n") + is_cut)
    table = _parse(block, schema) if schema and _fit(block, schema) == SAME else None
    if table is None:
        block = mend_surrogates(block, first_line, notes)
        table = _compiled(block, schema)
    if table is not None and table.height < len(numbers):  # polars skipped blank lines
        lines = block.split(b"\n")
        numbers = [n for n, line in enumerate(lines, first_line) if line.strip()]
    if table is None or table.height != len(numbers):
        numbers, block, n_keys = mend_lines(block, first_line, is_cut, notes)
        check_columns(n_keys, f"line {first_line:,} and after")
        table = _inferred(block)
        if table is None or table.height != len(numbers):
            return None
    return table.with_columns(pl.Series(PLACE, numbers, dtype=pl.Int64))


def _has_many_keys(block: bytes) -> bool:
    return bool(has_more_keys(np.frombuffer(block, np.uint8), MOST_COLUMNS))


def _compiled(block: bytes, schema: Schema | None) -> pl.DataFrame | None:
    """Read lines with polars; None if it rejects them or would confuse different values."""
    if schema and _fit(block, schema) != OTHER:
        table = _parse(block, schema)
        if table is not None:
            return table
    if _has_many_keys(block):
        return None  # polars would make a column, or a field, of each, for all lines
    table = _inferred(block)
    if table is None:
        return None
    is_flat = b"[" not in block and block.count(b"{") == table.height  # cheaper to see
    return table if is_flat or not _is_ambiguous(table) else None


def _inferred(block: bytes) -> pl.DataFrame | None:
    """Read lines with polars, which infers their types; None if it rejects them."""
    if not block:
        return empty_table().clear()
    table = _parse(block) if _is_object(block) else None
    if table is None:
        return None
    wide = [n for n, dtype in table.schema.items() if dtype == pl.Int128]
    return table.with_columns(pl.col(wide).cast(pl.String))


def _is_object(block: bytes) -> bool:
    """Whether it begins with one; polars unpacks what looks compressed, without any limit."""
    return block[:_LONGEST_START].lstrip().startswith(b"{")


def _parse(block: bytes, schema: Schema | None = None) -> pl.DataFrame | None:
    """Read lines with polars, with a given schema, which rejects other types, or infer one."""
    try:
        return pl.read_ndjson(block, schema=schema, infer_schema_length=None)
    except (pl.exceptions.PolarsError, ValueError, OSError):
        return None


def _fit(block: bytes, schema: Schema) -> int:
    """Whether lines hold only the columns of a schema, and texts where it has texts.

    Polars would silently drop other keys, and turn other values into text in its own way.
    """
    if len(schema) > _MOST_KEYS or any(dtype.is_nested() for dtype in schema.values()):
        return OTHER  # polars would replace other values in lists by nulls
    if not _is_object(block):
        return OTHER
    names = [name.encode() for name in schema]
    offsets = np.cumsum([0, *map(len, names)], dtype=np.int64)
    is_text = np.array([dtype == pl.String for dtype in schema.values()])
    array = np.frombuffer(block, np.uint8)
    found = only_these_keys(array, np.frombuffer(b"".join(names), np.uint8), offsets, is_text)
    return int(found)


def _is_ambiguous(table: pl.DataFrame) -> bool:
    """Whether a column is nested, or may have been before polars turned it into text."""
    for column in table.iter_columns():
        dtype = column.dtype
        if isinstance(dtype, pl.Struct):
            return True
        if isinstance(dtype, pl.List) and _is_ambiguous_list(column):
            return True
    return _may_be_json(table.select(pl.col(pl.String)))


def _is_ambiguous_list(column: pl.Series) -> bool:
    inner = getattr(column.dtype, "inner", None)
    if inner != pl.String:
        return inner not in (pl.Int64, pl.Float64, pl.Boolean, pl.Null)
    words = column.explode()
    return bool(words.str.contains(_LIST_TEXT).any()) or _may_be_json(words.to_frame())


def _may_be_json(texts: pl.DataFrame) -> bool:
    """Whether a text looks like a JSON object or array; all columns at once, for many are slow."""
    ends = pl.all().str.ends_with("]") | pl.all().str.ends_with("}")
    found = texts.select((ends & pl.all().str.contains(_JSON_TEXT)).any())
    return bool(found.width) and any(found.row(0))


def _stack(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Stack the tables of blocks; a column of incompatible types becomes text."""
    kinds: dict[str, set[str]] = {}
    for table in tables:
        for name, dtype in table.schema.items():
            kinds.setdefault(name, set()).add(_block_kind(dtype))
    odd = {name for name, found in kinds.items() if not _joins(found)}
    tables = [
        table.with_columns(_text(table[name]) for name in table.columns if name in odd)
        for table in tables
    ]
    return pl.concat(tables, how="diagonal_relaxed", rechunk=False)


def _joins(kinds: set[str]) -> bool:
    """Whether polars can stack columns of these kinds without changing values."""
    lists = {kind for kind in kinds if kind.startswith("list")}
    if lists:
        return lists == kinds - {"null"} and len(lists - {"list null"}) < 2
    return len(kinds - {"null"}) < 2


def _block_kind(dtype: Any) -> str:
    if isinstance(dtype, pl.List):
        return f"list {_block_kind(dtype.inner)}"
    if dtype.is_numeric():
        return "number"
    return {pl.Null: "null", pl.Boolean: "bool"}.get(type(dtype), "text")


def _text(column: pl.Series) -> pl.Series:
    """Write a column as text, lists as JSON."""
    if not isinstance(column.dtype, pl.List):
        return column.cast(pl.String)
    texts = [None if v is None else as_json(v.to_list()) for v in column]
    return pl.Series(column.name, texts, dtype=pl.String)


FORMAT = Format("jsonl", "JSON lines, one message per line (also .gz, .zst)", looks_like, read)
