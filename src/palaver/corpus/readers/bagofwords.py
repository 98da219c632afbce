"""Bags of words in UCI form: docword.X.txt next to vocab.X.txt, optionally compressed."""

from __future__ import annotations

import io
import re

import numpy as np
import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.folders import file_name, sibling
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_HEADER = re.compile(rb"\s*(\d{1,15})\s+(\d{1,15})\s+(\d{1,15})[ \t\r]*(?:\n|$)")
_COLUMNS = ("document", "word", "count")
MANY_EMPTY = 1_000_000  # with more empty documents than this, the header must be wrong


def looks_like(source: Source) -> bool:
    """Whether the name is docword.*, or a folder contains such a file."""
    if source.is_tree:
        return not source.is_archive and bool(_docwords(source))
    return source.name.startswith("docword.")


def _docwords(source: Source) -> list[str]:
    return [name for name in source.names if name.lower().startswith("docword.")]


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read documents; each is a conversation of one message, with its words in no order."""
    if source.is_tree:
        names = _docwords(source)
        if len(names) != 1 or source.is_archive:
            raise FormatError(
                f"{source}: name one docword file; the folder contains {', '.join(names) or 'none'}"
            )
        source = Source(source.path / names[0], source.max_bytes)
    data = source.read_bytes()
    n_documents, n_words, n_counts, end = read_header(data, source)
    words = read_vocabulary(source, n_words, notes)
    labels = _companion(source, "labels", notes)
    if labels is not None:
        name = _companion_name(source, "labels")
        _check_length(labels, n_documents, name, source, "documents", 1)
    counts = _read_counts(data[end:], source)
    _check_counts(counts, n_documents, n_words, n_counts, source)
    return _table(counts, n_documents, words, labels, source)


def read_header(data: bytes, source: Source) -> tuple[int, int, int, int]:
    """Return the numbers of documents, words and counts, and the offset of the counts."""
    header = _HEADER.match(data)
    if header is None:
        raise FormatError(
            f"{source}: the first three lines must be the numbers of documents, words and "
            "non-zero counts"
        )
    n_documents, n_words, n_counts = map(int, header.groups())
    return n_documents, n_words, n_counts, header.end()


def read_vocabulary(source: Source, n_words: int, notes: Notes | None = None) -> pl.Series:
    """Return the words in the vocabulary next to a docword file, one per line."""
    words = _companion(source, "vocab", notes)
    if words is None:
        raise FormatError(
            f"{source}: there is no {_companion_name(source, 'vocab')} next to it, "
            "with one word per line"
        )
    _check_length(words, n_words, _companion_name(source, "vocab"), source, "words", 2)
    return words


def _companion_name(source: Source, kind: str) -> str:
    return kind + file_name(source)[len("docword") :]


def _companion(source: Source, kind: str, notes: Notes | None) -> pl.Series | None:
    """Return the lines of vocab.X.txt or labels.X.txt, or None if there is no such file."""
    file = sibling(source, _companion_name(source, kind))
    if file is None:
        return None
    text = file.read_text(notes).removeprefix("\ufeff").rstrip("\n")
    return pl.Series(kind, text.split("\n") if text else [], dtype=pl.String)


def _check_length(
    lines: pl.Series, expected: int, name: str, source: Source, what: str, line: int
) -> None:
    if len(lines) != expected:
        raise FormatError(
            f"{source}, line {line}: the header says {expected:,} {what}, "
            f"but {name} has {len(lines):,} lines"
        )


def _read_counts(data: bytes, source: Source) -> pl.DataFrame:
    """Parse the lines below the header in compiled code."""
    if not data.strip():
        return pl.DataFrame(schema=dict.fromkeys(_COLUMNS, pl.Int64))
    for tidy in (False, True):  # blanks elsewhere are legal, but cost a second copy
        if tidy:
            data = re.sub(rb"[ \t\r]*\n\s*", b"\n", re.sub(rb"[ \t]+", b" ", data.strip()))
        try:
            return pl.read_csv(
                io.BytesIO(data),
                separator=" ",
                has_header=False,
                schema=dict.fromkeys(_COLUMNS, pl.Int64),
            )
        except (pl.exceptions.PolarsError, ValueError):
            continue
    raise FormatError(f"{source}, line {_bad_line(data)}: not three whole numbers")


def _bad_line(data: bytes) -> int:
    """Return the number of the first line that is not three whole numbers."""
    line = re.compile(rb"\s*-?\d{1,18}[ \t]+-?\d{1,18}[ \t]+-?\d{1,18}\s*")
    for number, text in enumerate(data.split(b"\n"), 4):
        if text.strip() and not line.fullmatch(text):
            return number
    return 4


def _check_counts(
    counts: pl.DataFrame, n_documents: int, n_words: int, n_counts: int, source: Source
) -> None:
    for name, limit in (("document", n_documents), ("word", n_words)):
        wrong = ~pl.col(name).is_between(1, limit)
        _refuse(counts, wrong, f"the number of the {name} is not in 1..{limit:,}", source)
    _refuse(counts, ~(pl.col("count") >= 1), "the count is not positive", source)
    if counts.height != n_counts:
        raise FormatError(
            f"{source}, line 3: the header says {n_counts:,} counts, but {counts.height:,} follow; "
            "the file is truncated or was edited by hand"
        )
    if n_documents > MANY_EMPTY + 10 * n_counts:
        raise FormatError(
            f"{source}, line 1: {n_documents:,} documents cannot be right for {n_counts:,} counts"
        )


def _refuse(counts: pl.DataFrame, wrong: pl.Expr, words: str, source: Source) -> None:
    rows = counts.select(wrong.fill_null(True).arg_true()).to_series()
    if len(rows):
        raise FormatError(f"{source}, line {rows[0] + 4}: {words}")


def _table(
    counts: pl.DataFrame,
    n_documents: int,
    words: pl.Series,
    labels: pl.Series | None,
    source: Source,
) -> pl.DataFrame:
    """Repeat each word as often as it was counted, including documents without words."""
    lengths = words.str.len_bytes().to_numpy().astype(np.float64) + 1
    size = np.dot(lengths[counts["word"].to_numpy() - 1], counts["count"].to_numpy())
    if size > source.max_bytes:
        raise FormatError(
            f"{source}: the counts expand to {size:,.0f} bytes of text, more than "
            f"{source.max_bytes:,}; if that is right, raise max_bytes"
        )
    rows = np.repeat(np.arange(counts.height), counts["count"].to_numpy())
    tokens = (
        pl.DataFrame(
            {
                "document": counts["document"].gather(rows),
                "tokens": words.gather(counts["word"].gather(rows) - 1),
            }
        )
        .group_by("document")
        .agg("tokens")
    )
    documents = pl.DataFrame({"document": np.arange(1, n_documents + 1)})
    table = documents.join(tokens, on="document", how="left", maintain_order="left")
    name = pl.col("document").cast(pl.String)
    known = [] if labels is None else [labels.alias("label")]
    return table.select(
        name.alias("conversation"),
        name.alias("id"),
        pl.col("tokens").fill_null([]).list.join(" ").alias("text"),
        pl.col("tokens").fill_null([]),
        *known,
        pl.format("document {}", "document").alias("place"),
    )


FORMAT = Format("bagofwords", "bag of words in UCI form (docword, vocab)", looks_like, read)
