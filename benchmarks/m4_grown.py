"""Sweeps of M4's extensions against the sweep of the paper's M4, on the first threads of r-help.

Run: python -m benchmarks.m4_grown --data ../shared/data

A sweep is what the loop asks of an engine: all outcomes resampled, statistics for the weights and
for the prior of topics. Variants take turns, round by round, so that noise of the machine hits
all; the median of their processor time is shown.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from palaver import rng
from palaver.encoding import Encoded, encode

DATA = Path("../shared/data")
FILE = "r-help/r-help-2001-2002.jsonl.gz"
N_THREADS, BURN_IN, N_ROUNDS = 900, 10, 15
VARIANTS: dict[str, dict[str, Any]] = {
    "M4": {"transition": "softmax"},
    "n_topics=15": {"transition": "softmax", "n_topics": 15},
    "n_topics=50": {"transition": "softmax", "n_topics": 50},
    "transition='dirichlet'": {"transition": "dirichlet"},
    "transition='dirichlet', n_topics=15": {"transition": "dirichlet", "n_topics": 15},
    "unit='sentence'": {"transition": "softmax", "unit": "sentence"},
}


class Chain:
    """A collapsed chain of one variant."""

    def __init__(self, data: Encoded, n_classes: int, params: dict[str, Any]) -> None:
        model = pv.M4(n_classes=n_classes, sampler="collapsed", background=True, **params)
        self.engine = model._engine(data)
        (self.shard,) = model._shards(data, self.engine)
        self.generator = rng.generator(0, "benchmark")
        self.shared = self.engine.start(self.generator)
        self.state = self.engine.open(self.shared, self.shard, np.array([1, 0], np.uint64))
        self.n_swept = 0

    def sweep(self) -> float:
        """Sweep once and update; return the processor time of the sweep."""
        self.n_swept += 1
        start = time.process_time()
        statistics = self.engine.sweep(
            self.shared, self.shard, self.state, np.array([2, self.n_swept], np.uint64)
        )
        seconds = time.process_time() - start
        self.shared, _ = self.engine.update(self.shared, statistics, self.generator)
        return seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--classes", type=int, default=15)
    arguments = parser.parse_args()
    corpus = pv.read(arguments.data / FILE).take(range(N_THREADS))
    data = encode(corpus, sentences=True)
    chains = {name: Chain(data, arguments.classes, params) for name, params in VARIANTS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in chains}
    for round_ in range(BURN_IN + N_ROUNDS):
        for name, chain in chains.items():
            spent = chain.sweep()
            if round_ >= BURN_IN:
                seconds[name].append(spent)
    print(f"{data.n_tokens:,} tokens, K = {arguments.classes}")
    print("| variant | ns per token | times M4's |\n| --- | --- | --- |")
    plain = float(np.median(seconds["M4"]))
    for name, own in seconds.items():
        median = float(np.median(own))
        print(f"| {name} | {median / data.n_tokens * 1e9:.0f} | {median / plain:.2f} |")


if __name__ == "__main__":
    main()
