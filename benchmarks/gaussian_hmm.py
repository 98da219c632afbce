"""One blocked sweep of the Gaussian HMM against one EM iteration of hmmlearn.

Run: python -m benchmarks.gaussian_hmm

The data are vectors of 42 planted states: 200,000 utterances in conversations of 170, full
covariance, M = 100, K = 42, seed 0. A sweep is a whole round of the loop: densities, states,
statistics, merge, draws, log joint. An iteration of hmmlearn is its whole E and M step on fewer
utterances; its time is scaled up, since its cost is linear in their number. Both run on one thread
with BLAS pinned, and alternate in one process; times are medians of processor time. Two threads are
compared with one by wall-clock time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import palaver as pv
from benchmarks.rounds import Rounds, seconds
from palaver.encoding import Utterances

N_MESSAGES, LENGTH, SIZE, N_STATES = 200_000, 170, 100, 42
PEER_MESSAGES, ROUNDS = 8_000, 3


def planted(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors of planted states, and the lengths of their conversations."""
    generator = np.random.default_rng(0)
    means = generator.normal(0, 1.0, (N_STATES, SIZE))
    X = means[generator.integers(0, N_STATES, n)] + generator.normal(size=(n, SIZE))
    lengths = np.full(n // LENGTH, LENGTH)
    lengths[-1] += n - lengths.sum()
    return X, lengths


def chain_of(X: np.ndarray, lengths: np.ndarray, n_jobs: int = 1) -> Rounds:
    """Return a blocked chain to sweep by hand; its first round, already done, only counts."""
    model = pv.GaussianHMM(N_STATES, covariance="full", sampler="blocked")
    model._choose_emissions(talk=False)
    data = Utterances.of_arrays(X, lengths)
    engine = model._engine(data)
    chain = Rounds(engine, model._shards(data, engine), n_jobs)
    chain.sweep()
    return chain


def hmmlearn_iteration(X: np.ndarray, lengths: np.ndarray) -> Callable[[], Any]:
    """Return a function that runs one EM iteration of hmmlearn, started near the planted states."""
    from hmmlearn.hmm import GaussianHMM

    model = GaussianHMM(N_STATES, "full", n_iter=1, tol=0, random_state=0, init_params="")
    model.startprob_ = np.full(N_STATES, 1 / N_STATES)
    model.transmat_ = np.full((N_STATES, N_STATES), 1 / N_STATES)
    model.means_ = X[:N_STATES].copy()
    model.covars_ = np.repeat(np.eye(SIZE)[None], N_STATES, axis=0)

    def iterate() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, lengths)

    return iterate


def measure() -> list[dict[str, Any]]:
    """Return the rows of the table."""
    X, lengths = planted(N_MESSAGES)
    ours = chain_of(X, lengths)
    few, few_lengths = planted(PEER_MESSAGES)
    peer = hmmlearn_iteration(few, few_lengths)
    share = PEER_MESSAGES / N_MESSAGES
    times: dict[str, list[float]] = {"hmmlearn": [], "palaver": [], "one": [], "two": []}
    with threadpool_limits(1):
        for _ in range(ROUNDS):
            times["hmmlearn"].append(seconds(peer, time.process_time) / share)
            times["palaver"].append(seconds(ours.sweep, time.process_time))
    pair = {"one": ours, "two": chain_of(X, lengths, 2)}
    for _ in range(ROUNDS):
        for name, chain in pair.items():
            times[name].append(seconds(chain.sweep, time.perf_counter))
    found = {name: statistics.median(values) for name, values in times.items()}
    ratio = statistics.median(
        theirs / mine for theirs, mine in zip(times["hmmlearn"], times["palaver"], strict=True)
    )
    return [
        {"what": "hmmlearn, one EM iteration (scaled from 8,000)", "s": found["hmmlearn"],
         "times as fast": 1.0},
        {"what": "palaver, one blocked sweep", "s": found["palaver"], "times as fast": ratio},
        {"what": "palaver, two threads against one (wall-clock time)", "s": found["two"],
         "times as fast": found["one"] / found["two"]},
    ]  # fmt: skip


def main() -> None:
    """Print the table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = measure()
    print(f"{N_MESSAGES:,} utterances, M = {SIZE}, K = {N_STATES}, full covariance\n")
    print("| " + " | ".join(rows[0]) + " |\n" + "|---" * len(rows[0]) + "|")
    for row in rows:
        print(f"| {row['what']} | {row['s']:.2f} | {row['times as fast']:.1f} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
