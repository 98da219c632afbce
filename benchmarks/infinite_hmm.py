"""Whole sweeps of the infinite HMM on newspaper text: beam or dense, a peer, threads, memory.

Run: python -m benchmarks.infinite_hmm --data ../shared/data

conll2000 and wsj-sample together (353,188 words, 14,862 sentences), seed 0. A sweep is a whole
round of the loop: slices, states, counts, merging, all parameter draws, log joint. Chains start
from the given part-of-speech tags, so that rows are as sparse as those of a fitted model: the tags
as they are (47), merged in pairs, or each split in two at random. One thread is measured by
processor time, several threads by wall-clock time; times are medians. bayesian-hmm (PyPI) runs on
the tags of the first sentences as if they were words, because with thousands of words it stops
early. Memory is the peak of the process before and after many sweeps.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.rounds import Rounds, seconds
from palaver.encoding import Encoded, encode_sentences
from palaver.models.states.tags import Tags

FILES = ("conll2000/train.txt.gz", "conll2000/test.txt.gz", "wsj-sample/wsj-sample.txt.gz")
SPLITS, ROUNDS, MANY, PEER_SENTENCES = (0.5, 1, 2), 3, 60, 60


def newspaper(data: Path) -> tuple[list[list[str]], list[str]]:
    """Return all sentences and the tag of each word."""
    tables = [pv.read(data / name).table for name in FILES]
    words = [list(row) for table in tables for row in table["tokens"]]
    return words, [tag for table in tables for row in table["pos"] for tag in row]


def chain_of(data: Encoded, states: np.ndarray, dense: bool = False, n_jobs: int = 1) -> Rounds:
    """Return a chain to sweep by hand, started from the given states."""
    n_states = int(states.max()) + 1
    model = pv.InfiniteHMM(n_states if dense else None, row_concentration=0.8,
                           state_concentration=5.0, first_states=n_states, start="words",
                           max_states=5000)  # fmt: skip
    model._tags = Tags.none()
    shards = model._shards(data)
    chain = Rounds(model._engine(data), shards, n_jobs)
    for number, shard in enumerate(shards):
        part = states[shard.first_token : shard.first_token + shard.n_tokens]
        chain.executor.states()[0, number]["states"][:] = part
    chain.sweep()  # the first sweep only counts
    return chain


def first_states(tags: list[str], split: float = 1) -> np.ndarray:
    """Return the tags as numbers, merged in pairs (0.5) or each split at random (2)."""
    names = {tag: number for number, tag in enumerate(sorted(set(tags)))}
    numbers = np.array([names[tag] for tag in tags])
    if split < 1:
        return (numbers // 2).astype(np.int16)
    pieces = np.random.default_rng(0).integers(0, int(split), len(numbers))
    return (numbers * int(split) + pieces).astype(np.int16)


def rate_rows(
    data: Encoded, tags: list[str], splits: Sequence[float] = SPLITS
) -> list[dict[str, Any]]:
    """Return the rates of both filters for each number of states."""
    rows = []
    for split in splits:
        states = first_states(tags, split)
        pair = {"beam": chain_of(data, states), "dense": chain_of(data, states, dense=True)}
        times: dict[str, list[float]] = {name: [] for name in pair}
        for chain in pair.values():
            chain.sweep()
        for _ in range(ROUNDS):
            for name, chain in pair.items():
                times[name].append(seconds(chain.sweep, time.process_time))
        rates = {n: data.n_tokens / statistics.median(t) / 1e6 for n, t in times.items()}
        rows.append(
            {
                "states": int(states.max()) + 1,
                "states after": int(pair["beam"].trace["states"]),
                **rates,
            }
        )
    return rows


def thread_row(data: Encoded, tags: list[str]) -> dict[str, float]:
    """Return the wall-clock times of one and two threads, taken in turns, for both filters."""
    found = {}
    for name, dense in (("beam", False), ("dense", True)):
        pair = [chain_of(data, first_states(tags), dense, n_jobs) for n_jobs in (1, 2)]
        times: list[list[float]] = [[], []]
        for _ in range(10 * ROUNDS):
            for which, chain in enumerate(pair):
                times[which].append(seconds(chain.sweep, time.perf_counter))
        one, two = (statistics.median(values) for values in times)
        ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
        found |= {f"{name}, one thread, s": one, f"{name}, two threads, s": two,
                  f"{name}, times as fast": ratio}  # fmt: skip
    return found


def memory_row(data: Encoded, tags: list[str]) -> dict[str, float]:
    """Return the peak memory of the process before and after many sweeps."""
    chain = chain_of(data, first_states(tags))
    chain.sweep(5)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    chain.sweep(MANY)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"sweeps": MANY, "MB before": before, "MB after": after}


def peer_row(sentences: list[list[str]], tags: list[str]) -> dict[str, Any] | None:
    """Return the rate of bayesian-hmm on tags instead of words, if it is installed."""
    try:
        import bayesian_hmm
    except ImportError:
        return None
    ends = np.cumsum([0, *map(len, sentences[:PEER_SENTENCES])])
    few = [tags[first:last] for first, last in pairwise(ends)]
    model = bayesian_hmm.HDPHMM(few, sticky=False)
    model.initialise(k=50)
    n_words = sum(map(len, few))
    try:
        spent = seconds(lambda: model.mcmc(3, 1, 1, 1, False), time.process_time)
    except ValueError as error:  # from its likelihood, if a drawn probability is zero
        print(f"bayesian-hmm stops: {error}")
        return None
    return {"words": n_words, "million words/s": 3 * n_words / spent / 1e6}


def show_rates(rows: list[dict[str, Any]]) -> None:
    print("| states | states after | beam, million words/s | dense |\n|---|---|---|---|")
    for row in rows:
        cells = (row["states"], row["states after"], f"{row['beam']:.2f}", f"{row['dense']:.2f}")
        print("| " + " | ".join(map(str, cells)) + " |")


def main() -> None:
    """Print the tables, and write them as JSON if asked to."""
    parts = {"rates": rate_rows, "threads": thread_row, "memory": memory_row, "peer": peer_row}
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=parts)
    arguments = parser.parse_args()
    sentences, tags = newspaper(arguments.data)
    data = encode_sentences(sentences)
    types = len(data.vocabulary)
    print(f"{data.n_tokens:,} words, {data.n_messages:,} sentences, {types:,} types\n")
    found: dict[str, Any] = {}
    for name in [arguments.only] if arguments.only else parts:
        found[name] = told = (
            peer_row(sentences, tags) if name == "peer" else parts[name](data, tags)
        )
        if name == "rates":
            show_rates(found[name])
        elif told is None:
            print(f"\n{name}: not installed, or stopped")
        else:
            print(f"\n{name}: " + ", ".join(f"{k} {v:,.4g}" for k, v in told.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
