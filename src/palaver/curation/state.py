"""What a person decided about the classes of a run: a log of actions, and what it amounts to.

Classes are known by *ids* that never change: the numbers of the fitted model, and further ones for
the parts of a class that was split. A class of the *view* is one id, or several that were merged;
its number in tables is its place in :attr:`Curation.classes`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from palaver.errors import ParameterError

#: Longest name and description, in characters; most parts of a class, and words to look for.
MAX_NAME, MAX_TEXT, MAX_PARTS, MAX_WORDS = 80, 2000, 100, 50
#: Key of a message, as :func:`palaver.store.fingerprint.message_keys` makes it, in hexadecimal.
_KEY = re.compile(r"[0-9a-f]{16}")
_FOLDER = re.compile(r"splits/[0-9a-f]{1,32}")

Action = Mapping[str, Any]
#: A message: its key and its id.
MessageRef = tuple[str, str]


@dataclass(frozen=True)
class Step:
    """What was done at once, and is undone at once.

    Attributes
    ----------
    actions : tuple of dict
    by, at : str
        Who did it, and when (ISO 8601, UTC); empty if that is not known.
    """

    actions: tuple[dict[str, Any], ...]
    by: str = ""
    at: str = ""


@dataclass(frozen=True)
class Said:
    """A name or description.

    Attributes
    ----------
    text : str
    by, at : str
        Who said it, and when.
    proposed : bool
        Whether it is a suggestion, which a person's word replaces.
    """

    text: str
    by: str = ""
    at: str = ""
    proposed: bool = False


@dataclass(frozen=True)
class CuratedClass:
    """A class as it is shown.

    Attributes
    ----------
    ids : tuple of int
        Of the classes that it is made of, the leading one first.
    name, description : Said or None
        None: the class has the name that the model gives it.
    hidden : bool
    seeds : tuple of str
        Words that a new fit should look for.
    """

    ids: tuple[int, ...]
    name: Said | None = None
    description: Said | None = None
    hidden: bool = False
    seeds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Split:
    """A class that was divided.

    Attributes
    ----------
    id : int
        The class, which is no longer shown.
    parts : tuple of int
        The ids of its parts.
    folder : str
        Where the model that divides it is, within the run's folder.
    """

    id: int
    parts: tuple[int, ...]
    folder: str


@dataclass(frozen=True)
class Mark:
    """What a person said about the class of a message.

    Attributes
    ----------
    right : int or None
        The id of the class that it belongs to.
    wrong : frozenset of int
        Ids of classes that it does not belong to.
    """

    right: int | None = None
    wrong: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Curation:
    """All that was decided about a run; made by :func:`palaver.curation.read_curation`.

    Attributes
    ----------
    run : str
        The fitted model that it is about, see ``ModelSummary.run_id``; "" if not known.
    n_classes : int
        Classes of the fitted model.
    revision : int
        Grows with every change, also with undo and redo.
    steps, undone : tuple of Step
        What was done; what was undone and can be redone, the next one last.
    classes : tuple of CuratedClass
        The classes to show, ordered by their smallest id: the place is the number in tables.
    order : tuple of int
        Leading ids in the order in which to show classes; those that are not named follow by size.
    splits : tuple of Split
    marks : dict of (key, id) to Mark
        By message.
    """

    run: str
    n_classes: int
    revision: int = 0
    steps: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()
    classes: tuple[CuratedClass, ...] = ()
    order: tuple[int, ...] = ()
    splits: tuple[Split, ...] = ()
    marks: dict[MessageRef, Mark] = field(default_factory=dict)

    @classmethod
    def empty(cls, run: str, n_classes: int) -> Curation:
        """Return the state of a run that nobody has curated."""
        own = tuple(CuratedClass((number,)) for number in range(n_classes))
        return cls(run, n_classes, classes=own)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is decided."""
        return not self.steps

    @property
    def decided(self) -> tuple[object, ...]:
        """What it all amounts to, whoever said it and when."""
        classes = tuple(
            replace(own, name=_unsigned(own.name), description=_unsigned(own.description))
            for own in self.classes
        )
        return classes, self.order, self.splits, self.marks

    @property
    def n_ids(self) -> int:
        """How many ids have been given: those of the model, and of parts."""
        return self.n_classes + sum(len(split.parts) for split in self.splits)

    @property
    def groups(self) -> list[int]:
        """The number in tables of each id; -1 for classes that were divided."""
        found = [-1] * self.n_ids
        for number, own in enumerate(self.classes):
            for id in own.ids:
                found[id] = number
        return found

    def number_of(self, id: int) -> int:
        """Return the number in tables of the class that an id belongs to."""
        found = self.groups[id] if 0 <= id < self.n_ids else -1
        if found < 0:
            raise ParameterError(f"there is no class with the id {id}")
        return found

    def numbers_of(self, id: int) -> list[int]:
        """Return the numbers in tables of what an id is now: of all its parts, if it was divided.

        Empty for an id that there is not.
        """
        ids = [id]
        for split in self.splits:
            ids = [k for one in ids for k in (split.parts if one == split.id else (one,))]
        groups = self.groups
        return sorted({groups[one] for one in ids if 0 <= one < len(groups)})

    def after(self, step: Step) -> Curation:
        """Return the state after a further step; what was undone before is forgotten.

        Raises
        ------
        ParameterError
            An action is not possible.
        """
        state, clean = _perform(replace(self, marks=dict(self.marks)), step)
        return replace(state, steps=(*self.steps, clean), undone=(), revision=self.revision + 1)


def _unsigned(said: Said | None) -> Said | None:
    return None if said is None else replace(said, by="", at="")


def replay(run: str, n_classes: int, steps: Sequence[Step]) -> Curation:
    """Return what a list of steps amounts to."""
    state, done = Curation.empty(run, n_classes), []
    for step in steps:
        state, clean = _perform(state, step)
        done.append(clean)
    return replace(state, steps=tuple(done), revision=len(done))


def _perform(state: Curation, step: Step) -> tuple[Curation, Step]:
    """Return the state after the actions of a step, and the step as it is kept.

    The marks of the given state are changed in place: there may be many.
    """
    if not step.actions:
        raise ParameterError("a change needs at least one action")
    actions = []
    for action in step.actions:
        kind = action.get("do") if isinstance(action, Mapping) else None
        if not isinstance(kind, str) or kind not in _ACTIONS:
            raise ParameterError(f"there is no action {kind!r}; there are {', '.join(_ACTIONS)}")
        fields, perform = _ACTIONS[kind]
        clean = {"do": kind} | {name: _field(action, name, kind) for name in fields}
        state = perform(state, clean, step)
        actions.append(clean)
    return state, replace(step, actions=tuple(actions))


# fields of actions: everything comes from files and requests of strangers


def _field(action: Action, name: str, kind: str) -> Any:
    if name not in action and name not in _DEFAULTS:
        raise ParameterError(f"the action {kind!r} needs {name!r}")
    return _FIELDS[name](action.get(name, _DEFAULTS.get(name)))


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"a class must be a whole number, got {value!r}")
    return value


def _wholes(value: Any) -> list[int]:
    if not isinstance(value, list | tuple) or not value:
        raise ParameterError(f"classes must be a list of whole numbers, got {value!r}")
    found = [_whole(one) for one in value]
    if len(set(found)) < len(found):
        raise ParameterError(f"a class is named twice: {found}")
    return found


def _words(value: Any) -> list[str]:
    if not isinstance(value, list | tuple) or len(value) > MAX_WORDS:
        raise ParameterError(f"words must be a list of at most {MAX_WORDS}")
    found = [clean_text(word, MAX_NAME).lower() for word in value]
    return [word for word in dict.fromkeys(found) if word]


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"must be true or false, got {value!r}")
    return value


def clean_text(value: Any, limit: int) -> str:
    """Return a text on one line, without characters that nobody sees."""
    if not isinstance(value, str):
        raise ParameterError(f"a name must be a text, got {value!r}")
    seen = "".join(" " if c.isspace() else c for c in value if c.isspace() or _is_seen(c))
    line = " ".join(seen.split())
    if len(line) > limit:
        raise ParameterError(f"a text of {len(line)} characters is too long; at most {limit}")
    return line


def _is_seen(character: str) -> bool:
    # joiners are part of words in some scripts, and of emoji
    return character in "\u200c\u200d" or unicodedata.category(character)[0] != "C"


def _text(pattern: re.Pattern[str]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ParameterError(f"not in the right form: {value!r}")
        return value

    return check


def _id(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 10_000:
        raise ParameterError("the id of a message must be a text")
    return value


def _parts(value: Any) -> int:
    if not 2 <= _whole(value) <= MAX_PARTS:
        raise ParameterError(f"a class can be divided into 2 to {MAX_PARTS} parts, not {value}")
    return int(value)


_FIELDS: dict[str, Callable[[Any], Any]] = {
    "class": _whole,
    "classes": _wholes,
    "name": lambda value: clean_text(value, MAX_NAME),
    "text": lambda value: clean_text(value, MAX_TEXT),
    "words": _words,
    "proposed": _flag,
    "right": _flag,
    "id": _id,
    "key": _text(_KEY),
    "parts": _parts,
    "folder": _text(_FOLDER),
}
_DEFAULTS: dict[str, Any] = {"proposed": False, "right": True}


# actions: each returns the state after it


def _with_class(state: Curation, id: int, **changes: Any) -> Curation:
    number = state.number_of(id)
    own = replace(state.classes[number], **changes)
    return replace(state, classes=(*state.classes[:number], own, *state.classes[number + 1 :]))


def _name(state: Curation, action: Action, step: Step) -> Curation:
    own = state.classes[state.number_of(action["class"])].name
    if action["proposed"] and own is not None and not own.proposed:
        raise ParameterError(f"a suggestion never replaces a person's name: {own.text!r}")
    said = Said(action["name"], step.by, step.at, action["proposed"]) if action["name"] else None
    return _with_class(state, action["class"], name=said)


def _describe(state: Curation, action: Action, step: Step) -> Curation:
    said = Said(action["text"], step.by, step.at) if action["text"] else None
    return _with_class(state, action["class"], description=said)


def _seeds(state: Curation, action: Action, step: Step) -> Curation:
    return _with_class(state, action["class"], seeds=tuple(action["words"]))


def _hide(state: Curation, action: Action, step: Step) -> Curation:
    return _with_class(state, action["class"], hidden=True)


def _show(state: Curation, action: Action, step: Step) -> Curation:
    return _with_class(state, action["class"], hidden=False)


def _merge(state: Curation, action: Action, step: Step) -> Curation:
    numbers = list(dict.fromkeys(state.number_of(id) for id in action["classes"]))
    if len(numbers) < 2:
        raise ParameterError("merging takes two classes or more")
    if len(numbers) == len(state.classes):
        raise ParameterError("all classes in one would say nothing; leave at least one out")
    members = [state.classes[number] for number in numbers]
    said = [own.name for own in members if own.name is not None]
    names = [name for name in said if not name.proposed] + said
    texts = [own.description for own in members if own.description is not None]
    joined = CuratedClass(
        tuple(id for own in members for id in own.ids),
        names[0] if names else None,
        texts[0] if texts else None,
        all(own.hidden for own in members),
        tuple(dict.fromkeys(word for own in members for word in own.seeds)),
    )
    others = [own for number, own in enumerate(state.classes) if number not in numbers]
    return replace(state, classes=_by_id([*others, joined]))


def _separate(state: Curation, action: Action, step: Step) -> Curation:
    number = state.number_of(action["class"])
    own = state.classes[number]
    if len(own.ids) < 2:
        raise ParameterError("the class was not merged, so there is nothing to take apart")
    parts = [CuratedClass((id,), hidden=own.hidden) for id in own.ids[1:]]
    first = replace(own, ids=own.ids[:1])
    others = [*state.classes[:number], *state.classes[number + 1 :]]
    return replace(state, classes=_by_id([*others, first, *parts]))


def _order(state: Curation, action: Action, step: Step) -> Curation:
    for id in action["classes"]:
        state.number_of(id)
    return replace(state, order=tuple(action["classes"]))


def _split(state: Curation, action: Action, step: Step) -> Curation:
    number = state.number_of(action["class"])
    if len(state.classes[number].ids) > 1:
        raise ParameterError("the class was merged; take it apart first, then divide one of it")
    id = state.classes[number].ids[0]
    parts = tuple(range(state.n_ids, state.n_ids + action["parts"]))
    own = state.classes[number]
    new = [CuratedClass((part,), description=own.description, hidden=own.hidden) for part in parts]
    others = [*state.classes[:number], *state.classes[number + 1 :]]
    split = Split(id, parts, action["folder"])
    order = tuple(k for one in state.order for k in (parts if one == id else (one,)))
    return replace(
        state, classes=_by_id([*others, *new]), splits=(*state.splits, split), order=order
    )


def _mark(state: Curation, action: Action, step: Step) -> Curation:
    state.number_of(action["class"])
    place = action["key"], action["id"]
    own = state.marks.get(place, Mark())
    if action["right"]:
        own = Mark(action["class"], own.wrong - {action["class"]})
    else:
        right = None if own.right == action["class"] else own.right
        own = Mark(right, own.wrong | {action["class"]})
    state.marks[place] = own
    return state


def _unmark(state: Curation, action: Action, step: Step) -> Curation:
    place = action["key"], action["id"]
    if place not in state.marks:
        raise ParameterError("the message has no mark")
    del state.marks[place]
    return state


def _by_id(classes: Sequence[CuratedClass]) -> tuple[CuratedClass, ...]:
    return tuple(sorted(classes, key=lambda own: min(own.ids)))


#: Fields of each action, and what it does.
_ACTIONS: dict[str, tuple[tuple[str, ...], Callable[[Curation, Action, Step], Curation]]] = {
    "name": (("class", "name", "proposed"), _name),
    "describe": (("class", "text"), _describe),
    "merge": (("classes",), _merge),
    "separate": (("class",), _separate),
    "seeds": (("class", "words"), _seeds),
    "hide": (("class",), _hide),
    "show": (("class",), _show),
    "order": (("classes",), _order),
    "split": (("class", "parts", "folder"), _split),
    "mark": (("class", "id", "key", "right"), _mark),
    "unmark": (("id", "key"), _unmark),
}
