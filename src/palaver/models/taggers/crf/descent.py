"""L-BFGS as a sequence of evaluations, so that each can be a sweep of the loop.

Nocedal & Wright (2006), algorithm 7.5, with a backtracking line search: a step is taken if it
lowers the objective by at least a ten-thousandth of what the gradient promises, else it is halved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palaver.parallel import Arrays

#: Pairs of steps and changes of the gradient that are remembered.
MEMORY = 6
_PROMISED = 1e-4
_SHORTEST = 1e-10

Vector = NDArray[np.float64]


def start(n_parameters: int) -> Arrays:
    """Return the state of a descent that starts at zero; ``trial`` is where to evaluate first."""
    return {"trial": np.zeros(n_parameters)}


def advance(state: Arrays, value: float, gradient: Vector) -> tuple[Arrays, bool, float]:
    """Take the objective and its gradient at ``trial`` in, and choose where to evaluate next.

    Parameters
    ----------
    state : dict of str to array
        trial (n,): where the objective was evaluated; point, gradient, direction (n,) and value ():
        the best point so far; steps, changes (MEMORY, n): what is remembered; length (): of the
        step. The first state has ``trial`` only.
    value : float
    gradient : array of float64, shape (n,)

    Returns
    -------
    state : dict
        With a new ``trial``.
    taken : bool
        Whether the step was taken.
    gain : float
        By which share of itself the objective fell, infinite at the start.
    """
    trial = state["trial"]
    if "point" not in state:
        length = 1.0 / max(float(np.linalg.norm(gradient)), 1.0)
        memory = np.zeros((0, len(trial)), np.float32)
        kept = {"point": trial, "value": np.array(value), "gradient": gradient,
                "steps": memory, "changes": memory}  # fmt: skip
        return _towards(kept, -gradient, length), True, np.inf
    best, direction = float(state["value"]), state["direction"]
    length, slope = float(state["length"]), float(state["gradient"] @ direction)
    if not value <= best + _PROMISED * length * slope:
        if length < _SHORTEST:
            return {**state, "trial": state["point"]}, True, 0.0
        kept = {name: array for name, array in state.items() if name != "trial"}
        return _towards(kept, direction, length / 2), False, 0.0
    steps, changes = _remember(state, trial - state["point"], gradient - state["gradient"])
    kept = {"point": trial, "value": np.array(value), "gradient": gradient,
            "steps": steps, "changes": changes}  # fmt: skip
    gain = (best - value) / max(abs(value), 1e-12)
    return _towards(kept, _direction(gradient, steps, changes), 1.0), True, gain


def _towards(kept: Arrays, direction: Vector, length: float) -> Arrays:
    """Return a state whose trial is a step along a direction."""
    trial = kept["point"] + length * direction
    return {**kept, "direction": direction, "length": np.array(length), "trial": trial}


def _remember(state: Arrays, step: Vector, change: Vector) -> tuple[NDArray[np.float32], ...]:
    """Return the remembered steps and changes with new ones, the oldest left out."""
    if float(step @ change) <= 1e-10 * float(change @ change):
        return state["steps"], state["changes"]
    return tuple(
        np.concatenate((state[name][-MEMORY + 1 :], new[None].astype(np.float32)))
        for name, new in (("steps", step), ("changes", change))
    )


def _direction(
    gradient: Vector, steps: NDArray[np.float32], changes: NDArray[np.float32]
) -> Vector:
    """Return minus the gradient times the approximate inverse Hessian (two loops)."""
    found = -gradient
    n = len(steps)
    products = [float(np.dot(steps[i], changes[i])) for i in range(n)]
    shares = [0.0] * n
    for i in reversed(range(n)):
        shares[i] = float(steps[i] @ found) / products[i]
        found -= shares[i] * changes[i]
    if n:
        found *= products[-1] / float(np.dot(changes[-1], changes[-1]))
    for i in range(n):
        found += (shares[i] - float(changes[i] @ found) / products[i]) * steps[i]
    return found
