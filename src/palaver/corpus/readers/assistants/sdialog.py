"""Dialogues of SDialog: a JSON object with turns, an array or lines of these, or a folder."""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.folders import stem
from palaver.corpus.readers.records import as_dict, as_list, as_word, json_records
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source

_KEYS = frozenset(("turns.speaker", "turns.text"))


def looks_like(source: Source) -> bool:
    """Whether there are turns with speakers and texts."""
    if source.is_tree:
        files = [name for name in source.names if name.lower().endswith(".json")]
        return any(shape(source, name) >= _KEYS for name in files[:3])
    return shape(source) >= _KEYS


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all dialogues; each turn answers the one before it."""
    rows = Rows(notes)
    seen: set[str] = set()
    for place, value in json_records(source, notes):
        record = as_dict(value)
        if not isinstance(record.get("turns"), list):
            notes.add("bad_line", [place])
            continue
        name = as_word(record.get("id")) or stem(place.partition(" record")[0])
        if name in seen:
            name = f"{name} ({place})"
        seen.add(name)
        _add(rows, record, name, place, notes)
    return rows.table()


def _add(rows: Rows, record: dict[str, Any], name: str, place: str, notes: Notes) -> None:
    before = None
    for number, item in enumerate(as_list(record.get("turns")), 1):
        turn = as_dict(item)
        if not turn:
            notes.add("bad_line", [f"{place} turn {number}"])
            continue
        rows.add(
            conversation=name,
            id=str(number),
            reply_to=before,
            speaker=as_word(turn.get("speaker")),
            time=None,
            text=as_word(turn.get("text")) or "",
            model=as_word(record.get("model")),
            complete=record.get("complete") if isinstance(record.get("complete"), bool) else None,
            place=f"{place} turn {number}",
        )
        before = str(number)


FORMAT = Format("sdialog", "dialogues of SDialog, JSON", looks_like, read)
