"""Messages in the order of time, for exports that begin with the newest, or have no order."""

from __future__ import annotations

import polars as pl

from palaver.corpus.times import parse_times

_TIME = "\0time"


def by_time(table: pl.DataFrame) -> pl.DataFrame:
    """Return the messages in the order of time; those without one come last, in their order."""
    if "time" not in table.columns or not table.height:
        return table
    times = parse_times(table["time"]).alias(_TIME)
    return table.with_columns(times).sort(_TIME, nulls_last=True, maintain_order=True).drop(_TIME)


def without_absent(table: pl.DataFrame, starts: str = "") -> pl.DataFrame:
    """Turn replies to messages that are not in the file into starts.

    Parts of a forum lack what was written elsewhere, so that these are no errors. ``starts`` limits
    this to ids that start so.
    """
    if "reply_to" not in table.columns or not table.height:
        return table
    absent = ~pl.col("reply_to").is_in(table["id"].implode()) & pl.col("reply_to").str.starts_with(
        starts
    )
    return table.with_columns(pl.when(~absent.fill_null(False)).then("reply_to").alias("reply_to"))
