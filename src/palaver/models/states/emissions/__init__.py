"""What the states of an infinite hidden Markov model emit: words, whole messages, vectors.

An emission part knows its sufficient statistics, draws the parameters of states given them, and
those of states that were not there before from their prior, from streams named by the state's
number. It knows nothing of how states follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from palaver.parallel import Arrays

#: Which axes of each statistic run over states.
Axes = dict[str, tuple[int, ...]]
Run = Callable[..., Iterator[Any]]


@dataclass
class Table:
    """Emissions of a shard, as :func:`palaver.models.states.kernels.beam.beam_sweep` takes them."""

    symbols: NDArray[Any]
    emissions: NDArray[Any]
    extra: NDArray[Any]
    ceilings: NDArray[np.float64]


class Emissions(Protocol):
    """A part that says what states emit."""

    axes: Axes

    def start(self, n_states: int, generator: np.random.Generator) -> Arrays:
        """Return what globals hold before anything was drawn."""
        ...

    def first(self, arrays: Arrays, shard: Any) -> NDArray[Any] | None:
        """Return first states that are better than random ones, if there are."""
        ...

    def count(self, shard: Any, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Return the statistics of a shard."""
        ...

    def grown(self, arrays: Arrays, n_states: int) -> Arrays:
        """Return what the next draw starts from, with states that were born in the last sweep."""
        ...

    def draw(
        self, arrays: Arrays, statistics: Arrays, power: float, generator: np.random.Generator,
        run: Run,
    ) -> tuple[Arrays, dict[str, float]]:  # fmt: skip
        """Draw all parameters given statistics; also return ``log_emissions`` for the joint."""
        ...

    def table(self, arrays: Arrays, shard: Any, n_known: int, new: NDArray[np.bool_]) -> Table:
        """Return the emissions of a shard; ``new`` says which states beyond can be reached."""
        ...
