"""Views of a unit: what it says about how something is said, as weighted features.

Every view is an emission of its own given the act, with a weight of its own; see
``docs/models/acts.md``. Which words are frequent, and which begin and end units, is decided by the
training data; the resulting tables are all that new texts need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Encoded, Vocabulary
from palaver.encoding.tokenizer import MAIL, URL
from palaver.models.acts.kernels.features import count_places
from palaver.models.acts.units import Units

#: Weight of each view, the same for every corpus; columns of the user share one. Vectors are there
#: only if they are asked for (:mod:`palaver.models.acts.vectors`).
VIEW_WEIGHTS = {
    "words": 0.75, "beginning": 0.75, "end": 0.75, "closing": 1.25, "question": 1.5,
    "exclamation": 1.0, "link": 0.5, "length": 0.8, "column": 0.5, "vector": 0.1,
}  # fmt: skip
#: What has a weight but no features of its own.
_NOT_FEATURES = ("column", "vector")
#: Words, beginnings and ends to keep, the most widely used; and the least occurrences of each.
N_FREQUENT, N_EDGES, N_CLOSINGS, FEWEST = 300, 1000, 40, 5
#: Messages of a conversation that count as one place where a word is used.
_BLOCK = 50
_NUMBER, _RARE, _NONE = "<number>", "<other>", "<none>"
_LENGTHS = ("no words", "1 word", "2 words", "3 words", "4-7 words", "8-15 words", "16-31 words",
            "32-63 words", "64 words or more")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Kinds:
    """What kind of token each word of a vocabulary is; the last entry stands for unknown words.

    Attributes
    ----------
    is_word, question, exclamation, link : arrays of bool, shape (n_words + 1,)
    """

    is_word: NDArray[np.bool_]
    question: NDArray[np.bool_]
    exclamation: NDArray[np.bool_]
    link: NDArray[np.bool_]


def kinds_of(vocabulary: Vocabulary) -> Kinds:
    """Tell words from punctuation, and find the marks."""
    words = [*vocabulary.words, "x"]
    return Kinds(
        np.array([any(c.isalnum() or ord(c) > 0x2000 for c in w) for w in words]),
        np.array([any(c in "?？؟" for c in w) for w in words]),
        np.array([any(c in "!！" for c in w) for w in words]),
        np.array([w in (URL, MAIL) for w in words]),
    )


@dataclass(frozen=True, eq=False)
class Views:
    """The views of a corpus: which features there are, and which feature a word is.

    Attributes
    ----------
    names : list of str
        Of the views, in the order of their features.
    starts : array of int64, shape (n_views + 1,)
        First feature of each view.
    features : list of str
        Names of all features.
    weights : array of float64, shape (n_views,)
    tables : dict of str to array of int32
        Feature of each word in a view, counted from the view's start; -1 for none. The last
        entry is for unknown words.
    columns : dict of str to list of str
        Values of the user's columns.
    """

    names: list[str]
    starts: NDArray[np.int64]
    features: list[str]
    weights: NDArray[np.float64]
    tables: dict[str, NDArray[np.int32]]
    columns: dict[str, list[str]]

    @property
    def n_features(self) -> int:
        """Number of features of all views."""
        return len(self.features)


@dataclass(frozen=True, eq=False)
class Features:
    """Weighted features of units, as a sparse matrix by rows.

    Attributes
    ----------
    ids : array of int32, shape (n,)
    weights : array of float64, shape (n,)
    offsets : array of int64, shape (n_units + 1,)
    """

    ids: NDArray[np.int32]
    weights: NDArray[np.float64]
    offsets: NDArray[np.int64]


#: One view of all units: the units, and the features that they have.
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def learn_views(
    data: Encoded,
    units: Units,
    *,
    weights: Mapping[str, float] | None = None,
    columns: Sequence[str] = (),
    seeds: Sequence[str] = (),
) -> Views:
    """Decide on the features of every view.

    Parameters
    ----------
    data : Encoded
    units : Units
    weights : mapping, optional
        Weights of some views in place of :data:`VIEW_WEIGHTS`; a view of weight 0 is left out.
    columns : sequence of str
        Columns of labels, each a view.
    seeds : sequence of str
        Words that count as frequent, however rare they are.
    """
    chosen = {**VIEW_WEIGHTS, **(weights or {})}
    kinds = kinds_of(data.vocabulary)
    words = data.vocabulary.words
    edges = _Edges(units, kinds)
    tables, names = {}, {}
    tables["words"], names["words"] = _frequent_words(data, units, kinds, seeds)
    for view, tokens in (("beginning", edges.first), ("end", edges.last)):
        tables[view], names[view] = _common_types(tokens, words, N_EDGES)
    tables["closing"], names["closing"] = _common_types(edges.closing, words, N_CLOSINGS)
    for view in ("question", "exclamation", "link"):
        names[view] = ["no", "yes"]
    names["length"] = list(_LENGTHS)
    values = {name: list(data.labels[name].names) for name in columns}
    used = {**names, **values}
    draft = _assemble(used, chosen, tables, values)
    return _without_idle(draft, data, units, edges, chosen)


def left_out(views: Views) -> list[str]:
    """Return the views that are not used, because all units look the same or by their weight."""
    return [view for view in VIEW_WEIGHTS if view not in (*views.names, *_NOT_FEATURES)]


def _assemble(
    used: Mapping[str, list[str]],
    chosen: Mapping[str, float],
    tables: Mapping[str, NDArray[np.int32]],
    columns: Mapping[str, list[str]],
) -> Views:
    kept = [v for v in used if _weight(v, chosen, columns) > 0 and used[v]]
    sizes = [len(used[view]) for view in kept]
    return Views(
        kept,
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        [f"{view}: {value}" for view in kept for value in used[view]],
        np.array([_weight(view, chosen, columns) for view in kept]),
        {view: table for view, table in tables.items() if view in kept},
        {name: values for name, values in columns.items() if name in kept},
    )


def _weight(view: str, chosen: Mapping[str, float], columns: Mapping[str, Any]) -> float:
    return float(chosen["column"] if view in columns and view not in chosen else chosen[view])


def _without_idle(
    draft: Views, data: Encoded, units: Units, edges: _Edges, chosen: Mapping[str, float]
) -> Views:
    """Drop views in which all units look the same: they say nothing about acts."""
    varied = []
    for view in draft.names:
        _, found = _view_pairs(view, draft, data, units, edges)
        varied.append(len(found) > 0 and found.min() != found.max())
    if all(varied) or not any(varied):
        return draft
    bounds = draft.starts
    used = {
        view: [name.split(": ", 1)[1] for name in draft.features[bounds[i] : bounds[i + 1]]]
        for i, view in enumerate(draft.names)
        if varied[i]
    }
    return _assemble(used, chosen, draft.tables, draft.columns)


def features_of(views: Views, data: Encoded, units: Units) -> Features:
    """Return the weighted features of all units.

    The features of a unit in a view share the view's weight: with n of them, each has the weight
    ``w / sqrt(n)``, so that long units do not drown the other views. Units without words have no
    features: nothing is known about them but their context.
    """
    edges = _Edges(units, kinds_of(data.vocabulary))
    pairs = [_view_pairs(view, views, data, units, edges) for view in views.names]
    numbers = [np.bincount(unit, minlength=units.n_units) for unit, _ in pairs]
    lengths = np.sum(numbers, axis=0, dtype=np.int64, initial=0) if numbers else 0
    offsets = np.zeros(units.n_units + 1, np.int64)
    np.cumsum(np.broadcast_to(lengths, units.n_units), out=offsets[1:])
    ids, weights = np.empty(offsets[-1], np.int32), np.empty(offsets[-1])
    free = offsets[:-1].copy()  # first place of each unit that is not taken
    for i, ((unit, feature), number) in enumerate(zip(pairs, numbers, strict=True)):
        first = free - np.concatenate(([0], np.cumsum(number)[:-1]))  # units ascend in every view
        places = first[unit] + np.arange(len(unit))
        ids[places] = feature + views.starts[i]
        weights[places] = views.weights[i] / np.sqrt(number[unit])
        free += number
    return Features(ids, weights, offsets)


def _view_pairs(view: str, views: Views, data: Encoded, units: Units, edges: _Edges) -> Pairs:
    """Return the units that a view says something about, and their features in it."""
    speaking = np.flatnonzero(np.diff(units.offsets) > 0)
    if view in views.columns:
        return _column_pairs(data, units, view, views.columns[view])
    if view == "words":
        unit = np.repeat(np.arange(units.n_units), np.diff(units.offsets))
        feature = views.tables["words"][units.tokens]
        return unit[feature >= 0], feature[feature >= 0].astype(np.int64)
    if view == "length":
        return speaking, _length_class(_count(units, edges.kinds.is_word))[speaking]
    if view in ("beginning", "end", "closing"):
        tokens = {"beginning": edges.first, "end": edges.last, "closing": edges.closing}[view]
        return speaking, _edge_features(tokens[speaking], views.tables[view])
    marked = _count(units, getattr(edges.kinds, view)) > 0
    return speaking, marked[speaking].astype(np.int64)


def _column_pairs(data: Encoded, units: Units, name: str, values: list[str]) -> Pairs:
    coded = data.labels.get(name)
    if coded is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    place = {value: number for number, value in enumerate(values)}
    numbers = np.array([place.get(value, -1) for value in coded.names] + [-1])
    feature = numbers[np.asarray(coded.codes)][units.messages]
    return np.flatnonzero(feature >= 0), feature[feature >= 0].astype(np.int64)


def _count(units: Units, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the tokens of some kind in each unit."""
    before = np.concatenate(([0], np.cumsum(chosen[units.tokens])))
    return np.diff(before[units.offsets])


def _length_class(n_words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the length class: 0, 1, 2, 3 words, then by powers of two."""
    large = 2 + np.log2(np.maximum(n_words, 1)).astype(np.int64)
    return np.minimum(np.where(n_words < 4, n_words, large), len(_LENGTHS) - 1)


class _Edges:
    """First and last words of units, and their closing punctuation, as token positions.

    Attributes
    ----------
    kinds : Kinds
        Of the words of the vocabulary.
    first, last : arrays of int64, shape (n_units,)
        Word numbers, -1 for an unknown word, -2 without any word.
    closing : array of int64, shape (n_units,)
        Number of the punctuation at the end, -2 if a word or nothing ends the unit.
    """

    def __init__(self, units: Units, kinds: Kinds) -> None:
        self.kinds = kinds
        is_word = kinds.is_word[units.tokens]
        starts, stops = units.offsets[:-1], units.offsets[1:]
        positions = np.flatnonzero(is_word)
        padded = np.append(positions, len(is_word))
        first = padded[np.searchsorted(positions, units.begins)]
        last = np.append(positions, -1)[np.searchsorted(positions, stops) - 1]
        tokens = np.append(units.tokens, -2).astype(np.int64)
        has = (first < stops) & (stops > starts)
        self.first = np.where(has, tokens[np.where(has, first, -1)], -2)
        self.last = np.where(has, tokens[np.where(has, last, -1)], -2)
        ends = np.where(stops > starts, stops - 1, -1)
        closes = (stops > starts) & ~np.append(is_word, True)[ends]
        self.closing = np.where(closes, tokens[ends], -2)


def _edge_features(tokens: NDArray[np.int64], table: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the features of edges: 0 for none, 1 for a rare or unknown type, else its own."""
    return np.where(tokens == -2, 0, table[np.where(tokens == -2, -1, tokens)]).astype(np.int64)


def _common_types(
    tokens: NDArray[np.int64], words: Sequence[str], most: int
) -> tuple[NDArray[np.int32], list[str]]:
    """Return the table and the names of an edge view: nothing, anything rare, the common types."""
    counts = np.bincount(tokens[tokens >= 0], minlength=len(words))
    numbers = _numbers(words)
    counts[numbers] = 0
    common = np.argsort(-counts, kind="stable")[:most]
    common = common[counts[common] >= FEWEST]
    table = np.ones(len(words) + 1, np.int32)
    table[common] = np.arange(3, 3 + len(common))
    table[numbers] = 2
    return table, [_NONE, _RARE, _NUMBER, *(words[i] for i in common)]


def _numbers(words: Sequence[str]) -> list[int]:
    """Return which words are numbers; all numbers count as one word."""
    return [i for i, word in enumerate(words) if word.isdigit()]


def _frequent_words(
    data: Encoded, units: Units, kinds: Kinds, seeds: Sequence[str]
) -> tuple[NDArray[np.int32], list[str]]:
    """Return the table and the names of the words that are used in most places.

    A place is a stretch of up to 50 messages of a conversation: words about its subject are
    frequent in few places, words of acts in most.
    """
    size = len(data.vocabulary)
    spread = count_places(units.tokens, units.offsets, _places(data)[units.messages], size)
    spread = np.where(kinds.is_word[:-1], spread, 0)
    words = data.vocabulary.words
    numbers = _numbers(words)
    spread[numbers] = 0
    common = np.argsort(-spread, kind="stable")[:N_FREQUENT]
    chosen = [int(i) for i in common[spread[common] > 0]]
    index = data.vocabulary.index
    chosen += [index[word] for word in dict.fromkeys(seeds) if index[word] not in set(chosen)]
    table = np.full(size + 1, -1, np.int32)
    table[chosen] = np.arange(len(chosen))
    if numbers:
        table[numbers] = len(chosen)
    return table, [*(words[i] for i in chosen), *([_NUMBER] if numbers else [])]


def _places(data: Encoded) -> NDArray[np.int64]:
    """Return the place of each message, numbered through."""
    starts = np.asarray(data.conversation_offsets)
    lengths = np.diff(starts)
    first = np.repeat(starts[:-1], lengths)
    within = (np.arange(data.n_messages) - first) // _BLOCK
    per = (lengths + _BLOCK - 1) // _BLOCK
    before = np.concatenate(([0], np.cumsum(per)))[:-1]
    return np.asarray(np.repeat(before, lengths) + within)
