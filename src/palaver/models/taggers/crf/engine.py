"""The conditional random field as the loop sees it: a sweep is an evaluation of the objective.

Every shard adds its part of the objective and of the gradient; the update chooses where to evaluate
next (:mod:`palaver.models.taggers.descent`). With the first evaluation a shard also says how large
its features are and how frequent its tags, from which the curvature is guessed. Nothing is drawn.
The phase is ``descend`` until the descent has ended, then ``done``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.models.taggers.descent import Rules, inverse_curvature, report
from palaver.models.taggers.kernels import linear_chain
from palaver.models.taggers.linear import MessageShard, added, sizes
from palaver.parallel import Arrays, Globals

#: Kinds of moves: the speaker stays, the speaker changes.
N_KINDS = 2


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
    rules : Rules
    """

    exact: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_features: int, n_tags: int, rules: Rules) -> None:
        self.n_features, self.n_tags, self.rules = n_features, n_tags, rules
        self.run: Any = map

    @property
    def n_parameters(self) -> int:
        """Number of weights and moves."""
        return (self.n_features + N_KINDS * (self.n_tags + 1)) * self.n_tags

    def start(self, generator: np.random.Generator) -> Globals:
        """Start at zero."""
        return Globals("descend", self.rules.begin(np.zeros(self.n_parameters, np.float32)))

    def open(self, shared: Globals, shard: MessageShard, key: NDArray[np.uint64]) -> Arrays:
        """Return the state of a shard, which has none to speak of."""
        return {"nothing": np.zeros(0)}

    def sweep(
        self, shared: Globals, shard: MessageShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Return the shard's part of the objective and of the gradient."""
        if shared.phase == "done":  # as after a finished run was resumed
            return {"value": np.array(0.0), "gradient": np.zeros(0)}
        weights, moves = split(shared.arrays["trial"], self.n_features, self.n_tags)
        scores = np.empty((len(shard.tags), self.n_tags), np.float32)
        residuals = np.empty_like(scores)
        linear_chain.score(shard.offsets, shard.columns, shard.values, weights, scores)
        gradient = np.zeros(self.n_parameters, np.float32)
        by_weights, by_moves = split(gradient, self.n_features, self.n_tags)
        counts = np.empty(moves.shape)
        value = linear_chain.residuals_of(
            scores, shard.kinds, shard.conversations, moves.astype(np.float64), shard.tags,
            residuals, counts,
        )  # fmt: skip
        by_moves[:] = counts
        linear_chain.add_gradient(shard.offsets, shard.columns, shard.values, residuals, by_weights)
        found = {"value": np.array(value), "gradient": gradient}
        return (
            found
            if "point" in shared.arrays
            else {**found, **sizes(shard, self.n_features, self.n_tags)}
        )

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add the parts of two shards."""
        return added(left, right)

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Add the penalty and choose where to evaluate next."""
        if shared.phase == "done":
            return shared, report(shared.arrays)
        inverse = None if "point" in shared.arrays else self._inverse(statistics)
        arrays, ended = self.rules.take(
            shared.arrays, float(statistics["value"]), statistics["gradient"], inverse
        )
        return Globals("done" if ended else "descend", arrays), report(arrays)

    def _inverse(self, statistics: Arrays) -> NDArray[np.float32]:
        """Return a guess of the inverse curvature; a move is a feature of one where it occurs."""
        tags, penalty = statistics["tags"], self.rules.penalty
        shares = tags / max(tags.sum(), 1)
        rows = np.tile(np.append(tags, 0.0) / N_KINDS, N_KINDS)
        squares = np.concatenate((statistics["squares"], rows))
        return inverse_curvature(squares, shares, penalty)

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Keep nothing: the last globals are the model."""
        return {}
