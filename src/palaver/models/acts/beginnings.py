"""Typical beginnings of acts: the first two words of their units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Encoded
from palaver.models.acts.units import Units
from palaver.models.acts.views import kinds_of

#: Units that must begin alike, and people who must have said them: a signature is no beginning.
_FEWEST, _FEWEST_PEOPLE = 5, 3


def common_beginnings(
    data: Encoded, units: Units, acts: NDArray[np.int64], n_acts: int, n: int = 3
) -> list[list[str]]:
    """Return the beginnings that are most typical of each act, best first.

    A beginning counts by how many units of the act have it times how much more often they do
    than all units, so that it is both frequent and characteristic. At least three people (or
    conversations, where nobody knows who speaks) must have begun like that, or all if there are
    fewer.

    Parameters
    ----------
    data : Encoded
    units : Units
    acts : array of int64, shape (n_units,)
    n_acts, n : int
        Number of acts, and beginnings for each.
    """
    digits = np.array([*(word.isdigit() for word in data.vocabulary.words), True])
    is_word = (kinds_of(data.vocabulary).is_word & ~digits)[units.tokens]
    positions = np.append(np.flatnonzero(is_word), [len(is_word)] * 2)
    place = np.searchsorted(positions[:-2], units.begins)
    first, second = positions[place], positions[np.minimum(place + 1, len(positions) - 1)]
    stops = units.offsets[1:]
    size = len(data.vocabulary) + 1
    tokens = np.append(units.tokens, -1)
    has = first < stops
    follows = has & (second < stops)
    one = np.where(has, tokens[np.minimum(first, len(is_word))], -1).astype(np.int64)
    two = np.where(follows, tokens[np.minimum(second, len(is_word))], size - 1).astype(np.int64)
    codes, inverse = np.unique(one[has] * size + two[has], return_inverse=True)
    width = max(len(codes), 1)
    counts = np.bincount(acts[has] * width + inverse, minlength=n_acts * width)
    counts = counts.reshape(n_acts, width).astype(float)
    usual = counts.sum(axis=0) / max(counts.sum(), 1)
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    people = _people(data)[units.messages[has]]
    shared = _by_people(acts[has] * width + inverse, people, n_acts * width)
    wanted = min(_FEWEST_PEOPLE, len(np.unique(people)))
    common = (counts >= _FEWEST) & (shared.reshape(n_acts, width) >= wanted)
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.where(common, counts * np.log2(counts / totals / usual), 0.0)
    words = [*data.vocabulary.words, ""]
    found = []
    for act in range(n_acts):
        order = np.argsort(-told[act], kind="stable")[:n]
        found.append(
            [
                f"{words[codes[i] // size]} {words[codes[i] % size]}".strip()
                for i in order
                if told[act, i] > 0
            ]
        )
    return found


def _people(data: Encoded) -> NDArray[np.int64]:
    """Return who says each message, or its conversation where nobody knows who speaks."""
    speakers = np.asarray(data.speakers.codes).astype(np.int64)
    starts = np.asarray(data.conversation_offsets)
    lengths = np.diff(starts)
    conversations = np.repeat(np.arange(len(lengths)), lengths)
    return np.where(speakers >= 0, speakers, len(data.speakers.names) + conversations)


def _by_people(
    cells: NDArray[np.int64], people: NDArray[np.int64], n_cells: int
) -> NDArray[np.int64]:
    """Count the different people of each cell."""
    n_people = int(people.max(initial=0)) + 1
    pairs = np.sort(cells * n_people + people)
    is_new = np.diff(pairs, prepend=-1) > 0
    return np.bincount(pairs[is_new] // n_people, minlength=n_cells)
