"""Meetings and telephone calls for taggers, in the conventions that the page compares."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import polars as pl

import palaver as pv
from palaver.corpus.table import Corpus

#: words: without punctuation, as in the data; marks: with the transcribers' "==" (broken off) and
#: "-" (a break), without full stops, question marks or exclamation marks; pauses: words, preceded
#: by a token for the time until the speaker continues, which needs a recording but no transcriber.
Convention = Literal["words", "marks", "pauses"]

#: Ji & Bilmes's letters for MRDA's.
LETTERS = {"S": "s", "Q": "q", "B": "b", "F": "h", "D": "x"}
_DROPPED = [".", "?", "!", "|", "@@"]
#: Limits of the pauses in seconds; negative if the next sentence begins before this one ends.
_PAUSES = [-0.5, 0.05, 0.3, 1.0, 3.0, 10.0, 30.0]


@cache
def _mrda(data: Path) -> pl.DataFrame:
    table = pv.read(data / "mrda" / "mrda.jsonl.gz").table
    words = pl.col("text").str.replace_all(r"[{}@]", "").str.split(" ")
    marks = pl.col("transcript").str.replace_all(r"\?==", "==").str.split(" ")
    return (
        table.with_columns(
            words.list.eval(pl.element().filter(pl.element() != "")).alias("words"),
            marks.list.eval(
                pl.element().filter((pl.element() != "") & ~pl.element().is_in(_DROPPED))
            ).alias("marks"),
            pl.col("act").replace_strict(LETTERS, default=None),
        )
        .drop_nulls("act")
        .filter(pl.col("words").list.len() > 0)
        .with_columns(pl.concat_list(_pause(), "words").alias("pauses"))
    )


def _pause() -> pl.Expr:
    """Return a token for the time between a sentence and the same speaker's next one."""
    begin = pl.col("time").dt.timestamp("us") / 1e6
    pause = begin.shift(-1).over("conversation", "speaker") - pl.col("end")
    number = pl.sum_horizontal(pause > limit for limit in _PAUSES)
    named = pl.format("<pause {}>", number)
    return pl.when(pause.is_null()).then(pl.lit("<pause, the last>")).otherwise(named)


def meetings(data: Path, convention: Convention, part: str) -> Corpus:
    """Return MRDA's meetings of a split; rows without a tag or words are left out."""
    table = _mrda(data).filter(pl.col("split") == part)
    columns = ["conversation", "id", "speaker", "text", "act"]
    return Corpus.from_polars(table.select(*columns, pl.col(convention).alias("tokens")))


#: Main tags of MRDA by their first letter; "z" (not labelled) is left out.
_MAIN = {"s": "s", "b": "b", "f": "h", "h": "h", "q": "q", "%": "x", "x": "x"}


@cache
def by_main_tags(data: Path) -> pl.DataFrame:
    """Return MRDA by main tags: sentences are split where their label has a ``|``.

    A label is ``main^special.disruption``, and a transcript has a ``|`` for each of its label's. A
    sentence is a disruption (x) only if it has no other main tag.
    """
    table = pv.read(data / "mrda" / "mrda.jsonl.gz").table.drop_nulls("raw_act")
    columns = ["conversation", "id", "speaker", "split"]
    texts = pl.col("transcript").str.split("|").alias("part")
    rows = table.select(*columns, pl.col("raw_act").str.split("|").alias("label"), texts)
    rows = rows.filter(pl.col("label").list.len() == pl.col("part").list.len())
    rows = rows.explode("label", "part").with_row_index("number")
    tokens = pl.col("part").str.to_lowercase().str.replace_all(r"\?==", "==").str.split(" ")
    return (
        rows.with_columns(
            pl.format("{}/{}", "id", "number").alias("id"),
            pl.col("label").str.slice(0, 1).replace_strict(_MAIN, default=None).alias("act"),
            pl.col("part").alias("text"),
            tokens.list.eval(pl.element().filter(pl.element().str.contains(r"[\p{L}\p{N}]"))).alias(
                "words"
            ),
            tokens.list.eval(
                pl.element().filter((pl.element() != "") & ~pl.element().is_in(_DROPPED))
            ).alias("marks"),
        )
        .drop_nulls("act")
        .filter(pl.col("words").list.len() > 0)
    )


def meetings_by_main_tags(data: Path, convention: Convention, part: str) -> Corpus:
    """Return MRDA's meetings of a split, by main tags."""
    table = by_main_tags(data).filter(pl.col("split") == part)
    columns = ["conversation", "id", "speaker", "text", "act"]
    return Corpus.from_polars(table.select(*columns, pl.col(convention).alias("tokens")))


@cache
def calls(data: Path, part: str) -> Corpus:
    """Return Switchboard's calls of a split: 42 tags, rows with + or @ left out."""
    table = pv.read(data / "swda" / "swda-full.jsonl.gz").table
    kept = (pl.col("split") == part) & ~pl.col("raw_act").str.contains(r"^\+|@")
    table = table.filter(kept.fill_null(False)).drop_nulls("act")
    return Corpus.from_polars(table.select("conversation", "id", "speaker", "text", "act"))
