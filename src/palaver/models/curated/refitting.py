"""Fitting again with what people decided, and finding the old classes among the new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from palaver.corpus.table import Corpus
from palaver.curation import CuratedClass, Curation, Step
from palaver.curation.state import replay
from palaver.errors import ParameterError
from palaver.models.base.model import Model
from palaver.models.curated.apply import curation_of
from palaver.models.views.marks import keys_of

#: Classes are the same if this share of what either has of the messages is of both.
SAME = 1 / 3
#: Messages that show a new fit what a class is that somebody named, merged or divided: how many at
#: most, and the share of the class that they must have.
_EXAMPLES, _SURE = 50, 0.8


@dataclass(frozen=True, eq=False)
class Guidance:
    """What a new fit goes by.

    Attributes
    ----------
    model : Model
        Not yet fitted.
    labels : polars.Series or None
        Known classes by message.
    n_marked, n_sure : int
        How many of them people gave by marking messages; how many messages stand for a class that
        people named, merged or divided, because they are surely of it.
    seeds : dict of str to list of str
        Words that people gave.
    left_out : list of str
        What this kind of model cannot use, in words.
    first_acts : array of int16, shape (n_units,), or None
        Where a model of acts begins: with the acts as they are now.
    """

    model: Model
    labels: pl.Series | None
    n_marked: int
    n_sure: int
    seeds: dict[str, list[str]]
    left_out: list[str]
    first_acts: NDArray[np.int16] | None = None


def guidance(
    model: Model, corpus: Corpus, labels: pl.Series | None = None, n_classes: int | None = None
) -> Guidance:
    """Return an unfitted model that looks for the classes as people curated them.

    As many classes as there are now. Messages that were marked as right have their class. Of those
    classes that somebody named, merged or divided, the surest messages have it, too, so that the
    class is found again; words that people gave for a class are what it begins with. A model of
    acts begins with the acts as they are now, unless another number of them is asked for.

    Parameters
    ----------
    model : Model
        As it is curated.
    corpus : Corpus
    labels : polars.Series, optional
        Known classes that the model was fitted with; marks count more.
    n_classes : int, optional
    """
    if getattr(model.origin, "tags_", None) is not None:
        raise ParameterError("a tagger learns from labels; correct them in the data, train again")
    kind, state = type(model.origin), curation_of(model)
    names = _unique(_names(model, state))
    params, left_out = {**model.origin.get_params(), "random_state": model.seed_}, []
    seeds = {names[k]: list(own.seeds) for k, own in enumerate(state.classes) if own.seeds}
    is_guided = "seed_words" in kind.limits
    if is_guided:
        known = model.vocabulary_.index
        seeds = {name: [word for word in own if word in known] for name, own in seeds.items()}
        seeds = {name: own for name, own in seeds.items() if own}
        params["seed_words"] = seeds or None
    elif seeds:
        left_out.append(f"{kind.name} takes no words to begin with")
        seeds = {}
    takes_labels = "labels" in signature(kind.fit).parameters
    shown = _shown(model, state, corpus, names, labels, is_guided) if takes_labels else _NOTHING
    if not takes_labels and (_touched(state) or state.marks):
        left_out.append(f"{kind.name} takes no labels")
    said = [] if shown.labels is None else shown.labels.drop_nulls().unique().to_list()
    named = {*seeds, *(name for name in said if isinstance(name, str))}
    fresh = kind(**params)
    fresh.set_params(**kind.sized(max(n_classes or len(state.classes), len(named))))
    fresh.check_params()
    first = None
    if isinstance(fresh, _Begins) and n_classes in (None, len(names)):
        first = _first_acts(model, corpus, names, [*seeds, *sorted(named - set(seeds))])
        fresh.begin_with(first)
    return Guidance(fresh, shown.labels, shown.n_marked, shown.n_sure, seeds, left_out, first)


def _first_acts(
    model: Model, corpus: Corpus, names: Sequence[str], named: Sequence[str]
) -> NDArray[np.int16]:
    """Return the act of every unit now, by the numbers of a new fit, whose named acts come first.

    Acts for which no number is left are -1.
    """
    to = np.array([named.index(name) if name in named else -1 for name in names], np.int16)
    others = np.setdiff1d(np.arange(len(names)), to)
    free = np.flatnonzero(to < 0)
    to[free[: len(others)]] = others[: len(free)]
    acts: pl.DataFrame = model.unit_acts(corpus)  # type: ignore[attr-defined]
    return np.asarray(to[acts["act"].to_numpy()])


@runtime_checkable
class _Begins(Protocol):
    """A model whose searches can begin with given acts: :class:`palaver.Acts`."""

    def begin_with(self, acts: NDArray[np.integer]) -> Self: ...


class _Shown(NamedTuple):
    """Known classes by message, how many are marks, and how many sure examples."""

    labels: pl.Series | None
    n_marked: int
    n_sure: int


_NOTHING = _Shown(None, 0, 0)


def _shown(
    model: Model,
    state: Curation,
    corpus: Corpus,
    names: Sequence[str],
    given: pl.Series | None,
    is_guided: bool,
) -> _Shown:
    """Return labels: those of the run, then examples of classes, then marks, which count most."""
    if given is not None and given.dtype != pl.String:
        return _Shown(given, 0, 0)  # of words
    found = [None] * corpus.n_messages if given is None else given.to_list()
    marked = _marked(state, corpus, names)
    sure = _surest(model, state, corpus, names) if is_guided else {}
    sure = {row: name for row, name in sure.items() if found[row] is None and row not in marked}
    if given is None and not marked and not sure:
        return _NOTHING
    for row, name in (sure | marked).items():
        found[row] = name
    name = "label" if given is None else given.name
    return _Shown(pl.Series(name, found, pl.String), len(marked), len(sure))


def _names(model: Model, state: Curation) -> list[str]:
    called = model.summary().class_names
    return [called.get(k, f"class {k}") for k in range(len(state.classes))]


def _unique(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, own = 2, name
        while own in found:
            own, number = f"{name} {number}", number + 1
        found.append(own)
    return found


def _is_touched(own: CuratedClass, state: Curation) -> bool:
    named = own.name is not None and not own.name.proposed
    return named or bool(own.seeds) or len(own.ids) > 1 or own.ids[0] >= state.n_classes


def _touched(state: Curation) -> list[int]:
    """Return the numbers of classes that somebody cared about."""
    return [k for k, own in enumerate(state.classes) if _is_touched(own, state)]


def _marked(state: Curation, corpus: Corpus, names: Sequence[str]) -> dict[int, str]:
    """Return the class of every message that was marked as right, by row."""
    right = {place: state.numbers_of(mark.right) for place, mark in state.marks.items()
             if mark.right is not None}  # fmt: skip
    if not right:
        return {}
    places = enumerate(zip(keys_of(corpus), corpus.table["id"], strict=True))
    own = ((row, right[place]) for row, place in places if place in right)
    return {row: names[numbers[0]] for row, numbers in own if len(numbers) == 1}


def _surest(model: Model, state: Curation, corpus: Corpus, names: Sequence[str]) -> dict[int, str]:
    """Return messages that are surely of classes that somebody cared about, by row."""
    numbers = _touched(state)
    if not numbers:
        return {}
    shares = model.message_shares(corpus) * model.known_messages(corpus)[:, None]
    found: dict[int, str] = {}
    for number in numbers:
        own = shares[:, number]
        rows = np.argsort(-own, kind="stable")[:_EXAMPLES]
        found |= {int(row): names[number] for row in rows if own[row] >= _SURE}
    return found


def matched(old: NDArray[np.floating], new: NDArray[np.floating]) -> list[int]:
    """Return the new class that each old one is, -1 where none is the same.

    Two classes are the same if what they have of the messages overlaps enough: the sum of the
    smaller of both shares, over the sum of the larger. So a class that is a small part of many
    messages, such as greetings, finds its counterpart, too.

    Parameters
    ----------
    old, new : array of float, shape (n_messages, n_classes)
        The shares of the classes in each message before and after.
    """
    both = np.array([[np.minimum(one, other).sum() for other in new.T] for one in old.T])
    either = old.sum(axis=0)[:, None] + new.sum(axis=0) - both
    same = both / np.maximum(either, np.finfo(float).tiny)
    found = [-1] * old.shape[1]
    for one, other in zip(*linear_sum_assignment(-same), strict=True):
        if same[one, other] >= SAME:
            found[int(one)] = int(other)
    return found


def carried(
    state: Curation, run: str, n_new: int, same: Sequence[int]
) -> tuple[Curation, list[int]]:
    """Return what was decided as far as it holds for a new fit, and old classes that were lost.

    Names, descriptions, words, hiding, order and marks go to the class that is the same. Merged
    and divided classes are classes of their own now.

    Parameters
    ----------
    state : Curation
    run : str
        Of the new fit.
    n_new : int
        Its classes.
    same : sequence of int
        See :func:`matched`.
    """
    steps: list[Step] = []
    lost = [k for k, own in enumerate(state.classes) if same[k] < 0 and _has_words(own)]
    for number, own in enumerate(state.classes):
        if same[number] < 0:
            continue
        id = same[number]
        if own.name is not None:
            said = own.name
            action = {"do": "name", "class": id, "name": said.text, "proposed": said.proposed}
            steps.append(Step((action,), said.by, said.at))
        if own.description is not None:
            said = own.description
            action = {"do": "describe", "class": id, "text": said.text}
            steps.append(Step((action,), said.by, said.at))
        more: list[dict[str, Any]] = []
        if own.seeds:
            more.append({"do": "seeds", "class": id, "words": list(own.seeds)})
        if own.hidden:
            more.append({"do": "hide", "class": id})
        steps += [Step(tuple(more))] if more else []
    order = [same[k] for id in state.order for k in state.numbers_of(id) if same[k] >= 0]
    if order:
        steps.append(Step(({"do": "order", "classes": list(dict.fromkeys(order))},)))
    marks = _marks(state, same)
    steps += [Step(tuple(marks))] if marks else []
    return replay(run, n_new, steps), lost


def _has_words(own: CuratedClass) -> bool:
    return own.name is not None or own.description is not None or bool(own.seeds)


def _marks(state: Curation, same: Sequence[int]) -> list[dict[str, Any]]:
    found = []
    for (key, id), mark in state.marks.items():
        said = [(False, one) for one in sorted(mark.wrong)]
        said += [(True, mark.right)] if mark.right is not None else []
        for right, one in said:
            numbers = [same[k] for k in state.numbers_of(one) if same[k] >= 0]
            if len(numbers) == 1:
                found.append({"do": "mark", "class": numbers[0], "id": id, "key": key,
                              "right": right})  # fmt: skip
    return found
