"""M4 sweeps against tomotopy's LDA, and the exact sampler against Metropolis, on r-help.

Run: python -m benchmarks.m4 --data ../shared/data

Rates: K = 25, all threads, one worker each; M4 learns its weights by a bound step a sweep during
burn-in, which then stay. Rounds of the programs alternate in one process; a rate is the median
over rounds of tokens per second of processor time, a ratio the median of the rounds' ratios.

Samplers: the first threads, weights fixed after burn-in. The effective sample size is that of the
number of tokens, in a message with replies, of the class that was its most frequent one; median
over messages, per sweep and per second.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lda import DATA, FILE, Data, processor_seconds, tomotopy_model
from palaver.kernels.m4 import sweep_collapsed
from palaver.kernels.m4_weights import bound_step, weight_statistics
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF

SWITCHES = {"": SWITCH_OFF, ", background (corpus)": SWITCH_CORPUS, ", background": SWITCH_MESSAGE}
SWITCH_PRIOR = np.array([10.0, 10.0])
OMEGA, VARIANCE = 0.05, 10.0
NOT_RECORDED = np.zeros((0, 0, 0))
BURN_IN, ROUNDS, SWEEPS_A_ROUND = 100, 9, 3
N_THREADS, N_SWEEPS = 800, 400


class Threads(Data):
    """Flat arrays of one corpus, with parents."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        with gzip.open(data / FILE, "rt") as stream:
            messages = [json.loads(line) for line in stream]
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


def compare_with_tomotopy(data: Threads, n_classes: int) -> list[dict[str, Any]]:
    """Rates of both samplers, with and without background, in alternating rounds."""
    model = tomotopy_model(data, n_classes)
    chains = {
        f"{sampler}{label}": Chain(data, n_classes, switch, sampler == "metropolis")
        for sampler in ("exact", "metropolis")
        for label, switch in SWITCHES.items()
    }
    actions: dict[str, Any] = {name: chain.sweep for name, chain in chains.items()}
    actions["tomotopy's LDA"] = lambda n: model.train(n, workers=1)
    for chain in chains.values():
        chain.learn(BURN_IN)
    model.train(BURN_IN, workers=1)
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, action in actions.items():
            seconds[name].append(processor_seconds(lambda a=action: a(SWEEPS_A_ROUND)))
    peer = np.array(seconds["tomotopy's LDA"])
    return [
        {
            "sampler": name,
            "n_classes": n_classes,
            "million_tokens_per_second": float(
                np.median(len(data.tokens) * SWEEPS_A_ROUND / np.array(times)) / 1e6
            ),
            "against_tomotopy": float(np.median(peer / np.array(times))),
        }
        for name, times in seconds.items()
    ]


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


def compare_samplers(data: Threads, n_classes: int) -> list[dict[str, Any]]:
    """Cost and mixing of the exact sampler and of Metropolis from the same state."""
    start = Chain(data, n_classes, SWITCH_CORPUS, is_metropolis=False)
    start.learn(2 * BURN_IN)
    lengths = np.diff(data.message_offsets)
    has_replies = np.bincount(data.parents[data.parents >= 0], minlength=len(lengths)) > 0
    watched = np.flatnonzero(has_replies & (lengths >= 10))
    messages = np.repeat(np.arange(len(lengths)), lengths)

    def histograms(classes: np.ndarray) -> np.ndarray:
        counts = np.zeros((len(lengths), n_classes + 1))
        np.add.at(counts, (messages, classes), 1)
        return counts[watched, :n_classes]

    top = histograms(start.classes).argmax(axis=1)
    rows = []
    for name, is_metropolis in (("exact", False), ("metropolis", True)):
        chain = Chain(data, n_classes, SWITCH_CORPUS, is_metropolis)
        chain.copy_state(start)
        chain.sweep(20)
        traces, seconds, stays = [], 0.0, 0.0
        for _ in range(N_SWEEPS):
            before = chain.classes.copy()
            seconds += processor_seconds(lambda c=chain: c.sweep(1))
            traces.append(histograms(chain.classes)[np.arange(len(watched)), top])
            stays += (before == chain.classes).mean() / N_SWEEPS
        samples = np.array(traces)
        moving = samples.std(axis=0) > 0
        size = float(np.median(effective_sizes(samples[:, moving])))
        rows.append(
            {
                "sampler": f"{name}, background (corpus)",
                "n_classes": n_classes,
                "nanoseconds_a_token": seconds / N_SWEEPS / len(data.tokens) * 1e9,
                "effective_per_sweep": size / N_SWEEPS,
                "effective_per_second": size / seconds,
                "share_of_tokens_that_stay": float(stays),
            }
        )
    return rows


def run(
    data: Path = DATA, n_classes: int = 25, classes: tuple[int, ...] = (10, 25, 50, 100)
) -> list[dict[str, Any]]:
    """Measure; one row for each sampler and number of classes."""
    corpus = Threads(data)
    rows = compare_with_tomotopy(corpus, n_classes)
    for size in classes:
        rows += compare_samplers(corpus.first(N_THREADS), size)
    return rows


def main() -> None:
    """Print the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 25, 50, 100])
    arguments = parser.parse_args()
    rows = run(arguments.data, classes=tuple(arguments.classes))
    print(f"{'sampler':34}{'K':>5}{'M tokens/s':>12}{'ratio':>8}")
    for row in rows:
        if "against_tomotopy" in row:
            print(
                f"{row['sampler']:34}{row['n_classes']:5}"
                f"{row['million_tokens_per_second']:12.2f}{row['against_tomotopy']:8.2f}"
            )
    print(f"\n{'sampler':34}{'K':>5}{'ns/token':>10}{'ESS/sweep':>11}{'ESS/s':>8}{'stay':>7}")
    for row in rows:
        if "effective_per_second" in row:
            print(
                f"{row['sampler']:34}{row['n_classes']:5}{row['nanoseconds_a_token']:10.1f}"
                f"{row['effective_per_sweep']:11.3f}{row['effective_per_second']:8.2f}"
                f"{row['share_of_tokens_that_stay']:7.2f}"
            )


if __name__ == "__main__":
    main()
