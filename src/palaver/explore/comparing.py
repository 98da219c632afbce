"""Two groups of messages side by side: what differs beyond chance, and how they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.errors import InputError
from palaver.explore.hits import counted_codes
from palaver.explore.index import Index
from palaver.explore.kernels.messages import count_threads, sum_by_unit
from palaver.explore.question import Answers, Question
from palaver.models.views.shares import FEW_CONVERSATIONS
from palaver.questions.answers import answers_of
from palaver.questions.changes import compare_sums
from palaver.questions.story import changed

LEVEL = 0.95
_WHO = 8  # of each column
Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]


def read_groups(given: Mapping[str, str]) -> tuple[Question, Question]:
    """Return the questions of two groups, ``a.act=2&b.act=3``; an empty second one is the rest."""
    first, second = (
        Question.read({k.removeprefix(side): v for k, v in given.items() if k.startswith(side)})
        for side in ("a.", "b.")
    )
    if first == second:
        raise InputError("choose two different groups; an empty second one stands for all others")
    return first, second


def groups_of(answers: Answers, first: Question, second: Question) -> tuple[Bools, Bools]:
    """Return the messages of both groups, as far as the model knows something about them."""
    known = answers.index.speaking
    one = answers.passing(first)
    other = ~one if second.is_open else answers.passing(second)
    found = one & known, other & known
    for name, group in zip(("first", "second"), found, strict=True):
        if not group.any():
            raise InputError(f"no message is in the {name} group")
    return found


def differences(
    answers: Answers, groups: tuple[Bools, Bools], names: tuple[str, str]
) -> pl.DataFrame:
    """Return one row per act: shares in both groups, and the difference with its interval.

    Intervals and p-values hold for all acts at once; see :mod:`palaver.questions.changes`.
    """
    index, classified = answers.index, answers.classified
    few = index.n_conversations < FEW_CONVERSATIONS
    units = np.arange(index.n_messages, dtype=np.int32) if few else index.conversation
    n_units = index.n_messages if few else index.n_conversations
    sums = np.stack([_sums(own, units, n_units, classified.shares) for own in groups])
    taken = sums[:, :, -1].any(axis=0)  # what is drawn again: conversations of either group
    found = compare_sums(sums[:, taken], [(0, 1)], LEVEL, 0)
    table = pl.DataFrame(
        {
            "class": [act.number for act in classified.acts],
            "name": [act.name for act in classified.acts],
            "before": found.before[0],
            "after": found.after[0],
            "difference": found.after[0] - found.before[0],
            "low": found.low[0],
            "high": found.high[0],
            "p": found.p[0],
        }
    ).with_columns(
        pl.col("low", "high", "p").fill_nan(None),
        first=pl.lit(names[0]), second=pl.lit(names[1]),
        messages_before=pl.lit(int(groups[0].sum())), messages_after=pl.lit(int(groups[1].sum())),
        resampled=pl.lit("message" if few else "conversation"),
    )  # fmt: skip
    clear = (pl.col("low") > 0) | (pl.col("high") < 0)
    return table.with_columns(clear=clear.fill_null(False))


def _sums(
    group: Bools, units: NDArray[np.int32], n_units: int, shares: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return sums of the shares of a group by unit, and numbers of messages."""
    sums = np.zeros((n_units, shares.shape[1] + 1))
    sum_by_unit(group, units, shares, sums)
    return sums


def compared(answers: Answers, given: Mapping[str, str]) -> dict[str, Any]:
    """Return everything that the view shows about two groups."""
    groups = groups_of(answers, *read_groups(given))
    names = given.get("name.a") or "the first group", given.get("name.b") or "the second group"
    table = differences(answers, groups, names)
    said = [_sentence(row) for row in _clearest(table)] or changed(table.head(0))
    return {
        "sentences": said,
        "acts": table.select(
            "class", "before", "after", "difference", "low", "high", "p", "clear"
        ).to_dicts(),
        "groups": [_facts(answers, own) for own in groups],
        "who": [_who(answers.index, field, groups) for field in answers.index.fields],
        "resampled": table["resampled"][0],
        "period": answers.index.period,
        "days": answers.index.periods[1],
        "series": [_series(answers, own) for own in groups],
    }


def _clearest(table: pl.DataFrame) -> list[dict[str, Any]]:
    clear = table.filter("clear").sort(pl.col("difference").abs(), descending=True)
    return clear.head(5).to_dicts()


def _sentence(row: Mapping[str, Any]) -> str:
    before, after = 100 * row["before"], 100 * row["after"]
    low, high = sorted(abs(100 * row[edge]) for edge in ("low", "high"))
    more = "more" if after < before else "less"
    return (f"{row['name']} is {more} common in {row['first']} ({before:.0f}%) than in "
            f"{row['second']} ({after:.0f}%): {abs(after - before):.0f} points, 95% interval "
            f"{low:.0f} to {high:.0f}.")  # fmt: skip


def _facts(answers: Answers, group: Bools) -> dict[str, Any]:
    """Return how many messages and threads a group has, and how its acts are answered."""
    index, main = answers.index, answers.classified.main
    rows = np.flatnonzero(group)
    rows = rows[np.argsort(main[rows], kind="stable")]  # by act
    n_acts = len(answers.classified.acts)
    ends = np.cumsum(counted_codes(group, main, n_acts)).tolist()
    return {
        "messages": len(rows),
        "threads": int(count_threads(group, index.offsets)),
        "begun": _answers(index, np.flatnonzero(group & (index.place == 0))),
        "acts": [_answers(index, rows[ends[act] : ends[act + 1]]) for act in range(n_acts)],
    }


def _answers(index: Index, rows: Rows) -> dict[str, Any]:
    """Return how many messages nobody else answered, and the median seconds until an answer."""
    first, wait = _answered(index)
    waits = wait[rows]
    waits = waits[~np.isnan(waits)]
    never = int((first[rows] < 0).sum())
    typical = float(np.median(waits)) if len(waits) else None
    return {"messages": len(rows), "unanswered": never, "wait": typical}


def _answered(index: Index) -> tuple[Rows, NDArray[np.float64]]:
    """Return the first answer by somebody else to each message, and the seconds until then."""
    if "answered" not in index.kept:
        seconds = np.where(index.has_time, index.time, np.nan).astype(float)
        nobody = np.zeros(index.n_messages, bool)
        parents = index.links.astype(np.int64)
        index.kept["answered"] = answers_of(parents, index.codes("speaker"), seconds, nobody)
    first, wait = index.kept["answered"]
    return first, wait


def _who(index: Index, field: str, groups: tuple[Bools, Bools]) -> dict[str, Any]:
    """Return the share of talk of the largest values of a column in both groups, and over time."""
    codes, names = index.codes(field), index.names(field)
    counts = np.stack([counted_codes(own, codes, len(names))[1:] for own in groups])
    shares = counts / np.array([[own.sum()] for own in groups])
    largest = np.argsort(-shares.max(axis=0, initial=0), kind="stable")[:_WHO]
    largest = largest[shares[:, largest].any(axis=0)]
    values = [[names[k], *shares[:, k].round(4).tolist()] for k in largest]
    series = [_talk(index, codes, largest, own) for own in groups]
    return {"field": field, "values": values, "series": series}


def _talk(
    index: Index, codes: NDArray[np.int32], largest: Rows, group: Bools
) -> list[list[float | None]]:
    """Return the share of talk of some values in each period, None where nobody talks."""
    periods, days = index.periods
    if not days:
        return []
    totals = counted_codes(group, periods, len(days))[1:]
    places = np.full(int(codes.max(initial=-1)) + 2, -1, np.int32)  # the last is for no value
    places[largest] = np.arange(len(largest))
    own = places[codes]
    cells = np.where((own >= 0) & (periods >= 0), own * len(days) + periods, -1)
    counts = counted_codes(group, cells.astype(np.int32), len(largest) * len(days))[1:]
    return [_shares(row, totals) for row in counts.reshape(len(largest), len(days))]


def _series(answers: Answers, group: Bools) -> list[list[float | None]]:
    """Return the share of each act in each period, None where a period has no message."""
    periods, days = answers.index.periods
    if not days:
        return []
    sums = _sums(group, periods, len(days), answers.classified.shares)
    return [_shares(own, sums[:, -1]) for own in sums[:, :-1].T]


def _shares(parts: NDArray[Any], totals: NDArray[Any]) -> list[float | None]:
    return [
        round(part / total, 4) if total else None
        for part, total in zip(parts.tolist(), totals.tolist(), strict=True)
    ]
