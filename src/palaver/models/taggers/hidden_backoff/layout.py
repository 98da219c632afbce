"""Hidden states of tags: how many, how they may follow each other, which share their words.

Ji & Bilmes (2006): states only move forward, and are at first spread evenly (section 4.1) or drawn
(algorithm 1); their number may differ by tag (section 4.2). Section 4.4 proposes forks for short
and long sentences, tied states, and numbers of states that depend on the tag before.

A tag that has other numbers of states after some tags has a *variant* for each number. Variants
share their words, and have starts and moves of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from palaver.errors import ParameterError
from palaver.models.taggers.tag_moves import previous_tags

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST_STATES = 100
#: Count of every allowed start and move in addition to those of the first alignment.
_PRIOR = 0.5
#: Log-probability of what cannot happen; finite, so that differences of such values are numbers.
_NEVER = -1e9
#: Between a tag and the one before it, in the names of numbers of states.
_AFTER = " after "


@dataclass(frozen=True, eq=False)
class StateLayout:
    """States of all tags, numbered together as units.

    Attributes
    ----------
    n_states : tuple of int
        States of each variant of a tag.
    fork : bool
        Short and long sentences take different states, which meet in the last one.
    word_tags : array of int64, shape (n_units,)
        Tag whose words the unit shares; a group of tied units counts as a tag of its own.
    word_states : array of int64, shape (n_units,)
    n_word_tags : int
    variants : array of int64, shape (n_tags + 1, n_tags)
        Which variant a tag has after each tag; the last row is for first sentences.
    """

    n_states: tuple[int, ...]
    fork: bool
    word_tags: Numbers
    word_states: Numbers
    n_word_tags: int
    variants: Numbers

    @property
    def n_units(self) -> int:
        """Number of states of all tags together."""
        return sum(self.n_states)

    @property
    def most(self) -> int:
        """States of the variant that has the most."""
        return max(self.n_states)

    @property
    def units(self) -> Numbers:
        """First unit of each variant, (n_variants + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_states)]).astype(np.int64)

    @property
    def unit_tags(self) -> Numbers:
        """Variant of each unit, (n_units,)."""
        return np.repeat(np.arange(len(self.n_states)), self.n_states)

    @property
    def unit_states(self) -> Numbers:
        """State of each unit, (n_units,)."""
        return np.concatenate([np.arange(count) for count in self.n_states])

    @property
    def tags(self) -> Numbers:
        """Tag of each variant, (n_variants,)."""
        found = np.empty(len(self.n_states), np.int64)
        found[self.variants] = np.arange(self.variants.shape[1])
        return found

    def variants_of(
        self, tags: NDArray[np.integer], conversation_offsets: Numbers
    ) -> NDArray[np.int32]:
        """Return the variants of sentences whose tags are known, (n_sentences,)."""
        start = len(self.variants) - 1
        before = previous_tags(tags.astype(np.int64), conversation_offsets, 1, start)
        return np.asarray(self.variants[before, tags], np.int32)

    def variant_moves(self, moves: Floats) -> Floats:
        """Return how variants follow each other, given how tags do.

        Parameters
        ----------
        moves : array of float64, shape (n_kinds, n_histories, n_tags)
            Log-probabilities; a history is one tag or two, as in
            :mod:`palaver.models.taggers.kernels.tag_chains`.

        Returns
        -------
        array of float64, shape (n_kinds, n_histories of variants, n_variants)
            A variant that does not belong to the tag before is as good as impossible.
        """
        n_tags, n_variants = self.variants.shape[1], len(self.n_states)
        if n_variants == n_tags:
            return moves
        old = np.append(self.tags, n_tags)  # of a variant, or of the start
        is_right = self.variants[old][:, self.tags] == np.arange(n_variants)
        if moves.shape[1] > n_tags + 1:
            histories = (old[:, None] * (n_tags + 1) + old[None, :]).ravel()
            is_right = np.tile(is_right, (n_variants + 1, 1))
        else:
            histories = old
        return np.where(is_right, moves[:, histories][:, :, self.tags], _NEVER)

    def named(self, names: Sequence[str]) -> dict[str, int]:
        """Return the numbers of states by tag, and of tags after others where they differ."""
        first = self.variants[-1]  # of first sentences, for which only the tag counts
        found = {name: self.n_states[first[tag]] for tag, name in enumerate(names)}
        for before, tag in np.argwhere(self.variants[:-1] != first).tolist():
            variant = self.variants[before, tag]
            found[f"{names[tag]}{_AFTER}{names[before]}"] = self.n_states[variant]
        return found

    def variant_names(self, names: Sequence[str]) -> list[str]:
        """Return the names of variants: that of the tag, with its states if there are several."""
        several = np.bincount(self.tags) > 1
        return [f"{names[tag]} ({size} states)" if several[tag] else names[tag]
                for tag, size in zip(self.tags.tolist(), self.n_states, strict=True)]  # fmt: skip

    def arrays(self) -> dict[str, Numbers]:
        """Return the layout as named arrays, for a stored model."""
        return {
            "n_states": np.array(self.n_states),
            "word_tags": self.word_tags,
            "word_states": self.word_states,
            "n_word_tags": np.array(self.n_word_tags),
            "variants": self.variants,
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, fork: bool) -> Self:
        """Make a layout of what :meth:`arrays` returned."""
        return cls(
            tuple(arrays["n_states"].tolist()), fork, arrays["word_tags"], arrays["word_states"],
            int(arrays["n_word_tags"]), arrays["variants"],
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
        own = np.eye(self.most)[self.unit_states]
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
            Variants.
        medians : array of float64, shape (n_variants,)
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

    def draw(
        self, offsets: Numbers, tags: NDArray[np.int32], branches: Floats, draws: Floats
    ) -> NDArray[np.int8]:
        """Return first states that are drawn: for every word one, then put in order (algorithm 1).

        Parameters
        ----------
        offsets : array of int64, shape (n_sentences + 1,)
        tags : array of int32, shape (n_sentences,)
            Variants.
        branches : array of float64, shape (n_sentences,)
            Uniform; below one half, a fork takes the short branch.
        draws : array of float64, shape (n_tokens,)
            Uniform.
        """
        lengths = np.diff(offsets)
        sentences = np.repeat(np.arange(len(lengths)), lengths)
        ordered = draws[np.lexsort((draws, sentences))]
        sizes = np.repeat(np.array(self.n_states)[tags], lengths)
        if not self.fork:
            return np.asarray(ordered * sizes, np.int8)
        is_long = (branches >= 0.5)[sentences] & (sizes > 1)
        long = 1 + (ordered * (sizes - 1)).astype(np.int64)
        joined = np.where((sizes > 2) & (ordered >= 0.5), sizes - 1, 0)
        states = np.where(is_long, long, joined)
        first = offsets[:-1][lengths > 0] - offsets[0]
        states[first] = is_long[first]
        return np.asarray(states, np.int8)


def make_layout(
    n_states: Any, names: Sequence[str], lengths: Sequence[Floats], topology: str, tied: Any
) -> StateLayout:
    """Make the layout that parameters ask for.

    Parameters
    ----------
    n_states : int, mapping of str to int, or "auto"
        For all tags; for some tags, the others having one; or by the lengths of sentences. A
        mapping may also have a tag after another: ``"s after q"``.
    names : sequence of str
        Names of the tags.
    lengths : sequence of array
        Words of the sentences of each tag.
    topology : {"forward", "fork"}
    tied : bool or sequence of sequences of str
        Groups of states such as ``["s.0", "q.0"]`` that share their words; True ties the last
        states of all tags that have several.
    """
    table = _numbers_of_states(n_states, names, lengths)
    pairs = sorted({(tag, int(count)) for row in table for tag, count in enumerate(row)})
    number = {pair: variant for variant, pair in enumerate(pairs)}
    variants = np.array([[number[tag, int(count)] for tag, count in enumerate(row)]
                         for row in table])  # fmt: skip
    counts = [count for _, count in pairs]
    word_tags = np.repeat([tag for tag, _ in pairs], counts)
    word_states = np.concatenate([np.arange(count) for count in counts])
    groups = _tied_groups(tied, names, table.max(axis=0).tolist())
    shown = [(int(tag), int(state)) for tag, state in zip(word_tags, word_states, strict=True)]
    for number_of_group, group in enumerate(groups):
        mine = [unit for unit, pair in enumerate(shown) if pair in group]
        word_tags[mine], word_states[mine] = len(names) + number_of_group, 0
    return StateLayout(tuple(counts), topology == "fork", word_tags, word_states,
                       len(names) + len(groups), variants)  # fmt: skip


def _numbers_of_states(n_states: Any, names: Sequence[str], lengths: Sequence[Floats]) -> Numbers:
    """Return the number of states of each tag after each tag, (n_tags + 1, n_tags)."""
    if n_states == "auto":
        return np.tile([states_by_length(part) for part in lengths], (len(names) + 1, 1))
    if not isinstance(n_states, Mapping):
        return np.full((len(names) + 1, len(names)), int(n_states))
    after = {}
    for name in n_states:
        tag, _, before = name.rpartition(_AFTER)
        if name not in names and tag in names and before in names:
            after[name] = names.index(before), names.index(tag)
        elif name not in names:
            raise ParameterError(
                f"n_states: there is no tag {name!r}; the tags are {', '.join(names)}, and "
                f"'{names[0]}{_AFTER}{names[-1]}' is one of them after another"
            )
    row = [int(n_states.get(name, 1)) for name in names]
    table = np.tile(row, (len(names) + 1, 1))
    for name, place in after.items():
        table[place] = int(n_states[name])
    return table


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
