"""The fitting loop: globals -> sweep every shard -> merge statistics -> new globals.

Nothing here knows about particular models. Every draw comes from a stream named by the seed, the
chain and the sweep, so a run that was interrupted and resumed gives the same bytes as one that
was not, and so does a run on any number of workers.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.errors import PalaverError
from palaver.fit.checkpoint import Checkpoints, Snapshot
from palaver.fit.schedule import Schedule
from palaver.parallel.executor import Arrays, Engine, Executor, Globals, Shards, States
from palaver.parallel.restored import check_restored, check_trace


class Interrupted(PalaverError, KeyboardInterrupt):
    """Ctrl-C stopped a fit at the end of a sweep; its state is stored if there is a folder."""


@dataclass
class Chain:
    """One chain of a fit.

    Attributes
    ----------
    shared : Globals
        Globals of the next sweep.
    trace : list of dict
        The engine's report on each sweep, such as its log joint.
    total : dict of str to array
        Sums of the kept samples; :meth:`mean` divides them by ``n_samples``.
    draws : dict of str to list of array
        Every kept sample of the small arrays, for intervals.
    """

    shared: Globals
    trace: list[dict[str, float]] = field(default_factory=list)
    total: Arrays = field(default_factory=dict)
    draws: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    n_samples: int = 0
    score: float = 0.0

    def keep(self, sample: Arrays, log_joint: float) -> None:
        """Add one sample; arrays of at most :data:`SMALL` numbers are also kept individually."""
        for name, value in sample.items():
            value = np.asarray(value, float)
            self.total[name] = self.total[name] + value if self.n_samples else value.copy()
            if value.size <= SMALL:
                self.draws.setdefault(name, []).append(value)
        self.n_samples += 1
        self.score += log_joint

    def mean(self) -> Arrays:
        """Return the mean of the samples."""
        return {name: value / max(self.n_samples, 1) for name, value in self.total.items()}


SMALL = 100_000


@dataclass
class Fit:
    """The result of running the loop.

    Attributes
    ----------
    chains : list of Chain
    sweep : int
        Number of sweeps done.
    finished : bool
        False if a time limit, a callback or an interruption ended it early.
    states : callable
        Returns the last states by (chain, shard).
    """

    chains: list[Chain]
    sweep: int
    finished: bool
    states: Callable[[], States]

    @property
    def scores(self) -> list[float]:
        """Mean log joint of each chain over its samples."""
        return [chain.score / max(chain.n_samples, 1) for chain in self.chains]

    @property
    def best(self) -> int:
        """Index of the chain with the highest score."""
        return int(np.argmax(self.scores))


#: Called after each sweep with its number and the chains; returning True stops the fit.
Callback = Callable[[int, Sequence[Chain]], bool | None]


def run(
    engine: Engine,
    shards: Shards,
    executor: Executor,
    schedule: Schedule,
    *,
    seed: int,
    n_chains: int = 1,
    checkpoints: Checkpoints | None = None,
    callbacks: Sequence[Callback] = (),
) -> Fit:
    """Fit a model.

    Parameters
    ----------
    engine : Engine
        The model as a handful of functions.
    shards : sequence
        Groups of whole conversations, determined by the data alone.
    executor : Executor
        Where the sweeps run.
    schedule : Schedule
    seed : int
    n_chains : int
        Number of independent chains.
    checkpoints : Checkpoints, optional
        Where to store the state of the run; if there is a checkpoint, the run resumes from it.
    callbacks : sequence of callable
        Called after every sweep; one that returns True stops the fit.

    Raises
    ------
    Interrupted
        After Ctrl-C, once the sweep is complete and stored.
    """
    executor.begin(engine, shards)
    try:
        with stop_request() as stop:
            return _run(
                engine, shards, executor, schedule, seed, n_chains, checkpoints, callbacks, stop
            )
    finally:
        executor.end()


def _run(
    engine: Engine,
    shards: Shards,
    executor: Executor,
    schedule: Schedule,
    seed: int,
    n_chains: int,
    checkpoints: Checkpoints | None,
    callbacks: Sequence[Callback],
    stop: threading.Event,
) -> Fit:
    """Do the work of :func:`run` between the executor's begin and end."""
    deadline = time.monotonic() + (schedule.max_seconds or float("inf"))
    snapshot = checkpoints.load() if checkpoints is not None else None
    if snapshot is None:
        chains, sweep = _start(engine, executor, seed, n_chains), 0
    else:
        assert checkpoints is not None
        with checkpoints.distrusted():
            check_restored(engine, shards, snapshot.shared, snapshot.states)
            chains, sweep = _chains_of(snapshot), snapshot.sweep
            executor.restore(snapshot.states)
    finished, late = True, False
    while sweep < schedule.n_sweeps and not _settled(schedule, chains):
        sweep += 1
        is_first = snapshot is not None and sweep == snapshot.sweep + 1
        unscored = getattr(engine, "unscored", ())  # phases that have no log_joint
        scored = [chain for chain in chains if chain.shared.phase not in unscored]
        with checkpoints.distrusted() if is_first and checkpoints else nullcontext():
            _sweep_chains(engine, executor, schedule, seed, sweep, chains)
            if is_first:
                check_trace(engine, [chain.trace[-1] for chain in scored])
        asked = [callback(sweep, chains) for callback in callbacks]
        late = time.monotonic() > deadline
        if stop.is_set() or late or any(asked):
            finished = sweep >= schedule.n_sweeps
            break
        if checkpoints is not None and checkpoints.due():
            checkpoints.try_save(partial(_snapshot, chains, sweep, executor))
    if checkpoints is not None and (snapshot is None or sweep > snapshot.sweep):
        checkpoints.try_save(partial(_snapshot, chains, sweep, executor))
    if stop.is_set() and not finished:
        kept = "; resume to continue" if checkpoints is not None else ""
        raise Interrupted(f"stopped after sweep {sweep} of {schedule.n_sweeps}{kept}")
    if late and not finished and not chains[0].n_samples:
        sweep += 1  # after the checkpoint, so that a resumed fit does not know about it
        _sweep_chains(engine, executor, schedule, seed, sweep, chains, keep=True)
    return Fit(chains, sweep, finished, executor.states)


def _settled(schedule: Schedule, chains: list[Chain]) -> bool:
    """Whether further sweeps would change next to nothing."""
    return schedule.settled([[info["log_joint"] for info in chain.trace] for chain in chains])


def _start(engine: Engine, executor: Executor, seed: int, n_chains: int) -> list[Chain]:
    """Start every chain from its own random streams."""
    chains = [Chain(engine.start(rng.generator(seed, "start", c))) for c in range(n_chains)]
    executor.open(
        {c: chain.shared for c, chain in enumerate(chains)},
        {c: rng.key(seed, "open", c) for c in range(n_chains)},
    )
    return chains


def _sweep_chains(
    engine: Engine,
    executor: Executor,
    schedule: Schedule,
    seed: int,
    sweep: int,
    chains: list[Chain],
    keep: bool = False,
) -> None:
    """Do one round: sweep all shards of all chains, merge in order, update each chain."""
    keep = keep or schedule.keeps(sweep)
    for chain in chains:
        chain.shared.temperature = schedule.temperature(sweep)
    shared = {c: chain.shared for c, chain in enumerate(chains)}
    keys = {c: rng.key(seed, "sweep", c, sweep) for c in range(len(chains))}
    merged = executor.round(shared, keys)
    for c, chain in enumerate(chains):
        generator = rng.generator(seed, "update", c, sweep)
        if keep:
            sample = engine.sample(chain.shared, merged[c])
        chain.shared, info = engine.update(chain.shared, merged[c], generator)
        chain.trace.append(info)
        if keep:
            chain.keep(sample, info["log_joint"])


def _snapshot(chains: list[Chain], sweep: int, executor: Executor) -> Snapshot:
    """Gather the content of a checkpoint."""
    return Snapshot(
        sweep,
        executor.states(),
        [chain.shared for chain in chains],
        [chain.trace for chain in chains],
        [chain.total for chain in chains],
        [{name: np.stack(draws) for name, draws in chain.draws.items()} for chain in chains],
        [chain.n_samples for chain in chains],
        [chain.score for chain in chains],
    )


def _chains_of(snapshot: Snapshot) -> list[Chain]:
    """Rebuild the chains of a checkpoint."""
    return [
        Chain(shared, trace, total, {n: list(d) for n, d in draws.items()}, n_samples, score)
        for shared, trace, total, draws, n_samples, score in zip(
            snapshot.shared, snapshot.traces, snapshot.totals, snapshot.draws,
            snapshot.n_samples, snapshot.scores, strict=True,
        )
    ]  # fmt: skip


@contextmanager
def stop_request() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into a request to stop after the sweep; a second one stops at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
