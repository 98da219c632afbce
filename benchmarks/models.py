"""Whole rounds of the loop on r-help: M4 against tomotopy's LDA, two threads against one, memory.

Run: python -m benchmarks.models --data ../shared/data

Rates are tokens a second of everything a sweep costs in a fit (sampling, merging, parameters, log
joint). Peer and ours alternate in one process; single-thread rates use processor time, so that
other processes on the machine change little; threads are compared by wall time. Classes come from
the same number of sweeps of burn-in. K = 25, seed 0.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from palaver import rng
from palaver.encode import Encoded, cut, encode
from palaver.models import Model
from palaver.parallel import Executor, LocalExecutor

FILE = "r-help/r-help-2001-2002.jsonl.gz"
N_CLASSES, BURN_IN, ROUNDS, SWEEPS, TURNS = 25, 40, 5, 3, 15


class Rounds:
    """A chain of the loop that can be swept by hand."""

    def __init__(
        self,
        model: Model,
        encoded: Encoded,
        sampler: str,
        n_jobs: int = 1,
        executor: Executor | None = None,
    ) -> None:
        self.engine = model._make_engine(len(encoded.vocabulary), sampler)
        self.executor = executor or LocalExecutor(n_jobs)
        self.executor.begin(self.engine, cut(encoded, whole=self.engine.collapsed))
        self.shared = self.engine.start(rng.generator(0, "start"))
        self.executor.open({0: self.shared}, {0: rng.key(0, "open")})
        self.swept = 0

    def sweep(self, n_sweeps: int) -> None:
        """Do whole rounds: sweep all shards, merge, update."""
        for _ in range(n_sweeps):
            self.swept += 1
            merged: Any = None
            for _, found in self.executor.round(
                {0: self.shared}, {0: rng.key(0, "sweep", 0, self.swept)}
            ):
                merged = found if merged is None else self.engine.merge(merged, found)
            generator = rng.generator(0, "update", 0, self.swept)
            self.shared, _ = self.engine.update(self.shared, merged, generator)


def tomotopy_lda(encoded: Encoded) -> Any:
    """Return tomotopy's LDA on the same documents and words."""
    import tomotopy

    model = tomotopy.LDAModel(
        tw=tomotopy.TermWeight.ONE, min_cf=0, rm_top=0, k=N_CLASSES, alpha=0.1, eta=0.05, seed=1
    )
    words = encoded.vocabulary.words
    for first, last in zip(encoded.message_offsets[:-1], encoded.message_offsets[1:], strict=True):
        if last > first:
            model.add_doc([words[token] for token in encoded.tokens[first:last]])
    model.burn_in, model.optim_interval = 0, 0
    return model


def rates(actions: dict[str, Callable[[int], Any]], n_tokens: int, clock: Any) -> dict[str, float]:
    """Return the median rate of each, in million tokens a second, over alternating rounds."""
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, action in actions.items():
            start = clock()
            action(SWEEPS)
            seconds[name].append((clock() - start) / SWEEPS)
    return {name: n_tokens / statistics.median(s) / 1e6 for name, s in seconds.items()}


def against_tomotopy(encoded: Encoded) -> list[dict[str, Any]]:
    """Compare one-thread rates of M4 and LDA with tomotopy's LDA."""
    peer = tomotopy_lda(encoded)
    chains = {
        f"{kind.__name__} {sampler}{' with background' if background else ''}": Rounds(
            kind(n_classes=N_CLASSES, background=background), encoded, sampler
        )
        for kind, samplers in (
            (pv.LDA, ("collapsed",)),
            (pv.BlockHMM, ("collapsed",)),
            (pv.M4, ("collapsed", "metropolis")),
        )
        for sampler in samplers
        for background in (False, True)
    }
    actions: dict[str, Callable[[int], Any]] = {"tomotopy LDA": lambda n: peer.train(n, workers=1)}
    actions |= {name: chain.sweep for name, chain in chains.items()}
    for action in actions.values():
        action(BURN_IN)
    found = rates(actions, encoded.n_tokens, time.process_time)
    base = found["tomotopy LDA"]
    return [
        {"what": name, "million tokens/s": rate, "ratio to tomotopy LDA": rate / base}
        for name, rate in found.items()
    ]


def timed(action: Callable[[int], Any]) -> float:
    """Return the seconds by the clock that some sweeps take."""
    start = time.perf_counter()
    action(SWEEPS)
    return time.perf_counter() - start


def at_once(chains: Sequence[Rounds]) -> Callable[[int], None]:
    """Return what sweeps several chains side by side, each in a thread of its own."""

    def sweep(n_sweeps: int) -> None:
        with ThreadPoolExecutor(len(chains)) as pool:
            list(pool.map(lambda chain: chain.sweep(n_sweeps), chains))

    return sweep


def two_threads(encoded: Encoded) -> list[dict[str, Any]]:
    """Compare the parallel samplers on two threads and on one, by the clock, in turns.

    The last column is what the machine gives at best: two separate fits on a thread each, side by
    side, against one alone.
    """
    rows = []
    for kind in (pv.LDA, pv.BlockHMM, pv.M4):

        def chain(n_jobs: int, kind: Any = kind) -> Rounds:
            made = Rounds(kind(n_classes=N_CLASSES, background=True), encoded, "parallel", n_jobs)
            made.sweep(BURN_IN)
            return made

        one, two, other = chain(1), chain(2), chain(1)
        both = at_once([one, other])
        turns = [(timed(one.sweep), timed(two.sweep), timed(both)) for _ in range(TURNS)]
        alone, threads, fits = np.array(turns).T
        rows.append(
            {
                "what": f"{kind.__name__} parallel with background",
                "million tokens/s": encoded.n_tokens * SWEEPS / np.median(alone) / 1e6,
                "two threads": encoded.n_tokens * SWEEPS / np.median(threads) / 1e6,
                "ratio": np.median(alone / threads),
                "two fits at once": 2 * np.median(alone / fits),
            }
        )
    return rows


_CHILD = """
import gc, json, sys, threading, time
import psutil
import palaver as pv
from palaver.encode import encode
kind = getattr(pv, sys.argv[2])
params = dict(n_classes=25, n_sweeps=6, background=True, sampler=sys.argv[3])
kind(**params).fit(encode(pv.sample(50)))              # imports and compilation are not measured
gc.collect()
resident = lambda: psutil.Process().memory_info().rss
before, peak, done = resident(), [0], threading.Event()
def watch():
    while not done.wait(0.002):
        peak[0] = max(peak[0], resident())
watcher = threading.Thread(target=watch)
watcher.start()
encoded = pv.Encoded.open(sys.argv[1], mapped=False)
kind(**params).fit(encoded)
done.set()
watcher.join()
counts = len(encoded.vocabulary) * 26 * 4
print(json.dumps([(peak[0] - before) / encoded.n_tokens, counts / encoded.n_tokens]))
"""


def memory(encoded: Encoded) -> list[dict[str, Any]]:
    """Measure the peak memory of a fit, the corpus' arrays included, in a process of its own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        encoded.write(folder)
        for name in ("LDA", "BlockHMM", "M4"):
            for sampler in ("collapsed", "parallel"):
                child = subprocess.run(
                    [sys.executable, "-c", _CHILD, folder, name, sampler],
                    capture_output=True, text=True, check=True,
                )  # fmt: skip
                total, counts = json.loads(child.stdout)
                rows.append(
                    {
                        "what": f"{name} {sampler}",
                        "peak bytes a token": total,
                        "of these one K x W count table": counts,
                    }
                )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """Print rows as a Markdown table."""
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "---|" * len(rows[0]))
    for row in rows:
        print(
            "| " + " | ".join(v if isinstance(v, str) else f"{v:.2f}" for v in row.values()) + " |"
        )
    print()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    encoded = encode(pv.read(parser.parse_args().data / FILE))
    print(f"r-help: {encoded!r}, K = {N_CLASSES}\n")
    show(against_tomotopy(encoded))
    show(two_threads(encoded))
    show(memory(encoded))


if __name__ == "__main__":
    main()
