"""Proposed names of acts: from an inventory of general acts, else from how an act begins.

The inventory is data (``inventory.toml``). A cue of an entry counts, in bits, by the share of an
act's units that show it times how much more often they do so than all units. Names are proposals:
people rename acts.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from palaver.models.acts import Acts

#: Bits that an entry must reach to be proposed.
LEAST_BITS = 0.3
#: Added to shares before they are compared, so that rare cues do not count too much.
_FLOOR = 0.02
#: Share from which an act without other signs is called a statement.
_LARGE = 0.2
#: Share of short units below which an act is long, and not named after something short.
_MOSTLY_LONG = 1 / 3
#: How many times as often as other kinds of questions one kind must be asked to give the name.
_CLEARLY = 3
_SHORT = ("no words", "1 word", "2 words", "3 words")
#: View that each kind of cue is looked up in.
_CUE_VIEWS = {"begins": "beginning", "has": "words", "ends": "end", "closes": "closing"}
_MARKS = ("question", "exclamation", "link")
#: What a mark says by itself: what is exclaimed, thanks or greetings, says more than the mark.
_MARK_WORTH = {"question": 1.0, "exclamation": 0.5, "link": 1.0}


@cache
def inventory() -> dict[str, dict[str, Any]]:
    """Return the entries of the inventory by name."""
    text = files("palaver.models.acts").joinpath("inventory.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


class Shares:
    """How often acts, and all units together, have a feature.

    Attributes
    ----------
    by_act : array of float64, shape (F, K)
    overall : array of float64, shape (F,)
    """

    def __init__(self, model: Acts) -> None:
        self.views = model._views
        counts = np.asarray(model.feature_counts_)
        starts = self.views.starts[:-1]
        lengths = np.diff(self.views.starts)
        totals = np.repeat(np.add.reduceat(counts, starts, axis=0), lengths, axis=0)
        self.by_act = counts / np.maximum(totals, 1e-300)
        summed = counts.sum(axis=1)
        whole = np.repeat(np.add.reduceat(summed, starts), lengths)
        self.overall = summed / np.maximum(whole, 1e-300)
        self._places = {name: place for place, name in enumerate(self.views.features)}

    def of(self, view: str, values: Any) -> tuple[NDArray[np.float64], float]:
        """Return the share of some values of a view in each act (K,), and overall."""
        rows = [self._places[key] for v in values if (key := f"{view}: {v}") in self._places]
        return self.by_act[rows].sum(axis=0), float(self.overall[rows].sum())

    def marked(self, mark: str) -> tuple[NDArray[np.float64], float]:
        """Return the share of units with a mark in each act (K,), and overall.

        Question marks count where most of them close a unit: "see ?try" does not ask.
        """
        share, usual = self.of(mark, ["yes"])
        closings = [f.removeprefix("closing: ") for f in self.views.features if "?" in f]
        if mark != "question" or not closings:
            return share, usual
        closed = self.of("closing", closings)[0]
        return np.where(closed < share / 2, closed, share), usual


def bits(share: NDArray[np.float64], usual: float) -> NDArray[np.float64]:
    """Return how much a cue of this share tells, in bits, compared with the usual share."""
    return np.asarray(np.log2((share + _FLOOR) / (usual + _FLOOR)) * share)


def entry_bits(entry: Mapping[str, Any], shares: Shares) -> NDArray[np.float64]:
    """Return how well an entry of the inventory describes each act, in bits, (K,).

    Being short only supports other signs: it counts as much as they do at the most. What is said
    at length most of the time is not called by the name of something short.
    """
    found = np.zeros(shares.by_act.shape[1])
    for cue, view in _CUE_VIEWS.items():
        if cue in entry:
            found += bits(*shares.of(view, entry[cue]))
    for mark in _MARKS:
        if entry.get(mark):
            found += _MARK_WORTH[mark] * bits(*shares.marked(mark))
        elif mark == "question":  # what asks is not anything else first
            asked, usual = shares.marked(mark)
            found -= np.maximum(bits(asked, usual), 0)
    short, usual = shares.of("length", _SHORT)
    if entry.get("short"):
        found += np.minimum(bits(short, usual), np.maximum(found, 0))
        found = np.where(short < _MOSTLY_LONG, np.minimum(found, 0), found)
    if entry.get("long"):
        found += bits(1 - short, 1 - usual)
    return found


def scores(model: Acts) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names of all entries and how well they describe each act, (entries, K)."""
    shares = Shares(model)
    table = np.array([entry_bits(entry, shares) for entry in inventory().values()])
    entries = list(inventory())
    asking = [i for i, name in enumerate(entries) if inventory()[name].get("question")]
    _mix_questions(table, entries, asking, shares)
    after = np.argmax(table, axis=0)
    asks = np.isin(after, asking) & (table.max(axis=0) > LEAST_BITS)
    n_acts = len(asks)
    share = np.maximum(model.class_shares_, 1e-9)
    flow = share[:, None] * model.transitions_[:n_acts]
    before = flow[asks].sum(axis=0) / np.maximum(flow.sum(axis=0), 1e-9)
    usual = float(share[asks].sum())
    for i, name in enumerate(entries):
        if "after" in inventory()[name]:
            table[i] += np.minimum(bits(before, usual), np.maximum(table[i], 0))
    return entries, table


def _mix_questions(
    table: NDArray[np.float64], entries: list[str], asking: list[int], shares: Shares
) -> None:
    """Leave a kind of question no better than "question" where other kinds are there as well."""
    plain = next(i for i in asking if "begins" not in inventory()[entries[i]])
    begun = {
        i: shares.of("beginning", inventory()[entries[i]]["begins"])[0]
        for i in asking
        if i != plain
    }
    for i, own in begun.items():
        others = np.max([share for j, share in begun.items() if j != i], axis=0)
        mixed = own < _CLEARLY * others
        table[i] = np.where(mixed, np.minimum(table[i], table[plain]), table[i])


def entries_of(model: Acts) -> list[str]:
    """Return the entry of the inventory that describes each act; empty where none does."""
    entries, table = scores(model)
    usual = _is_usual(model)
    found = []
    for act in range(table.shape[1]):
        best = int(np.argmax(table[:, act]))
        clear = table[best, act] >= LEAST_BITS
        found.append(entries[best] if clear else "statement" if usual[act] else "")
    return found


def namesakes(model: Acts) -> list[int]:
    """Return a number for each act; those that the same entry describes have the same.

    Acts that a person named, acts that no entry describes, and acts of which the entry tells
    only the form, have a number of their own.
    """
    n_given = len(model.class_names_)
    keys: dict[str | int, int] = {}
    return [
        keys.setdefault(entry if act >= n_given and _tells(entry) else act, len(keys))
        for act, entry in enumerate(entries_of(model))
    ]


def _tells(entry: str) -> bool:
    """Whether an entry says what is done, not only how it is put."""
    return bool(entry) and not inventory()[entry].get("form")


def propose(model: Acts) -> list[str]:
    """Return a name for each act; different acts have different names."""
    beginnings = model.beginnings_
    short = Shares(model).of("length", _SHORT)[0]
    chosen = [
        entry or ("short reply" if short[act] >= 0.5 and not beginnings[act] else "")
        for act, entry in enumerate(entries_of(model))
    ]
    repeated = {name for name, n in Counter(chosen).items() if n > 1 and name}
    names = []
    for name, beginning in zip(chosen, beginnings, strict=True):
        begins = [words for words in beginning if "<" not in words]
        opening = f"“{begins[0]} …”" if begins else "other talk"
        if not name:
            names.append(opening)
        elif name in repeated and begins:
            names.append(f"{name} {opening}")
        else:
            names.append(name)
    return distinct(names)


def _is_usual(model: Acts) -> NDArray[np.bool_]:
    """Return which acts are large, long or no shorter than usual, and do not ask: they state."""
    shares = Shares(model)
    short, usual = shares.of("length", _SHORT)
    asked = shares.marked("question")[0]
    long = (short < 0.5) & (short <= max(usual, _MOSTLY_LONG))
    return np.asarray((model.class_shares_ >= _LARGE) & long & (asked < 0.5))


def distinct(names: Sequence[str]) -> list[str]:
    """Make names different by numbering those that occur again."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return result


def cues(model: Acts, n: int = 6) -> list[list[str]]:
    """Return the features that set each act apart, the most telling first."""
    shares = Shares(model)
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.log2((shares.by_act + 1e-3) / (shares.overall[:, None] + 1e-3)) * shares.by_act
    order = np.argsort(-told, axis=0, kind="stable")[:n]
    return [
        [shares.views.features[f] for f in order[:, act] if told[f, act] > 0.02]
        for act in range(told.shape[1])
    ]
