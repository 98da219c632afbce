"""Answers in sentences, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.describe import are_roles
from palaver.models.summary import least_replies, messages_before, relative, replies_to
from palaver.questions.answers import is_inferred, network, only_questions, starts, waiting
from palaver.questions.people import evenness
from palaver.questions.talk import Talk
from palaver.questions.verbs import statement_of, verb_of

_MOST_SENTENCES = 3
_BY_GUESS = ", going by inferred replies"
_NOTABLE = 1.5  # times as likely as usual, to be said
_CLEAR = 1.2  # the same, for what follows what
_TINY = 0.03  # share of what follows, below which nothing is said
_FEW = 10  # conversations, below which shares of them are not said
_SMALL_ROOM = 6  # people, up to which it is worth saying how evenly they talk
_TOLD = 4  # words of a class without a name
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
    unit = "point" if f"{points:.0f}" == "1" else "points"
    return f"{said} ({points:.0f} {unit}, 95% interval {edges[0]:.0f} to {edges[1]:.0f})."


def answered(talk: Talk, of: str | int | None = None) -> list[str]:
    """Say how much is answered, and how soon."""
    first, wait = _openings(talk) if of is None else _messages_of(talk, of)
    if not len(first):
        return []
    never = int((first < 0).sum())
    what = "conversation" if of is None else "message"
    noun = what if len(first) == 1 else f"{what}s"
    if of is None and only_questions(talk):
        noun += " that open with a question" if len(first) > 1 else " that opens with a question"
    if never or len(first) == 1:
        share = _percent(never / len(first))
        known = _BY_GUESS if is_inferred(talk.corpus) else ""
        said = [
            f"{never:,} of {len(first):,} {noun} ({share}) got no answer from anybody else{known}."
        ]
    else:
        said = [f"Somebody else answered in all {len(first):,} {noun}." if of is None else
                f"Somebody else answered all {len(first):,} {noun}."]  # fmt: skip
    return [*said, *_how_soon(wait, never, noun)]


def _how_soon(wait: NDArray[np.float64], never: int, noun: str) -> list[str]:
    """Say how long answers take; nothing if few waits are known."""
    timed = wait[~np.isnan(wait)]
    if len(timed) < _FEW:
        return []
    judged = len(timed) + never
    hour, day = (float((timed <= limit).sum() / judged) for limit in (3600, 86_400))
    soon = f"{_percent(hour)} of the {noun} were answered within an hour"
    if _percent(hour) != _percent(day):
        soon += f", {_percent(day)} within a day"
    return [f"A first answer typically takes {spelled_time(float(np.median(timed)))}; {soon}."]


def _openings(talk: Talk) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the first answer to what opens each conversation and waits, and how long it took.

    A conversation that somebody opened more than once is answered if one of these is.
    """
    rows, found = waiting(talk), talk.answers
    own = pl.DataFrame(
        {"conversation": talk.conversations[rows], "first": found.first[rows],
         "wait": pl.Series(found.wait[rows]).fill_nan(None)}
    )  # fmt: skip
    each = own.group_by("conversation", maintain_order=True).agg(
        pl.col("first").max(),
        pl.col("wait").filter(pl.col("first") >= 0).first(),
    )
    return each["first"].to_numpy(), each["wait"].fill_null(float("nan")).to_numpy()


def _messages_of(talk: Talk, of: str | int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rows = np.flatnonzero((talk.main == talk.find_class(of)) & ~talk.is_bot)
    return talk.answers.first[rows], talk.answers.wait[rows]


def evenly(talk: Talk) -> list[str]:
    """Say how evenly people share the talk; nothing about rooms full of people."""
    found = evenness(talk)
    if found is None or found["even"] < 1 / _SMALL_ROOM:
        return []
    return [
        f"In a typical conversation, whoever says most says {_percent(found['loudest'])} of the "
        f"words; {_percent(found['even'])} would be even."
    ]


def helping(talk: Talk) -> list[str]:
    """Say who answers most; nothing where speakers are roles, such as A and B."""
    people = network(talk)
    if people.height < 3 or people["given"][0] < 3 or are_roles(talk.corpus):
        return []
    first = people.row(0, named=True)
    given = -np.sort(-people["given"].to_numpy())
    total = int(given.sum())
    few = int(np.searchsorted(np.cumsum(given), total / 2)) + 1
    n_people = int((people["given"] > 0).sum())
    half = (f"; {few:,} of {n_people:,} people who answer give half of all answers"
            if 1 < few <= n_people // 4 else "")  # fmt: skip
    return [f"{first['speaker']} answers the most people: {first['people_helped']:,}, in "
            f"{first['given']:,} messages{half}."]  # fmt: skip


def largest(
    talk: Talk, units: str = "messages", noun: str = "act", *, learned: bool = False
) -> list[str]:
    """Say which classes are largest, as verbs where the names allow it.

    Sizes are those that the model ``learned``, as at the top of the page, or what it finds now.
    """
    sizes = talk.doing[talk.known].mean(axis=0) if talk.known.any() else np.zeros(talk.n_classes)
    if learned and talk.sizes is not None and talk.contains is None:
        sizes = talk.sizes
    order = [int(k) for k in np.argsort(-sizes, kind="stable")[:3] if sizes[k] > 0]
    if not order:
        return []
    verbs = all(verb_of(talk, k) for k in order)
    stated = [k for k in order if statement_of(talk, k)] if verbs else []
    order = stated + [k for k in order if k not in stated]
    shares = [_percent(sizes[k]) for k in order]
    shares[0] += f" of the {units}"
    if talk.contains is not None:  # of several sentences, each does something
        shares[0] = f"in {shares[0]}"
    if verbs:
        return [_in_verbs(talk, order, shares, len(stated))]
    parts = [_named(talk, k, share) for k, share in zip(order, shares, strict=True)]
    plural = "is" if len(parts) == 1 else "are"
    kinds = noun if len(parts) == 1 else f"{noun}s"
    return [f"The most common {kinds} {plural} {_listed(parts)}."]


def _in_verbs(talk: Talk, order: list[int], shares: list[str], n_stated: int) -> str:
    """Say what people do; statements come first, in passing, unless there is nothing else."""
    sized = [f"({talk.letters[k]}, {share})" for k, share in zip(order, shares, strict=True)]
    doing = [f"{verb_of(talk, k)} {size}" for k, size in zip(order, sized, strict=True)]
    if not 0 < n_stated < len(order):
        return f"Mostly, people {_listed(doing)}."
    passing = [f"{statement_of(talk, k)} {size}"
               for k, size in zip(order[:n_stated], sized, strict=False)]  # fmt: skip
    return f"Besides {_listed(passing)}, people mostly {_listed(doing[n_stated:])}."


def follows(talk: Talk, steps: str = "replies") -> list[str]:
    """Say how conversations open and what follows what, where that is clear."""
    return [*_opening(talk), *_following(talk, steps)]


def _opening(talk: Talk) -> Iterator[str]:
    found = opening(talk)
    if found is not None:
        number, own, other = found
        yield (f"Of the messages that open a conversation, {_percent(own)} "
               f"{_doing(talk, number)}, of the later ones {_percent(other)}.")  # fmt: skip


def opening(talk: Talk) -> tuple[int, float, float] | None:
    """Return the class that tells openings from later messages best, and its share of each.

    None if there are few of either, or if no class does.
    """
    first = starts(talk)
    first = first[talk.known[first]]
    later = talk.known.copy()
    later[first] = False
    if len(first) < _FEW or later.sum() < _FEW or talk.n_classes < 2:
        return None
    own, other = talk.doing[first].mean(axis=0), talk.doing[later].mean(axis=0)
    times = own / np.maximum(other, 1e-12)
    weight = np.where(own >= _TINY, own * np.log2(np.maximum(times, 1e-9)), 0)
    best = int(np.argmax(weight))
    return (best, float(own[best]), float(other[best])) if times[best] >= _NOTABLE else None


def _following(talk: Talk, steps: str) -> Iterator[str]:
    parents = talk.corpus.parents.astype(np.int64)
    is_next = steps == "messages" or not (parents >= 0).any()
    if is_next:
        parents = messages_before(talk.corpus, talk.known)
    replied = replies_to(talk.doing, parents)
    rows = np.flatnonzero((parents >= 0) & talk.known)
    if len(rows) < _FEW or talk.n_classes < 2:
        return
    before, then = talk.doing[parents[rows]], talk.doing[rows]
    after = before.T @ then / np.maximum(before.sum(axis=0), 1e-12)[:, None]
    sizes = talk.doing[talk.known].mean(axis=0)
    if talk.contains is None:
        effects = relative(np.vstack((after, sizes)), sizes, replied)[:-1]
    else:  # a message has several: compare with what replies usually contain
        effects = after / np.maximum(then.mean(axis=0), 1e-12)
    enough = replied >= least_replies(replied)
    weight = np.where(enough[:, None] & (after >= _TINY), replied[:, None] * after * np.log2(
        np.maximum(effects, 1e-9)), 0)  # fmt: skip
    np.fill_diagonal(weight, 0)
    source, target = (int(k) for k in np.unravel_index(int(np.argmax(weight)), weight.shape))
    times, share = float(effects[source, target]), float(after[source, target])
    if times >= _CLEAR and weight[source, target] > 0:
        what = "next messages" if is_next else "replies"
        yield (f"After messages that {_doing(talk, source)}, {_percent(share)} of the {what} "
               f"{_doing(talk, target)}, {times:.1f} times as many as usual.")  # fmt: skip


def five(
    talk: Talk, units: str, steps: str, noun: str = "act", *, learned: bool = False
) -> list[str]:
    """Return the five sentences that say most about a corpus, or as many as there are.

    For ``learned``, see :func:`largest`.
    """
    if noun != "act":
        return largest(talk, units, noun, learned=learned)
    waits = len(waiting(talk)) >= _FEW and not are_roles(talk.corpus)
    waits &= only_questions(talk) or not is_inferred(talk.corpus)  # alone is not unanswered
    said = [
        *largest(talk, units, noun, learned=learned),
        *_opening(talk),
        *(answered(talk) if waits else []),
        *helping(talk),
        *_following(talk, steps),
        *evenly(talk),
    ]
    return said[:5]


def _doing(talk: Talk, number: int) -> str:
    """Return what messages of a class do, in the plural, with its letter."""
    verb, letter = verb_of(talk, number), talk.letters[number]
    if verb is not None:
        return f"{verb} ({letter})"
    name = talk.names.get(number)  # people use all kinds of words: "complaint", "complains"
    return f"are “{name}” ({letter})" if name else f"are {_named(talk, number)}"


def _named(talk: Talk, number: int, more: str = "") -> str:
    """Return the name of a class with its letter, else its letter and first words."""
    name = talk.names.get(number)
    letter = talk.letters[number]
    if name:
        return f"{name} ({letter}{', ' if more else ''}{more})"
    words = talk.words.filter(pl.col("class") == number)["word"].head(_TOLD).to_list()
    said = f"{letter} “{' '.join(words)}”" if words else letter
    return f"{said} ({more})" if more else said


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _percent(share: float) -> str:
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"
