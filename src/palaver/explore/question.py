"""What is asked of the workbench: the filters of an address, and the messages that pass them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.errors import InputError
from palaver.explore.acts import ActShown, Classified
from palaver.explore.index import Index
from palaver.explore.sequences import matches, read_pattern
from palaver.explore.words import parts_of

#: Prefix of the names of columns in addresses.
COLUMN = "by."
#: Stands for messages without a group.
NONE = "(none)"
_KEPT = 48  # answers in memory, a byte per message each


@dataclass(frozen=True)
class Question:
    """Filters; a message must pass all of them.

    Attributes
    ----------
    q : str
        Words, phrases and beginnings of words, see :mod:`palaver.explore.words`.
    act : int or None
        A class of the act: the message's main act, or with ``p`` one that has this share of it.
    p : float or None
    seq : str
        A sequence of acts, see :mod:`palaver.explore.sequences`.
    since, until : str
        First and last day, as ``2024-03-01``.
    least, most : int or None
        Messages in the thread.
    first, last : int or None
        Places in the thread, from 1.
    answered : str
        "yes" if somebody else answers the message, "no" if nobody else does; bots do not count.
    to : str
        Whose messages are replied to.
    groups : tuple of (str, str)
        Fields and the names of their groups.
    """

    q: str = ""
    act: int | None = None
    p: float | None = None
    seq: str = ""
    since: str = ""
    until: str = ""
    least: int | None = None
    most: int | None = None
    first: int | None = None
    last: int | None = None
    answered: str = ""
    to: str = ""
    groups: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Question:
        """Return the question of an address.

        Raises
        ------
        InputError
            A value cannot be used.
        """
        values: dict[str, Any] = {}
        for field in fields(cls):
            text = given.get(field.name, "")
            if not text or field.name == "groups":
                continue
            if field.name in ("q", "seq", "since", "until", "answered", "to"):
                values[field.name] = text
            else:
                values[field.name] = _number(field.name, text)
        for day in ("since", "until"):
            if day in values:
                _seconds(values[day])
        if values.get("answered", "no") not in ("yes", "no"):
            raise InputError(f"answered is yes or no, not {values['answered'][:40]!r}")
        if "seq" in values:
            read_pattern(values["seq"])
        groups = sorted((key.removeprefix(COLUMN), value) for key, value in given.items()
                        if key.startswith(COLUMN) and value)  # fmt: skip
        return cls(**values, groups=tuple(groups))

    @property
    def is_open(self) -> bool:
        """Whether nothing is asked for: all messages pass."""
        return self == Question()

    @property
    def is_about_acts(self) -> bool:
        """Whether the answer depends on what acts messages have."""
        return self.act is not None or self.p is not None or bool(self.seq)


def _number(name: str, text: str) -> float:
    try:
        value = float(text) if name == "p" else int(text)
    except ValueError as error:
        raise InputError(f"{name} must be a number, got {text[:40]!r}") from error
    if not abs(value) < 1e9:
        raise InputError(f"{name} is out of range")
    return value


def _seconds(day: str) -> int:
    try:
        found = datetime.fromisoformat(day)
    except ValueError as error:
        raise InputError(f"{day[:40]!r} is not a day; write one such as 2024-03-01") from error
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return int(found.timestamp())


class Answers:
    """The messages that pass questions; the latest answers are kept.

    Attributes
    ----------
    index : Index
    classified : Classified
    """

    def __init__(self, index: Index, classified: Classified) -> None:
        self.index, self.classified = index, classified
        self._kept: OrderedDict[Question, NDArray[np.bool_]] = OrderedDict()
        self._said: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def renamed(self, acts: Sequence[ActShown]) -> Answers:
        """Return the same, where nothing has changed but what the acts are called."""
        found = copy(self)
        found.classified = self.classified.renamed(acts)
        found._said = OrderedDict()  # has names of acts
        return found

    def take_over(self, before: Answers) -> None:
        """Keep what was found when acts were others, and does not depend on them."""
        with before._lock:
            self._kept.update(
                (asked, own) for asked, own in before._kept.items() if not asked.is_about_acts
            )

    def remembered(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what ``make`` gives; do not change it. The latest are kept."""
        with self._lock:
            if key in self._said:
                self._said.move_to_end(key)
                return self._said[key]
        found = make()
        with self._lock:
            self._said[key] = found
            while len(self._said) > _KEPT:
                self._said.popitem(last=False)
        return found

    def passing(self, question: Question) -> NDArray[np.bool_]:
        """Return which messages pass, (n_messages,); do not change it."""
        with self._lock:
            if question in self._kept:
                self._kept.move_to_end(question)
                return self._kept[question]
        found = self._find(question)
        found.flags.writeable = False
        with self._lock:
            self._kept[question] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def _find(self, question: Question) -> NDArray[np.bool_]:
        index, classified = self.index, self.classified
        found = np.ones(index.n_messages, bool)
        if question.q.strip():
            found &= self._with_words(question.q)
        if question.act is not None:
            found &= self._of_act(question.act, question.p)
        elif question.p is not None:
            found &= classified.strength >= question.p
        for field, name in question.groups:
            if field not in index.fields:
                raise InputError(f"there is no column {field[:40]!r} to filter by")
            found &= index.codes(field) == index.code(field, name) if name != NONE else (
                index.codes(field) < 0)  # fmt: skip
        if question.since:
            found &= index.has_time & (index.time >= _seconds(question.since))
        if question.until:
            found &= index.has_time & (index.time < _seconds(question.until) + 86_400)
        for bound, values, least in (
            (question.least, index.length, True), (question.most, index.length, False),
            (question.first, index.place + 1, True), (question.last, index.place + 1, False),
        ):  # fmt: skip
            if bound is not None:
                found &= values >= bound if least else values <= bound
        if question.answered:
            found &= index.answered if question.answered == "yes" else ~index.answered
            found &= ~index.by_bot
        if question.to:
            found &= self._to(question.to)
        if question.seq:
            found &= self.in_sequence(question.seq)
        return found

    def _with_words(self, typed: str) -> NDArray[np.bool_]:
        parts = parts_of(typed)
        if not parts:
            raise InputError("only words can be searched: type a letter or a digit")
        wanted = [part for part in parts if not part.is_excluded]
        texts = self.index.texts
        found = texts.matching(wanted) if wanted else np.ones(self.index.n_messages, bool)
        for part in parts:
            if part.is_excluded:
                found &= ~texts.matching([part])
        return found

    def _of_act(self, number: int, share: float | None) -> NDArray[np.bool_]:
        place = self.classified.place_of(number)
        if place < 0:
            raise InputError(f"there is no act {number}")
        if share is None:
            return np.asarray(self.classified.main == place)
        return np.asarray(self.classified.shares[:, place] >= share)

    def _to(self, name: str) -> NDArray[np.bool_]:
        """Return which messages reply to one of a speaker."""
        index = self.index
        wrote = index.codes("speaker") == index.code("speaker", name)
        return np.asarray((index.replied >= 0) & wrote[index.replied])

    def in_sequence(self, pattern: str) -> NDArray[np.bool_]:
        """Return which messages take part in a sequence of acts, (n_messages,)."""
        steps = read_pattern(pattern)
        places = self.classified.places()
        for step in steps:
            if step.act is not None and not (step.act < len(places) and places[step.act] >= 0):
                raise InputError(f"there is no act {step.act}")
        speakers = self.index.codes("speaker")
        main = self.classified.main
        own = [s if s.act is None else replace(s, act=int(places[s.act])) for s in steps]
        return matches(own, self.index, main, speakers)
