"""The four-column text format of the M4 author's program."""

from __future__ import annotations

import re

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.source import Source

_LINE = re.compile(r"[ \t]*(-?\d{1,18})[ \t]+(-?\d{1,18})[ \t]+(\S+)(?:[ \t]+(.*))?$")


def looks_like(source: Source) -> bool:
    """Whether lines are two numbers, a name and words, and one of them is a start (-1)."""
    found = [_LINE.match(line) for line in _lines(source.head_text)[:50] if line.strip()]
    starts = [match[2] == "-1" for match in found if match]
    has_words = any(match[4] for match in found if match)
    return len(starts) == len(found) and any(starts) and has_words


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read messages; a conversation is a reply tree, named after the id of its start."""
    rows = Rows(notes)
    for number, line in enumerate(_lines(source.read_text(notes)), 1):
        found = _LINE.match(line)
        if found is None:
            notes.add("bad_line", [f"line {number}"] * bool(line.strip()))
            continue
        words = (found[4] or "").split()
        parent = int(found[2])
        rows.add(
            conversation=None,
            id=str(int(found[1])),
            reply_to=None if parent < 0 else str(parent),
            speaker=None,
            time=None,
            text=" ".join(words),
            name=found[3],
            tokens=words,
            place=number,
        )
    table = rows.table()
    if table["reply_to"].null_count() == table.height:  # no trees: each text stands alone
        table = table.with_columns(pl.col("id").alias("conversation"))
    if "tokens" in table.columns:
        table = table.with_columns(pl.col("tokens").cast(pl.List(pl.String)))
    return table


FORMAT = Format("m4text", "four-column text of the M4 author's program", looks_like, read)
