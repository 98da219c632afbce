"""M4's exact sampler against Metropolis, per effective sample, on the first threads of r-help.

Run: python -m benchmarks.m4 --data ../shared/data

Both go on from the same state, with weights learned in the burn-in and then fixed. The effective
sample size is that of the number of tokens, in a message with replies, of the class that was its
most frequent one; median over messages, per sweep and per second of processor time. The samplers
take turns, sweep by sweep, so that noise of the machine hits both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.rounds import seconds as seconds_of
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from palaver.models.m4.kernels.paper_sweep import sweep_collapsed
from palaver.models.m4.kernels.weights import bound_step, weight_statistics

DATA = Path("../shared/data")
FILE = "r-help/r-help-2001-2002.jsonl.gz"
SWITCHES = {"off": SWITCH_OFF, "corpus": SWITCH_CORPUS, "message": SWITCH_MESSAGE}
CLASSES = (5, 10, 25, 50, 100, 200)
SWITCH_PRIOR = np.array([10.0, 10.0])
OMEGA, VARIANCE = 0.05, 10.0
SAMPLERS = ("exact", "metropolis")
NOT_RECORDED = np.zeros((0, 0, 0))
N_THREADS, BURN_IN, N_SWEEPS = 300, 150, 300


class Threads:
    """Flat arrays of one corpus; words that occur less than five times are dropped."""

    def __init__(self, data: Path) -> None:
        with gzip.open(data / FILE, "rt") as stream:
            messages = [json.loads(line) for line in stream]
        texts = [re.findall(r"[a-z][a-z0-9']*", m["text"].lower()) for m in messages]
        frequencies = Counter(word for text in texts for word in text)
        self.words = sorted(word for word, n in frequencies.items() if n >= 5)
        self.n_words = len(self.words)
        ids = {word: i for i, word in enumerate(self.words)}
        encoded = [[ids[word] for word in text if word in ids] for text in texts]
        self.tokens = np.array([i for text in encoded for i in text], np.int32)
        self.message_offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        names = [m["conversation"] for m in messages]
        starts = [b for b in range(len(names)) if b == 0 or names[b] != names[b - 1]]
        self.conversation_offsets = np.array([*starts, len(names)], np.int64)
        places = {message["id"]: b for b, message in enumerate(messages)}
        self.parents = np.array([places.get(m["reply_to"], -1) for m in messages], np.int32)

    def first(self, n_conversations: int) -> Threads:
        """Return the first conversations, with the same word ids."""
        part = object.__new__(Threads)
        part.words, part.n_words = self.words, self.n_words
        part.conversation_offsets = self.conversation_offsets[: n_conversations + 1]
        part.message_offsets = self.message_offsets[: part.conversation_offsets[-1] + 1]
        part.parents = self.parents[: part.conversation_offsets[-1]]
        part.tokens = self.tokens[: part.message_offsets[-1]]
        return part


class Chain:
    """The state of a collapsed chain."""

    def __init__(self, data: Threads, n_classes: int, switch: int, is_metropolis: bool) -> None:
        self.data, self.switch, self.is_metropolis = data, switch, is_metropolis
        n_outcomes = n_classes + (switch != SWITCH_OFF)
        draws = np.random.default_rng(1).integers(0, n_outcomes, len(data.tokens))
        self.classes = draws.astype(np.int16)
        self.counts = np.zeros((data.n_words, n_classes + 1), np.int32)
        np.add.at(self.counts, (data.tokens, self.classes), 1)
        self.totals = self.counts.sum(axis=0, dtype=np.int64)
        self.weights = np.zeros((n_classes + 2, n_classes))
        self.n_swept = 0

    def sweep(self, n_sweeps: int) -> None:
        """Resample all tokens that often."""
        for _ in range(n_sweeps):
            self.n_swept += 1
            sweep_collapsed(
                self.data.tokens, self.data.message_offsets, self.data.parents,
                self.data.conversation_offsets, self.classes, self.counts, self.totals,
                self.weights, OMEGA, self.switch, SWITCH_PRIOR, self.is_metropolis,
                np.array([3, self.n_swept], np.uint64), NOT_RECORDED,
            )  # fmt: skip

    def learn(self, n_sweeps: int) -> None:
        """Sweep, and move the weights after each sweep."""
        for _ in range(n_sweeps):
            self.sweep(1)
            _, gradient, curvature = weight_statistics(
                self.data.message_offsets, self.data.parents, self.classes, self.weights
            )
            self.weights = bound_step(self.weights, gradient, curvature, VARIANCE)

    def copy_state(self, other: Chain) -> None:
        """Go on from where another chain is."""
        self.classes, self.counts = other.classes.copy(), other.counts.copy()
        self.totals, self.weights = other.totals.copy(), other.weights.copy()


def effective_sizes(samples: np.ndarray) -> np.ndarray:
    """Effective sample size of each column, by Geyer's initial positive sequence."""
    n = len(samples)
    centred = samples - samples.mean(axis=0)
    spectrum = np.fft.rfft(centred, 2 * n, axis=0)
    covariances = np.fft.irfft((spectrum * spectrum.conj()).real, 2 * n, axis=0)[:n] / n
    pairs = covariances[0 : n - n % 2 : 2] + covariances[1 : n - n % 2 : 2]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    summed = 2.0 * np.where(positive, pairs, 0.0).sum(axis=0) - covariances[0]
    return n * covariances[0] / np.maximum(summed, covariances[0])


def compare_samplers(data: Threads, n_classes: int, switch: str) -> list[dict[str, Any]]:
    """Cost and mixing of the exact sampler and of Metropolis from the same state."""
    start = Chain(data, n_classes, SWITCHES[switch], is_metropolis=False)
    start.learn(BURN_IN)
    watched, top = watched_messages(data, start.classes, n_classes)
    chains = {}
    for name in SAMPLERS:
        chains[name] = Chain(data, n_classes, SWITCHES[switch], name == "metropolis")
        chains[name].copy_state(start)
        chains[name].sweep(20)
    traces: dict[str, list[np.ndarray]] = {name: [] for name in SAMPLERS}
    seconds, stays = dict.fromkeys(SAMPLERS, 0.0), dict.fromkeys(SAMPLERS, 0.0)
    for _ in range(N_SWEEPS):
        for name, chain in chains.items():
            before = chain.classes.copy()
            seconds[name] += seconds_of(lambda c=chain: c.sweep(1), time.process_time)
            traces[name].append(np.add.reduceat(chain.classes[watched.tokens] == top, watched.cuts))
            stays[name] += (before == chain.classes).mean() / N_SWEEPS
    rows = []
    for name in SAMPLERS:
        samples = np.array(traces[name], float)
        size = float(np.median(effective_sizes(samples[:, samples.std(axis=0) > 0])))
        rows.append(
            {
                "background": switch,
                "sampler": name,
                "n_classes": n_classes,
                "nanoseconds_a_token": seconds[name] / N_SWEEPS / len(data.tokens) * 1e9,
                "effective_per_sweep": size / N_SWEEPS,
                "effective_per_second": size / seconds[name],
                "share_of_tokens_that_stay": float(stays[name]),
            }
        )
    return rows


class Watched(NamedTuple):
    """The tokens of some messages: their numbers, and where each message begins among them."""

    tokens: np.ndarray
    cuts: np.ndarray


def watched_messages(
    data: Threads, classes: np.ndarray, n_classes: int
) -> tuple[Watched, np.ndarray]:
    """Return messages with replies and ten words, and the class of each that is counted."""
    lengths = np.diff(data.message_offsets)
    has_replies = np.bincount(data.parents[data.parents >= 0], minlength=len(lengths)) > 0
    chosen = np.flatnonzero(has_replies & (lengths >= 10))
    spans = [np.arange(data.message_offsets[b], data.message_offsets[b + 1]) for b in chosen]
    top = [
        np.bincount(classes[span], minlength=n_classes + 1)[:n_classes].argmax() for span in spans
    ]
    cuts = np.concatenate(([0], np.cumsum(lengths[chosen])[:-1]))
    return Watched(np.concatenate(spans), cuts), np.repeat(top, lengths[chosen])


def run(data: Path = DATA, classes: tuple[int, ...] = CLASSES) -> list[dict[str, Any]]:
    """Measure; one row for each switch, number of classes and sampler."""
    corpus = Threads(data).first(N_THREADS)
    return [
        row
        for switch in SWITCHES
        for size in classes
        for row in compare_samplers(corpus, size, switch)
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--classes", type=int, nargs="+", default=CLASSES)
    arguments = parser.parse_args()
    print("| background | K | sampler | ns a token | ESS a sweep | ESS a second | stay |")
    print("|---|---|---|---|---|---|---|")
    for row in run(arguments.data, tuple(arguments.classes)):
        print(
            f"| {row['background']} | {row['n_classes']} | {row['sampler']} "
            f"| {row['nanoseconds_a_token']:.1f} | {row['effective_per_sweep']:.3f} "
            f"| {row['effective_per_second']:.2f} | {row['share_of_tokens_that_stay']:.2f} |"
        )


if __name__ == "__main__":
    main()
