"""The conditional random field as the loop sees it: a sweep is an evaluation of the objective.

Every shard adds its part of the objective and of the gradient; the update chooses where to evaluate
next (:mod:`palaver.models.taggers.crf.descent`). Nothing is drawn. The phase is ``descend`` until
the descent has ended, then ``done``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.models.taggers.crf import descent
from palaver.models.taggers.crf.kernels import chain
from palaver.parallel import Arrays, Globals

#: Kinds of moves: the speaker stays, the speaker changes.
N_KINDS = 2
_DONE = ("point", "value")


@dataclass(frozen=True, eq=False)
class ChainShard:
    """Conversations with features and tags.

    Attributes
    ----------
    offsets, columns, values : arrays
        Rows of the sparse table of features.
    kinds : array of int8, shape (n_messages,)
        1 where the speaker changes.
    tags : array of int32, shape (n_messages,)
        -1 for unknown ones.
    conversations : array of int64, shape (n_conversations + 1,)
    """

    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    kinds: NDArray[np.int8]
    tags: NDArray[np.int32]
    conversations: NDArray[np.int64]


def split(parameters: NDArray[Any], n_features: int, n_tags: int) -> tuple[NDArray[Any], ...]:
    """Return weights (n_features, n_tags) and moves (2, n_tags + 1, n_tags) of a flat array."""
    n_weights = n_features * n_tags
    weights = parameters[:n_weights].reshape(n_features, n_tags)
    return weights, parameters[n_weights:].reshape(N_KINDS, n_tags + 1, n_tags)


class CRFEngine:
    """The descent as the functions that the loop calls.

    Parameters
    ----------
    n_features, n_tags : int
    penalty : float
        Weight of half the sum of all squares.
    max_iter : int
        Steps at most.
    tolerance : float
        The descent ends when two steps in a row lower the objective by less than this share.
    """

    exact: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, n_features: int, n_tags: int, penalty: float, max_iter: int, tolerance: float
    ) -> None:
        self.n_features, self.n_tags = n_features, n_tags
        self.penalty, self.max_iter, self.tolerance = penalty, max_iter, tolerance
        self.run: Any = map

    @property
    def n_parameters(self) -> int:
        """Number of weights and moves."""
        return (self.n_features + N_KINDS * (self.n_tags + 1)) * self.n_tags

    @property
    def n_sweeps(self) -> int:
        """Evaluations at most: that of the start, those of steps, and some that are too long."""
        return 1 + self.max_iter + max(10, self.max_iter // 2)

    def start(self, generator: np.random.Generator) -> Globals:
        """Start at zero."""
        counts = np.zeros(3, np.int64)  # evaluations, steps, small steps in a row
        return Globals(
            "descend", {**descent.start(self.n_parameters, np.float32), "course": counts}
        )

    def open(self, shared: Globals, shard: ChainShard, key: NDArray[np.uint64]) -> Arrays:
        """Return the state of a shard, which has none to speak of."""
        return {"nothing": np.zeros(0)}

    def sweep(
        self, shared: Globals, shard: ChainShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Return the shard's part of the objective and of the gradient."""
        if shared.phase == "done":  # as after a finished run was resumed
            return {"value": np.array(0.0), "gradient": np.zeros(0)}
        weights, moves = split(shared.arrays["trial"], self.n_features, self.n_tags)
        scores = np.empty((len(shard.tags), self.n_tags), np.float32)
        residuals = np.empty_like(scores)
        chain.score(shard.offsets, shard.columns, shard.values, weights, scores)
        gradient = np.zeros(self.n_parameters, np.float32)
        by_weights, by_moves = split(gradient, self.n_features, self.n_tags)
        counts = np.empty(moves.shape)
        value = chain.residuals_of(scores, shard.kinds, shard.conversations,
                                   moves.astype(np.float64), shard.tags, residuals,
                                   counts)  # fmt: skip
        by_moves[:] = counts
        chain.add_gradient(shard.offsets, shard.columns, shard.values, residuals, by_weights)
        return {"value": np.array(value), "gradient": gradient}

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add the parts of two shards."""
        return {name: left[name] + right[name] for name in left}

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Add the penalty and choose where to evaluate next."""
        arrays = dict(shared.arrays)
        if shared.phase == "done":
            return shared, self._info(arrays)
        evaluations, steps, small = arrays.pop("course").tolist()
        trial = arrays["trial"]
        value = float(statistics["value"]) + self.penalty / 2 * float(trial @ trial)
        gradient = statistics["gradient"] + np.float32(self.penalty) * trial
        arrays, taken, gain = descent.advance(arrays, value, gradient)
        steps += taken
        small = small + 1 if taken and gain < self.tolerance else small * (not taken)
        evaluations += 1
        ends = steps > self.max_iter or small >= 2 or evaluations >= self.n_sweeps
        course = np.array([evaluations, steps, small], np.int64)
        if ends:
            arrays = {name: arrays[name] for name in _DONE}
        arrays["course"] = course
        return Globals("done" if ends else "descend", arrays), self._info(arrays)

    def _info(self, arrays: Arrays) -> dict[str, float]:
        """Return what the trace records: the objective at the best point, and steps so far."""
        return {"log_joint": -float(arrays["value"]), "steps": float(arrays["course"][1] - 1)}

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Keep nothing: the last globals are the model."""
        return {}
