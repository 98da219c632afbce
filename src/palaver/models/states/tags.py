"""States that refine given tags: each has a tag, and tagged positions admit only its states.

A position's *group* says which tags it may have: one tag, those of a dictionary, or all. A state's
tag has a uniform prior; given the positions in the state, it is uniform over the tags that all of
them admit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.kernels.random import uniforms
from palaver.parallel import Arrays


@dataclass(frozen=True, eq=False)
class Tags:
    """What labels say about positions; nothing if there are no labels.

    Attributes
    ----------
    groups : array of int32, shape (n_positions,)
        Row of ``sets`` for each position of the data; empty without labels.
    sets : array of bool, shape (n_groups, n_tags)
    names : tuple of str
        Of the tags.
    """

    groups: NDArray[np.int32]
    sets: NDArray[np.bool_]
    names: tuple[str, ...] = ()

    @classmethod
    def none(cls) -> Tags:
        """Return no labels at all."""
        return cls(np.zeros(0, np.int32), np.zeros((1, 0), bool))

    @property
    def n_tags(self) -> int:
        """Number of tags."""
        return int(self.sets.shape[1])

    def groups_of(self, first: int, count: int) -> NDArray[np.int32]:
        """Return the groups of some positions; empty without labels."""
        return self.groups[first : first + count]

    def start(self, n_states: int) -> Arrays:
        """Assign the tags to the first states in turn."""
        if not self.n_tags:
            return {}
        return {"state_tags": np.arange(n_states, dtype=np.int16) % self.n_tags}

    def admit(self, arrays: Arrays, groups: NDArray[np.int32], states: NDArray[np.int16]) -> None:
        """Move every first state (IN-OUT) to the next one that its group admits."""
        if not self.n_tags:
            return
        allowed = self.sets[:, arrays["state_tags"]]
        n_states = allowed.shape[1]
        for _ in range(n_states):
            wrong = ~allowed[groups, states]
            if not wrong.any():
                return
            states[wrong] = (states[wrong] + 1) % n_states

    def allowed(self, arrays: Arrays, n_states: int) -> NDArray[np.uint8]:
        """Return which states each group admits, including states new in this sweep."""
        if not self.n_tags:
            return np.ones((1, n_states), np.uint8)
        tags = arrays["state_tags"].astype(np.int64)
        new = [
            int(uniforms(arrays["stick_key"] ^ np.uint64(0xA5A5), number, 1)[0] * self.n_tags)
            for number in range(len(tags), n_states)
        ]
        return self.sets[:, np.append(tags, np.array(new, np.int64))].astype(np.uint8)

    def count(self, groups: NDArray[np.int32], states: NDArray[np.int16], n_states: int) -> Arrays:
        """Count positions by group and state."""
        if not self.n_tags:
            return {}
        counts = np.zeros((len(self.sets), n_states), np.int64)
        np.add.at(counts, (groups, states), 1)
        return {"group_counts": counts}

    def draw(self, statistics: Arrays, generator: np.random.Generator) -> Arrays:
        """Draw each state's tag uniformly from those that all of its positions admit."""
        if not self.n_tags:
            return {}
        present = statistics["group_counts"] > 0
        refused = present.T.astype(np.int64) @ (~self.sets).astype(np.int64)  # (states, tags)
        draws = generator.random(refused.shape)
        draws[refused > 0] = -1.0
        return {"state_tags": draws.argmax(axis=1).astype(np.int16)}
