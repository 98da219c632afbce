"""What runs in an actor's process: sweeps of some places, and sums of their statistics."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from palaver.parallel.executor import Arrays, Engine, Globals
from palaver.parallel.wire import Packed, array_bytes, packed, received, unpacked

Place = tuple[int, int]


@dataclass(frozen=True)
class Swept:
    """The answer to a sweep.

    Attributes
    ----------
    names : list of str
        Names of all statistics, in the engine's order.
    packed : dict
        Statistics for the driver to merge; the engine's exact ones are in the actor's sums.
    size : int
        Size of ``packed`` in bytes.
    seconds : float
        Processor time that the sweep took.
    """

    names: list[str]
    packed: Packed
    size: int
    seconds: float


@dataclass(frozen=True)
class Total:
    """Sums of exact statistics by chain, and the bytes passed between actors to form them."""

    packed: dict[int, Packed]
    size: int
    passed: int


def done_there(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do some work with what was sent."""
    return work(*map(received, arguments))


class Worker:
    """An engine in an actor's process, with some places, their shards and their states."""

    def __init__(self) -> None:
        self._limits = threadpool_limits(1)

    def ready(self) -> int:
        """Return the process id."""
        return os.getpid()

    def begin(self, engine: Engine) -> None:
        """Accept a new engine and forget all data."""
        self._engine = engine
        self._shards: dict[int, Any] = {}
        self._states: dict[Place, Arrays] = {}
        self._shared: dict[int, tuple[int, Globals]] = {}
        self._sums: dict[int, tuple[int, Arrays]] = {}

    def open(
        self, place: Place, shard: Any, shared: Globals, number: int, key: NDArray[np.uint64]
    ) -> int:
        """Create the state of a place; return its size."""
        self._take(place, shard)
        shared = self._own(place[0], shared, number)
        state = self._engine.open(shared, self._shards[place[1]], np.array(key))
        self._states[place] = state
        return array_bytes(state)

    def restore(self, place: Place, shard: Any, state: Arrays) -> int:
        """Restore a state; return its size."""
        self._take(place, shard)
        self._states[place] = {name: np.array(value) for name, value in state.items()}
        return array_bytes(state)

    def sweep(
        self, place: Place, shared: Globals, number: int, key: NDArray[np.uint64], wanted: bool
    ) -> Swept:
        """Sweep a place; if wanted, add its exact statistics to the sums of the round."""
        shared = self._own(place[0], shared, number)
        start = time.thread_time()
        state, shard = self._states[place], self._shards[place[1]]
        statistics = self._engine.sweep(shared, shard, state, np.array(key))
        seconds = time.thread_time() - start
        if not wanted:
            return Swept([], {}, 0, seconds)
        names = list(statistics)
        exact = {n: statistics.pop(n) for n in self._engine.exact if n in statistics}
        self._add(place[0], number, exact)
        sent = packed(statistics)
        return Swept(names, sent, array_bytes(sent), seconds)

    def _add(self, chain: int, number: int, exact: Arrays) -> None:
        """Add to the sums of a chain, which restart with every broadcast."""
        kept = self._sums.get(chain)
        if kept is not None and kept[0] == number:
            self._sums[chain] = number, self._engine.merge(kept[1], exact)
        else:  # a copy, because what a sweep returns may be part of its state
            self._sums[chain] = number, {name: np.array(array) for name, array in exact.items()}

    def total(self, number: int, *others: Total) -> Total:
        """Return the sums of this actor and others; its own stay unchanged."""
        sums = {
            chain: {name: np.array(array) for name, array in arrays.items()}
            for chain, (kept, arrays) in self._sums.items()
            if kept == number
        }
        for other in others:
            for chain, parts in other.packed.items():
                found = unpacked(parts)
                sums[chain] = self._engine.merge(sums[chain], found) if chain in sums else found
        sent = {chain: packed(arrays) for chain, arrays in sums.items()}
        size = sum(array_bytes(parts) for parts in sent.values())
        return Total(sent, size, sum(other.passed + other.size for other in others))

    def state(self, place: Place) -> Arrays:
        """Return the state of a place."""
        return self._states[place]

    def _take(self, place: Place, shard: Any) -> None:
        if place[1] not in self._shards:
            own = self._shards[place[1]] = received(shard)
            if hasattr(own, "check"):  # files may differ from those that the driver has read
                own.check()

    def _own(self, chain: int, shared: Globals, number: int) -> Globals:
        """Return globals with this process's own copies of the arrays, or made from less.

        Arrays in the object store are read-only, which numba treats as another type, so every
        kernel would be compiled again for them; one copy serves all shards.
        """
        kept = self._shared.get(chain)
        if kept is None or kept[0] != number:
            if shared.sent is None:
                own = received(shared)
            else:
                engine: Any = self._engine
                arrays = engine.complete(unpacked(shared.sent))
                own = replace(shared, arrays=arrays, sent=None)
            kept = self._shared[chain] = number, own
        return kept[1]
