"""One person or role, and how much everybody talks."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.grouping import NO_GROUP, group_column, is_dated
from palaver.corpus.times import parse_times
from palaver.errors import ParameterError
from palaver.models.views.shares import shares_table
from palaver.questions.answers import pairs
from palaver.questions.talk import Talk

_WORD = r"[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*"
_PARTNERS = 5


def profile(talk: Talk, who: str, by: str = "speaker") -> dict[str, Any]:
    """Return what a person, role or other group does, and how that differs from everybody.

    Parameters
    ----------
    talk : Talk
    who : str
        The name of the person, or a value of the column ``by``.
    by : str
        "speaker", or any column, such as "role".

    Returns
    -------
    dict
        ``who``, ``messages``, ``conversations``, ``words_per_message``, ``first`` and ``last``
        (dates, or None), ``started`` (conversations that they opened), ``acts`` (a table: class,
        name, share, low, high, overall, times), ``answered`` and ``median_wait`` (of their
        messages that open a conversation: how many get an answer, and after how many seconds),
        ``answers`` and ``median_answer`` (how often they give the first answer, and after how
        many seconds), ``helps`` and ``helped_by`` (tables of people; empty for groups).
    """
    column = group_column(talk.corpus, by, "profile")
    if isinstance(column.dtype, pl.List):
        mine = column.list.contains(who).fill_null(False).to_numpy()
    else:
        mine = (column.cast(pl.String) == who).fill_null(False).to_numpy()
    if not mine.any():
        raise ParameterError(f"profile: no message has {by}={who!r}; {_nearest(column, who)}")
    table = talk.corpus.table.filter(pl.Series(mine))
    times = table["time"].drop_nulls() if is_dated(talk.corpus) else pl.Series([], dtype=pl.Date)
    found = talk.answers
    starts = mine & np.isin(np.arange(len(mine)), talk.corpus.conversation_offsets[:-1])
    gave = found.first >= 0
    gave[gave] = mine[found.first[gave]]
    gave &= ~mine
    return {
        "who": who,
        "by": by,
        "messages": int(mine.sum()),
        "conversations": len(np.unique(talk.conversations[mine])),
        "words_per_message": float(table["text"].str.count_matches(_WORD).mean() or 0),  # type: ignore[arg-type]
        "first": str(times.min())[:10] if len(times) else None,
        "last": str(times.max())[:10] if len(times) else None,
        "started": int(starts.sum()),
        "acts": _acts(talk, mine),
        "answered": _share(found.first[starts] >= 0),
        "median_wait": _median(found.wait[starts]),
        "answers": int(gave.sum()),
        "median_answer": _median(found.wait[gave]),
        **_partners(talk, who, by),
    }


def _acts(talk: Talk, mine: NDArray[np.bool_]) -> pl.DataFrame:
    """Return the shares of classes in some messages and in all, the largest first."""
    marked = talk.corpus.with_columns(__mine=np.where(mine, "mine", "others"))
    shares = shares_table(
        talk.shares, marked, talk.known, by="__mine", top=None, resample="auto", level=0.95,
        random_state=0,
    ).filter(pl.col("group") == "mine")  # fmt: skip
    if not shares.height:
        return shares.select("class", name=pl.lit(""), times=pl.lit(1.0)).clear()
    names = [talk.called(number) for number in shares["class"].to_list()]
    return shares.select(
        "class", pl.Series("name", names), "share", "low", "high", "overall",
        times=pl.col("share") / pl.col("overall").clip(1e-12),
    ).sort("share", descending=True, maintain_order=True)  # fmt: skip


def _partners(talk: Talk, who: str, by: str) -> dict[str, pl.DataFrame]:
    """Return the people whom a person helps most, and who help them."""
    table = pairs(talk)
    if by != "speaker":
        table = table.clear()
    helps = table.filter(pl.col("helper") == who).select("helped", "answers").head(_PARTNERS)
    helped = table.filter(pl.col("helped") == who).select("helper", "answers").head(_PARTNERS)
    return {"helps": helps, "helped_by": helped}


def _nearest(column: pl.Series, who: str) -> str:
    """Say which values are like a name that is not there, or which are most frequent."""
    values = column.explode() if isinstance(column.dtype, pl.List) else column.cast(pl.String)
    counts = values.drop_nulls().value_counts(sort=True)
    names = [str(value) for value in counts[counts.columns[0]]]
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(who.casefold(), list(folded)[:5000], 3)
    if near:
        return f"did you mean {', '.join(folded[name] for name in near)}?"
    return f"there are {', '.join(name[:40] for name in names[:8])}"


def _share(values: NDArray[np.bool_]) -> float | None:
    return float(values.mean()) if len(values) else None


def _median(values: NDArray[np.float64]) -> float | None:
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else None


def balance(talk: Talk, by: str = "speaker") -> pl.DataFrame:
    """Return who talks how much.

    Parameters
    ----------
    talk : Talk
    by : str
        "speaker", or any column, such as "role".

    Returns
    -------
    polars.DataFrame
        Columns group, conversations, messages, turns (messages in a row count once), words,
        words_share (of all words), words_per_message, seconds and seconds_share (of talk, where
        messages have an ``end``; null otherwise), in_conversation (the mean share of the words
        of the conversations that somebody takes part in). The largest come first.
    """
    column = group_column(talk.corpus, by, "balance")
    if isinstance(column.dtype, pl.List):
        raise ParameterError(f"balance: {by!r} holds lists")
    table = talk.corpus.table.select(
        column.cast(pl.String).fill_null(NO_GROUP).alias("group"),
        pl.Series("conversation", talk.conversations),
        pl.col("text").str.count_matches(_WORD).cast(pl.Int64).alias("words"),
        seconds_of(talk).alias("seconds"),
    )
    new_turn = pl.struct("group", "conversation").rle_id()
    own = table.with_columns(turn=new_turn).group_by("conversation", "group").agg(
        pl.len().alias("messages"), pl.col("turn").n_unique().alias("turns"),
        pl.col("words").sum(),
        pl.when(pl.col("seconds").is_not_null().any()).then(pl.col("seconds").sum()),
    )  # fmt: skip
    part = pl.col("words") / pl.col("words").sum().over("conversation")
    own = own.with_columns(in_conversation=pl.when(part.is_finite()).then(part))
    made = own.group_by("group").agg(
        pl.len().alias("conversations"), pl.col("messages", "turns", "words").sum(),
        pl.when(pl.col("seconds").is_not_null().any()).then(pl.col("seconds").sum()),
        pl.col("in_conversation").mean(),
    )  # fmt: skip
    total = pl.col("words").sum().clip(1)
    return made.select(
        "group",
        pl.col("conversations", "messages", "turns", "words").cast(pl.Int64),
        words_share=pl.col("words") / total,
        words_per_message=pl.col("words") / pl.col("messages"),
        seconds=pl.col("seconds"),
        seconds_share=pl.col("seconds") / pl.col("seconds").sum(),
        in_conversation=pl.col("in_conversation"),
    ).sort("words", "group", descending=[True, False])


def evenness(talk: Talk) -> dict[str, float] | None:
    """Return how evenly people share the talk of a conversation; None without two speakers.

    Returns
    -------
    dict
        ``conversations`` with at least two speakers, ``loudest`` (the median share of the words
        of whoever says most), ``even`` (the median share if all said the same).
    """
    table = talk.corpus.table.select(
        "speaker", pl.Series("conversation", talk.conversations),
        pl.col("text").str.count_matches(_WORD).alias("words"),
    ).drop_nulls("speaker")  # fmt: skip
    own = table.group_by("conversation", "speaker").agg(pl.col("words").sum())
    each = own.group_by("conversation").agg(
        people=pl.len(), loudest=pl.col("words").max() / pl.col("words").sum().clip(1)
    ).filter(pl.col("people") > 1)  # fmt: skip
    if not each.height:
        return None
    return {
        "conversations": each.height,
        "loudest": float(each["loudest"].median() or 0),  # type: ignore[arg-type]
        "even": float((1 / each["people"]).median() or 0),  # type: ignore[arg-type]
    }


def seconds_of(talk: Talk) -> pl.Series:
    """Return how long each message took to say, where its ``end`` is known; null elsewhere."""
    table = talk.corpus.table
    if "end" not in table.columns or isinstance(table["end"].dtype, pl.List | pl.Boolean):
        return pl.Series("seconds", [None] * table.height, dtype=pl.Float64)
    end = parse_times(table["end"])
    taken = (end - table["time"]).dt.total_microseconds() / 1e6
    return (
        pl.select(pl.when((taken >= 0) & (taken < 86_400)).then(taken)).to_series().alias("seconds")
    )
