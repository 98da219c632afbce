"""Weights and rows of the represented states, extended by further states as slices need them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palaver.errors import ParameterError
from palaver.models.states.kernels import sticks
from palaver.parallel import Arrays

_ROOM = 16  # places for new states, to begin with
# Beyond the largest number of states, a share of all weights below this waits for a later sweep:
# with a discount, thousands of states that nothing is in would have to be represented.
_LEFT_OUT = 0.05


@dataclass(frozen=True, eq=False)
class Sticks:
    """Weights and rows, with room for further states before the last entry.

    Attributes
    ----------
    weights : array of float64, shape (room + 1,)
        beta of the first ``n_states`` states; the last entry is that of all other states.
    rows : array of float64, shape (room + 1, room + 1)
        Transitions; the last column is for all other states, the last row is the start.
    reached : array of bool, shape (room + 1,)
        Which states some sequence can be in; the last entry is the start's.
    n_states : int
    """

    weights: NDArray[np.float64]
    rows: NDArray[np.float64]
    reached: NDArray[np.bool_]
    n_states: int

    @property
    def places(self) -> NDArray[np.int64]:
        """Where the states are, and then all other states (or, among rows, the start)."""
        return np.append(np.arange(self.n_states), len(self.weights) - 1)

    def with_room(self, room: int) -> Sticks:
        """Return a copy with more room."""
        weights, rows = np.zeros(room + 1), np.zeros((room + 1, room + 1))
        reached = np.zeros(room + 1, bool)
        places = np.append(np.arange(self.n_states), room)
        weights[places] = self.weights[self.places]
        rows[np.ix_(places, places)] = self.rows[np.ix_(self.places, self.places)]
        reached[places] = self.reached[self.places]
        return Sticks(weights, rows, reached, self.n_states)


def concentrations(arrays: Arrays) -> tuple[float, float, float]:
    """Return alpha, gamma and the discount from the globals of a chain."""
    names = ("row_concentration", "state_concentration", "discount")
    alpha, gamma, discount = (float(arrays[name]) for name in names)
    return alpha, gamma, discount


def extend_sticks(arrays: Arrays, smallest: float, at_least: int, max_states: int) -> Sticks:
    """Break sticks until no slice reaches the states that are not represented.

    Parameters
    ----------
    arrays : dict
        Globals of a chain: weights, rows, concentrations, ``stick_key``.
    smallest : float
        The smallest slice; infinite to represent ``at_least`` states and no more.
    at_least : int
    max_states : int
        Represent no more than about this many, and fail if they leave more than a twentieth of
        the weights to others.
    """
    n_states = len(arrays["state_weights"]) - 1
    reached = np.ones(n_states + 1, bool)
    found = Sticks(arrays["state_weights"], arrays["rows"], reached, n_states)
    found = found.with_room(max(n_states, at_least) + _ROOM)
    while True:
        n_states, enough = sticks.break_sticks(
            found.weights, found.rows, found.n_states, *concentrations(arrays),
            arrays["stick_key"], smallest, at_least, found.reached,
        )  # fmt: skip
        found = replace(found, n_states=n_states)
        if n_states > max_states and np.isfinite(smallest):
            if found.weights[-1] < _LEFT_OUT:
                return found
            rows, states, discount = concentrations(arrays)
            raise ParameterError(
                f"more than {max_states:,} states are needed (row_concentration {rows:.3g}, "
                f"state_concentration {states:.3g}, discount {discount:.3g}); set n_states, use "
                "smaller concentrations, or raise max_states"
            )
        if enough:
            return found
        found = found.with_room(2 * len(found.weights))
