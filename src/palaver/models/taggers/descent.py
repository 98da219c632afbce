"""L-BFGS as a sequence of evaluations, so that each can be a sweep of the loop.

Nocedal & Wright (2006), algorithm 7.5, with a backtracking line search: a step is taken if it
lowers the objective by at least a ten-thousandth of what the gradient promises, or if values are
level up to rounding and the slope got flatter; else it is halved. Directions start from a guess of
the inverse curvature, if there is one (:func:`inverse_curvature`): frequent features need short
steps, rare ones long steps; with one scale for both a descent takes many more of them.
All vectors have the type of the first trial: with millions of weights, single precision saves half
of the time and memory, and is exact enough for a direction. Vectors are changed in place where they
can be: new memory for so many numbers takes the system longer than the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg.blas import get_blas_funcs

from palaver.parallel import Arrays

#: Pairs of steps and changes of the gradient that are remembered.
MEMORY = 6
_PROMISED = 1e-4
_FLATTER = 0.9
#: First step with a guess of the inverse curvature: short, because features go together.
_FIRST = 0.02
_SHORTEST = 1e-10
#: Numbers that are worked on at a time where memory would be needed for all.
_PART = 1 << 16

Vector = NDArray[Any]


def start(n_parameters: int, dtype: DTypeLike = np.float64) -> Arrays:
    """Return the state of a descent that starts at zero; ``trial`` is where to evaluate first."""
    return {"trial": np.zeros(n_parameters, dtype)}


def inverse_curvature(squares: Vector, shares: Vector, penalty: float) -> Vector:
    """Guess the inverse curvature of each weight of a regression, up to a factor.

    The curvature of a weight is about ``squares * shares * (1 - shares) + penalty`` if no other
    feature had a say. They do, so the guess is the geometric mean of that and of the penalty.

    Parameters
    ----------
    squares : array of float64, shape (n_features,)
        Sum of the squares of each feature.
    shares : array of float64, shape (n_tags,)
        Of the tags among all labels.
    penalty : float

    Returns
    -------
    array of float32, shape (n_features * n_tags,)
    """
    curvature = np.outer(squares, shares * (1 - shares)) + penalty
    return (1 / np.sqrt(penalty * curvature)).astype(np.float32).ravel()


def advance(state: Arrays, value: float, gradient: Vector) -> tuple[Arrays, bool, float]:
    """Take the objective and its gradient at ``trial`` in, and choose where to evaluate next.

    Parameters
    ----------
    state : dict of str to array
        trial (n,): where the objective was evaluated; point, gradient, direction (n,) and value ():
        the best point so far; length (): of the step; step0, change0 ... (n,): steps and changes of
        the gradient that are remembered, 0 being the last, with their products; inverse (n,): a
        guess of the inverse curvature, optional. The first state has the last and ``trial`` only.
    value : float
    gradient : array, shape (n,)

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
        kept = {"point": trial, "value": np.array(value), "gradient": gradient, **_guess(state)}
        if "inverse" in state:
            return _towards(kept, -gradient * state["inverse"], _FIRST), True, np.inf
        length = 1.0 / max(float(np.linalg.norm(gradient)), 1.0)
        return _towards(kept, -gradient, length), True, np.inf
    best, direction = float(state["value"]), state["direction"]
    length, slope = float(state["length"]), float(state["gradient"] @ direction)
    lower = value <= best + _PROMISED * length * slope
    if not lower and not (_level(value, best, gradient) and _flatter(gradient, direction, slope)):
        if length < _SHORTEST:
            return {**state, "trial": state["point"]}, True, 0.0
        kept = {name: array for name, array in state.items() if name != "trial"}
        return _towards(kept, direction, length / 2), False, 0.0
    memory = _remember(state, trial - state["point"], gradient - state["gradient"])
    guess = _guess(state)
    kept = {"point": trial, "value": np.array(value), "gradient": gradient, **memory, **guess}
    gain = (best - value) / max(abs(value), 1e-12)
    return _towards(kept, _direction(gradient, memory, guess.get("inverse")), 1.0), True, gain


def _guess(state: Arrays) -> Arrays:
    """Return the guess of the inverse curvature, if a state has one."""
    return {name: state[name] for name in ("inverse",) if name in state}


def _level(value: float, best: float, gradient: Vector) -> bool:
    """Say whether two values are equal up to the rounding of what they were computed from."""
    return value <= best + float(np.finfo(gradient.dtype).eps) * abs(best)


def _flatter(gradient: Vector, direction: Vector, slope: float) -> bool:
    """Say whether the slope is less steep at the end of a step, so that it led somewhere."""
    return abs(float(gradient @ direction)) < _FLATTER * abs(slope)


def _towards(kept: Arrays, direction: Vector, length: float) -> Arrays:
    """Return a state whose trial is a step along a direction."""
    trial = _plus(kept["point"].copy(), length, direction)
    return {**kept, "direction": direction, "length": np.array(length), "trial": trial}


def _plus(vector: Vector, factor: float, other: Vector) -> Vector:
    """Return ``vector + factor * other``, which overwrites ``vector``."""
    return np.asarray(get_blas_funcs("axpy", (vector, other))(other, vector, a=factor))


def _remember(state: Arrays, step: Vector, change: Vector) -> Arrays:
    """Return the remembered steps and changes with new ones, the oldest left out."""
    names = ("step", "change", "product")
    product = float(step @ change)
    if product <= 1e-10 * float(change @ change):
        return {name: array for name, array in state.items() if name.startswith(names)}
    found = {"step0": step, "change0": change, "product0": np.array(product)}
    for i in range(MEMORY - 1):
        found |= {f"{name}{i + 1}": state[f"{name}{i}"] for name in names
                  if f"{name}{i}" in state}  # fmt: skip
    return found


def _direction(gradient: Vector, memory: Arrays, inverse: Vector | None) -> Vector:
    """Return minus the gradient times the approximate inverse Hessian (two loops)."""
    found = -gradient
    n = len(memory) // 3
    steps, changes = ([memory[f"{name}{i}"] for i in range(n)] for name in ("step", "change"))
    products = [float(memory[f"product{i}"]) for i in range(n)]
    shares = [0.0] * n
    for i in range(n):  # the last first
        shares[i] = float(steps[i] @ found) / products[i]
        found = _plus(found, -shares[i], changes[i])
    if inverse is not None:
        found *= inverse
    if n:
        found *= found.dtype.type(products[0] / _square(changes[0], inverse))
    for i in reversed(range(n)):
        share = shares[i] - float(changes[i] @ found) / products[i]
        found = _plus(found, share, steps[i])
    return found


def _square(vector: Vector, weights: Vector | None) -> float:
    """Return the weighted sum of squares of a vector."""
    if weights is None:
        return float(vector @ vector)
    parts = (slice(first, first + _PART) for first in range(0, len(vector), _PART))
    return sum(float(vector[part] @ (vector[part] * weights[part])) for part in parts)


@dataclass(frozen=True)
class Rules:
    """What is minimized besides the shards' part, and when a descent ends.

    Attributes
    ----------
    penalty : float
        Weight of half the sum of all squares.
    max_iter : int
        Steps at most.
    tolerance : float
        The descent ends when two steps in a row lower the objective by less than this share.
    """

    penalty: float
    max_iter: int
    tolerance: float

    @property
    def n_sweeps(self) -> int:
        """Evaluations at most: that of the start, those of steps, and some that are too long."""
        return 1 + self.max_iter + max(10, self.max_iter // 2)

    def begin(self, point: Vector) -> Arrays:
        """Return the state of a descent that starts at a point."""
        counts = np.zeros(3, np.int64)  # evaluations, steps, small steps in a row
        return {"trial": point, "course": counts}

    def take(
        self, state: Arrays, value: float, gradient: Vector, inverse: Vector | None = None
    ) -> tuple[Arrays, bool]:
        """Take an evaluation in, add the penalty, and choose where to evaluate next.

        Parameters
        ----------
        state : dict
        value : float
        gradient : array, shape (n,)
            Of the type of the trial; overwritten if it can be.
        inverse : array, shape (n,), optional
            A guess of the inverse curvature, with the first evaluation.

        Returns
        -------
        state : dict
            After the end only ``point``, ``value`` and ``course``.
        ended : bool
        """
        arrays = dict(state)
        evaluations, steps, small = arrays.pop("course").tolist()
        trial = arrays["trial"]
        if inverse is not None:
            arrays["inverse"] = inverse
        value += self.penalty / 2 * float(trial @ trial)
        own = gradient if gradient.flags.writeable else gradient.copy()
        arrays, taken, gain = advance(arrays, value, _plus(own, self.penalty, trial))
        steps += taken
        small = small + 1 if taken and gain < self.tolerance else small * (not taken)
        evaluations += 1
        ended = steps > self.max_iter or small >= 2 or evaluations >= self.n_sweeps
        if ended:
            arrays = {name: arrays[name] for name in ("point", "value")}
        arrays["course"] = np.array([evaluations, steps, small], np.int64)
        return arrays, bool(ended)


def report(state: Arrays) -> dict[str, float]:
    """Return what a trace records: the objective at the best point, and the steps so far."""
    return {"log_joint": -float(state["value"]), "steps": float(state["course"][1] - 1)}
