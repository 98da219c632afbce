"""Reddit dumps (Pushshift, Arctic Shift): comments and submissions, one JSON object per line.

A submission starts its conversation (``link_id``); its text is the title followed by the text
below. Ids are Reddit's full names: ``t1_`` for comments, ``t3_`` for submissions.
"""

from __future__ import annotations

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows, empty_table
from palaver.corpus.readers.records import as_word, object_of
from palaver.corpus.readers.source import Source

_FIELDS = (
    "id", "author", "body", "title", "selftext", "created_utc", "link_id", "parent_id",
    "subreddit", "score",
)  # fmt: skip
_GONE = ("[deleted]", "[removed]", "[ Removed by Reddit ]", "[deleted by user]")


def looks_like(source: Source) -> bool:
    """Whether one of the first lines is a comment or a submission."""
    for line in source.head_text.lstrip("\ufeff").split("\n", 5)[:5]:
        if all(f'"{key}"' in line for key in ("subreddit", "author")) and (
            '"link_id"' in line or '"selftext"' in line
        ):
            return line.lstrip().startswith("{")
    return False


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read a block of lines at a time, in compiled code if the lines are clean."""
    tables, line = [], 1
    for block in source.blocks():
        tables.append(_messages(_read_block(block, line, notes), notes))
        line += block.count(b"\n")
    tables = [table for table in tables if table.height]
    if not tables:
        return empty_table()
    table = pl.concat(tables, how="vertical", rechunk=False)
    posts = table["id"].filter(table["id"].str.starts_with("t3_")).implode()
    # dumps of comments lack submissions, so replies to these are not errors
    to_absent = pl.col("reply_to").str.starts_with("t3_") & ~pl.col("reply_to").is_in(posts)
    return table.with_columns(pl.when(~to_absent).then("reply_to").alias("reply_to"))


def _read_block(block: bytes, first_line: int, notes: Notes) -> pl.DataFrame:
    """Read the fields as strings; line by line only if polars rejects the block."""
    if first_line == 1:
        block = block.removeprefix(b"\xef\xbb\xbf")
    if not block.startswith(b"{"):  # polars would unpack what looks compressed, without any limit
        return _read_lines(block, first_line, notes)
    try:
        table = pl.read_ndjson(block, schema=dict.fromkeys(_FIELDS, pl.String))
    except (pl.exceptions.PolarsError, ValueError, OSError):
        return _read_lines(block, first_line, notes)
    if table.height != block.count(b"\n") + (not block.endswith(b"\n")):
        return _read_lines(block, first_line, notes)  # blank lines, so line numbers would be wrong
    return table.with_columns(pl.int_range(first_line, first_line + pl.len()).alias("place"))


def _read_lines(block: bytes, first_line: int, notes: Notes) -> pl.DataFrame:
    """Read line by line; count and skip lines that are not JSON objects."""
    rows = Rows(notes)
    for number, line in enumerate(block.split(b"\n"), first_line):
        record = object_of(line, notes, f"line {number}")
        if record is not None:
            rows.add(place=number, **{name: as_word(record.get(name)) for name in _FIELDS})
    table = rows.table() if len(rows) else pl.DataFrame(schema=[*_FIELDS, "place"])
    return table.select(pl.col(*_FIELDS).cast(pl.String), pl.col("place").cast(pl.Int64))


def _messages(table: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Turn comments and submissions into messages; count records that are neither."""
    known = pl.any_horizontal(pl.col("body", "title", "selftext").is_not_null())
    lost = table.filter(~known)["place"]
    notes.add("bad_line", [f"line {number}" for number in lost.head(10)], lost.len())
    is_post = pl.col("body").is_null()
    parts = [_shown(name).fill_null("") for name in ("title", "selftext")]
    post = pl.concat_str(parts, separator="\n\n").str.strip_chars("\n")
    identity = _full_name(
        pl.col("id"), pl.when(is_post).then(pl.lit("t3_")).otherwise(pl.lit("t1_"))
    )
    return table.filter(known).select(
        conversation=pl.when(is_post)
        .then(identity)
        .otherwise(_full_name(pl.col("link_id"), "t3_")),
        id=identity,
        reply_to=pl.when(~is_post).then(_full_name(pl.col("parent_id"), "t1_")),
        speaker=_shown("author"),
        time="created_utc",
        text=pl.when(is_post).then(post).otherwise(_shown("body")),
        subreddit="subreddit",
        score=pl.col("score").cast(pl.Int64, strict=False),
        place="place",
    )


def _full_name(name: pl.Expr, prefix: pl.Expr | str) -> pl.Expr:
    """Prefix an id with its kind if it lacks it."""
    kind = pl.lit(prefix) if isinstance(prefix, str) else prefix
    return pl.when(name.str.contains("^t[0-9]_")).then(name).otherwise(pl.concat_str(kind, name))


def _shown(name: str) -> pl.Expr:
    """Return a text as people saw it; null if it was deleted."""
    text = pl.col(name)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.str.replace_all(entity, character, literal=True)
    return pl.when(~text.is_in(_GONE)).then(text)


FORMAT = Format("reddit", "Reddit comments and submissions, JSON lines", looks_like, read)
