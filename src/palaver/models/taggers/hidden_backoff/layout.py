"""Hidden states of tags: how many, how they may follow each other, which share their words.

Ji & Bilmes (2006): states only move forward, and are spread evenly at first (section 4.1); their
number may differ by tag (section 4.2). Forks for short and long sentences, and tied states, are
proposed in section 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from palaver.errors import ParameterError

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST_STATES = 100
#: Count of every allowed start and move in addition to those of the first alignment.
_PRIOR = 0.5


@dataclass(frozen=True, eq=False)
class StateLayout:
    """States of all tags, numbered together as units.

    Attributes
    ----------
    n_states : tuple of int
        States of each tag.
    fork : bool
        Short and long sentences take different states, which meet in the last one.
    word_tags : array of int64, shape (n_units,)
        Tag whose words the unit shares; a group of tied units counts as a tag of its own.
    word_states : array of int64, shape (n_units,)
    n_word_tags : int
    """

    n_states: tuple[int, ...]
    fork: bool
    word_tags: Numbers
    word_states: Numbers
    n_word_tags: int

    @property
    def n_units(self) -> int:
        """Number of states of all tags together."""
        return sum(self.n_states)

    @property
    def most(self) -> int:
        """States of the tag that has the most."""
        return max(self.n_states)

    @property
    def units(self) -> Numbers:
        """First unit of each tag, (n_tags + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_states)]).astype(np.int64)

    @property
    def unit_tags(self) -> Numbers:
        """Tag of each unit, (n_units,)."""
        return np.repeat(np.arange(len(self.n_states)), self.n_states)

    def arrays(self) -> dict[str, Numbers]:
        """Return the layout as named arrays, for a stored model."""
        return {
            "n_states": np.array(self.n_states),
            "word_tags": self.word_tags,
            "word_states": self.word_states,
            "n_word_tags": np.array(self.n_word_tags),
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, fork: bool) -> Self:
        """Make a layout of what :meth:`arrays` returned."""
        return cls(
            tuple(arrays["n_states"].tolist()), fork, arrays["word_tags"], arrays["word_states"],
            int(arrays["n_word_tags"]),
        )  # fmt: skip

    def allowed(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which units can start a sentence, and which states can follow a unit.

        Forward: the same or a later state; a sentence may start in any. Fork: the first state is
        the short branch; the last, if there are at least three, is where the branches join.
        """
        start = np.ones(self.n_units, bool)
        moves = np.zeros((self.n_units, self.most), bool)
        for low, size in zip(self.units, self.n_states, strict=False):
            states = np.arange(size)
            ahead = states[:, None] <= states[None, :]
            if self.fork and size > 1:
                ahead[0, 1 : max(size - 1, 2)] = False
            moves[low : low + size, :size] = ahead
            if self.fork and size > 2:
                start[low + 2 : low + size] = False
        return start, moves

    def parameters(self, starts: Floats, steps: Floats) -> tuple[Floats, Floats]:
        """Return probabilities of starts and moves from counts.

        Parameters
        ----------
        starts : array of float64, shape (n_units,)
        steps : array of float64, shape (n_units, most)
        """
        start = starts.copy()
        for low, high in zip(self.units[:-1], self.units[1:], strict=True):
            total = start[low:high].sum()
            start[low:high] = start[low:high] / total if total > 0 else 1 / (high - low)
        totals = steps.sum(axis=1, keepdims=True)
        own = np.eye(self.most)[np.concatenate([np.arange(n) for n in self.n_states])]
        moves = np.where(totals > 0, steps / np.where(totals > 0, totals, 1.0), own)
        return start, moves

    def first_parameters(self, starts: Floats, steps: Floats) -> tuple[Floats, Floats]:
        """Return the same from counts of a first alignment; every allowed move is possible."""
        start, moves = self.allowed()
        return self.parameters(starts + _PRIOR * start, steps + _PRIOR * moves)

    def spread(
        self, offsets: Numbers, tags: NDArray[np.int32], medians: Floats
    ) -> NDArray[np.int8]:
        """Return the first states: those of each tag, evenly along its sentences.

        Parameters
        ----------
        offsets : array of int64, shape (n_sentences + 1,)
        tags : array of int32, shape (n_sentences,)
        medians : array of float64, shape (n_tags,)
            Length up to which a sentence counts as short, for forks.
        """
        lengths = np.diff(offsets)
        positions = np.arange(offsets[-1] - offsets[0]) - np.repeat(offsets[:-1], lengths)
        sizes = np.repeat(np.array(self.n_states)[tags], lengths)
        states = positions * sizes // np.repeat(np.maximum(lengths, 1), lengths)
        if self.fork:
            long = np.repeat(lengths > medians[tags], lengths)
            rest = 1 + positions * (sizes - 1) // np.repeat(np.maximum(lengths, 1), lengths)
            states = np.where(long & (sizes > 1), rest, 0)
        return np.asarray(states, np.int8)


def make_layout(
    n_states: Any, names: Sequence[str], lengths: Sequence[Floats], topology: str, tied: Any
) -> StateLayout:
    """Make the layout that parameters ask for.

    Parameters
    ----------
    n_states : int, mapping of str to int, or "auto"
        For all tags; for some tags, the others having one; or by the lengths of sentences.
    names : sequence of str
        Names of the tags.
    lengths : sequence of array
        Words of the sentences of each tag.
    topology : {"forward", "fork"}
    tied : bool or sequence of sequences of str
        Groups of states such as ``["s.0", "q.0"]`` that share their words; True ties the last
        states of all tags that have several.
    """
    counts = _numbers_of_states(n_states, names, lengths)
    groups = _tied_groups(tied, names, counts)
    units = np.concatenate([[0], np.cumsum(counts)])
    word_tags = np.repeat(np.arange(len(counts)), counts)
    word_states = np.concatenate([np.arange(count) for count in counts])
    for number, group in enumerate(groups):
        for tag, state in group:
            word_tags[units[tag] + state] = len(counts) + number
            word_states[units[tag] + state] = 0
    return StateLayout(tuple(counts), topology == "fork", word_tags, word_states,
                       len(counts) + len(groups))  # fmt: skip


def _numbers_of_states(n_states: Any, names: Sequence[str], lengths: Sequence[Floats]) -> list[int]:
    if n_states == "auto":
        return [states_by_length(part) for part in lengths]
    if not isinstance(n_states, Mapping):
        return [int(n_states)] * len(names)
    unknown = [name for name in n_states if name not in names]
    if unknown:
        raise ParameterError(
            f"n_states: there is no tag {unknown[0]!r}; the tags are {', '.join(names)}"
        )
    return [int(n_states.get(name, 1)) for name in names]


def states_by_length(lengths: Floats) -> int:
    """Return a number of states that suits the lengths of a tag's sentences (see section 4.2).

    One if the median sentence has at most two words; two if it has at most six, or if lengths
    vary widely (their standard deviation exceeds their mean); three otherwise.
    """
    if not len(lengths) or np.median(lengths) <= 2:
        return 1
    return 2 if np.median(lengths) <= 6 or np.std(lengths) > np.mean(lengths) else 3


def admits_states(value: Any) -> bool:
    """Return whether a value is legal as ``n_states``."""
    values = list(value.values()) if isinstance(value, Mapping) else [value]
    return value == "auto" or all(
        isinstance(v, int | np.integer) and not isinstance(v, bool) and 1 <= v <= _MOST_STATES
        for v in values
    )


def _tied_groups(
    tied: Any, names: Sequence[str], counts: Sequence[int]
) -> list[list[tuple[int, int]]]:
    """Return groups of (tag, state) that share their words."""
    if tied is False:
        return []
    if tied is True:
        several = [(tag, count - 1) for tag, count in enumerate(counts) if count > 1]
        return [several] if len(several) > 1 else []
    groups = []
    for group in tied:
        members = []
        for member in group:
            name, _, state = str(member).rpartition(".")
            valid = name in names and state.isdigit() and int(state) < counts[names.index(name)]
            if not valid:
                raise ParameterError(f"tied: there is no state {member!r}; write TAG.STATE, as in "
                                     f"'{names[0]}.0', states counted from 0")  # fmt: skip
            members.append((names.index(name), int(state)))
        groups.append(members)
    return groups
