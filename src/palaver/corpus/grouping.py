"""Groups of messages: by a column, by a part of their time, or by two of these crossed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from palaver.corpus.table import Corpus
from palaver.errors import ParameterError

#: Parts of the time to group by, in UTC, written so that they sort.
PERIODS = {
    "year": "%Y",
    "quarter": "%Y-Q",
    "month": "%Y-%m",
    "week": "%G-W%V",
    "day": "%Y-%m-%d",
    "weekday": "%u %a",
    "hour": "%H",
}
#: Parts that follow one another only once, so that they can be called before and after.
SUCCESSIVE = ("year", "quarter", "month", "week", "day")
#: The group of messages that have no value, and what joins the values of two columns.
NO_GROUP, CROSSED = "(none)", " × "
#: The most periods of a chart, the messages that each has on average, and the part of the median
#: below which one is quiet.
_MOST_PERIODS, _MESSAGES_A_PERIOD, _QUIET = 36, 15, 0.25


def group_column(corpus: Corpus, by: str, who: str = "shares") -> pl.Series:
    """Return the group of each message.

    Parameters
    ----------
    corpus : Corpus
    by : str
        A column, one of :data:`PERIODS`, or two of these with a comma between them, which are
        crossed: ``"role,quarter"``.
    who : str
        Who asks, for error messages.

    Returns
    -------
    polars.Series
        Of the column's own type; strings for periods and for two columns. A message that has
        one value of two belongs to the group of that value and :data:`NO_GROUP`.
    """
    parts = [part.strip() for part in by.split(",")]
    if by in corpus.table.columns or len(parts) == 1:
        return _values(corpus, by, who)
    if len(parts) > 2 or not all(parts):
        raise ParameterError(f"{who}: by takes one column, or two as in 'role,quarter'; got {by!r}")
    columns = [_values(corpus, part, who) for part in parts]
    if any(isinstance(column.dtype, pl.List) for column in columns):
        raise ParameterError(f"{who}: {by!r} cannot be crossed: one of them holds lists")
    table = pl.DataFrame([column.cast(pl.String).alias(str(i)) for i, column in enumerate(columns)])
    crossed = pl.concat_str(pl.all().fill_null(NO_GROUP), separator=CROSSED)
    nothing = pl.all_horizontal(pl.all().is_null())
    return table.select(pl.when(~nothing).then(crossed).alias(by)).to_series()


def is_period(corpus: Corpus, by: str) -> bool:
    """Whether groups are parts of the time, which have an order of their own."""
    return by in PERIODS and by not in corpus.table.columns


def is_crossed(corpus: Corpus, by: str) -> bool:
    """Whether groups are those of two columns."""
    return "," in by and by not in corpus.table.columns


def is_dated(corpus: Corpus) -> bool:
    """Whether times are dates, and not seconds of a recording or hours and minutes alone."""
    latest = corpus.table["time"].dt.year().max()
    return isinstance(latest, int) and latest > 1970


def best_period(corpus: Corpus, counted: pl.Series | None = None) -> str | None:
    """Return the finest period with neither too many nor too empty ones; None without dates.

    Parameters
    ----------
    corpus : Corpus
    counted : polars.Series of bool, optional
        Which messages count; all by default.
    """
    if not is_dated(corpus):
        return None
    times = corpus.table["time"]
    times = (times if counted is None else times.filter(counted)).drop_nulls()
    for one in ("day", "week", "month", "year"):
        n_periods = times.dt.to_string(PERIODS[one]).n_unique() if len(times) else 0
        if 3 <= n_periods <= _MOST_PERIODS and len(times) >= _MESSAGES_A_PERIOD * n_periods:
            return one
    return None


def quiet_periods(messages: Iterable[int]) -> list[int]:
    """Return the places of periods with far fewer messages than usual, such as a month begun."""
    counts = np.fromiter(messages, float)
    usual = float(np.median(counts)) if len(counts) else 0.0
    return [int(i) for i in np.flatnonzero(counts < _QUIET * usual)]


def _values(corpus: Corpus, by: str, who: str) -> pl.Series:
    table = corpus.table
    if by in table.columns:
        return table[by]
    if by not in PERIODS:
        columns = ", ".join(name for name in table.columns if name not in ("id", "text"))
        raise ParameterError(
            f"{who}: there is no column {by!r}; group by {', '.join(PERIODS)} or one of {columns}"
        )
    if table["time"].null_count() == table.height:
        raise ParameterError(f"{who}: by={by!r} needs times, and no message has one")
    if by != "hour" and not is_dated(corpus):
        raise ParameterError(f"{who}: by={by!r} needs dates; the times here have none")
    spelled = table["time"].dt.to_string(PERIODS[by])
    return spelled + table["time"].dt.quarter().cast(pl.String) if by == "quarter" else spelled
