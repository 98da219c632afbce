"""Writing a corpus as JSON lines, Parquet, CSV or CoNLL, by suffix, or as a ConvoKit folder.

What survives when the file is read again:

- Parquet: everything, with its type.
- JSON lines: strings, whole and real numbers, booleans and lists of them. NaN and infinity
  become null, dates and durations text, objects JSON text; a column of nulls comes back as
  strings.
- CSV: strings, numbers and booleans; lists become JSON text. CSV has no types: a column of
  strings that all look like numbers comes back as numbers (never one of our six).
- CoNLL: only words and the lists that go with them (tags, states), separated by tabs.
- ConvoKit: as JSON lines, but a message without a speaker gets the speaker ``unknown``, and
  if two conversations use the same id, ids become ``conversation/id``.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import polars as pl
import zstandard

from palaver.corpus.readers.base import COLUMNS
from palaver.corpus.values import json_text
from palaver.errors import CorpusError, FormatError, StoreError
from palaver.store.atomic import replace_file, replace_folder

#: Speaker of messages without one, since ConvoKit requires a speaker.
UNKNOWN_SPEAKER = "unknown"

_ROWS_AT_A_TIME = 20_000
_COMPRESSIONS = (".gz", ".zst")
_CONVOKIT_FILES = (
    "utterances.jsonl", "speakers.json", "conversations.json", "corpus.json", "index.json",
)  # fmt: skip
_CHOICES = (
    ".jsonl or .ndjson, .csv or .tsv, .conll (each also with .gz or .zst), .parquet, "
    "or a name without a suffix for a ConvoKit folder"
)
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%S%.fZ"
_FORMULA = r"^[=+\-@\t\r]"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before texts and names of columns that spreadsheets take for formulas."""
    texts = pl.col([name for name, dtype in table.schema.items() if dtype == pl.String])
    marked = pl.when(texts.str.contains(_FORMULA)).then(pl.lit("'") + texts).otherwise(texts)
    names = {name: f"'{name}" for name in table.columns if re.match(_FORMULA, name)}
    return table.with_columns(marked.name.keep()).rename(names)


def write(table: pl.DataFrame, path: Path, *, spreadsheet: bool = False) -> Path:
    """Write a tidy table; the file or folder appears complete or not at all.

    Parameters
    ----------
    table : DataFrame
    path : path
        ``.jsonl``, ``.ndjson``, ``.csv``, ``.tsv``, ``.conll`` (each also ``.gz`` or ``.zst``),
        ``.parquet``, or the name of a folder for ConvoKit.
    spreadsheet : bool
        In CSV and TSV, mark texts that a spreadsheet would treat as formulas; reading the file
        again gives other texts.

    Returns
    -------
    path

    Raises
    ------
    FormatError
        The name has another suffix.
    StoreError
        The file cannot be written, or the folder holds something else.
    """
    path = Path(path)
    found = _writer(path)
    if found is None:
        _write_convokit(table, path)
        return path
    writer, compression = found
    _check_types(table, path)
    if spreadsheet and {".csv", ".tsv"} & {suffix.lower() for suffix in path.suffixes}:
        table = without_formulas(table)
    with replace_file(path) as temporary, _naming(path), _opened(temporary, compression) as stream:
        writer(table, stream)
    return path


def check_name(path: Path) -> None:
    """Reject a name that :func:`write` would reject, before there is anything to write.

    Raises
    ------
    FormatError
        The suffix is unknown.
    StoreError
        It is a folder that holds something else, or part of its path is a file.
    """
    if _writer(path) is None:
        _check_folder(path)
    above = next((folder for folder in path.absolute().parents if folder.exists()), None)
    if above is not None and not above.is_dir():
        raise StoreError(f"{path}: cannot be written, because {above} is a file")


def _writer(path: Path) -> tuple[Callable[[pl.DataFrame, IO[bytes]], None], str] | None:
    """Return the writer for a name and its compression; None for a ConvoKit folder."""
    if path.is_dir() or not path.suffix:
        return None
    compression = path.suffix.lower() if path.suffix.lower() in _COMPRESSIONS else ""
    suffix = Path(path.stem).suffix.lower() if compression else path.suffix.lower()
    writer = _WRITERS.get(suffix)
    if writer is None or (compression and suffix == ".parquet"):
        raise FormatError(f"{path}: cannot be written; the name must end in {_CHOICES}")
    return writer, compression


@contextmanager
def _opened(path: Path, compression: str) -> Iterator[IO[bytes]]:
    """Open a file for writing, compressed so that equal data give equal bytes."""
    with path.open("wb") as raw:
        if compression == ".gz":
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        elif compression == ".zst":
            with zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as stream:
                yield stream
        else:
            yield raw


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn errors of polars into ours, with the name of the file."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"{path}: cannot be written ({error})") from error


def _check_types(table: pl.DataFrame, path: Path) -> None:
    for name, dtype in table.schema.items():
        if dtype in (pl.Object, pl.Binary):
            raise CorpusError(
                f"{path}: the column {name!r} holds {str(dtype).lower()} values, which cannot be "
                "written as text; drop it or turn it into strings"
            )


def _slices(table: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, io.BytesIO]]:
    """Yield parts of a table, each with a buffer to write it to, to keep memory small."""
    for part in table.iter_slices(_ROWS_AT_A_TIME):
        yield part, io.BytesIO()


def _write_jsonl(table: pl.DataFrame, stream: IO[bytes]) -> None:
    for part, buffer in _slices(table):
        part.write_ndjson(buffer)
        stream.write(buffer.getbuffer())


def _write_separated(separator: str) -> Callable[[pl.DataFrame, IO[bytes]], None]:
    def write_rows(table: pl.DataFrame, stream: IO[bytes]) -> None:
        """Quote every string, so that empty differs from missing and no text is misread."""
        header = io.StringIO()
        csv.writer(
            header, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n"
        ).writerow(table.columns)
        stream.write(header.getvalue().encode())
        for part, buffer in _slices(table):
            _as_text(part).write_csv(
                buffer, include_header=False, separator=separator, quote_style="non_numeric"
            )
            stream.write(buffer.getbuffer())

    return write_rows


def _as_text(table: pl.DataFrame) -> pl.DataFrame:
    """Turn values that CSV cannot represent into text."""
    spans = [name for name, dtype in table.schema.items() if dtype == pl.Duration]
    nested = [name for name, dtype in table.schema.items() if dtype.is_nested()]
    return table.with_columns(
        pl.col("time").dt.to_string(_TIME_FORMAT),
        pl.col(spans).dt.to_string("iso"),
        *(json_text(table[name]) for name in nested),
    )


def _write_parquet(table: pl.DataFrame, stream: IO[bytes]) -> None:
    table.write_parquet(stream)


def _write_conll(table: pl.DataFrame, stream: IO[bytes]) -> None:
    """Write one word per line with its lists, and a blank line after each message."""
    if table.schema.get("tokens") != pl.List(pl.String):
        raise CorpusError("only tagged sentences can be written as CoNLL: there are no tokens")
    lengths = table["tokens"].list.len()
    names = [
        name
        for name, dtype in table.schema.items()
        if name != "tokens"
        and dtype == pl.List(pl.String)
        and (table[name].list.len() == lengths).all()
    ]
    for part, _ in _slices(table.select("tokens", *names)):
        for row in part.iter_rows():
            words = zip(*row, strict=True)
            lines = ["\t".join(_field(value) for value in word) for word in words]
            stream.write(("\n".join(lines) + "\n\n").encode() if lines else b"")


def _field(value: str | None) -> str:
    """Return a value with nothing that would break its line."""
    return re.sub(r"[\t\r\n]+", " ", value) or "_" if value else "_"


_WRITERS: dict[str, Callable[[pl.DataFrame, IO[bytes]], None]] = {
    ".jsonl": _write_jsonl,
    ".ndjson": _write_jsonl,
    ".csv": _write_separated(","),
    ".tsv": _write_separated("\t"),
    ".conll": _write_conll,
    ".parquet": _write_parquet,
}


def _write_convokit(table: pl.DataFrame, path: Path) -> None:
    """Write a folder that ConvoKit can load."""
    _check_folder(path)
    _check_types(table, path)
    table = _with_unique_ids(table).with_columns(pl.col("speaker").fill_null(UNKNOWN_SPEAKER))
    index = {name: [_class_name(table.schema[name])] for name in table.columns[len(COLUMNS) :]}
    files = {
        "speakers.json": _owners(table["speaker"]),
        "conversations.json": _owners(table["conversation"]),
        "corpus.json": {},
        "index.json": {
            "utterances-index": index,
            "speakers-index": {},
            "conversations-index": {},
            "overall-index": {},
            "version": 1,
            "vectors": [],
        },
    }
    with replace_folder(path) as folder, _naming(path):
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content), encoding="ascii")
        with (folder / "utterances.jsonl").open("wb") as stream:
            _write_utterances(table, stream)


def _owners(names: pl.Series) -> dict[str, dict[str, Any]]:
    """Return an empty entry for each name."""
    return {name: {"meta": {}, "vectors": []} for name in names.unique(maintain_order=True)}


def _check_folder(path: Path) -> None:
    """Refuse to replace anything but an empty folder or an earlier corpus."""
    if path.exists() and not path.is_dir():
        raise StoreError(f"{path}: is a file; for another kind of file, end the name in {_CHOICES}")
    others = (
        [f.name for f in path.iterdir() if f.name not in _CONVOKIT_FILES] if path.exists() else []
    )
    if others:
        raise StoreError(
            f"{path}: the folder contains other files, such as {min(others)!r}; a corpus needs "
            "its own folder, so name a new one"
        )


def _with_unique_ids(table: pl.DataFrame) -> pl.DataFrame:
    """Prefix ids with their conversation if they are unique only within conversations."""
    if table["id"].is_unique().all():
        return table
    conversation = pl.col("conversation").str.replace_all("%", "%25").str.replace_all("/", "%2F")
    return table.with_columns(
        pl.format("{}/{}", conversation, name).alias(name) for name in ("id", "reply_to")
    )


def _write_utterances(table: pl.DataFrame, stream: IO[bytes]) -> None:
    """Write the messages in plain ASCII, because ConvoKit uses the system's encoding."""
    others = table.columns[len(COLUMNS) :]
    meta = pl.struct(others) if others else pl.lit(None)
    micros = pl.col("time").dt.epoch("us")
    seconds = micros // 1_000_000
    if table.select((micros % 1_000_000 != 0).any()).item():
        seconds = seconds + (micros % 1_000_000) / 1e6  # separately: polars divides by multiplying
    utterances = table.select(
        "id",
        pl.col("conversation").alias("conversation_id"),
        "text",
        "speaker",
        meta.alias("meta"),
        pl.col("reply_to").alias("reply-to"),
        seconds.alias("timestamp"),
        pl.lit([], dtype=pl.List(pl.String)).alias("vectors"),
    )
    for part, buffer in _slices(utterances):
        part.write_ndjson(buffer)
        lines = buffer.getvalue().decode()
        if not others:  # polars has no empty objects; no text has this, its quotes are escaped
            lines = lines.replace('"meta":null,', '"meta":{},')
        stream.write(_NOT_ASCII.sub(_escaped, lines).encode("ascii"))


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _class_name(dtype: Any) -> str:
    """Return the name of a field's type in ConvoKit's index."""
    if dtype.is_integer():
        return "<class 'int'>"
    if dtype.is_numeric():
        return "<class 'float'>"
    if dtype == pl.Boolean:
        return "<class 'bool'>"
    return "<class 'list'>" if dtype.is_nested() else "<class 'str'>"
