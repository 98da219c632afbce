"""Whole rounds of the loop on r-help: comparison with tomotopy's LDA, two threads, memory.

Run: python -m benchmarks.models --data ../shared/data

Rates are tokens per second and include everything a sweep costs in a fit (sampling, merging,
parameters, log joint). The peer and our models alternate in one process. Single-thread rates use
processor time, which other processes hardly affect; threads are compared by wall-clock time. All
models run the same number of burn-in sweeps first. K = 25, seed 0.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.rounds import Rounds, seconds
from palaver.encoding import Encoded, encode
from palaver.models import Model
from palaver.models.acts.preparing import take_vectors
from palaver.parallel import Executor

FILE = "r-help/r-help-2001-2002.jsonl.gz"
#: "M4" is the paper's; "M4 dirichlet" is our default.
MODELS: dict[str, Callable[..., Any]] = {
    "LDA": pv.LDA,
    "BlockHMM": pv.BlockHMM,
    "M4": partial(pv.M4, transition="softmax"),
    "M4 dirichlet": pv.M4,
}
KINDS = {
    "LDA": ["collapsed"],
    "BlockHMM": ["collapsed"],
    "M4": ["collapsed"],
    "M4 dirichlet": ["collapsed"],
}
N_CLASSES, BURN_IN, ROUNDS, SWEEPS, TURNS = 25, 40, 5, 3, 15


def chain_of(
    model: Model,
    encoded: Encoded,
    sampler: str,
    n_jobs: int = 1,
    executor: Executor | None = None,
) -> Rounds:
    """Return a chain of a thread model to sweep by hand."""
    model.set_params(sampler=sampler)
    engine: Any = model._engine(encoded)
    return Rounds(engine, model._shards(encoded, engine), n_jobs, executor)


def tomotopy_lda(encoded: Encoded, n_classes: int = N_CLASSES) -> Any:
    """Return tomotopy's LDA on the same documents and words."""
    import tomotopy

    model = tomotopy.LDAModel(
        tw=tomotopy.TermWeight.ONE, min_cf=0, rm_top=0, k=n_classes, alpha=0.1, eta=0.05, seed=1
    )
    words = encoded.vocabulary.words
    for first, last in zip(encoded.message_offsets[:-1], encoded.message_offsets[1:], strict=True):
        if last > first:
            model.add_doc([words[token] for token in encoded.tokens[first:last]])
    model.burn_in, model.optim_interval = 0, 0
    return model


def rates(actions: dict[str, Callable[[int], Any]], n_tokens: int, clock: Any) -> dict[str, float]:
    """Return each median rate in million tokens per second, over alternating rounds."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, action in actions.items():
            times[name].append(seconds(lambda a=action: a(SWEEPS), clock) / SWEEPS)
    return {name: n_tokens / statistics.median(t) / 1e6 for name, t in times.items()}


def against_tomotopy(
    encoded: Encoded, kinds: Mapping[str, Sequence[str]] = KINDS, n_classes: int = N_CLASSES
) -> list[dict[str, Any]]:
    """Compare one-thread rates with tomotopy's LDA; ``kinds`` lists the samplers per model."""
    peer = tomotopy_lda(encoded, n_classes)
    chains = {
        f"{kind} {sampler}{' with background' if background else ''}": chain_of(
            MODELS[kind](n_classes=n_classes, background=background), encoded, sampler
        )
        for kind, samplers in kinds.items()
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


def acts_against_lda(corpus: pv.Corpus) -> list[dict[str, Any]]:
    """Compare a sweep of a search for acts with one of tomotopy's LDA, in messages per second."""
    model = pv.Acts()
    encoded = model._as_encoded(corpus)
    take_vectors(model, corpus, encoded, None)  # none
    engine: Any = model._engine(encoded)
    chain = Rounds(engine, model._shards(encoded, engine))
    peer = tomotopy_lda(encode(corpus))
    actions: dict[str, Callable[[int], Any]] = {
        "tomotopy LDA": lambda n: peer.train(n, workers=1),
        f"Acts, {model.n_classes} acts of {model.unit_}s": chain.sweep,
    }
    for action in actions.values():
        action(BURN_IN)
    found = rates(actions, corpus.n_messages, time.process_time)
    base = found["tomotopy LDA"]
    return [
        {"what": name, "million messages/s": rate, "ratio to tomotopy LDA": rate / base}
        for name, rate in found.items()
    ]


def at_once(chains: Sequence[Rounds]) -> Callable[[int], None]:
    """Return a function that sweeps several chains at once, each in its own thread."""

    def sweep(n_sweeps: int) -> None:
        with ThreadPoolExecutor(len(chains)) as pool:
            list(pool.map(lambda chain: chain.sweep(n_sweeps), chains))

    return sweep


def two_threads(encoded: Encoded) -> list[dict[str, Any]]:
    """Compare the parallel samplers on two threads and on one by wall-clock time, in turns.

    The last column is the best the machine can do: two separate fits at once, on one thread each,
    against one alone.
    """
    rows = []
    for name, kind in MODELS.items():
        model = kind(n_classes=N_CLASSES, background=True)
        one, two, other = (chain_of(model, encoded, "parallel", n) for n in (1, 2, 1))
        for chain in (one, two, other):
            chain.sweep(BURN_IN)
        actions = (one.sweep, two.sweep, at_once([one, other]))
        turns = [
            [seconds(lambda a=action: a(SWEEPS), time.perf_counter) for action in actions]
            for _ in range(TURNS)
        ]
        alone, threads, fits = np.array(turns).T
        rows.append(
            {
                "what": f"{name} parallel with background",
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
from palaver.encoding import encode
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
    """Measure the peak memory of a fit, including the corpus, in a separate process."""
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
                        "peak bytes per token": total,
                        "including one K x W count table of": counts,
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
    corpus = pv.read(parser.parse_args().data / FILE)
    encoded = encode(corpus)
    print(f"r-help: {encoded!r}, K = {N_CLASSES}\n")
    show(against_tomotopy(encoded))
    show(acts_against_lda(corpus))
    show(two_threads(encoded))
    show(memory(encoded))


if __name__ == "__main__":
    main()
