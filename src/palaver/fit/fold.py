"""Folding in: sweeps over new conversations with frozen globals, shard by shard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from palaver import rng
from palaver.encoding.shards import Shard
from palaver.parallel.executor import Arrays, Engine, Globals

#: Called with a shard and its state after each kept sweep.
Visit = Callable[[Shard, Arrays], None]
Result = TypeVar("Result")
#: Called with the share of the work done since the last call; may be called from any thread.
Listener = Callable[[float], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def progress_listener(listener: Listener) -> Iterator[None]:
    """Report the progress of every fold-in to ``listener``; its shares sum to one per fold-in."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def report_progress(share: float) -> None:
    """Tell the listener, if there is one, that this share of the work is done."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(share)


def has_listener() -> bool:
    """Whether anything listens to progress."""
    return _LISTENER.get() is not None


def map_shards(
    work: Callable[[Shard], Result], shards: Sequence[Shard], n_jobs: int
) -> list[Result]:
    """Run independent work on each shard in threads; return the results in order."""
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(work, shards))


def map_shards_with_progress(
    work: Callable[[Shard], Result], shards: Sequence[Shard], n_jobs: int
) -> list[Result]:
    """Do the same as :func:`map_shards`, and report each finished shard to the listener."""
    report = _LISTENER.get() or (lambda share: None)
    total = max(sum(shard.n_tokens for shard in shards), 1)

    def work_and_report(shard: Shard) -> Result:
        result = work(shard)
        report(shard.n_tokens / total)
        return result

    return map_shards(work_and_report, shards, n_jobs)


def fold_in(
    engine: Engine,
    frozen: Globals,
    shards: Sequence[Shard],
    visit: Visit,
    *,
    seed: int,
    n_sweeps: int,
    burn_in: int,
    n_jobs: int = 1,
    purpose: str = "fold-in",
    restart: int = 0,
) -> None:
    """Sweep every shard with frozen globals; conversations are independent of each other.

    Parameters
    ----------
    engine : Engine
    frozen : Globals
    shards : sequence of Shard
    visit : callable
        Called as ``visit(shard, state)`` after each sweep beyond ``burn_in``; calls for
        different shards may come from different threads.
    seed, n_sweeps, burn_in, n_jobs : int
    purpose : str
    restart : int
        Together with the seed and the purpose, names the random streams.
    """
    keys = [rng.key(seed, purpose, restart, sweep) for sweep in range(n_sweeps + 1)]
    report = _LISTENER.get()
    resample = getattr(engine, "resample", engine.sweep)  # statistics are of no use here
    total = max(n_sweeps * sum(shard.n_tokens for shard in shards), 1)

    def work(shard: Shard) -> None:
        state = engine.open(frozen, shard, keys[0])
        for sweep in range(1, n_sweeps + 1):
            resample(frozen, shard, state, keys[sweep])
            if sweep > burn_in:
                visit(shard, state)
            if report is not None:
                report(shard.n_tokens / total)

    map_shards(work, shards, n_jobs)
