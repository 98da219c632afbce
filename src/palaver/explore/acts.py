"""The acts as they are shown: classes of the model, some of them merged, with their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.curation import CuratedClass, Curation, Mark
from palaver.curation.marks import correct, places_of
from palaver.draw.palette import colour_class, letters
from palaver.explore.index import Index
from palaver.explore.parts import Wide
from palaver.store.fingerprint import message_keys


@dataclass(frozen=True)
class ActShown:
    """An act of the workbench.

    Attributes
    ----------
    number : int
        Number of its class in the model; of the first, if several were merged.
    members : tuple of int
        Numbers of all its classes.
    name : str
    named : bool
        Whether a person named it.
    proposed : bool
        Whether the name is the model's proposal.
    description : str
    seeds : tuple of str
        Words that a new fit should look for.
    hidden : bool
    letter, colour : str
    """

    number: int
    members: tuple[int, ...]
    name: str
    named: bool = False
    proposed: bool = False
    description: str = ""
    seeds: tuple[str, ...] = ()
    hidden: bool = False
    letter: str = ""
    colour: str = ""


class Classified:
    """The acts of all messages.

    Attributes
    ----------
    acts : list of ActShown
    marked : dict of int to Mark
        What people said about messages, by row.
    wide : Wide
        Shares of all classes and of the parts of those that were divided.
    shares : array of float32, shape (n_messages, n_acts)
    main : array of int16, shape (n_messages,)
        Place in ``acts`` of each message's main act, -1 for none.
    strength : array of float32, shape (n_messages,)
        Its share of the message.
    """

    def __init__(
        self,
        index: Index,
        acts: Sequence[ActShown],
        marked: Mapping[int, Mark] | None = None,
        wide: Wide | None = None,
    ) -> None:
        self.acts = list(acts)
        self.marked = dict(marked or {})
        self._speaking = index.speaking
        self.wide = wide or Wide(index.shares, list(index.content["sizes"]))
        self.shares = _merged(self.wide.shares, [act.members for act in acts])
        self._apply_marks()
        self.main, self.strength = _strongest(self.shares, index.speaking)

    def untouched(self, rows: NDArray[np.integer]) -> NDArray[np.int16]:
        """Return the main acts of some messages as the model alone sees them, (n,)."""
        shares = _merged(self.wide.shares[rows], [act.members for act in self.acts])
        return _strongest(shares, self._speaking[rows])[0]

    def _apply_marks(self) -> None:
        """Let people's word count, as the models do."""
        for row, mark in self.marked.items():
            correct(self.shares[row], *places_of(mark, self._places_of))

    def _places_of(self, id: int) -> list[int]:
        """Return the places of a class; of all its parts, if it was divided."""
        parts = self.wide.which.get(id)
        ids = [id] if parts is None else np.unique(parts).tolist()
        found = [self.place_of(one) if one not in self.wide.which else -2 for one in ids]
        deeper = [place for one in ids if one in self.wide.which for place in self._places_of(one)]
        return sorted({place for place in [*found, *deeper] if place >= 0})

    def place_of(self, number: int) -> int:
        """Return the place of the act that a class belongs to; -1 for a class that is not there."""
        places = (i for i, act in enumerate(self.acts) if number in act.members)
        return next(places, -1)

    def places(self) -> NDArray[np.int16]:
        """Return the place of the act of each class or part, -1 for divided ones, (n_ids,)."""
        found = np.full(len(self.wide.sizes), -1, np.int16)
        for place, act in enumerate(self.acts):
            found[list(act.members)] = place
        return found

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        """How many messages are mainly of each act, (n_acts,)."""
        return np.bincount(self.main[self.main >= 0], minlength=len(self.acts))

    def renamed(self, acts: Sequence[ActShown]) -> Classified:
        """Return the same, where nothing has changed but what the acts are called."""
        found = copy(self)
        found.acts = list(acts)
        return found

    def listed(self) -> list[dict[str, Any]]:
        """Return the acts as the script needs them, with how many messages are mainly theirs."""
        counts = self._counts
        total = max(int(counts.sum()), 1)
        return [
            asdict(act) | {"messages": int(n), "share": round(n / total, 4)}
            for act, n in zip(self.acts, counts.tolist(), strict=True)
        ]


def acts_of(index: Index, state: Curation, wide: Wide) -> list[ActShown]:
    """Return the acts as people curated them, in the order in which they are shown."""
    sizes, first = wide.sizes, {id: i for i, id in enumerate(state.order)}
    names = names_of(index, state)

    def place(own: CuratedClass) -> tuple[bool, int, float]:
        leading = min((first[id] for id in own.ids if id in first), default=len(first))
        return own.hidden, leading, -sum(sizes[id] for id in own.ids)

    ordered = sorted(state.classes, key=place)
    return [_shown(index, own, rank, sizes, names) for rank, own in enumerate(ordered)]


def names_of(index: Index, state: Curation) -> list[str]:
    """Return what classes and parts are called until a person names them, by id."""
    names = [*index.content["names"], *[""] * (state.n_ids - state.n_classes)]
    for split in state.splits:
        for number, id in enumerate(split.parts):
            names[id] = f"{names[split.id]} {number + 1}"
    return names


def _shown(
    index: Index, own: CuratedClass, rank: int, sizes: Sequence[float], names: Sequence[str]
) -> ActShown:
    """Return an act with its letter; like the model's, its name is that of its largest class."""
    leading = max(own.ids, key=lambda id: (sizes[id], -id))
    said = own.name
    if said is not None and said.proposed and index.content["anonymized"]:
        said = None  # proposals are made of words, which may be names of people
    name = said.text if said else names[leading]
    is_part = leading >= index.n_classes
    proposed = said.proposed if said else is_part or leading in index.content["proposed"]
    return ActShown(
        number=own.ids[0],
        members=own.ids,
        name=name,
        named=said is not None and not proposed,
        proposed=proposed,
        description=own.description.text if own.description else "",
        seeds=() if index.content["anonymized"] else own.seeds,
        hidden=own.hidden,
        letter=letters(rank),
        colour=colour_class(rank),
    )


def marks_of(index: Index, state: Curation) -> dict[int, Mark]:
    """Return what people said about messages, by row; messages of other texts are left out."""
    if index.content["anonymized"] or not state.marks:
        return {}
    keys: dict[str, list[tuple[str, Mark]]] = {}
    for (key, id), own in state.marks.items():
        keys.setdefault(id, []).append((key, own))
    found = {}
    rows = [row for _, row in index.texts.rows_of(keys)]
    for row, id, text, original in index.texts.messages(rows):
        key = key_of(id, text if original is None else original)
        found[row] = next((own for marked, own in keys[id] if marked == key), Mark())
    return {row: own for row, own in found.items() if own != Mark()}


def key_of(id: str, text: str) -> str:
    """Return the key by which marks know a message."""
    return f"{message_keys([id], [text])[0]:016x}"


def _strongest(
    shares: NDArray[np.float32], speaking: NDArray[np.bool_]
) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return the main act of each message, -1 for none, and its share."""
    main = shares.argmax(axis=1)  # the first of the largest
    strength = np.take_along_axis(shares, main[:, None], axis=1)[:, 0]
    return np.where(speaking & (strength > 0), main, -1).astype(np.int16), strength


def _merged(shares: NDArray[np.float32], members: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """Add up the shares of classes that are one, (n_messages, n_acts)."""
    merged = np.take(shares, [own[0] for own in members], axis=1)
    for place, own in enumerate(members):
        for number in own[1:]:
            merged[:, place] += shares[:, number]
    return merged
