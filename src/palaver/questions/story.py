"""Answers in sentences, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from palaver.models.summary import least_replies, messages_before, relative, replies_to
from palaver.questions.answers import network, starts
from palaver.questions.people import evenness
from palaver.questions.talk import Talk

_MOST_SENTENCES = 3
_NOTABLE = 1.5  # times as likely as usual, to be said
_TINY = 0.03  # share of what follows, below which nothing is said
_FEW = 10  # conversations, below which shares of them are not said
_SPANS = ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def spelled_time(seconds: float) -> str:
    """Return a time as people say it: ``40 seconds``, ``3 hours``, ``2 days``."""
    size, unit = next(
        (size, unit) for size, unit in _SPANS if seconds >= 0.95 * size or unit == "second"
    )
    number = max(round(seconds / size), int(seconds > 0))
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def changed(table: pl.DataFrame) -> list[str]:
    """Say what changed clearly, given the table of :func:`palaver.questions.changes.changes`."""
    clear = table.filter("clear").sort(pl.col("difference").abs(), descending=True)
    if not clear.height:
        return ["No clear difference: all that differs may be due to chance."]
    return [_change(row) for row in clear.head(_MOST_SENTENCES).iter_rows(named=True)]


def _change(row: dict[str, object]) -> str:
    before, after, low, high = (
        float(str(row[name])) for name in ("before", "after", "low", "high")
    )
    rose = after > before
    edges = sorted((abs(100 * low), abs(100 * high)))
    points = abs(100 * (after - before))
    if str(row["first"]).startswith("("):
        said = (f"{row['name']} is {_percent(after)} in {row['second']} and {_percent(before)} "
                "elsewhere")  # fmt: skip
    else:
        verb = "rose" if rose else "fell"
        said = (f"From {row['first']} to {row['second']}, {row['name']} {verb} from "
                f"{_percent(before)} to {_percent(after)}")  # fmt: skip
    return f"{said} ({points:.0f} points, 95% interval {edges[0]:.0f} to {edges[1]:.0f})."


def answered(talk: Talk, of: str | int | None = None) -> list[str]:
    """Say how much is answered, and how soon."""
    if of is None:
        rows = starts(talk)
        what = "conversation"
    else:
        number = talk.find_class(of)
        rows = np.flatnonzero((talk.main == number) & ~talk.is_bot)
        what = "message"
    found = talk.answers
    if not len(rows):
        return []
    never = int((found.first[rows] < 0).sum())
    noun = what if len(rows) == 1 else f"{what}s"
    who = "get" if of is not None else "got"
    if never or len(rows) == 1:
        share = _percent(never / len(rows))
        said = [f"{never:,} of {len(rows):,} {noun} ({share}) {who} no answer from anybody else."]
    else:
        said = [f"Somebody else answered in all {len(rows):,} {noun}." if of is None else
                f"Somebody else answered all {len(rows):,} {noun}."]  # fmt: skip
    wait = found.wait[rows]
    timed = ~np.isnan(wait)
    judged = int(timed.sum()) + never
    if timed.sum() >= _FEW:
        hour, day = (float((wait[timed] <= limit).sum() / judged) for limit in (3600, 86_400))
        typical = spelled_time(float(np.median(wait[timed])))
        said.append(f"{_percent(hour)} were answered within an hour, {_percent(day)} within a day; "
                    f"an answer typically takes {typical}.")  # fmt: skip
    return said


def evenly(talk: Talk) -> list[str]:
    """Say how evenly people share the talk."""
    found = evenness(talk)
    if found is None:
        return []
    return [
        f"In a typical conversation, whoever says most says {_percent(found['loudest'])} of the "
        f"words; {_percent(found['even'])} would be even."
    ]


def helping(talk: Talk) -> list[str]:
    """Say who answers most."""
    people = network(talk)
    if people.height < 3 or people["given"][0] < 3:
        return []
    first = people.row(0, named=True)
    total = int(people["given"].sum())
    few = int(np.searchsorted(np.cumsum(people["given"].to_numpy()), total / 2)) + 1
    half = (f"; {few} people give half of all answers" if 1 < few <= people.height // 4
            else "")  # fmt: skip
    return [f"{first['speaker']} answers most: {first['given']:,} times, to "
            f"{first['people_helped']:,} people{half}."]  # fmt: skip


def largest(talk: Talk, units: str = "messages", noun: str = "act") -> list[str]:
    """Say which classes are largest."""
    sizes = talk.shares[talk.known].mean(axis=0) if talk.known.any() else np.zeros(talk.n_classes)
    order = [int(k) for k in np.argsort(-sizes, kind="stable")[:3] if sizes[k] > 0]
    if not order:
        return []
    parts = [_named(talk, k, _percent(sizes[k])) for k in order]
    parts[0] = _named(talk, order[0], f"{_percent(sizes[order[0]])} of the {units}")
    plural = "is" if len(parts) == 1 else "are"
    kinds = noun if len(parts) == 1 else f"{noun}s"
    return [f"The most common {kinds} {plural} {_listed(parts)}."]


def follows(talk: Talk, steps: str = "replies") -> list[str]:
    """Say how conversations open and what follows what, where that is clear."""
    return [*_opening(talk), *_following(talk, steps)]


def _opening(talk: Talk) -> Iterator[str]:
    first = starts(talk)
    first = first[talk.known[first]]
    if len(first) < _FEW or talk.n_classes < 2:
        return
    own, overall = talk.shares[first].mean(axis=0), talk.shares[talk.known].mean(axis=0)
    times = own / np.maximum(overall, 1e-12)
    times[own < _TINY] = 0
    best = int(np.argmax(times))
    if times[best] >= _NOTABLE:
        yield (f"Conversations open with {_named(talk, best)} {times[best]:.1f} times as often as "
               f"it occurs elsewhere ({_percent(own[best])} of what opens them).")  # fmt: skip


def _following(talk: Talk, steps: str) -> Iterator[str]:
    parents = talk.corpus.parents.astype(np.int64)
    if steps == "messages" or not (parents >= 0).any():
        parents = messages_before(talk.corpus, talk.known)
    replied = replies_to(talk.shares, parents)
    rows = np.flatnonzero((parents >= 0) & talk.known)
    if len(rows) < _FEW or talk.n_classes < 2:
        return
    after = talk.shares[parents[rows]].T @ talk.shares[rows]
    after /= np.maximum(after.sum(axis=1, keepdims=True), 1e-12)
    sizes = talk.shares[talk.known].mean(axis=0)
    effects = relative(np.vstack((after, sizes)), sizes, replied)[:-1]
    enough = replied >= least_replies(replied)
    weight = np.where(enough[:, None] & (after >= _TINY), replied[:, None] * after * np.log2(
        np.maximum(effects, 1e-9)), 0)  # fmt: skip
    np.fill_diagonal(weight, 0)
    source, target = np.unravel_index(int(np.argmax(weight)), weight.shape)
    if effects[source, target] >= 1.2 and weight[source, target] > 0:
        yield (f"After {_named(talk, int(source))}, {_named(talk, int(target))} is "
               f"{effects[source, target]:.1f} times as likely as usual.")  # fmt: skip


def five(talk: Talk, units: str, steps: str, noun: str = "act") -> list[str]:
    """Return the five sentences that say most about a corpus, or as many as there are."""
    said = [
        *largest(talk, units, noun),
        *(follows(talk, steps) if noun == "act" else []),
        *(answered(talk) if len(starts(talk)) >= _FEW and noun == "act" else []),
        *(helping(talk) if noun == "act" else []),
        *(evenly(talk) if noun == "act" else []),
    ]
    return said[:5]


def _named(talk: Talk, number: int, more: str = "") -> str:
    """Return the name of a class with its letter, else its letter and first words."""
    name = talk.names.get(number)
    letter = talk.letters[number]
    if name:
        return f"{name} ({letter}{', ' if more else ''}{more})"
    words = talk.words.filter(pl.col("class") == number)["word"].head(3).to_list()
    said = f"{letter} “{' '.join(words)}”" if words else letter
    return f"{said} ({more})" if more else said


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _percent(share: float) -> str:
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"
