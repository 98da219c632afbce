"""The hits of a question: where they are, and how many there are by act, by group and over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.explore.index import Index
from palaver.explore.kernels.messages import count_facets, count_threads
from palaver.explore.question import NONE, Answers, Question
from palaver.explore.words import first_place, parts_of
from palaver.page.text import visible

PAGE = 40
SORTS = ("thread", "newest", "oldest", "surest")
_GROUPS = 12
_BEFORE, _SNIPPET = 120, 420  # characters before the first hit, and in all
_LARGEST = 200  # of a page of hits


def counted(answers: Answers, question: Question) -> dict[str, Any]:
    """Return how many messages pass: in all, by act, by group and over time.

    Every count comes with that of all messages of its group, so that shares can be compared.
    """
    return dict(answers.remembered(("counted", question), lambda: _counted(answers, question)))


def _counted(answers: Answers, question: Question) -> dict[str, Any]:
    index, classified = answers.index, answers.classified
    passing = answers.passing(question)
    periods, days = index.periods
    n_acts = len(classified.acts)
    starts = np.concatenate(([0, n_acts + 1], n_acts + len(days) + 2 + index.starts))
    counts = np.zeros(starts[-1], np.int64)
    count_facets(passing, classified.main, periods, index.all_codes, starts, counts)
    acts, over_time, *groups = np.split(counts, starts[1:-1])
    return {
        "messages": int(acts.sum()),
        "threads": int(count_threads(passing, index.offsets)),
        "of": index.n_messages,
        "acts": acts[1:].tolist(),
        "groups": [
            _by_group(index, field, own) for field, own in zip(index.fields, groups, strict=True)
        ],
        "period": index.period,
        "time": [
            list(own)
            for own in zip(
                days, over_time[1:].tolist(), index.period_totals[1:].tolist(), strict=True
            )
        ],
    }


def _by_group(index: Index, field: str, counts: NDArray[np.int64]) -> dict[str, Any]:
    """Return the groups with the most hits: name, hits, messages.

    ``counts`` are the hits of each group, those without one first, (n_groups + 1,).
    """
    names, totals = index.names(field), index.totals(field)
    largest = np.argsort(-counts[1:], kind="stable")[:_GROUPS].tolist()
    values = [[names[k], int(counts[k + 1]), int(totals[k + 1])] for k in largest if counts[k + 1]]
    if counts[0]:
        values.append([NONE, int(counts[0]), int(totals[0])])
    others = int(counts[1:].astype(bool).sum()) - sum(bool(counts[k + 1]) for k in largest)
    return {"field": field, "values": values, "others": others}


def listed(
    answers: Answers, question: Question, start: int = 0, size: int = PAGE, sort: str = "thread"
) -> list[dict[str, Any]]:
    """Return some of the hits, each with its thread and the text around the first match."""
    index, classified = answers.index, answers.classified
    rows = in_order(answers, question, sort, start + min(size, _LARGEST))[start:]
    parts = parts_of(question.q)
    titles = index.texts.titles(index.conversation[rows].tolist())
    names = index.names("speaker")
    found = []
    for row, _, text, _ in index.texts.messages(rows.tolist()):
        at = max(0, first_place(text, parts) - _BEFORE) if parts else 0
        conversation, speaker = int(index.conversation[row]), int(index.codes("speaker")[row])
        found.append(
            {
                "row": row,
                "thread": conversation,
                "place": int(index.place[row]),
                "length": int(index.length[row]),
                "title": titles[conversation],
                "speaker": names[speaker] if speaker >= 0 else None,
                "time": int(index.time[row]) if index.has_time[row] else None,
                "act": int(classified.main[row]),
                "strength": round(float(classified.strength[row]), 2),
                "text": ("…" if at else "") + visible(text[at:], _SNIPPET),
            }
        )
    return found


def in_order(
    answers: Answers, question: Question, sort: str = "thread", most: int | None = None
) -> NDArray[np.int64]:
    """Return the rows of the hits, the first of them if there are more than ``most``."""
    index = answers.index
    rows = np.flatnonzero(answers.passing(question))
    if sort == "surest":
        keys = -answers.classified.strength[rows]
    elif sort in ("newest", "oldest"):
        times = np.where(index.has_time[rows], index.time[rows], 0)
        keys = -times if sort == "newest" else times
    else:
        return rows[:most]
    if most is not None and most < len(rows):
        # equal keys keep the order of the file, also at the cut
        limit = np.partition(keys, most - 1)[most - 1]
        chosen = np.flatnonzero(keys <= limit)
        rows, keys = rows[chosen], keys[chosen]
    return rows[np.argsort(keys, kind="stable")][:most]
