"""The protocol between the fitting loop, a model's engine and whatever runs the sweeps.

The unit of work is a (chain, shard) pair. An executor owns the states; each round it broadcasts
the globals of every chain, sweeps every shard and merges the statistics *in order*, so that the
result has the same bytes for any number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

#: A shard's latent variables, or its statistics: named arrays, so that they can be stored.
Arrays = dict[str, NDArray[Any]]


@dataclass
class Globals:
    """What all shards of a chain share during a sweep.

    Attributes
    ----------
    phase : str
        What the next sweep does; each engine defines its own phases.
    arrays : dict of str to array
        Parameters, sampled or optimized. Never changed in place.
    temperature : float
        Set by the schedule; 1 means plain sampling.
    sent : dict, optional
        Less to send over a network: what the engine's ``complete`` makes ``arrays`` of.
    """

    phase: str
    arrays: Arrays = field(default_factory=dict)
    temperature: float = 1.0
    sent: dict[str, Any] | None = None


class Engine(Protocol):
    """A model as a handful of functions; see ``docs/architecture.md``.

    ``key`` holds the two words of :func:`palaver.rng.key`, the same for all shards of a chain's
    sweep; kernels mix in the number of each conversation. ``run`` is ``map`` or a parallel ``map``
    that the executor sets, for work within an update that can be split up. ``exact`` names
    statistics made of whole numbers, which add up to the same bytes in any order: if there are
    many workers, they merge these among themselves with :meth:`merge`, which must accept any
    subset. Engines whose globals follow from less (draws from counts and the key of a random
    stream) set ``Globals.sent`` and have a function ``complete(sent)``, which returns the arrays.
    """

    run: Any
    exact: ClassVar[tuple[str, ...]]

    def start(self, generator: np.random.Generator) -> Globals:
        """Return the initial globals, without a pass over the data."""
        ...

    def open(self, shared: Globals, shard: Any, key: NDArray[np.uint64]) -> Arrays:
        """Return the initial state of a shard."""
        ...

    def sweep(self, shared: Globals, shard: Any, state: Arrays, key: NDArray[np.uint64]) -> Arrays:
        """Sweep a shard once, writing only to its own state; return its statistics."""
        ...

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up the statistics of two shards, left before right."""
        ...

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Return the globals of the next sweep and this sweep's entry for the trace."""
        ...

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the arrays of this sweep that are averaged over samples."""
        ...


#: Shards can be anything that an engine understands; here, flat arrays of whole conversations.
Shards = Sequence[Any]
States = dict[tuple[int, int], Arrays]


class Executor(Protocol):
    """Runs the sweeps of a fit, from :meth:`begin` to :meth:`end`."""

    def begin(self, engine: Engine, shards: Shards) -> None:
        """Accept the engine and the data."""
        ...

    def open(self, shared: Mapping[int, Globals], keys: Mapping[int, NDArray[np.uint64]]) -> None:
        """Create the states of all shards of the given chains."""
        ...

    def round(
        self, shared: Mapping[int, Globals], keys: Mapping[int, NDArray[np.uint64]]
    ) -> dict[int, Arrays]:
        """Sweep all shards of the given chains; return the merged statistics of each."""
        ...

    def states(self) -> States:
        """Return the states, keyed by (chain, shard), for a checkpoint."""
        ...

    def restore(self, states: States) -> None:
        """Restore the states of a checkpoint."""
        ...

    def end(self) -> None:
        """Release the workers; states remain readable."""
        ...
