"""Sweeps on threads of this process; kernels release the global interpreter lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from palaver.parallel.executor import Arrays, Engine, Globals, Shards, States

Result = TypeVar("Result")


class LocalExecutor:
    """An executor that uses ``n_jobs`` threads.

    At most ``n_jobs + 2`` sets of statistics exist at a time, and BLAS is limited to one thread,
    so that neither memory nor results depend on the number of cores.
    """

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = n_jobs
        self._states: States = {}
        self._pool: ThreadPoolExecutor | None = None

    def begin(self, engine: Engine, shards: Shards) -> None:
        """Accept the engine and the data, and start the threads."""
        self._engine, self._shards = engine, shards
        self._states = {}
        self._limits = threadpool_limits(1)
        if self.n_jobs > 1:
            self._pool = ThreadPoolExecutor(self.n_jobs, thread_name_prefix="palaver")
            engine.run = self._pool.map

    def open(self, shared: Mapping[int, Globals], keys: Mapping[int, NDArray[np.uint64]]) -> None:
        """Create the states of all shards of the given chains."""

        def work(chain: int, shard: int) -> None:
            state = self._engine.open(shared[chain], self._shards[shard], keys[chain])
            self._states[chain, shard] = state

        for _ in self._map(work, shared):
            pass

    def round(
        self, shared: Mapping[int, Globals], keys: Mapping[int, NDArray[np.uint64]]
    ) -> dict[int, Arrays]:
        """Sweep all shards of the given chains; return the merged statistics of each."""
        for values in shared.values():
            values.sent = None  # nothing is: let go of it before the sweep

        def work(chain: int, shard: int) -> tuple[int, Arrays]:
            state = self._states[chain, shard]
            return chain, self._engine.sweep(shared[chain], self._shards[shard], state, keys[chain])

        merged: dict[int, Arrays] = {}
        for chain, found in self._map(work, shared):
            merged[chain] = self._engine.merge(merged[chain], found) if chain in merged else found
        return merged

    def _map(
        self, work: Callable[[int, int], Result], chains: Mapping[int, Globals]
    ) -> Iterator[Result]:
        """Do the work for every (chain, shard) and yield the results in that order."""
        tasks = [(chain, shard) for chain in chains for shard in range(len(self._shards))]
        if self._pool is None:
            yield from (work(*task) for task in tasks)
            return
        waiting: deque[Future[Result]] = deque()
        for task in tasks:  # submitted before earlier results are merged, so no thread idles
            waiting.append(self._pool.submit(work, *task))
            if len(waiting) > self.n_jobs + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def states(self) -> States:
        """Return the states, keyed by (chain, shard)."""
        return self._states

    def restore(self, states: States) -> None:
        """Restore the states of a checkpoint."""
        self._states = {place: dict(state) for place, state in states.items()}

    def end(self) -> None:
        """Stop the threads; states remain readable."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
            self._engine.run = map
        self._limits.restore_original_limits()
