"""Rounds of the fitting loop, run by hand, so that benchmarks can time them one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from palaver import rng
from palaver.parallel import Arrays, Engine, Executor, LocalExecutor


class Rounds:
    """A chain of the loop to sweep by hand.

    Parameters
    ----------
    engine : Engine
    shards : sequence of shards
    n_jobs : int
        Threads, if no executor is given.
    executor : Executor, optional
    """

    def __init__(
        self,
        engine: Engine,
        shards: Sequence[Any],
        n_jobs: int = 1,
        executor: Executor | None = None,
    ) -> None:
        self.engine = engine
        self.executor = executor or LocalExecutor(n_jobs)
        self.executor.begin(engine, shards)
        self.shared = engine.start(rng.generator(0, "start"))
        self.executor.open({0: self.shared}, {0: rng.key(0, "open")})
        self.swept = 0
        self.trace: dict[str, float] = {}
        self.statistics: Arrays = {}

    def sweep(self, n_sweeps: int = 1) -> None:
        """Run whole rounds: sweep all shards, merge, update."""
        for _ in range(n_sweeps):
            self.swept += 1
            key = rng.key(0, "sweep", 0, self.swept)
            self.statistics = self.executor.round({0: self.shared}, {0: key})[0]
            generator = rng.generator(0, "update", 0, self.swept)
            self.shared, self.trace = self.engine.update(self.shared, self.statistics, generator)


def seconds(action: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Return how long an action takes by a clock."""
    start = clock()
    action()
    return clock() - start
