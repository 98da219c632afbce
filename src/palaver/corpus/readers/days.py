"""Channels without threads: messages linked by replies form a conversation, all others a day."""

from __future__ import annotations

import polars as pl

from palaver.corpus.readers.base import Rows


def by_replies_and_days(table: pl.DataFrame, notices: Rows) -> pl.DataFrame:
    """Name the conversations that do not follow from replies; replies to notices are starts.

    Parameters
    ----------
    table : DataFrame
        With the columns ``channel_id``, ``day``, and ``is_thread``, true where a channel is one
        conversation; these are dropped.
    notices : Rows
        The ``id`` of everything that was left out.
    """
    if "channel_id" not in table.columns:
        return table
    table = table.with_columns(pl.col("id", "reply_to", "day").cast(pl.String))
    noticed = notices.table()["id"].cast(pl.String)
    to_notice = pl.col("reply_to").is_in(noticed.implode()).fill_null(False)
    table = table.with_columns(pl.when(~to_notice).then("reply_to").alias("reply_to"))
    is_answered = pl.col("id").is_in(table["reply_to"].unique().implode())
    alone = pl.col("reply_to").is_null() & ~is_answered.fill_null(False)
    day = pl.concat_str("channel_id", pl.lit("/"), pl.col("day").str.head(10))
    conversation = (
        pl.when("is_thread").then("channel_id")
        .when(alone).then(pl.coalesce(day, "channel_id"))
    )  # fmt: skip
    return table.with_columns(conversation.alias("conversation")).drop(
        "channel_id", "is_thread", "day"
    )
