"""Two groups of messages side by side: what differs beyond chance, and how they are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.errors import InputError
from palaver.explore.index import Index
from palaver.explore.kernels.groups import (
    add_shares,
    count_answered,
    count_talk,
    count_values,
    mark_units,
    middle_waits,
)
from palaver.explore.kernels.messages import count_threads
from palaver.explore.question import Answers, Question
from palaver.models.views.shares import FEW_CONVERSATIONS
from palaver.questions.changes import bundles, compare_sums
from palaver.questions.story import changed

LEVEL, _SEED = 0.95, 0
_WHO = 8  # of each column
_SMALL = 1.5  # percentage points; smaller differences have a decimal
_SHOWN = ("class", "before", "after", "difference", "low", "high", "p", "clear")
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


class Sums(NamedTuple):
    """Sums over the messages of two groups.

    Attributes
    ----------
    by_bundle : array of float64, shape (2, n_bundles, n_acts + 1)
        Shares and numbers of messages in what is drawn again, see
        :func:`palaver.questions.changes.bundles`.
    by_period : array of float64, shape (2, n_periods + 1, n_acts + 1)
        The same, messages without a period first.
    n_units : array of int64, shape (2,)
        Conversations of each group; messages, where there are few conversations.
    """

    by_bundle: NDArray[np.float64]
    by_period: NDArray[np.float64]
    n_units: Rows


def sums_of(answers: Answers, groups: tuple[Bools, Bools]) -> Sums:
    """Add up the shares of two groups."""
    index, shares = answers.index, answers.classified.shares
    few = _is_small(index)
    units = np.arange(index.n_messages, dtype=np.int32) if few else index.conversation
    marks = np.zeros((2, index.n_messages if few else index.n_conversations), bool)
    mark_units(*groups, units, marks)
    taken = marks[0] | marks[1]  # what is drawn again: conversations of either group
    own = bundles(int(np.count_nonzero(taken)), _SEED)
    bundle_of = np.full(len(taken), -1, np.int16)
    bundle_of[taken] = own
    periods, days = index.periods
    by_bundle = np.zeros((2, int(own.max()) + 1, shares.shape[1] + 1))
    by_period = np.zeros((2, len(days) + 1, shares.shape[1] + 1))
    add_shares(*groups, units, bundle_of, periods, shares, by_bundle, by_period)
    return Sums(by_bundle, by_period, np.count_nonzero(marks, axis=1))


def _is_small(index: Index) -> bool:
    """Whether messages are drawn again, because there are few conversations."""
    return index.n_conversations < FEW_CONVERSATIONS


def differences(answers: Answers, sums: Sums, names: tuple[str, str]) -> pl.DataFrame:
    """Return one row per act: shares in both groups, and the difference with its interval.

    Intervals and p-values hold for all acts at once; see :mod:`palaver.questions.changes`.
    """
    found = compare_sums(sums.by_bundle, [(0, 1)], LEVEL, _SEED, sums.n_units)
    n_messages = sums.by_bundle[:, :, -1].sum(axis=1).astype(int).tolist()
    few, classified = _is_small(answers.index), answers.classified
    return pl.DataFrame(
        {
            "class": [act.number for act in classified.acts],
            "name": [act.name for act in classified.acts],
            "before": found.before[0],
            "after": found.after[0],
            "difference": found.after[0] - found.before[0],
            **{
                name: pl.Series(own[0], nan_to_null=True)
                for name, own in (("low", found.low), ("high", found.high), ("p", found.p))
            },
            "first": names[0],
            "second": names[1],
            "messages_before": n_messages[0],
            "messages_after": n_messages[1],
            "resampled": "message" if few else "conversation",
            "clear": (found.low[0] > 0) | (found.high[0] < 0),
        }
    )


def compared(answers: Answers, given: Mapping[str, str]) -> dict[str, Any]:
    """Return everything that the view shows about two groups."""
    asked = read_groups(given)
    names = given.get("name.a") or "the first group", given.get("name.b") or "the second group"
    key = "compared", asked, names
    return dict(answers.remembered(key, lambda: _compared(answers, asked, names)))


def _compared(
    answers: Answers, asked: tuple[Question, Question], names: tuple[str, str]
) -> dict[str, Any]:
    index = answers.index
    groups = groups_of(answers, *asked)
    sums = sums_of(answers, groups)
    table = differences(answers, sums, names)
    rows = table.to_dicts()
    said = [_sentence(row) for row in _clearest(rows)] or changed(table.head(0))
    return {
        "sentences": said,
        "acts": [{name: row[name] for name in _SHOWN} for row in rows],
        "groups": _facts(answers, groups),
        "replies": index.content["replies"],
        "who": _who(index, groups, sums.by_period[:, 1:, -1]),
        "resampled": table["resampled"][0],
        "period": index.period,
        "days": index.periods[1],
        "series": [_series(own[1:]) for own in sums.by_period],
    }


def _clearest(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    clear = [row for row in rows if row["clear"]]
    return sorted(clear, key=lambda row: -abs(row["difference"]))[:5]


def _sentence(row: Mapping[str, Any]) -> str:
    before, after = 100 * row["before"], 100 * row["after"]
    low, high = sorted(abs(100 * row[edge]) for edge in ("low", "high"))
    more = "more" if after < before else "less"
    digits = 1 if low < _SMALL else 0  # what differs must not look equal
    return (f"{row['name']} is {more} common in {row['first']} ({before:.{digits}f}%) than in "
            f"{row['second']} ({after:.{digits}f}%): {abs(after - before):.{digits}f} points, "
            f"95% interval {low:.{digits}f} to {high:.{digits}f}.")  # fmt: skip


def _facts(answers: Answers, groups: tuple[Bools, Bools]) -> list[dict[str, Any]]:
    """Return how many messages and threads each group has, and how its acts are answered.

    That is: how many messages nobody else answered, and the median seconds until an answer.
    """
    index, n_acts = answers.index, len(answers.classified.acts)
    cells = np.empty(index.n_messages, np.int16)
    counts = np.zeros((2, n_acts + 2, 3), np.int64)
    one, other = (group & ~index.by_bot for group in groups)
    count_answered(one, other, answers.classified.main, index.opens, index.answered,
                   index.has_wait, cells, counts)  # fmt: skip
    known, middle = counts[:, :, 2], np.full((2, n_acts + 2, 2), np.nan)
    middle_waits(cells, index.waited, index.waits, known, np.zeros_like(known), middle)
    found = []
    for group, own, waits in zip(groups, counts.tolist(), middle.mean(axis=2), strict=True):
        said = [
            {"messages": messages, "unanswered": never, "wait": float(wait) if n else None}
            for (messages, never, n), wait in zip(own, waits, strict=True)
        ]
        found.append(
            {
                "messages": int(np.count_nonzero(group)),
                "threads": int(count_threads(group, index.offsets)),
                "begun": said[-1],
                "acts": said[1:-1],
            }
        )
    return found


def _who(
    index: Index, groups: tuple[Bools, Bools], totals: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Return the share of talk of the largest values of each column, in all and over time.

    ``totals`` are the messages of both groups in each period, (2, n_periods).
    """
    starts = index.starts
    counts = np.zeros((2, starts[-1]), np.int64)
    count_values(*groups, index.all_codes, starts[:-1], counts)
    sizes = np.array([[np.count_nonzero(own)] for own in groups])
    shares, shown = counts / sizes, np.full(starts[-1], -1, np.int32)
    largest: list[Rows] = []
    n_shown = 0
    for start, end in pairwise(starts.tolist()):
        own = shares[:, start + 1 : end]
        first = np.argsort(-own.max(axis=0, initial=0), kind="stable")[:_WHO]
        first = first[own[:, first].any(axis=0)]
        shown[start + 1 + first] = np.arange(n_shown, n_shown + len(first))
        n_shown += len(first)
        largest.append(first)
    talk = np.zeros((2, n_shown, totals.shape[1]), np.int64)
    if talk.size:
        count_talk(*groups, index.all_codes, starts[:-1], shown, index.periods[0], talk)
    parts = np.split(talk, np.cumsum([len(first) for first in largest])[:-1], axis=1)
    found = []
    for field, start, first, part in zip(index.fields, starts, largest, parts, strict=False):
        names, own = index.names(field), shares[:, start + 1 + first].round(4)
        found.append(
            {
                "field": field,
                "values": [
                    [names[k], *both] for k, both in zip(first, own.T.tolist(), strict=True)
                ],
                "series": [
                    [_shares(row, total) for row in rows] if len(total) else []
                    for rows, total in zip(part, totals, strict=True)
                ],
            }
        )
    return found


def _series(sums: NDArray[np.float64]) -> list[list[float | None]]:
    """Return the share of each act in each period, None where a period has no message."""
    return [_shares(own, sums[:, -1]) for own in sums[:, :-1].T] if len(sums) else []


def _shares(parts: NDArray[Any], totals: NDArray[Any]) -> list[float | None]:
    return [
        round(part / total, 4) if total else None
        for part, total in zip(parts.tolist(), totals.tolist(), strict=True)
    ]
