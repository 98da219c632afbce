"""The loop for data that do not fit into memory: one step per mini-batch, seen once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palaver import rng
from palaver.parallel.executor import Arrays, Executor, Globals


@dataclass(frozen=True)
class Rates:
    """Learning rates ``(delay + step) ** -decay``, steps counted from 1 (Hoffman et al. 2010).

    Attributes
    ----------
    delay, decay : float
    """

    delay: float = 10.0
    decay: float = 0.75

    def at(self, step: int) -> float:
        """Return the rate of a step."""
        return float((self.delay + step) ** -self.decay)


def stream_step(
    engine: Any,
    shared: Globals,
    shards: Sequence[Any],
    executor: Executor,
    *,
    seed: int,
    rate: float,
    scale: float,
) -> tuple[Globals, Arrays]:
    """Sweep one mini-batch from fresh states and move the globals.

    Returns
    -------
    shared : Globals
    statistics : dict of str to array
        Statistics of the batch, without the word counts.
    """
    step = int(shared.arrays["steps"])
    shared = Globals(engine.phase(step, whole=False), shared.arrays)
    executor.begin(engine, shards)
    try:
        executor.open({0: shared}, {0: rng.key(seed, "open", 0, step)})
        merged = executor.round({0: shared}, {0: rng.key(seed, "sweep", 0, step)}).get(0)
        if merged is None:
            return shared, {}
        kept = {name: np.copy(value) for name, value in merged.items() if name == "terms"}
        shared, _ = engine.step(shared, merged, rate, scale)
    finally:
        executor.end()
    return shared, kept


#: Called after each step with its number, a report on it, and the globals; True stops.
StreamCallback = Callable[[int, dict[str, float], Globals], bool | None]


def run_stream(
    engine: Any,
    shared: Globals,
    batches: Iterable[Any],
    cut: Callable[[Any], Sequence[Any]],
    executor: Executor,
    *,
    seed: int,
    rate: Callable[[int], float],
    total: Callable[[int], float],
    callbacks: Sequence[StreamCallback] = (),
) -> tuple[Globals, list[dict[str, float]]]:
    """Learn from batches, each seen once and then released.

    Parameters
    ----------
    engine : Engine
        With ``step(shared, statistics, rate, scale)``.
    shared : Globals
        Where to start from; their array ``steps`` counts the steps taken.
    batches : iterable
        Anything with ``n_documents`` and ``n_tokens``.
    cut : callable
        Splits a batch into shards.
    executor : Executor
    seed : int
    rate : callable
        Maps the number of a step, counted from 1, to its learning rate, as ``Rates().at`` does.
    total : callable
        Maps the number of documents seen so far to the number there are.
    callbacks : sequence of callable
        Called as ``callback(step, info, shared)``; returning True stops.
    """
    trace: list[dict[str, float]] = []
    seen = 0
    for batch in batches:
        if not batch.n_tokens:
            continue
        seen += batch.n_documents
        step = int(shared.arrays["steps"]) + 1
        move = rate(step)
        scale = max(total(seen) / batch.n_documents, 1.0)
        shared, kept = stream_step(
            engine, shared, cut(batch), executor, seed=seed, rate=move, scale=scale
        )
        local = float(kept["terms"][: engine.n_document_terms].sum()) / batch.n_tokens
        info = {"log_joint": local, "documents": float(seen), "rate": move}
        trace.append(info)
        asked = [callback(step, info, shared) for callback in callbacks]
        if any(asked):
            break
    return shared, trace
