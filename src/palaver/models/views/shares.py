"""First questions of an analyst: who does what and when, and whether the classes make sense."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encode import Encoded
from palaver.errors import ParameterError
from palaver.evaluate.bootstrap import resampling_weights
from palaver.evaluate.coherence import npmi
from palaver.params import check, either, nothing, one_of, real, text, whole

#: Parts of the time to group by, in UTC, written so that they sort.
PERIODS = {
    "year": "%Y",
    "month": "%Y-%m",
    "week": "%G-W%V",
    "day": "%Y-%m-%d",
    "weekday": "%u %a",
    "hour": "%H",
}
NO_GROUP, OTHERS = "(none)", "(others)"
#: Units below which an interval would only pretend to know.
FEW_UNITS = 5
#: Conversations below which a corpus is resampled by messages.
FEW_CONVERSATIONS = 30
_N_RESAMPLES, _MOST_UNITS = 1000, 2000

_LIMITS = {
    "by": text(),
    "top": either(whole(1), nothing()),
    "unit": one_of("auto", "conversation", "message"),
    "level": real(0, 1),
    "seed": whole(0),
}


def check_shares(
    corpus: Corpus, by: str, *, top: int | None, unit: str, level: float, seed: int
) -> None:
    """Refuse a wrong question before the classes of all messages are found."""
    check("shares", _LIMITS, {"by": by, "top": top, "unit": unit, "level": level, "seed": seed})
    if not isinstance(corpus, Corpus):
        raise ParameterError(
            f"shares: takes a Corpus, which has columns to group by, got {type(corpus).__name__}"
        )
    _column(corpus, by)


def shares_table(
    shares: NDArray[np.float64],
    corpus: Corpus,
    known: NDArray[np.bool_],
    *,
    by: str,
    top: int | None,
    unit: str,
    level: float,
    seed: int,
) -> pl.DataFrame:
    """Return the class shares of groups of messages; see :meth:`Model.shares`.

    Parameters
    ----------
    shares : array of float64, shape (n_messages, n_classes)
    corpus : Corpus
    known : array of bool, shape (n_messages,)
        Messages that count: those with a known word.
    by, top, unit, level, seed
        As in :meth:`Model.shares`.
    """
    if unit == "auto":
        unit = "message" if corpus.n_conversations < FEW_CONVERSATIONS else "conversation"
    members = _groups(corpus, by, top, known)
    lengths = np.diff(corpus.conversation_offsets)
    conversations = np.repeat(np.arange(corpus.n_conversations), lengths)
    parts = []
    for number, (name, rows) in enumerate(members):
        units = rows if unit == "message" else conversations[rows]
        low, high = _interval(shares[rows], units, level, rng.generator(seed, "shares", number))
        facts = pl.DataFrame(
            {
                "class": np.arange(shares.shape[1]),
                "share": shares[rows].mean(axis=0),
                "low": low,
                "high": high,
                "overall": shares[known].mean(axis=0),
            }
        ).with_columns(
            group=pl.lit(name),
            messages=pl.lit(len(rows)),
            conversations=pl.lit(len(np.unique(conversations[rows]))),
            unit=pl.lit(unit),
        )
        parts.append(facts.with_columns(pl.col("low", "high").fill_nan(None)))
    empty = pl.DataFrame(schema=_SCHEMA)
    return pl.concat([empty, *(part.select(_SCHEMA.names()).cast(_SCHEMA) for part in parts)])


_SCHEMA = pl.Schema(
    {
        "group": pl.String(),
        "class": pl.Int64(),
        "share": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "overall": pl.Float64(),
        "messages": pl.Int64(),
        "conversations": pl.Int64(),
        "unit": pl.String(),
    }
)


def _groups(
    corpus: Corpus, by: str, top: int | None, known: NDArray[np.bool_]
) -> list[tuple[str, NDArray[np.int64]]]:
    """Return names and messages of the groups in the order in which they are shown."""
    column = _column(corpus, by)
    table = column.alias("group").to_frame().with_row_index("message").filter(pl.Series(known))
    if isinstance(column.dtype, pl.List):
        table = table.explode("group").unique(maintain_order=True)
    table = table.with_columns(pl.col("group").cast(pl.String).fill_null(NO_GROUP))
    sizes = table.group_by("group").agg(pl.len(), first=pl.col("message").min())
    if _is_period(corpus, by):
        order = sizes.sort(pl.col("group") == NO_GROUP, "group")["group"]
    else:
        none = pl.col("group") == NO_GROUP
        order = sizes.sort(none, -pl.col("len").cast(pl.Int64), "first", "group")["group"]
        if top is not None and len(order) - (NO_GROUP in order) > top:
            kept = [*order[:top], NO_GROUP]
            known_name = pl.when(pl.col("group").is_in(kept)).then("group")
            table = table.with_columns(known_name.otherwise(pl.lit(OTHERS)).alias("group"))
            order = pl.Series([*order[:top], OTHERS, *order.filter(order == NO_GROUP)])
    parts = table.partition_by("group", as_dict=True)
    return [(name, parts[(name,)]["message"].cast(pl.Int64).to_numpy()) for name in order]


def _is_period(corpus: Corpus, by: str) -> bool:
    return by in PERIODS and by not in corpus.table.columns


def _column(corpus: Corpus, by: str) -> pl.Series:
    """Return what to group by: a column, or a part of the time."""
    table = corpus.table
    if by in table.columns:
        return table[by]
    if by not in PERIODS:
        columns = ", ".join(name for name in table.columns if name not in ("id", "text"))
        raise ParameterError(
            f"shares: there is no column {by!r}; group by {', '.join(PERIODS)} or one of {columns}"
        )
    if table["time"].null_count() == table.height:
        raise ParameterError(f"shares: by={by!r} needs times, and no message has one")
    return table["time"].dt.to_string(PERIODS[by])


def _interval(
    shares: NDArray[np.float64],
    units: NDArray[np.int64],
    level: float,
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return percentiles of the mean share over resamples of units, which are sorted.

    Very many units are first tied into random bundles: the spread stays, the cost does not.
    """
    starts = np.flatnonzero(np.diff(units, prepend=-1))
    nothing_known = np.full(shares.shape[1], np.nan)
    if len(starts) < FEW_UNITS:
        return nothing_known, nothing_known
    counts = np.diff(starts, append=len(units)).astype(float)
    sums = np.column_stack([np.add.reduceat(shares, starts, axis=0), counts])
    if len(sums) > _MOST_UNITS:
        shuffled = sums[generator.permutation(len(sums))]
        edges = np.linspace(0, len(sums), _MOST_UNITS, endpoint=False).astype(np.int64)
        sums = np.add.reduceat(shuffled, edges, axis=0)
    totals = resampling_weights(generator, len(sums), _N_RESAMPLES) @ sums
    means = totals[:, :-1] / totals[:, -1:]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def coherence_table(encoded: Encoded, top_words: pl.DataFrame) -> pl.DataFrame:
    """Return the NPMI of each class's top words; see :meth:`Model.coherence`."""
    rows = top_words.group_by("class", maintain_order=True).agg("word")
    index = encoded.vocabulary.index
    numbers = [[index[word] for word in words] for words in rows["word"]]
    values = npmi(encoded.tokens, encoded.message_offsets, numbers)
    return rows.select(
        "class",
        pl.Series("coherence", values, nan_to_null=True),
        pl.col("word").list.join(" ").alias("words"),
    )
