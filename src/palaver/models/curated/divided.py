"""Classes that were divided: what each part has, and which part a message is of.

A division says how probable each part of a class is, given the class and something else: a word,
what follows, what came before. So the counts of the parts always add up to those of the class, and
merging them gives the class back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver import store
from palaver.curation import Curation, Split
from palaver.encoding import Encoded
from palaver.encoding.part import take_words
from palaver.errors import DamagedStoreError
from palaver.models.base.model import Model
from palaver.models.curated.mixture import Floats, Mixture

_KIND = "division"
_TABLES = ("shares", "words", "before", "after")


@dataclass(frozen=True, eq=False)
class Division:
    """How a class is divided into parts.

    Attributes
    ----------
    mixture : Mixture
        Fitted inside the class; it reads messages.
    shares : array of float64, shape (n_parts,)
        P(part | class).
    words : array of float64, shape (n_words, n_parts)
        P(part | class, word).
    before : array of float64, shape (n_classes, n_parts)
        P(part | class, class of what follows).
    after : array of float64, shape (n_classes + 1, n_parts)
        P(part | class, class of what came before); the last row is for starts.
    """

    mixture: Mixture
    shares: Floats
    words: Floats
    before: Floats
    after: Floats

    def save(self, folder: Path) -> None:
        """Write the division to a folder."""
        arrays = {name: getattr(self, name) for name in _TABLES}
        own = {f"mixture.{name}": value for name, value in vars(self.mixture).items()}
        store.save(folder, _KIND, {}, arrays | own)

    @classmethod
    def load(cls, folder: Path) -> Division:
        """Read a division that :meth:`save` wrote."""
        arrays = store.load(folder, _KIND).arrays
        try:
            own = Mixture(arrays["mixture.log_shares"], arrays["mixture.log_words"])
            return cls(own, **{name: arrays[name] for name in _TABLES})
        except KeyError as error:
            raise DamagedStoreError(f"{folder}: lacks {error}") from error


#: Divisions by the folders that a curation calls them by.
Divisions = Mapping[str, Division]


def base_of(curation: Curation) -> NDArray[np.int64]:
    """Return the class of the fitted model that each id is, or is a part of, (n_ids,)."""
    found = np.arange(curation.n_ids)
    for split in curation.splits:
        found[list(split.parts)] = found[split.id]
    return found


@dataclass(frozen=True, eq=False)
class Found:
    """What messages are, by id.

    Attributes
    ----------
    encoded : Encoded
    shares : array of float64, shape (n_messages, n_ids)
    tokens : array of int64, shape (n_tokens,), or None
        The id of each token, -1 for none.
    parts : dict of str to array of float64, shape (n_messages, n_parts)
        How probable the parts of each divided class are, by folder.
    """

    encoded: Encoded
    shares: Floats
    tokens: NDArray[np.int64] | None
    parts: dict[str, Floats]


def find(
    curation: Curation,
    divisions: Divisions,
    encoded: Encoded,
    shares: Floats,
    tokens: NDArray[np.integer] | None,
) -> Found:
    """Divide what a fitted model says about messages, and about tokens if it does, split by split.

    A message's part is read from those of its words that are of the class; of the whole message,
    if words have no classes. Where the class is not found, its parts are as usual.
    """
    own = None if tokens is None else np.asarray(tokens, np.int64).copy()
    wide = np.zeros((len(shares), curation.n_ids))
    wide[:, : curation.n_classes] = shares
    parts = {}
    for split in curation.splits:
        division = divisions[split.folder]
        part, rows = words_of(encoded, wide, own, split.id)
        found = np.tile(division.shares, (encoded.n_messages, 1))
        if len(rows):
            found[rows] = division.mixture.posteriors(part)
        parts[split.folder] = found
        divide_columns(wide, split, found)
        if own is not None:
            message = np.repeat(np.arange(encoded.n_messages), np.diff(encoded.message_offsets))
            which = np.array(split.parts)[found.argmax(axis=1)]
            own = np.where(own == split.id, which[message], own)
    return Found(encoded, wide, own, parts)


def divide_columns(wide: NDArray[Any], split: Split, parts: NDArray[Any]) -> None:
    """Give the shares of a class to its parts, in place; ``wide`` has a column for every id."""
    wide[:, list(split.parts)] = wide[:, split.id, None] * parts
    wide[:, split.id] = 0.0


def words_of(
    encoded: Encoded, shares: Floats, tokens: NDArray[np.int64] | None, id: int
) -> tuple[Encoded, NDArray[np.int64]]:
    """Return the words that are of a class, each message alone, and where the messages were."""
    if tokens is not None:
        return take_words(encoded, tokens == id)
    mine = (shares.argmax(axis=1) == id) & (shares[:, id] > 0)
    return take_words(encoded, np.repeat(mine, np.diff(encoded.message_offsets)))


class Estimates:
    """What was learned about classes, by id; ids of divided classes have nothing.

    Attributes
    ----------
    shares, word_totals, moves : array of float64, shape (n_ids,)
    words : array of float64, shape (n_ids, n_words)
    """

    def __init__(self, origin: Model, curation: Curation, divisions: Divisions) -> None:
        self._base = base_of(curation)
        self._splits = [(split, divisions[split.folder]) for split in curation.splits]
        n_more = curation.n_ids - curation.n_classes
        self.shares = np.pad(origin.class_shares_, (0, n_more))
        self.word_totals = np.pad(origin._word_totals().astype(float), (0, n_more))
        self.words = np.pad(origin.class_words_, ((0, n_more), (0, 0)))
        for split, division in self._splits:
            divide_columns(self.shares[None], split, division.shares[None])
            _divide_rows(self.words, self.word_totals, split, division.words)
        self._origin_moves = np.pad(origin._transition_totals().astype(float), (0, n_more))
        self.moves = self._origin_moves.copy()

    def transitions(self, table: Floats) -> Floats:
        """Return what follows each id, and the start, given what follows each class."""
        n_ids, n = len(self._base), table.shape[1]
        wide = np.zeros((n_ids + 1, n_ids))
        wide[:n, :n], wide[-1, :n] = table[:-1], table[-1]
        sources = np.append(self._base, n)
        moves = self._origin_moves.copy()
        for split, division in self._splits:
            divide_columns(wide, split, division.after[sources])
            _divide_rows(wide[:-1], moves, split, division.before[self._base])
        self.moves = moves
        return wide


def _divide_rows(rows: Floats, totals: Floats, split: Split, parts: Floats) -> None:
    """Divide a row of probabilities and its total, in place, by P(part | column)."""
    places = list(split.parts)
    joint = rows[split.id][:, None] * parts  # (n_columns, n_parts)
    sums = joint.sum(axis=0)
    usual = np.tile(rows[split.id], (len(places), 1))
    rows[places] = np.where(
        sums[:, None] > 0, joint.T / np.where(sums > 0, sums, 1)[:, None], usual
    )
    whole = rows[split.id].sum()
    totals[places] = totals[split.id] * sums / (whole if whole > 0 else 1.0)
    rows[split.id], totals[split.id] = 0.0, 0.0


def table_of(counts: Floats, shares: Floats) -> Floats:
    """Return P(part | row) from counts, (n_rows, n_parts); the shares where nothing was counted."""
    return np.asarray((counts + shares) / (counts.sum(axis=1, keepdims=True) + 1.0))


def distinctive(own: Floats, rows: Floats, family: NDArray[np.bool_], n: int = 6) -> list[int]:
    """Return the words that set a part apart from the parts of the same class."""
    others = rows[family].sum(axis=0)
    usual = others / max(others.sum(), 1e-300)
    there = (own > 0) & (usual > 0)
    gain = np.where(there, own * np.log2(np.where(there, own, 1) / np.where(there, usual, 1)), 0)
    return [int(k) for k in np.argsort(-gain, kind="stable")[:n] if gain[k] > 0]
