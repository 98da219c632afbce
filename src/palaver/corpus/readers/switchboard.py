"""Dialogue act corpora: Switchboard's CSV files, and `speaker|text|act` text files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows, empty_table
from palaver.corpus.readers.folders import peek, stem, texts
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_NEEDED = ("conversation_no", "act_tag", "caller", "text")
_HEADER = re.compile(r"[\ufeff\"]*swda_filename\b.*\bact_tag\b")
_TRANSCRIPT = re.compile(r"(?:.*/)?sw_\d+_\d+\.utt\.csv$")
_FINER = ("act_general", "act_full")

# The 42 classes of Jurafsky, Shriberg & Biasca (1997): tags that share a class
_GROUPS = (("oo", "co", "cc"), ("aap", "am"), ("arp", "nd"), ("fo", "o", "fw", '"', "by", "bc"))
_CLASSES = {tag: "_".join(group) for group in _GROUPS for tag in group}
_CLASSES |= {"qr": "qy", "fe": "ba", "fx": "sv", "nn^e": "ng", "ny^e": "na"}
_WHOLE_TAGS = {"qy^d", "qw^d", "b^m", "nn^e", "ny^e"}  # classes that keep the part after "^"

_COMMENTS = re.compile(r"\*+\[\[.*?(?:\]\]|$)|<{1,3}[^<>]*>{1,3}")
_MARKS = re.compile(
    r"\{[A-Z](?![A-Za-z])|[\[\]{}#]|\(\(|\)\)|(?<!\w)[/+]+|[/+]+(?!\w)|(?<!\w)-+(?!\w)"
)
_BEFORE_MARK = re.compile(r"\s+(?=[,.?!;:])")


def looks_like(source: Source) -> bool:
    """Whether this is, or a folder contains, a Switchboard CSV file or `speaker|text|act` lines."""
    if not source.is_tree:
        named_table = source.suffix in (".csv", ".tsv")
        return _is_csv(source.head_text) or (not named_table and _is_bars(source.head_text))
    if any(_TRANSCRIPT.match(name) for name in source.names):
        return True
    plain = [name for name in source.names if name.lower().endswith(".txt")]
    return any(_is_bars(peek(source, name)) for name in plain[:5])


def _is_csv(text: str) -> bool:
    return _HEADER.match(text.partition("\n")[0]) is not None


def _is_bars(text: str) -> bool:
    """Whether all of the first lines have three or five fields, of which the last are labels."""
    lines = [line.strip() for line in text.split("\n")[:50] if line.strip()]
    fields = [line.split("|") for line in lines]
    if {len(parts) for parts in fields} not in ({3}, {5}):
        return False
    return all(
        0 < len(speaker) <= 40 and not any(" " in act.strip() for act in acts)
        for speaker, _, *acts in fields
    )


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read units, and join those that continue an earlier unit of the same speaker ('+')."""
    rows = Rows(notes)
    found = False
    for name, text in texts(source, notes, lambda name: name.endswith((".csv", ".txt"))):
        if _is_csv(text):
            found = True
            _read_csv(text, name, rows, notes)
        elif "|" in text.partition("\n")[0] or not source.is_tree:
            _read_bars(text, name, rows, notes)
        # otherwise a table of metadata, a text without acts or the like
    if not rows and not found:
        raise FormatError(
            f"{source}: neither a CSV file with the columns {', '.join(_NEEDED)} nor lines of "
            "speaker|text|act"
        )
    return _join_continuations(rows.table(), notes) if rows else empty_table()


def _read_csv(text: str, name: str, rows: Rows, notes: Notes) -> None:
    header, *_ = csv.reader(io.StringIO(text.partition("\n")[0]))
    if not set(_NEEDED) <= set(header):
        notes.add("bad_file", [name])
        return
    for number, unit in _csv_rows(text, name, header, notes):
        conversation = f"sw{unit['conversation_no']}"
        index = unit.get("transcript_index") or str(number - 1)
        raw = unit["act_tag"].strip()
        rows.add(
            conversation=conversation,
            id=f"{conversation}.{index}",
            reply_to=None,
            speaker=unit["caller"],
            time=None,
            text=clean_text(unit["text"]),
            act=None if raw.startswith("+") else act_class(raw),
            raw_act=raw,
            raw_text=unit["text"].strip(),
            turn=unit.get("utterance_index"),
            place=f"{name} row {number}",
        )


def _csv_rows(
    text: str, name: str, header: list[str], notes: Notes
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows below the header by column; count rows of the wrong length."""
    reader = csv.reader(io.StringIO(text, newline=""))
    number = -1
    try:
        for number, row in enumerate(reader):
            if number == 0 or not row or row == header:  # concatenated files repeat the header
                continue
            if len(row) == len(header):
                yield number, dict(zip(header, row, strict=True))
            else:
                notes.add("bad_line", [f"{name} row {number}"])
    except csv.Error:  # a field that never ends
        notes.add("truncated", [f"{name} row {number + 1}"])


def _read_bars(text: str, name: str, rows: Rows, notes: Notes) -> None:
    """Read `speaker|text|act` (SwDA) or `speaker|text|basic|general|full` (MRDA) lines."""
    conversation = stem(name, ".txt")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        speaker, *middle = line.split("|")
        if number == 1 and speaker.strip().lower() == "speaker":
            continue  # a header
        if len(middle) not in (2, 4):
            notes.add("bad_line", [f"{name} line {number}"])
            continue
        words, raw, *finer = (field.strip() for field in middle)
        rows.add(
            conversation=conversation,
            id=f"{conversation}.{number}",
            reply_to=None,
            speaker=speaker.strip(),
            time=None,
            text=words,
            act=None if raw.startswith("+") else raw or None,
            raw_act=raw,
            place=f"{name} line {number}",
            **dict(zip(_FINER, finer, strict=False)),
        )


def act_class(tag: str) -> str | None:
    """Return the class, one of 42, of an annotated tag; of several tags, the first counts.

    Examples
    --------
    >>> act_class("sd^e"), act_class("qy^d"), act_class("o@"), act_class("sv,sd")
    ('sd', 'qy^d', 'fo_o_fw_"_by_bc', 'sv')
    """
    first = re.split(r"\s*[,;]\s*", tag)[0]
    if first not in _WHOLE_TAGS:
        first = re.sub(r"(?<=.)\^.*", "", first)  # a leading "^" belongs to the class: ^q, ^2
        first = re.sub(r"[()@*]", "", first)
    return _CLASSES.get(first, first) or None


def clean_text(text: str) -> str:
    """Return the words of a unit, without marks of disfluency, noise or comments.

    Examples
    --------
    >>> clean_text("{F Uh, } [ I, + I ] think so <laughter>. -/")
    'Uh, I, I think so.'
    """
    words = " ".join(_MARKS.sub(" ", _COMMENTS.sub(" ", text)).split())
    return _BEFORE_MARK.sub("", words) if re.search(r"\w", words) else ""


def _join_continuations(table: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Join each unit tagged '+' to the same speaker's previous unit."""
    speaker = ["conversation", "speaker"]
    starts = ~pl.col("raw_act").str.starts_with("+")
    table = table.with_columns(starts.cum_sum().over(speaker).alias("unit"), starts.alias("starts"))
    joined = table.filter(~pl.col("starts") & (pl.col("unit") > 0))
    notes.add("continuation", joined["place"].head(10).to_list(), joined.height)
    words = [name for name in ("text", "raw_text") if name in table.columns]
    others = pl.exclude("conversation", "speaker", "unit", "starts", *words)
    # units before a speaker's first complete one have nothing to join, and stay separate
    alone = pl.when(pl.col("unit") == 0).then(pl.int_range(pl.len())).alias("alone")
    return (
        table.with_columns(alone)
        .group_by("conversation", "speaker", "unit", "alone", maintain_order=True)
        .agg(others.first(), *(_joined_words(name) for name in words))
        .drop("unit", "alone")
    )


def _joined_words(name: str) -> pl.Expr:
    column = pl.col(name)
    return column.filter(column != "").str.join(" ").alias(name)


FORMAT = Format(
    "switchboard",
    "Switchboard dialogue acts (csv), or speaker|text|act lines",
    looks_like,
    read,
)
