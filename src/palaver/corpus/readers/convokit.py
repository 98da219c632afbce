"""ConvoKit corpora: a folder (or zip) of utterances, with data on conversations and speakers.

Fields of an utterance's ``meta`` become columns under their own names (``meta_<field>`` if
the name is taken), those of conversations and speakers as ``conversation_<field>`` and
``speaker_<field>``. Pickled fields are never opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import COLUMNS, Format, Rows, parse_json
from palaver.corpus.readers.records import as_dict, as_word, object_of, stream_items
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_UTTERANCES = ("utterances.jsonl", "utterances.json")
_OWNERS = {
    "conversation": ("conversations.json",),
    "speaker": ("speakers.json", "users.json"),
}
_PICKLED = "<##bin{"  # ConvoKit's placeholder for a pickled value
_MAX_FIELDS = 200  # further fields share one column, to avoid a table of n x n cells


def looks_like(source: Source) -> bool:
    """Whether the folder, the archive or its only top folder contains a file of utterances."""
    return source.name in _UTTERANCES or _find(source, _UTTERANCES) is not None


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the utterances and join the data about them from the other files."""
    name = _find(source, _UTTERANCES)
    if name is None and source.is_tree:
        raise FormatError(f"{source}: contains no utterances.jsonl or utterances.json")
    rows = Rows(notes)
    fields = _Fields("", (*COLUMNS, "place", "self"))  # "self" cannot be a keyword of add
    for place, record in _records(source, name, notes):
        _add(rows, record, place, fields)
    table = rows.table()
    if name is None or not len(rows):
        return table
    folder = name.rpartition("/")[0]
    siblings = [other for other in source.names if other.rpartition("/")[0] == folder]
    notes.add("pickle_skipped", [n for n in siblings if n.endswith(("-bin.p", ".pkl"))])
    table = table.with_columns(pl.col("id", "conversation", "speaker").cast(pl.String))
    for owner, files in _OWNERS.items():
        found = next((n for n in siblings if n.rpartition("/")[2] in files), None)
        if found is not None:
            table = _join_owners(table, owner, source, found, notes)
    for other in siblings:
        start, _, field = other.rpartition("/")[2].removesuffix(".jsonl").partition(".")
        if start == "info" and field and other.endswith(".jsonl"):
            table = _join_info(table, field, source, other, notes)
    return table


def _find(source: Source, files: tuple[str, ...]) -> str | None:
    """Return the name of a file at the top level or in a top folder."""
    found = [n for n in source.names if n.count("/") < 2 and n.rpartition("/")[2] in files]
    return min(found, key=lambda n: (n.count("/"), not n.endswith("jsonl"), n), default=None)


def _records(
    source: Source, name: str | None, notes: Notes
) -> Iterator[tuple[int | str, dict[str, Any]]]:
    """Yield the records of a file of JSON lines, or of a legacy file, which is one array."""
    label = name or source.path.name
    with source.open(name) as stream:
        if stream.peek(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            for number, item in enumerate(stream_items(stream, notes, label), 1):
                place = f"{label} record {number}"
                if isinstance(item, dict):
                    yield place, item
                else:
                    notes.add("bad_line", [place])
            return
        for number, line in enumerate(stream, 1):
            record = object_of(line, notes, f"{label} line {number}")
            if record is not None:
                yield number, record


class _Fields:
    """The columns for the fields of ``meta``, named as they appear."""

    def __init__(self, prefix: str, taken: Iterable[str]) -> None:
        self._prefix, self._taken = prefix, set(taken)
        self._columns: dict[str, str] = {}
        self._rest: str | None = None  # the column for all fields beyond the first 200

    def columns(self, meta: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a record under the names of their columns."""
        values: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for field, value in meta.items():
            if field not in self._columns and len(self._columns) < _MAX_FIELDS:
                self._columns[field] = self._new(self._prefix + (field or "meta"))
            is_pickled = isinstance(value, str) and value.startswith(_PICKLED)
            target = values if field in self._columns else rest
            target[self._columns.get(field, field)] = None if is_pickled else value
        if rest:
            self._rest = self._rest or self._new(f"{self._prefix}meta")
            values[self._rest] = rest
        return values

    def _new(self, name: str) -> str:
        name = _free_name(name, "meta", self._taken)
        self._taken.add(name)
        return name


def _add(rows: Rows, record: dict[str, Any], place: int | str, fields: _Fields) -> None:
    """Add an utterance, with current keys or those of early versions."""
    rows.add(
        conversation=as_word(record.get("conversation_id", record.get("root"))),
        id=as_word(record.get("id")),
        reply_to=as_word(record.get("reply_to", record.get("reply-to"))),
        speaker=as_word(record.get("speaker", record.get("user"))),
        time=record.get("timestamp"),
        text=as_word(record.get("text")),
        place=place,
        **fields.columns(as_dict(record.get("meta"))),
    )


def _join_owners(
    table: pl.DataFrame, owner: str, source: Source, name: str, notes: Notes
) -> pl.DataFrame:
    """Join the fields of conversations or speakers, which older files store without ``meta``."""
    try:
        owners = as_dict(parse_json(source.read_text(notes, name), name))
    except FormatError:
        notes.add("bad_file", [name])
        return table
    rows = Rows(notes)
    fields = _Fields(f"{owner}_", table.columns)
    for key, value in owners.items():
        record = as_dict(value)
        meta = as_dict(record.get("meta", record))
        columns = fields.columns({k: v for k, v in meta.items() if k != "vectors"})
        if columns:
            rows.add(**{owner: key, **columns})
    return _join(table, rows.table(), owner) if len(rows) else table


def _join_info(
    table: pl.DataFrame, field: str, source: Source, name: str, notes: Notes
) -> pl.DataFrame:
    """Join a field stored in a separate file; its ids show what it belongs to."""
    rows = Rows(notes)
    try:
        for _, record in _records(source, name, notes):
            rows.add(key=as_word(record.get("id")), value=record.get("value"))
    except FormatError:
        notes.add("bad_file", [name])
    values = rows.table()
    for column, prefix in (("id", ""), ("conversation", "conversation_"), ("speaker", "speaker_")):
        if len(rows) and values["key"].cast(pl.String).is_in(table[column].implode()).any():
            label = _free_name(prefix + field, "info", set(table.columns))
            return _join(table, values.rename({"key": column, "value": label}), column)
    notes.add("bad_file", [f"{name}: its ids belong to no utterance, conversation or speaker"])
    return table


def _join(table: pl.DataFrame, values: pl.DataFrame, key: str) -> pl.DataFrame:
    """Add columns by a key; of duplicate keys, the first counts."""
    values = values.with_columns(pl.col(key).cast(pl.String)).unique(subset=key, keep="first")
    return table.join(values, on=key, how="left", maintain_order="left")


def _free_name(name: str, prefix: str, taken: set[str]) -> str:
    """Return the name without surrogates, prefixed as often as needed to be unique."""
    name = name.encode("utf-8", "replace").decode("utf-8")
    while name in taken:
        name = f"{prefix}_{name}"
    return name


FORMAT = Format("convokit", "ConvoKit corpus, a folder or zip", looks_like, read)
