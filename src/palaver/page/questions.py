"""What analysts ask, as sections of the page: what changed, who helps whom, what is unanswered."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from palaver.corpus.describe import are_roles
from palaver.corpus.grouping import is_dated
from palaver.page.findings import Findings, talk_of_findings
from palaver.page.text import excerpt, name, speaker_name
from palaver.questions import story
from palaver.questions.answers import starts
from palaver.questions.talk import Talk

_SHOWN, _PAIRS, _EXCERPT = 5, 10, 200
_FEW = 10  # conversations on each side, to compare two halves; openings, to say what is unanswered
_SMALL_ROOM = 12  # people, up to which it is shown who talks how much


def make_questions(findings: Findings, by: str | None = None) -> dict[str, Any]:
    """Return what the sections show; None for a question that the texts cannot answer."""
    talk = talk_of_findings(findings)
    rank = {int(number): place for place, number in enumerate(findings.order)}
    is_talk = findings.wording.text == "message"
    people = is_talk and not are_roles(talk.corpus)
    return {
        "changed": _changed(talk, rank, by),
        "waiting": _waiting(findings, talk, rank) if people else None,
        "helping": _helping(talk, rank) if people else None,
        "balance": _balance(talk) if is_talk else None,
    }


def _changed(talk: Talk, rank: dict[int, int], by: str | None) -> dict[str, Any] | None:
    """Compare the groups that were asked for, or the first half of the messages with the second."""
    if by is not None:
        table, halves = talk.compare_groups(by), None
    else:
        halves = _halves(talk)
        if halves is None:
            return None
        table = talk.compare_groups(between=(f"time<{halves}", f"time>={halves}"))
    clear = table.filter("clear").sort(pl.col("difference").abs(), descending=True)
    keys = ("before", "after", "low", "high")
    rows = [
        {"rank": rank[row["class"]], "first": name(row["first"]), "second": name(row["second"]),
         "rest": row["first"].startswith("("), **{key: float(row[key]) for key in keys},
         "points": 100 * abs(row["difference"]),
         "edges": sorted(abs(100 * row[key]) for key in ("low", "high"))}
        for row in clear.head(_PAIRS).iter_rows(named=True)
    ]  # fmt: skip
    unit = str(table["resampled"][0]) if table.height else "conversation"
    return {"rows": rows, "since": halves, "by": None if by is None else name(by), "unit": unit,
            "n_clear": clear.height}  # fmt: skip


def _halves(talk: Talk) -> str | None:
    """Return the day on which the second half of the messages begins; None if that says little."""
    if not is_dated(talk.corpus):
        return None
    days = talk.corpus.table["time"].dt.date()
    middle = days.drop_nulls().sort()
    if not len(middle) or middle[0] == middle[-1]:
        return None
    day = middle[len(middle) // 2]
    later = (days >= day).fill_null(False).to_numpy()
    known = days.is_not_null().to_numpy()
    sides = [talk.conversations[known & side] for side in (~later, later)]
    return str(day) if min(len(np.unique(side)) for side in sides) >= _FEW else None


def _waiting(findings: Findings, talk: Talk, rank: dict[int, int]) -> dict[str, Any] | None:
    """Return how much of what opens a conversation, and of each class, is answered."""
    if len(starts(talk)) < _FEW or not talk.answers.recorded:
        return None
    called = {talk.called(number): place for number, place in rank.items()}
    rows = []
    for row in talk.waits("class").iter_rows(named=True):
        seconds = row["median_seconds"]
        typical = None if seconds is None else story.spelled_time(seconds)
        rows.append({**row, "rank": called[row["group"]], "typical": typical})
    open_ = talk.unanswered().head(_SHOWN)
    latest = [_message(findings, row) for row in open_.iter_rows(named=True)]
    timed = any(row["typical"] is not None for row in rows)
    return {"said": story.answered(talk), "rows": rows, "latest": latest, "timed": timed}


def _message(findings: Findings, row: dict[str, Any]) -> dict[str, Any]:
    """Return a message and where the reader has it."""
    corpus, shown = findings.corpus, findings.shown
    number = int(np.searchsorted(corpus.conversation_offsets, row["message"], side="right")) - 1
    place = row["message"] - int(corpus.conversation_offsets[number])
    at = int(np.searchsorted(shown.conversations, number))
    there = at < len(shown.conversations) and shown.conversations[at] == number
    when = row["time"]
    return {
        "text": excerpt(row["text"], _EXCERPT),
        "speaker": None if row["speaker"] is None else speaker_name(row["speaker"]),
        "time": None if when is None or when.year <= 1970 else f"{when:%Y-%m-%d}",
        "conversation": number,
        "thread": at if there and place < shown.lengths[at] else None,
        "message": place,
    }


def _helping(talk: Talk, rank: dict[int, int]) -> dict[str, Any] | None:
    """Return who answers whom most; the section about people has the network."""
    said = story.helping(talk)
    if not said:
        return None
    rows = [
        {"helper": speaker_name(row["helper"]), "helped": speaker_name(row["helped"]),
         "answers": row["answers"], "back": row["back"],
         "rank": None if row["mostly"] is None else rank[row["mostly"]]}
        for row in talk.helpers().head(_PAIRS).iter_rows(named=True)
    ]  # fmt: skip
    return {"said": said, "pairs": rows}


def _balance(talk: Talk) -> dict[str, Any] | None:
    """Return who talks how much, where few people talk; only a sentence where many do."""
    said = story.evenly(talk)
    table = talk.balance()
    few = 2 <= table.height <= _SMALL_ROOM
    if not said and not few:
        return None
    rows = [
        {**row, "group": speaker_name(row["group"])} for row in table.iter_rows(named=True)
    ] if few else []  # fmt: skip
    timed = bool(rows) and any(row["seconds_share"] is not None for row in rows)
    return {"said": said, "rows": rows, "timed": timed}
