"""The rounds of maximum entropy as the loop sees them.

A sweep is a round of regressions, and a shard is one of them, so that those of a round run side by
side. The phase says what the next sweep does::

    first     every shard: learn tags from the messages alone; the first shard is taught by all
              labelled messages, the others by those outside a fold, whose messages they then tag
    second    the first shard: learn tags from the messages and the tags around them, which are
              those that a regression gave that had not seen the conversation
    done      nothing

Nothing is drawn. L-BFGS needs all messages at once, so there is nothing to cut into smaller shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from palaver.models.taggers.maxent.inputs import neighbours
from palaver.models.taggers.maxent.regression import Regression, fit_regression
from palaver.parallel import Arrays, Globals


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse table as plain arrays, which executors can send.

    Attributes
    ----------
    values : array of float64, shape (n_values,)
    columns : array of int, shape (n_values,)
    offsets : array of int, shape (n_rows + 1,)
    n_columns : int
    """

    values: NDArray[np.float64]
    columns: NDArray[np.integer]
    offsets: NDArray[np.integer]
    n_columns: int

    @classmethod
    def of(cls, table: sparse.csr_array) -> Sparse:
        """Take the arrays of a table."""
        return cls(table.data, table.indices, table.indptr, table.shape[1])

    @property
    def table(self) -> sparse.csr_array:
        """The table itself, which shares the arrays."""
        shape = (len(self.offsets) - 1, self.n_columns)
        return sparse.csr_array((self.values, self.columns, self.offsets), shape)


@dataclass(frozen=True, eq=False)
class MaxEntShard:
    """What one regression of the first round learns from, and what it tags.

    Attributes
    ----------
    inputs : Sparse
        Of all messages, (n_messages, n_inputs).
    labelled : array of int64, shape (n_labelled,)
        Rows of the messages with a label.
    codes : array of int64, shape (n_labelled,)
        Their tags.
    held_out : array of bool, shape (n_messages,)
        Messages of a fold, at least one; none in the first shard, whose regression is kept.
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    speakers : array of int32, shape (n_messages,)
    """

    inputs: Sparse
    labelled: NDArray[np.int64]
    codes: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    conversation_offsets: NDArray[np.int64]
    speakers: NDArray[np.int32]


class MaxEntEngine:
    """The regressions as the functions that the loop calls.

    Parameters
    ----------
    n_tags : int
    context : bool
        Whether there is a second round.
    penalty : float
    max_iter : int
    """

    exact: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_tags: int, context: bool, penalty: float, max_iter: int) -> None:
        self.n_tags, self.context = n_tags, context
        self.penalty, self.max_iter = penalty, max_iter
        self.run: Any = map

    def start(self, generator: np.random.Generator) -> Globals:
        """Start with the first round; nothing is drawn."""
        return Globals("first")

    def open(self, shared: Globals, shard: MaxEntShard, key: NDArray[np.uint64]) -> Arrays:
        """Return the state of a shard: iterations of its regressions in both rounds."""
        return {"iterations": np.zeros(2, np.int64)}

    def sweep(
        self, shared: Globals, shard: MaxEntShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Do what the phase says."""
        if shard.held_out.any():
            return self._tag_fold(shard, state) if shared.phase == "first" else {}
        table = shard.inputs.table
        if shared.phase == "second":
            around = neighbours(shared.arrays["shares"], shard.conversation_offsets, shard.speakers)
            table = sparse.hstack((table, around), "csr")
        return self._learn(shared.phase, table[shard.labelled], shard.codes, state)

    def _learn(
        self, phase: str, table: sparse.csr_array, codes: NDArray[np.int64], state: Arrays
    ) -> Arrays:
        """Fit the regression that a round keeps."""
        found, n_iterations = fit_regression(table, codes, self.penalty, self.max_iter)
        state["iterations"][phase == "second"] = n_iterations
        return {
            f"{phase}_weights": found.weights,
            f"{phase}_intercepts": found.intercepts,
            "log_joint": np.array(found.log_joint(table, codes, self.penalty)),
            "iterations": np.array(n_iterations),
        }

    def _tag_fold(self, shard: MaxEntShard, state: Arrays) -> Arrays:
        """Tag the messages of a fold by a regression on all others.

        On all messages if the others do not have two tags.
        """
        taught = ~shard.held_out[shard.labelled]
        if len(np.unique(shard.codes[taught])) < 2:
            taught[:] = True
        table = shard.inputs.table
        found, n_iterations = fit_regression(
            table[shard.labelled[taught]], shard.codes[taught], self.penalty, self.max_iter
        )
        state["iterations"][0] = n_iterations
        shares = np.zeros((len(shard.held_out), self.n_tags))
        part = found.probabilities(table[np.flatnonzero(shard.held_out)])
        shares[np.ix_(shard.held_out, found.classes)] = part
        return {"shares": shares}

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Join what the shards found; folds fill different rows of the shares, which add up."""
        both = {name: left[name] + right[name] for name in left.keys() & right.keys()}
        return {**left, **right, **both}

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Keep the regression of the round."""
        info = {name: float(statistics[name]) for name in ("log_joint", "iterations")}
        kept = {name: array for name, array in statistics.items() if name not in info}
        arrays = {**shared.arrays, **kept}
        if shared.phase == "first" and self.context:
            return Globals("second", arrays), info
        arrays.pop("shares", None)
        return Globals("done", arrays), info

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Keep nothing: the last globals are the model."""
        return {}


def regression_of(arrays: Arrays, phase: str, n_tags: int, n_inputs: int) -> Regression:
    """Return the regression that a round left in globals.

    Raises
    ------
    ValueError
        The arrays have other shapes, as those of a damaged folder may.
    """
    weights, intercepts = arrays[f"{phase}_weights"], arrays[f"{phase}_intercepts"]
    n_rows = n_tags if n_tags > 2 else n_tags - 1
    if weights.shape != (n_rows, n_inputs) or intercepts.shape != (n_rows,):
        raise ValueError(f"weights of the {phase} round do not belong to the tags and inputs")
    return Regression(np.arange(n_tags), weights, intercepts)
