"""Two groups of messages side by side: what differs beyond chance, and how they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.errors import InputError
from palaver.explore.index import Index
from palaver.explore.question import Answers, Question
from palaver.models.views.shares import FEW_CONVERSATIONS
from palaver.questions.answers import answers_of
from palaver.questions.changes import Group, compare
from palaver.questions.story import changed

LEVEL = 0.95
_WHO = 8  # of each column
Rows = NDArray[np.int64]


def read_groups(given: Mapping[str, str]) -> tuple[Question, Question]:
    """Return the questions of two groups, ``a.act=2&b.act=3``; an empty second one is the rest."""
    first, second = (
        Question.read({k.removeprefix(side): v for k, v in given.items() if k.startswith(side)})
        for side in ("a.", "b.")
    )
    if first == second:
        raise InputError("choose two different groups; an empty second one stands for all others")
    return first, second


def rows_of(answers: Answers, first: Question, second: Question) -> tuple[Rows, Rows]:
    """Return the rows of both groups, of messages that the model knows something about."""
    known = answers.index.speaking
    one = answers.passing(first)
    other = ~one if second.is_open else answers.passing(second)
    found = np.flatnonzero(one & known), np.flatnonzero(other & known)
    for name, rows in zip(("first", "second"), found, strict=True):
        if not len(rows):
            raise InputError(f"no message is in the {name} group")
    return found


def differences(answers: Answers, rows: tuple[Rows, Rows], names: tuple[str, str]) -> pl.DataFrame:
    """Return one row per act: shares in both groups, and the difference with its interval.

    Intervals and p-values hold for all acts at once; see :mod:`palaver.questions.changes`.
    """
    index, classified = answers.index, answers.classified
    few = index.n_conversations < FEW_CONVERSATIONS
    units = np.arange(index.n_messages) if few else index.conversation.astype(np.int64)
    # only what is drawn again matters: conversations of either group
    taken = np.union1d(*rows)
    places = tuple(np.searchsorted(taken, own) for own in rows)
    pair = Group("first", places[0]), Group("second", places[1])
    codes = np.unique(units[taken], return_inverse=True)[1].astype(np.int64)
    found = compare(classified.shares[taken].astype(float), codes, [pair], LEVEL, 0)
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
        messages_before=pl.lit(len(rows[0])), messages_after=pl.lit(len(rows[1])),
        resampled=pl.lit("message" if few else "conversation"),
    )  # fmt: skip
    clear = (pl.col("low") > 0) | (pl.col("high") < 0)
    return table.with_columns(clear=clear.fill_null(False))


def compared(answers: Answers, given: Mapping[str, str]) -> dict[str, Any]:
    """Return everything that the view shows about two groups."""
    first, second = read_groups(given)
    rows = rows_of(answers, first, second)
    names = given.get("name.a") or "the first group", given.get("name.b") or "the second group"
    table = differences(answers, rows, names)
    said = [_sentence(row) for row in _clearest(table)] or changed(table.head(0))
    return {
        "sentences": said,
        "acts": table.select(
            "class", "before", "after", "difference", "low", "high", "p", "clear"
        ).to_dicts(),
        "groups": [_facts(answers, own) for own in rows],
        "who": [_who(answers.index, field, rows) for field in answers.index.fields],
        "resampled": table["resampled"][0],
        "period": answers.index.period,
        "days": answers.index.periods[1],
        "series": [_series(answers, own) for own in rows],
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


def _facts(answers: Answers, rows: Rows) -> dict[str, Any]:
    """Return how many messages and threads a group has, and how its acts are answered."""
    index, classified = answers.index, answers.classified
    main = classified.main[rows]
    first, wait = _answered(index)
    starts = rows[index.place[rows] == 0]
    by_act = [_answers(first, wait, rows[main == place]) for place in range(len(classified.acts))]
    return {
        "messages": len(rows),
        "threads": len(np.unique(index.conversation[rows])),
        "begun": _answers(first, wait, starts),
        "acts": by_act,
    }


def _answers(first: Rows, wait: NDArray[np.float64], rows: Rows) -> dict[str, Any]:
    """Return how many messages nobody else answered, and the median seconds until an answer."""
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


def _who(index: Index, field: str, rows: tuple[Rows, Rows]) -> dict[str, Any]:
    """Return the share of talk of the largest values of a column in both groups."""
    codes, names = index.codes(field), index.names(field)
    counts = np.stack([np.bincount(codes[own] + 1, minlength=len(names) + 1)[1:] for own in rows])
    shares = counts / np.maximum([[len(own)] for own in rows], 1)
    largest = np.argsort(-shares.max(axis=0, initial=0), kind="stable")[:_WHO]
    values = [[names[k], *shares[:, k].round(4).tolist()] for k in largest if shares[:, k].any()]
    return {"field": field, "values": values}


def _series(answers: Answers, rows: Rows) -> list[list[float | None]]:
    """Return the share of each act in each period, None where a period has no message."""
    codes, days = answers.index.periods
    if not days:
        return []
    own = codes[rows]
    rows, own = rows[own >= 0], own[own >= 0]
    totals = np.bincount(own, minlength=len(days))
    found = []
    for place in range(len(answers.classified.acts)):
        sums = np.bincount(own, answers.classified.shares[rows, place], minlength=len(days))
        found.append([round(s / n, 4) if n else None for s, n in zip(sums, totals, strict=True)])
    return found
