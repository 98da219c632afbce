"""What changed: shares of classes in two groups of messages, with intervals that hold together.

Conversations, whose messages depend on each other, are drawn again 2,000 times; both groups of a
comparison are taken from the same draws, so that a conversation may belong to both. Intervals are
wide enough to hold for all classes and comparisons at once (single-step max-t: Westfall & Young
1993, "Resampling-based multiple testing", section 2.6), and so are the p-values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from palaver import rng
from palaver.corpus.filter import as_condition
from palaver.corpus.grouping import NO_GROUP, SUCCESSIVE, group_column, is_period
from palaver.errors import ParameterError
from palaver.evaluate.bootstrap import resampling_weights
from palaver.models.views.shares import FEW_CONVERSATIONS, FEW_UNITS
from palaver.params import check, one_of, real, whole
from palaver.questions.talk import Talk

_N_RESAMPLES, _MOST_UNITS = 2000, 2000
_DRAWN_AT_ONCE = 100  # limits memory
_NOTHING = 1e-12
_LIMITS = {
    "top": whole(2),
    "resample": one_of("auto", "conversation", "message"),
    "level": real(0, 1),
    "random_state": whole(0),
}
#: The group that a group which is not a period is compared with.
REST = "(all others)"

SCHEMA = pl.Schema(
    {
        "first": pl.String(),
        "second": pl.String(),
        "class": pl.Int64(),
        "name": pl.String(),
        "before": pl.Float64(),
        "after": pl.Float64(),
        "difference": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "p": pl.Float64(),
        "clear": pl.Boolean(),
        "messages_before": pl.Int64(),
        "messages_after": pl.Int64(),
        "resampled": pl.String(),
    }
)


class Group(NamedTuple):
    """A name, and the rows of its messages, ascending."""

    name: str
    rows: NDArray[np.int64]


def changes(
    talk: Talk,
    by: str | None = None,
    *,
    between: Sequence[str | pl.Expr] | None = None,
    top: int = 12,
    resample: str = "auto",
    level: float = 0.95,
    random_state: int = 0,
) -> pl.DataFrame:
    """Return how the shares of classes differ between groups of messages.

    Parameters
    ----------
    talk : Talk
    by : str, optional
        A column or period, as in :meth:`Model.shares`. Periods are compared with the one before
        each; of two groups the second with the first; of more, each with all other messages.
    between : pair of conditions, optional
        Two groups instead, such as ``("time<2024-04", "time>=2024-04")``; see
        :meth:`Corpus.filter`.
    top : int
        Largest groups to compare; of successive periods the last.
    resample : {"auto", "conversation", "message"}
        "auto" takes messages in a corpus of fewer than 30 conversations.
    level : float
        Probability that all intervals of the table hold at once.
    random_state : int

    Returns
    -------
    polars.DataFrame
        Columns first, second (the groups), class, name, before, after (shares in the two),
        difference, low, high, p, clear (whether the interval excludes zero), messages_before,
        messages_after, resampled. Low, high and p are null for groups of fewer than 5
        conversations (or messages).
    """
    given = {"top": top, "resample": resample, "level": level, "random_state": random_state}
    check("compare_groups", _LIMITS, given)
    compared = _between(talk, between) if between is not None else _by(talk, by, top)
    if resample == "auto":
        few = talk.corpus.n_conversations < FEW_CONVERSATIONS
        resample = "message" if few else "conversation"
    units = np.arange(len(talk.known)) if resample == "message" else talk.conversations
    found = compare(talk.shares, units, compared, level, random_state)
    return _table(talk, compared, found, resample)


class Differences(NamedTuple):
    """Arrays of shape (n_comparisons, n_classes); nan where too little is known."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p: NDArray[np.float64]


def compare(
    shares: NDArray[np.float64],
    units: NDArray[np.int64],
    compared: Sequence[tuple[Group, Group]],
    level: float,
    random_state: int,
) -> Differences:
    """Compare pairs of groups; intervals and p-values hold for all pairs and classes at once.

    Parameters
    ----------
    shares : array of float64, shape (n_messages, n_classes)
    units : array of int64, shape (n_messages,)
        What is drawn again, ascending.
    compared : sequence of (Group, Group)
    level : float
    random_state : int
    """
    groups = {group.name: group for pair in compared for group in pair}
    places = {name: i for i, name in enumerate(groups)}
    starts = np.flatnonzero(np.diff(units, prepend=-1))
    sums = np.stack([_sums(shares, group.rows, starts) for group in groups.values()])
    pairs = [(places[one.name], places[other.name]) for one, other in compared]
    return compare_sums(sums, pairs, level, random_state)


def compare_sums(
    sums: NDArray[np.float64],
    pairs: Sequence[tuple[int, int]],
    level: float,
    random_state: int,
    n_units: NDArray[np.int64] | None = None,
) -> Differences:
    """Compare pairs of groups; intervals and p-values hold for all pairs and classes at once.

    Parameters
    ----------
    sums : array of float64, shape (n_groups, n_units, n_classes + 1)
        Sums of shares in what is drawn again, and numbers of messages; or those of its bundles
        (see :func:`bundles`).
    pairs : sequence of (int, int)
        Places of groups.
    level : float
    random_state : int
    n_units : array of int64, shape (n_groups,), optional
        How many units each group has; to be given with bundles.
    """
    if n_units is None:
        n_units = (sums[:, :, -1] > 0).sum(axis=1)
    means = sums[:, :, :-1].sum(axis=1) / sums[:, :, -1].sum(axis=1)[:, None]
    drawn = _resampled(sums, random_state)
    first, second = np.array(pairs).reshape(-1, 2).T
    difference = means[second] - means[first]
    least = np.minimum(n_units[first], n_units[second])
    spread = drawn[second] - drawn[first]  # (n_comparisons, n_resamples, n_classes)
    error = np.where(least[:, None] >= FEW_UNITS, np.nanstd(spread, axis=1), np.nan)
    # few units: what is drawn again varies too little, as Student found
    tail = (1 + level) / 2
    student = special.stdtrit(np.maximum(least - 1, 1), tail)
    error = error * (student / special.ndtri(tail))[:, None]
    # everybody does it in one group and nobody in the other: no draw differs, but others might
    stiff = error < _NOTHING
    error[stiff] = np.where(np.abs(difference) > _NOTHING, 1 / least[:, None], np.nan)[stiff]
    with np.errstate(invalid="ignore"):
        distance = np.abs(spread - difference[:, None]) / error[:, None]
    farthest = np.nanmax(np.where(np.isnan(distance), -np.inf, distance), axis=(0, 2))
    farthest = np.maximum(farthest, 0)
    critical = max(float(np.quantile(farthest, level)), float(special.ndtri(tail)))
    own = np.abs(difference) / error
    more = (farthest[None, None, :] >= own[:, :, None]).sum(axis=2)
    p = np.where(np.isnan(own), np.nan, (1 + more) / (1 + len(farthest)))
    return Differences(
        means[first], means[second],
        np.maximum(difference - critical * error, -1), np.minimum(difference + critical * error, 1),
        p,
    )  # fmt: skip


def _sums(
    shares: NDArray[np.float64], rows: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the sums of shares and the numbers of messages of a group in each unit."""
    of = np.searchsorted(starts, rows, side="right") - 1
    values = [*shares[rows].T, np.ones(len(rows))]
    return np.stack([np.bincount(of, own, minlength=len(starts)) for own in values], axis=1)


@lru_cache(maxsize=4)
def bundles(n_units: int, random_state: int) -> NDArray[np.int16]:
    """Return the bundle of each unit, (n_units,).

    Very many units are tied into random bundles of the same size, which are drawn instead: the
    spread stays, the cost does not. Few units are bundles of one, in their order.
    """
    n_bundles = min(n_units, _MOST_UNITS)
    found = np.arange(n_bundles, dtype=np.int16)
    if n_units > n_bundles:
        found = np.repeat(found, np.diff(_ends(n_units)))
        found = rng.generator(random_state, "bundles").permutation(found)
    found.flags.writeable = False
    return found


def _ends(n_units: int) -> NDArray[np.int64]:
    """Return where bundles begin and end, if units stand by bundle, (n_bundles + 1,)."""
    return np.linspace(0, n_units, _MOST_UNITS + 1).astype(np.int64)


def _resampled(sums: NDArray[np.float64], random_state: int) -> NDArray[np.float64]:
    """Return mean shares over resamples of units, (n_groups, n_resamples, n_classes)."""
    n_groups, n_units, n_columns = sums.shape
    if n_units > _MOST_UNITS:
        order = np.argsort(bundles(n_units, random_state), kind="stable")
        sums = np.add.reduceat(sums[:, order], _ends(n_units)[:-1], axis=1)
    weights = _weights(sums.shape[1], random_state)
    columns = sums.transpose(1, 0, 2).reshape(sums.shape[1], -1)
    totals = (weights @ columns).reshape(len(weights), n_groups, n_columns).transpose(1, 0, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(totals[:, :, :-1] / totals[:, :, -1:])


@lru_cache(maxsize=2)
def _weights(n_units: int, random_state: int) -> NDArray[np.float64]:
    """Return how often each unit is drawn in each resample, (n_resamples, n_units).

    They are kept: large groups always have the same number of bundles.
    """
    generator = rng.generator(random_state, "changes")
    found = np.empty((_N_RESAMPLES, n_units))
    for start in range(0, _N_RESAMPLES, _DRAWN_AT_ONCE):
        part = found[start : start + _DRAWN_AT_ONCE]
        part[:] = resampling_weights(generator, n_units, len(part))
    found.flags.writeable = False
    return found


def _between(talk: Talk, between: Sequence[str | pl.Expr]) -> list[tuple[Group, Group]]:
    """Return the two groups that conditions describe."""
    if isinstance(between, str) or len(between) != 2:
        raise ParameterError("compare_groups: between takes two conditions")
    groups = []
    for given in between:
        condition = as_condition(given, talk.corpus.table)
        keep = talk.corpus.table.select(condition.fill_null(False)).to_series().to_numpy()
        rows = np.flatnonzero(keep & talk.known)
        if not len(rows):
            raise ParameterError(f"compare_groups: no message matches {given}")
        groups.append(Group(str(given), rows))
    if groups[0].name == groups[1].name:
        raise ParameterError("compare_groups: between takes two different conditions")
    return [(groups[0], groups[1])]


def _by(talk: Talk, by: str | None, top: int) -> list[tuple[Group, Group]]:
    """Return the pairs of groups of a column or period."""
    if by is None:
        raise ParameterError("compare_groups: give by, a column or period, or between")
    column = group_column(talk.corpus, by, "compare_groups").alias("group")
    table = column.to_frame().with_row_index("row").filter(pl.Series(talk.known))
    if isinstance(column.dtype, pl.List):
        table = table.explode("group").unique(maintain_order=True)
    table = table.with_columns(pl.col("group").cast(pl.String)).drop_nulls("group")
    parts = {
        str(name): np.sort(part["row"].to_numpy().astype(np.int64))
        for (name,), part in table.partition_by("group", as_dict=True).items()
    }
    parts.pop(NO_GROUP, None)
    if len(parts) < 2:
        only = f"only {next(iter(parts))!r}" if parts else "no value at all"
        raise ParameterError(f"compare_groups: {by!r} has {only}; there is nothing to compare")
    if is_period(talk.corpus, by) and by in SUCCESSIVE:
        groups = [Group(name, parts[name]) for name in sorted(parts)][-top:]
        return list(pairwise(groups))
    largest = sorted(parts, key=lambda name: (-len(parts[name]), name))[:top]
    if is_period(talk.corpus, by):
        largest.sort()
    if len(parts) == 2:
        one, other = (Group(name, parts[name]) for name in sorted(parts))
        return [(one, other)]
    everything = np.flatnonzero(talk.known)
    return [
        (Group(f"{REST} but {name}", np.setdiff1d(everything, parts[name])),
         Group(name, parts[name]))
        for name in largest
    ]  # fmt: skip


def _table(
    talk: Talk, compared: Sequence[tuple[Group, Group]], found: Differences, resample: str
) -> pl.DataFrame:
    """Return the rows of all comparisons, the clearest changes of each first."""
    parts = []
    for i, (one, other) in enumerate(compared):
        rows = pl.DataFrame(
            {
                "class": np.arange(talk.n_classes),
                "name": [talk.called(number) for number in range(talk.n_classes)],
                "before": found.before[i],
                "after": found.after[i],
                "difference": found.after[i] - found.before[i],
                "low": found.low[i],
                "high": found.high[i],
                "p": found.p[i],
            }
        ).with_columns(
            pl.col("low", "high", "p").fill_nan(None),
            first=pl.lit(REST if one.name.startswith(REST) else one.name),
            second=pl.lit(other.name),
            messages_before=pl.lit(len(one.rows)),
            messages_after=pl.lit(len(other.rows)),
            resampled=pl.lit(resample),
        )
        rows = rows.with_columns(clear=(pl.col("low") > 0) | (pl.col("high") < 0))
        rows = rows.with_columns(pl.col("clear").fill_null(False))
        parts.append(
            rows.sort(-pl.col("clear").cast(pl.Int8), -pl.col("difference").abs(), "class")
        )
    empty = pl.DataFrame(schema=SCHEMA)
    return pl.concat([empty, *(part.select(SCHEMA.names()).cast(SCHEMA) for part in parts)])
