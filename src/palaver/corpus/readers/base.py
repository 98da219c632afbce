"""What a reader consists of: a :class:`Format`, and :class:`Rows` to collect messages in.

A reader's module has one function ``looks_like(source) -> bool``, one ``read(source, notes)``
that returns a table, and ``FORMAT``, which names both. The table may have any of the columns
``conversation, id, reply_to, speaker, time, text``, any further columns, and ``place`` (a line
number, or words such as ``"general/2024-01-02.json message 3"``) for reports of problems.
It need not be tidy: :mod:`palaver.corpus.clean` cleans all formats in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

#: More columns than any table of messages has: each costs time and memory for every message.
MOST_COLUMNS = 1_000
#: The columns that every corpus has, in order.
COLUMNS = ("conversation", "id", "reply_to", "speaker", "time", "text")


@dataclass(frozen=True)
class Format:
    """A format that Palaver can read.

    Attributes
    ----------
    name : str
        What users write in ``pv.read(path, format=...)``.
    description : str
        One line for help texts.
    looks_like : callable
        ``looks_like(source)`` says whether a source is in this format; it looks at
        ``source.name``, ``.suffix``, ``.head``, ``.head_text``, ``.names`` and never raises.
    read : callable
        ``read(source, notes)`` returns the raw table.
    """

    name: str
    description: str
    looks_like: Callable[[Source], bool]
    read: Callable[[Source, Notes], pl.DataFrame]


def check_columns(n_columns: int, place: object) -> None:
    """Refuse a table with more columns than a table of messages can have.

    Raises
    ------
    FormatError
    """
    if n_columns > MOST_COLUMNS:
        raise FormatError(
            f"{place}: has more than {MOST_COLUMNS:,} columns; a table of messages has one row, or "
            "one line, per message, and the same few columns in each; keep those that you need"
        )


#: Rows after which columns of strings are packed: Python's strings need several times the memory.
_PACKED_ROWS = 1 << 14


class Rows:
    """Messages collected column by column while a file is parsed."""

    def __init__(self, notes: Notes) -> None:
        self._columns: dict[str, list[Any]] = {}
        self._packed: dict[str, list[pl.Series | list[Any]]] = {}
        self._count = 0
        self._start = 0  # of the rows that are not packed yet
        self._notes = notes

    def __len__(self) -> int:
        return self._count

    def add(self, /, **values: Any) -> None:
        """Append a message; columns that it lacks become null."""
        for name, value in values.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = []
                self._packed[name] = [[None] * self._start] if self._start else []
                check_columns(len(self._columns), "the file")
            missing = self._count - self._start - len(column)
            if missing:
                column.extend([None] * missing)
            column.append(_plain(value))
        self._count += 1
        if self._count - self._start == _PACKED_ROWS:
            self._pack()

    def _pack(self) -> None:
        """Pack the latest rows: strings as polars keeps them, anything else as it is."""
        for name, column in self._columns.items():
            column.extend([None] * (self._count - self._start - len(column)))
            self._packed[name].append(_strings(name, column))
            self._columns[name] = []
        self._start = self._count

    def table(self) -> pl.DataFrame:
        """Return the messages as a table."""
        self._pack()
        series = [self._joined(scrubbed(name), self._packed.pop(name)) for name in self._columns]
        return pl.DataFrame(series) if series else empty_table()

    def _joined(self, name: str, parts: list[pl.Series | list[Any]]) -> pl.Series:
        """Join the parts of a column, which is one of strings if all of its parts are."""
        packed = [part for part in parts if isinstance(part, pl.Series)]
        if len(packed) == len(parts):
            return pl.concat(packed, rechunk=False).alias(name) if packed else pl.Series(name, [])
        values = [value for part in parts for value in part]
        return self._series(name, values)

    def _series(self, name: str, values: list[Any]) -> pl.Series:
        """Build a column; values of mixed types become strings."""
        kinds = {type(value) for value in values} - {type(None)}
        if len(kinds) > 1 and kinds != {int, float}:
            values = [value if value is None else _as_text(value) for value in values]
        try:
            return pl.Series(name, values, strict=False)
        except (UnicodeEncodeError, OverflowError):
            clean = [scrubbed(value) for value in values]
            self._notes.add("control_characters", count=sum(map(_differs, values, clean)))
            return pl.Series(name, clean, strict=False)


def _strings(name: str, values: list[Any]) -> pl.Series | list[Any]:
    """Return values as a series if they are strings, nothing but nulls, or both."""
    if not all(value is None or isinstance(value, str) for value in values):
        return values
    try:
        return pl.Series(name, values, dtype=pl.String)
    except UnicodeEncodeError:  # lone surrogates, which are counted when the column is complete
        return values


def empty_table() -> pl.DataFrame:
    """Return a table without messages."""
    return pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.String))


def _plain(value: Any) -> Any:
    """Keep scalars and lists of strings; write anything nested as JSON text."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple) and not all(isinstance(item, str) for item in value):
        return json.dumps(value, ensure_ascii=False)
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def scrubbed(value: Any) -> Any:
    """Return a value without lone surrogates, which UTF-8 lacks, and numbers beyond 64 bits."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [scrubbed(item) for item in value]
    return str(value) if isinstance(value, int) else value


def _differs(before: Any, after: Any) -> bool:
    return bool(before != after)


def parse_json(data: bytes | str, where: str) -> Any:
    """Parse JSON; every kind of failure becomes a :class:`FormatError`."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not valid JSON ({error})") from error
