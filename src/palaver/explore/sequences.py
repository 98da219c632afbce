"""Sequences of acts: a question that nobody answers, a suggestion that is thanked for.

A pattern is written as steps with arrows between them::

    2 > 5        a message of act 2, answered by one of act 5
    2 > * > 5    with any message between them
    2 >> 5       later in the same thread, whoever is answered
    2 > !        nobody answers
    2 > !5       answered, but by no message of act 5
    2 > 5@       answered by the person who wrote the first message

Steps are found for all messages at once; a message is a hit if it takes part in a match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.errors import InputError
from palaver.explore.index import Index
from palaver.explore.kernels.messages import mark_later

_STEP = re.compile(r"(!?)(\d+|\*)?(@?)")
_ARROW = re.compile(r"\s*(>>?)\s*")
MOST_STEPS = 6

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Step:
    """One message of a pattern.

    Attributes
    ----------
    act : int or None
        None for any act.
    is_absent : bool
        Whether no such message may follow.
    is_same : bool
        Whether the person of the first message wrote it.
    is_later : bool
        Whether it is anywhere later in the thread, not an answer.
    """

    act: int | None
    is_absent: bool = False
    is_same: bool = False
    is_later: bool = False


def read_pattern(text: str) -> list[Step]:
    """Return the steps of a pattern.

    Raises
    ------
    InputError
        It is not one.
    """
    parts = _ARROW.split(text.strip())
    words, arrows = parts[::2], [">", *parts[1::2]]
    steps: list[Step] = []
    for i, (word, arrow) in enumerate(zip(words, arrows, strict=True)):
        found = _STEP.fullmatch(word.strip())
        if found is None or not word.strip():
            raise InputError(f"{word!r} is not a step; write a sequence such as 2 > 5 or 2 > !")
        absent, act, same = found.groups()
        if absent and i != len(words) - 1:
            raise InputError("what is absent can only be the last step of a sequence")
        if not i and (absent or same):
            raise InputError("a sequence begins with an act or with *")
        if same and any(step.is_later and not step.is_same for step in steps):
            raise InputError("after >> it is not known who began; write >> 5@, or leave @ out")
        number = int(act) if act not in (None, "*") else None
        steps.append(Step(number, bool(absent), bool(same), arrow == ">>"))
    if len(steps) > MOST_STEPS:
        raise InputError(f"a sequence has at most {MOST_STEPS} steps")
    return steps


def matches(
    steps: list[Step], index: Index, main: NDArray[np.int16], speakers: NDArray[np.int32]
) -> Bools:
    """Return which messages take part in a match, (n_messages,).

    Parameters
    ----------
    steps : list of Step
    index : Index
    main : array of int16, shape (n_messages,)
        Act of each message, -1 for none.
    speakers : array of int32, shape (n_messages,)
        -1 where unknown.
    """
    present = [step for step in steps if not step.is_absent]
    reached = [_Reached(_of_act(main, steps[0].act), speakers)]
    search = _Search(index, main, speakers)
    for step in present[1:]:
        reached.append(search.next(step, reached[-1]))
    last = reached[-1]
    if steps[-1].is_absent:
        last = _Reached(last.rows & ~search.is_followed(steps[-1], last), last.starter)
    kept, found = last.rows, last.rows.copy()
    for step, before in zip(present[:0:-1], reached[-2::-1], strict=True):
        kept = before.rows & search.leads_to(step, before, kept)
        found |= kept
    return found


def _of_act(main: NDArray[np.int16], act: int | None) -> Bools:
    return np.ones(len(main), bool) if act is None else main == act


@dataclass(frozen=True, eq=False)
class _Reached:
    """Messages that a step has reached, and who wrote the first message of their match."""

    rows: Bools
    starter: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class _Search:
    index: Index
    main: NDArray[np.int16]
    speakers: NDArray[np.int32]

    def next(self, step: Step, before: _Reached) -> _Reached:
        """Return the messages that can be the next step."""
        wanted = _of_act(self.main, step.act)
        if step.is_later:
            if not step.is_same:
                return _Reached(wanted & self._has_before(before.rows), before.starter)
            marked = np.where(before.rows, before.starter, -1)
            return _Reached(wanted & self._marked_before(self.speakers, marked), self.speakers)
        links = self.index.links
        rows = np.flatnonzero(wanted & (links >= 0))
        rows = rows[before.rows[links[rows]]]
        starter = np.full(len(links), -1, np.int32)
        starter[rows] = before.starter[links[rows]]
        if step.is_same:
            rows = rows[(starter[rows] >= 0) & (starter[rows] == self.speakers[rows])]
        found = np.zeros(len(links), bool)
        found[rows] = True
        return _Reached(found, starter)

    def is_followed(self, step: Step, last: _Reached) -> Bools:
        """Whether a message that must be absent follows each message."""
        return self.leads_to(step, last, _of_act(self.main, step.act))

    def leads_to(self, step: Step, before: _Reached, targets: Bools) -> Bools:
        """Whether one of the targets comes after each message, as the step says."""
        if step.is_later and step.is_same:
            marked = np.where(targets, self.speakers, -1)
            return self._marked_before(before.starter, marked, backwards=True)
        if step.is_later:
            counts = np.concatenate(([0], np.cumsum(targets)))
            ends = self.index.offsets[1:][self.index.conversation]
            return np.asarray(counts[ends] > counts[1:])
        links = self.index.links
        rows = np.flatnonzero(targets & (links >= 0))
        if step.is_same:
            starter = before.starter[links[rows]]
            rows = rows[(starter >= 0) & (starter == self.speakers[rows])]
        found = np.zeros(len(links), bool)
        found[links[rows]] = True
        return found

    def _has_before(self, marked: Bools) -> Bools:
        """Whether a marked message of the same thread comes before each message."""
        counts = np.concatenate(([0], np.cumsum(marked)))
        starts = self.index.offsets[:-1][self.index.conversation]
        return np.asarray(counts[:-1] > counts[starts])

    def _marked_before(
        self, people: NDArray[np.int32], marked: NDArray[np.int32], *, backwards: bool = False
    ) -> Bools:
        """Whether a message before each in its thread is marked for its person.

        Parameters
        ----------
        people, marked : array of int32, shape (n_messages,)
            Person of each message, and for whom it is marked; -1 for nobody.
        backwards : bool
            After each message instead.
        """
        step = -1 if backwards else 1
        threads, people, marked = (
            np.ascontiguousarray(own[::step])
            for own in (self.index.conversation, people, marked.astype(np.int32))
        )
        found = np.empty(len(people), bool)
        last = np.full(int(self.speakers.max(initial=-1)) + 1, -1, np.int64)
        mark_later(threads, people, marked, last, found)
        return found[::step]
