"""One cleaning policy for all formats: a raw table becomes a tidy one.

The tidy table has the columns ``conversation, id, reply_to, speaker, time, text``, followed by
all others. Messages of a conversation are adjacent, parents precede their replies, every
``reply_to`` names an earlier message of the same conversation, ids are unique within a
conversation, and texts are never null. The notes count every change.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.names import (
    CELLS,
    PLACE,
    is_about_subjects,
    name_columns,
    names_conversations,
    text_column,
)
from palaver.corpus.notes import PLACES_KEPT, Notes
from palaver.corpus.readers.base import COLUMNS
from palaver.corpus.replies import components, ids_at, moved_parents
from palaver.corpus.times import parse_times
from palaver.corpus.values import plain_types
from palaver.kernels.trees import break_cycles, parents_first

LONG_TEXT = 1_000_000
_NOT_TEXT = r"[\x00\x{FFFE}\x{FFFF}]"
_REAL_NAME = r"^(-?\d+)\.0$"
_RUNS = 1.1  # most runs of equal values, per value, in a column of conversations
_MOSTLY, _DISTINCT = 0.5, 0.9  # smallest shares for a column to be suggested as the id column


@dataclass(frozen=True)
class Tidy:
    """A tidy table with its reply structure as arrays.

    Attributes
    ----------
    table : DataFrame
    parents : array of int32, shape (n_messages,)
        Row of the parent, -1 for a start; always smaller than the message's own row.
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    columns : dict
        Maps our names to the file's, for the columns that were found.
    """

    table: pl.DataFrame
    parents: NDArray[np.int32]
    conversation_offsets: NDArray[np.int64]
    columns: dict[str, str]


def tidy(raw: pl.DataFrame, notes: Notes, columns: Mapping[str, str] | None = None) -> Tidy:
    """Clean a raw table; the module docstring says what holds afterwards.

    Parameters
    ----------
    raw : DataFrame
        A reader's output; may have a ``place`` column.
    notes : Notes
        IN/OUT: repairs are counted here.
    columns : mapping, optional
        Maps our names to the file's, such as ``{"text": "body"}``.
    """
    raw = _without_short_rows(raw, notes, columns)
    table, taken = name_columns(raw, columns or {})
    places = _Places(table)
    table = plain_types(table.drop(places.column, strict=False))
    table = _read_times(table, notes, places)
    if table.height == 0:
        return Tidy(table, np.empty(0, np.int32), np.zeros(1, np.int64), taken)
    table = _clean_words(table, notes, places)
    table = _fill_ids(table, notes, places)
    table = _fill_conversations(table, notes, places)
    table, rows = _group(table)
    places = places.at(rows)
    table = _rename_duplicates(table, notes, places)
    parents = _resolve_parents(table, notes, places)
    _advise_on_ids(table, parents, taken, notes)
    table, parents = _parents_first(table, parents, notes, places)
    return _finish(table, parents, taken)


def _without_short_rows(
    raw: pl.DataFrame, notes: Notes, columns: Mapping[str, str] | None
) -> pl.DataFrame:
    """Drop rows of a CSV file that end before their text, because it is missing or cut off."""
    if CELLS not in raw.columns:
        return raw
    cells, table = raw[CELLS], raw.drop(CELLS)
    names = [name for name in table.columns if name != PLACE]
    text = text_column(names, columns)
    if text not in names:
        return table
    short = cells <= names.index(text)
    notes.add("bad_line", *_Places(table).of(short))
    return table.filter(~short)


class _Places:
    """Where each row was in its file, for messages about problems."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.column = PLACE if PLACE in table.columns else "place"
        self._places = table[self.column] if self.column in table.columns else None
        self._rows: NDArray[np.int64] | None = None

    def at(self, rows: NDArray[np.int64]) -> _Places:
        """Return the places for a table that consists of these rows of the first one."""
        moved = copy(self)
        moved._rows = rows
        return moved

    def of(self, mask: pl.Series | NDArray[np.bool_]) -> tuple[list[str], int]:
        """Return the first places where ``mask`` is true, and how many there are."""
        chosen = np.flatnonzero(np.asarray(mask))
        first = chosen[:PLACES_KEPT]
        if self._rows is not None:
            first = self._rows[first]
        if self._places is None:
            return [f"row {row + 1}" for row in first], len(chosen)
        places = self._places.gather(first).to_list()
        return [f"line {p}" if isinstance(p, int) else str(p) for p in places], len(chosen)


def _read_times(table: pl.DataFrame, notes: Notes, places: _Places) -> pl.DataFrame:
    """Turn times into date-times, counting those that cannot be read."""
    given = table["time"]
    times = parse_times(given)
    if given.dtype == pl.String:
        given = given.set(given.str.strip_chars() == "", None)
    notes.add("bad_time", *places.of(given.is_not_null() & times.is_null()))
    return table.with_columns(times.alias("time"))


def _clean_words(table: pl.DataFrame, notes: Notes, places: _Places) -> pl.DataFrame:
    """Remove control characters; empty names become null, null texts become empty."""
    names = [name for name in COLUMNS if name not in ("time", "text")]
    table = table.with_columns(pl.col("text").fill_null(""))
    dirty = table.select(pl.any_horizontal(pl.col(*names, "text").str.contains(_NOT_TEXT)))
    if dirty.to_series().any():
        notes.add("control_characters", *places.of(dirty.to_series().fill_null(False)))
        table = table.with_columns(pl.col(*names, "text").str.replace_all(_NOT_TEXT, ""))
    table = table.with_columns(
        pl.when(pl.col(n).str.strip_chars() != "").then(pl.col(n)).alias(n) for n in names
    )
    notes.add("empty_text", *places.of(table["text"].str.strip_chars() == ""))
    notes.add("long_text", *places.of(table["text"].str.len_bytes() > LONG_TEXT))
    return _trim_parents(table)


def _trim_parents(table: pl.DataFrame) -> pl.DataFrame:
    """Turn the parent 3.0 into 3: tables with nulls turn whole numbers into real ones."""
    parents = table["reply_to"].drop_nulls()
    if not parents.head(1).str.contains(_REAL_NAME).any():
        return table
    if table["id"].str.contains(_REAL_NAME).any():
        return table
    return table.with_columns(pl.col("reply_to").str.replace(_REAL_NAME, "${1}"))


def _fill_ids(table: pl.DataFrame, notes: Notes, places: _Places) -> pl.DataFrame:
    """Create missing ids from row numbers."""
    missing = table["id"].is_null()
    if not missing.any():
        return table
    notes.add("generated_id", *places.of(missing))
    made = pl.format("#{}", pl.int_range(1, table.height + 1))
    return table.with_columns(pl.coalesce("id", made).alias("id"))


def _fill_conversations(table: pl.DataFrame, notes: Notes, places: _Places) -> pl.DataFrame:
    """Give messages without a conversation the one of the start that they descend from.

    If the file has no replies at all, all such messages form one conversation.
    """
    missing = table["conversation"].is_null()
    if not missing.any():
        return table
    if table["reply_to"].null_count() == table.height:
        notes.add("one_conversation", *places.of(missing))
        if missing.all():
            _advise_on_conversations(table, notes)
        return table.with_columns(pl.col("conversation").fill_null("conversation"))
    notes.add("no_conversation", *places.of(missing))
    parents = _lookup(table.select("id"), table.select(id="reply_to"))
    parents[parents == np.arange(len(parents))] = -1
    break_cycles(parents)
    named = components(np.where(missing.to_numpy(), parents, -1))
    names = table.select(pl.coalesce("conversation", "id").gather(named)).to_series()
    return table.with_columns(names.alias("conversation"))


def _group(table: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Make the messages of each conversation adjacent; return the old row of each new row."""
    names = table["conversation"]
    starts = names.filter((names != names.shift(1)).fill_null(True))
    if starts.n_unique() == len(starts):
        return table, np.arange(table.height)
    codes = table.select(pl.col("conversation").rank("dense")).to_series().to_numpy()
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rows = np.argsort(first[inverse], kind="stable")
    return table[rows], rows


def _rename_duplicates(table: pl.DataFrame, notes: Notes, places: _Places) -> pl.DataFrame:
    """Rename repeated ids within a conversation to ``id~2``, ``id~3``..."""
    if table["id"].n_unique() == table.height:  # cheaper to see
        return table
    again = table.select(pl.struct("conversation", "id").is_first_distinct().not_()).to_series()
    if not again.any():
        return table
    notes.add("duplicate_id", *places.of(again))
    pair = table.select("conversation", "id")
    taken = set(pair.filter(pl.col("id").str.contains("~", literal=True)).iter_rows())
    last_number: dict[tuple[str, str], int] = {}
    names = []
    for conversation, name in pair.filter(again).iter_rows():
        number = last_number.get((conversation, name), 1) + 1
        while (conversation, f"{name}~{number}") in taken:
            number += 1
        last_number[conversation, name] = number
        names.append(f"{name}~{number}")
    ids = table["id"].scatter(again.arg_true(), pl.Series(names, dtype=pl.String))
    return table.with_columns(ids)


def _lookup(keys: pl.DataFrame, wanted: pl.DataFrame) -> NDArray[np.int32]:
    """Return the first row of ``keys`` that equals each row of ``wanted``, -1 if none."""
    index = keys.with_row_index("row").unique(subset=keys.columns, keep="first")
    found = wanted.join(index, on=keys.columns, how="left", maintain_order="left")["row"]
    return found.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int32)


def _resolve_parents(table: pl.DataFrame, notes: Notes, places: _Places) -> NDArray[np.int32]:
    """Return the row of each message's parent, -1 for starts and for bad parents."""
    if table["reply_to"].null_count() == table.height:
        return np.full(table.height, -1, np.int32)
    pair = table.select("conversation", "id")
    parents = _lookup(pair, table.select("conversation", id="reply_to"))
    lost = (parents < 0) & table["reply_to"].is_not_null().to_numpy()
    if lost.any():
        known = table["reply_to"].is_in(table["id"].implode()).fill_null(False)
        elsewhere = lost & known.to_numpy()
        notes.add("foreign_parent", *places.of(elsewhere))
        notes.add("missing_parent", *places.of(lost & ~elsewhere))
    itself = parents == np.arange(len(parents))
    notes.add("self_parent", *places.of(itself))
    parents[itself] = -1
    cut = np.zeros(len(parents), bool)
    cut[break_cycles(parents)] = True
    notes.add("cyclic_parent", *places.of(cut))
    return parents


def _advise_on_conversations(table: pl.DataFrame, notes: Notes) -> None:
    """Suggest a column that may say which conversation a message belongs to.

    Its values repeat, and messages with the same value follow each other. Names that mean
    conversation in one of the most common languages come first, then columns of many values.
    """
    found = []
    for column in (table[name] for name in table.columns[len(COLUMNS) :]):
        if column.dtype.is_nested() or column.dtype.is_float() or column.null_count():
            continue
        n_values = column.n_unique()
        if 2 <= n_values <= table.height / 2 and len(column.rle()) <= _RUNS * n_values:
            told = names_conversations(column.name)
            found.append((told, n_values, column.name))
    if found:
        told, _, best = max(found, key=lambda one: one[:2])
        if told and not is_about_subjects(best) and not table["speaker"].is_null().all():
            notes.guesses["conversation"] = best
        notes.advice.append(
            f"all messages were put into one conversation; is it {best!r}? Try "
            f'columns={{"conversation": "{best}"}} (--column conversation={best})'
        )


def _advise_on_ids(
    table: pl.DataFrame, parents: NDArray[np.int32], taken: Mapping[str, str], notes: Notes
) -> None:
    """Suggest another id column if most parents are not among the ids that were used.

    The suggested column contains most of the missing parents, and hardly any value twice.
    """
    answering = table["reply_to"].is_not_null().to_numpy()
    lost = answering & (parents < 0)
    if not lost.sum() > _MOSTLY * answering.sum():
        return
    wanted = table["reply_to"].filter(lost).str.replace(_REAL_NAME, "${1}").unique()
    others = [table[name] for name in table.columns[len(COLUMNS) :]]
    found = {
        column.name: float(wanted.is_in(column.cast(pl.String).implode()).to_numpy().mean())
        for column in others
        if not column.dtype.is_nested() and column.n_unique() > _DISTINCT * table.height
    }
    best = max(found, key=lambda name: found[name], default="")
    origin = f"ids come from {taken['id']!r}" if "id" in taken else "no column of ids was found"
    said = f"most replies are to an id that no message has; {origin}"
    if best and found[best] > _MOSTLY:
        notes.advice.append(f'{said}. Try columns={{"id": "{best}"}} (--column id={best})')
    elif "id" not in taken and others:
        names = ", ".join(repr(column.name) for column in others)
        choice = 'columns={"id": "..."} (--column id=...)'
        notes.advice.append(f"{said}. If one of {names} holds the ids, name it: {choice}")


def _parents_first(
    table: pl.DataFrame, parents: NDArray[np.int32], notes: Notes, places: _Places
) -> tuple[pl.DataFrame, NDArray[np.int32]]:
    """Move replies that precede their parents behind them."""
    early = parents > np.arange(len(parents))
    if not early.any():
        return table, parents
    notes.add("reordered", *places.of(early))
    order = parents_first(parents)
    return table[order], moved_parents(parents, order)


def _finish(table: pl.DataFrame, parents: NDArray[np.int32], taken: dict[str, str]) -> Tidy:
    """Write the resolved parents to ``reply_to`` and find the bounds of conversations."""
    table = table.with_columns(reply_to=ids_at(table["id"], parents))
    conversation = table["conversation"]
    changes = np.flatnonzero((conversation != conversation.shift(1)).fill_null(True).to_numpy())
    offsets = np.append(changes, table.height).astype(np.int64)
    return Tidy(table, parents, offsets, taken)
