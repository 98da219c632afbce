"""What hidden states emit: words, whole messages, vectors.

Emissions know their sufficient statistics and draw the parameters of states given them; those of
new states they draw from the prior, from streams named by the state's number. They know nothing of
how states follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from palaver.parallel import Arrays
from palaver.parallel.restored import Expected

#: Which axes of each statistic run over states.
Axes = dict[str, tuple[int, ...]]
Run = Callable[..., Iterator[Any]]


@dataclass
class Table:
    """Emissions of a shard, as :func:`palaver.models.states.kernels.beam.filter_states` takes them.

    Attributes
    ----------
    symbols : array of int, shape (n_positions,)
    emissions : array of float, shape (n_symbols, n_known)
    extra : array of float, shape (n_symbols, n_new)
    limits, listed, values : arrays
        States of each symbol that matter: :func:`palaver.models.states.kernels.beam.list_states`.
    """

    symbols: NDArray[Any]
    emissions: NDArray[Any]
    extra: NDArray[Any]
    limits: NDArray[np.int64]
    listed: NDArray[np.int16]
    values: NDArray[Any]


class Emissions(Protocol):
    """The component of an engine that says what states emit."""

    axes: Axes

    def start(self, n_states: int, generator: np.random.Generator) -> Arrays:
        """Return what globals hold before the first draw."""
        ...

    def forms(self, arrays: Arrays, n_states: int) -> dict[str, Expected]:
        """Return what the drawn globals of states must be."""
        ...

    def first(self, arrays: Arrays, shard: Any) -> NDArray[Any] | None:
        """Return first states that are better than random ones, or None."""
        ...

    def count(self, shard: Any, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Return the statistics of a shard."""
        ...

    def grown(self, arrays: Arrays, n_states: int) -> Arrays:
        """Return what the next draw starts from, with states that the last sweep created."""
        ...

    def draw(
        self, arrays: Arrays, statistics: Arrays, power: float, generator: np.random.Generator,
        run: Run,
    ) -> tuple[Arrays, dict[str, float]]:  # fmt: skip
        """Draw all parameters given statistics; also return ``log_emissions`` for the joint."""
        ...

    def table(self, arrays: Arrays, shard: Any, n_known: int, new: NDArray[np.bool_]) -> Table:
        """Return the emissions of a shard; ``new`` says which new states can be reached."""
        ...

    def cut(
        self, arrays: Arrays, shard: Any, states: NDArray[np.int16], key: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Cut every state in two by chance: return which positions are in the second part."""
        ...

    def merge_gains(self, arrays: Arrays, statistics: Arrays) -> NDArray[np.float64]:
        """Return the change of the log joint of what states emit with each merge, (K, K)."""
        ...
