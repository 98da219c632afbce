"""The protocol between the loop, a model's engine and whatever runs the sweeps.

The unit of work is (chain, shard). An executor owns the states; each round it broadcasts the
globals of every chain, sweeps every shard and merges the statistics *in order*, so that they
are the same bytes for any number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

#: A shard's latent variables, or statistics: named arrays, so that they can be stored.
Arrays = dict[str, NDArray[Any]]


@dataclass
class Globals:
    """What all shards of a chain see during a sweep.

    Attributes
    ----------
    phase : str
        What the next sweep does; each engine names its own.
    arrays : dict of str to array
        Parameters, drawn or optimised. Never changed in place.
    temperature : float
        Set by the schedule; 1 is the plain sampler.
    """

    phase: str
    arrays: Arrays = field(default_factory=dict)
    temperature: float = 1.0


class Engine(Protocol):
    """A model as five functions; see ``docs/architecture.md``.

    ``key`` is the two words of :func:`palaver.rng.key`, the same for all shards of a chain's
    sweep; kernels mix in the number of each conversation. ``run`` is ``map`` or, set by the
    executor, its parallel twin, for work within an update that can be cut into pieces. ``exact``
    names statistics of whole numbers that add up to the same bytes in any order: where there are
    many workers, they merge these among themselves, with :meth:`merge`, which must take any subset.
    """

    run: Any
    exact: ClassVar[tuple[str, ...]]

    def start(self, generator: np.random.Generator) -> Globals:
        """Return the first globals, without a pass over the data."""
        ...

    def open(self, shared: Globals, shard: Any, key: NDArray[np.uint64]) -> Arrays:
        """Return the first state of a shard."""
        ...

    def sweep(self, shared: Globals, shard: Any, state: Arrays, key: NDArray[np.uint64]) -> Arrays:
        """Sweep a shard once, writing into its own state only; return its statistics."""
        ...

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up the statistics of two shards, left before right."""
        ...

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Return the globals of the next sweep and what the trace should say of this one."""
        ...

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return what is worth keeping of this sweep, to be averaged over samples."""
        ...


#: Shards are anything an engine understands; flat arrays of whole conversations here.
Shards = Sequence[Any]
States = dict[tuple[int, int], Arrays]


class Executor(Protocol):
    """Runs sweeps. Opened once for a fit, closed at its end."""

    def begin(self, engine: Engine, shards: Shards) -> None:
        """Take the engine and the data."""
        ...

    def open(self, shared: Mapping[int, Globals], keys: Mapping[int, NDArray[np.uint64]]) -> None:
        """Open the states of all shards of the given chains."""
        ...

    def round(
        self, shared: Mapping[int, Globals], keys: Mapping[int, NDArray[np.uint64]]
    ) -> dict[int, Arrays]:
        """Sweep all shards of the given chains; return the merged statistics of each."""
        ...

    def states(self) -> States:
        """Return the states by (chain, shard), for a checkpoint."""
        ...

    def restore(self, states: States) -> None:
        """Put back the states of a checkpoint."""
        ...

    def end(self) -> None:
        """Let go of workers; states stay readable."""
        ...
