"""What analysts ask first: who does what, when, and what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.grouping import NO_GROUP, group_column, is_crossed, is_period
from palaver.corpus.table import Corpus, as_corpus
from palaver.encoding import Encoded
from palaver.errors import ParameterError
from palaver.evaluate.bootstrap import resampling_weights
from palaver.models.views.marks import with_marks
from palaver.params import check, either, nothing, one_of, real, text, whole

if TYPE_CHECKING:
    from palaver.models.base.model import Model

OTHERS = "(others)"
#: Units below which an interval would only pretend to know.
FEW_UNITS = 5
#: Conversations below which a corpus is resampled by messages.
FEW_CONVERSATIONS = 30
_N_RESAMPLES, _MOST_UNITS = 1000, 2000

_LIMITS = {
    "by": text(),
    "top": either(whole(1), nothing()),
    "resample": one_of("auto", "conversation", "message"),
    "level": real(0, 1),
    "random_state": whole(0),
}


def shares(
    model: Model,
    corpus: Corpus,
    n_sweeps: int,
    *,
    by: str,
    top: int | None,
    resample: str,
    level: float,
    random_state: int,
) -> pl.DataFrame:
    """Return what groups of messages do; see :meth:`Model.shares`."""
    asked = {"by": by, "top": top, "resample": resample, "level": level,
             "random_state": random_state}  # fmt: skip
    check("shares", _LIMITS, asked)
    if not isinstance(corpus, Corpus):
        raise ParameterError(
            f"shares: takes a Corpus, which has columns to group by, got {type(corpus).__name__}"
        )
    group_column(corpus, by)  # refuse a wrong question before the classes of all messages are found
    read = readable(model, corpus)
    known = model.known_messages(read)
    return shares_table(
        with_marks(model, corpus, model.message_shares(read, n_sweeps)), corpus, known,
        by=by, top=top, resample=resample, level=level, random_state=random_state,
    )  # fmt: skip


def readable(model: Model, corpus: Corpus) -> Corpus | Encoded:
    """Return a corpus as the model reads it, encoded once where texts are not needed."""
    return corpus if model.needs_texts else model._encode(corpus)


def annotate(model: Model, corpus: Corpus, n_sweeps: int) -> Corpus:
    """Return the corpus with the classes of its messages; see :meth:`Model.annotate`."""
    corpus = as_corpus(corpus)
    read = readable(model, corpus)
    found = with_marks(model, corpus, model.message_shares(read, n_sweeps))
    silent = pl.Series(~model.known_messages(read))
    columns = {
        "class": pl.Series(found.argmax(axis=1).astype(np.int64)),
        "class_probability": pl.Series(found.max(axis=1)),
    }
    columns |= {f"share_{k}": pl.Series(found[:, k]) for k in range(found.shape[1])}
    return corpus.with_columns(**{name: c.set(silent, None) for name, c in columns.items()})


def count_replies(model: Model, corpus: Corpus) -> NDArray[np.float64] | None:
    """Count what follows each class; see :meth:`Model.count_replies`."""
    from palaver.models.summary import messages_before, replies_to

    if model.transition_steps not in ("replies", "messages"):
        return None
    read = readable(model, corpus)
    speaking = model.known_messages(read)
    found = with_marks(model, corpus, model.message_shares(read)) * speaking[:, None]
    by_order = model.transition_steps == "messages"
    return replies_to(found, messages_before(read, speaking) if by_order else read.parents)


def shares_table(
    shares: NDArray[np.float64],
    corpus: Corpus,
    known: NDArray[np.bool_],
    *,
    by: str,
    top: int | None,
    resample: str,
    level: float,
    random_state: int,
) -> pl.DataFrame:
    """Return the class shares of groups of messages; see :meth:`Model.shares`.

    Parameters
    ----------
    shares : array of float64, shape (n_messages, n_classes)
    corpus : Corpus
    known : array of bool, shape (n_messages,)
        Messages that count: those with a known word.
    by, top, resample, level, random_state
        As in :meth:`Model.shares`.
    """
    if resample == "auto":
        few = corpus.n_conversations < FEW_CONVERSATIONS
        resample = "message" if few else "conversation"
    members = _groups(corpus, by, top, known)
    lengths = np.diff(corpus.conversation_offsets)
    conversations = np.repeat(np.arange(corpus.n_conversations), lengths)
    overall = shares[known].mean(axis=0) if members else np.zeros(shares.shape[1])
    parts = []
    for number, (name, rows) in enumerate(members):
        own = shares[rows]
        units = rows if resample == "message" else conversations[rows]
        generator = rng.generator(random_state, "shares", number)
        low, high = _interval(own, units, level, generator)
        facts = pl.DataFrame(
            {
                "class": np.arange(shares.shape[1]),
                "share": own.mean(axis=0),
                "low": low,
                "high": high,
                "overall": overall,
            }
        ).with_columns(
            group=pl.lit(name),
            messages=pl.lit(len(rows)),
            conversations=pl.lit(int(np.count_nonzero(np.diff(conversations[rows], prepend=-1)))),
            resampled=pl.lit(resample),
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
        "resampled": pl.String(),
    }
)


def _groups(
    corpus: Corpus, by: str, top: int | None, known: NDArray[np.bool_]
) -> list[tuple[str, NDArray[np.int64]]]:
    """Return names and messages of the groups in the order in which they are shown."""
    column = group_column(corpus, by)
    table = column.alias("group").to_frame().with_row_index("message").filter(pl.Series(known))
    if isinstance(column.dtype, pl.List):
        table = table.explode("group").unique(maintain_order=True)
    table = table.with_columns(pl.col("group").cast(pl.String).fill_null(NO_GROUP))
    sizes = table.group_by("group").agg(pl.len(), first=pl.col("message").min())
    if is_period(corpus, by):
        order = sizes.sort(pl.col("group") == NO_GROUP, "group")["group"]
    else:
        none = pl.col("group") == NO_GROUP
        order = sizes.sort(none, -pl.col("len").cast(pl.Int64), "first", "group")["group"]
        if top is not None and len(order) - (NO_GROUP in order) > top:
            kept = [*order[:top], NO_GROUP]
            known_name = pl.when(pl.col("group").is_in(kept)).then("group")
            table = table.with_columns(known_name.otherwise(pl.lit(OTHERS)).alias("group"))
            order = pl.Series([*order[:top], OTHERS, *order.filter(order == NO_GROUP)])
        if is_crossed(corpus, by):  # so that what belongs together is together
            last = [name for name in (OTHERS, NO_GROUP) if name in order]
            order = pl.Series([*sorted(set(order) - set(last)), *last])
    parts = table.partition_by("group", as_dict=True)
    return [(name, parts[(name,)]["message"].cast(pl.Int64).to_numpy()) for name in order]


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
