"""LDA sweeps side by side with tomotopy, one worker each, on the mails of r-help.

Run: python -m benchmarks.lda --data ../shared/data

Same documents, same word ids, same fixed alpha and eta, terms of weight one, no optimisation of
hyperparameters, burn-in of both excluded. Rounds of the programs alternate in one process; a
rate is the median over rounds of tokens per second of processor time, a ratio the median of the
rounds' ratios. Threads are compared by wall time. The log likelihood per token, computed the same
way for both, says that they sample the same thing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from palaver.kernels.dirichlet import (
    draw_word_weights,
    log_classes,
    log_dirichlet_multinomial,
)
from palaver.kernels.lda import (
    message_histograms,
    sweep_collapsed,
    sweep_parallel,
)
from palaver.kernels.states import count_classes, start_classes
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF

DATA = Path("../shared/data")
FILE = "r-help/r-help-2001-2002.jsonl.gz"
SWITCHES = {"": SWITCH_OFF, ", background (corpus)": SWITCH_CORPUS, ", background": SWITCH_MESSAGE}
SWITCH_PRIOR = np.array([10.0, 10.0])
ALPHA, OMEGA = 0.1, 0.05
NOT_RECORDED = np.zeros((0, 1))
BURN_IN, ROUNDS, SWEEPS_A_ROUND = 30, 9, 5


class Data:
    """Flat arrays of one corpus; words that occur less than five times are dropped."""

    def __init__(self, data: Path) -> None:
        with gzip.open(data / FILE, "rt") as stream:
            messages = [json.loads(line) for line in stream]
        texts = [re.findall(r"[a-z][a-z0-9']*", m["text"].lower()) for m in messages]
        frequencies = Counter(word for text in texts for word in text)
        self.words = sorted(word for word, n in frequencies.items() if n >= 5)
        ids = {word: i for i, word in enumerate(self.words)}
        encoded = [[ids[word] for word in text if word in ids] for text in texts]
        self.tokens = np.array([i for text in encoded for i in text], np.int32)
        self.message_offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        names = [m["conversation"] for m in messages]
        starts = [b for b in range(len(names)) if b == 0 or names[b] != names[b - 1]]
        self.conversation_offsets = np.array([*starts, len(names)], np.int64)
        self.n_words = len(self.words)

    def shard(self, low: int, high: int) -> tuple[Any, ...]:
        """Arguments of a sweep for conversations low .. high-1, up to the first conversation."""
        conversations = self.conversation_offsets[low : high + 1]
        offsets = self.message_offsets[conversations[0] : conversations[-1] + 1]
        tokens = self.tokens[offsets[0] : offsets[-1]]
        return tokens, offsets - offsets[0], conversations - conversations[0], low


class Collapsed:
    """The state of a collapsed chain."""

    def __init__(self, data: Data, n_classes: int, switch: int) -> None:
        self.data, self.switch = data, switch
        self.alpha = np.full(n_classes, ALPHA)
        self.classes = np.empty(len(data.tokens), np.int16)
        start_classes(
            data.message_offsets, data.conversation_offsets, 0, n_classes, switch, SWITCH_PRIOR,
            np.array([1, 2], np.uint64), self.classes,
        )  # fmt: skip
        self.counts = np.zeros((data.n_words, n_classes + 1), np.int32)
        count_classes(data.tokens, self.classes, self.counts)
        self.totals = self.counts.sum(axis=0, dtype=np.int64)
        self.n_swept = 0

    def sweep(self, n_sweeps: int) -> None:
        """Resample all tokens that often."""
        for _ in range(n_sweeps):
            self.n_swept += 1
            sweep_collapsed(
                self.data.tokens, self.data.message_offsets, self.classes, self.counts,
                self.totals, self.alpha, OMEGA, self.switch, SWITCH_PRIOR,
                np.array([3, self.n_swept], np.uint64), NOT_RECORDED,
            )  # fmt: skip

    def log_likelihood(self) -> float:
        """Log joint of words and classes, per token (without background)."""
        width = int(np.diff(self.data.message_offsets).max()) + 1
        by_class = np.zeros((len(self.alpha), width), np.int64)
        by_length = np.zeros(width, np.int64)
        message_histograms(self.data.message_offsets, self.classes, by_class, by_length)
        total = log_classes(by_class, by_length, self.alpha)
        total += log_dirichlet_multinomial(self.counts, OMEGA).sum()
        return float(total / len(self.data.tokens))


class Parallel:
    """The state of a chain with drawn word weights, in shards of conversations."""

    def __init__(self, data: Data, n_classes: int, switch: int, n_shards: int = 8) -> None:
        self.n_tokens, self.switch, self.n_swept = len(data.tokens), switch, 0
        self.alpha = np.full(n_classes, ALPHA)
        cuts = np.linspace(0, len(data.conversation_offsets) - 1, n_shards + 1).astype(int)
        self.shards = [data.shard(*cuts[i : i + 2]) for i in range(n_shards)]
        self.counts = np.zeros((data.n_words, n_classes + 1), np.int32)
        self.classes = []
        for tokens, offsets, conversations, first in self.shards:
            classes = np.empty(len(tokens), np.int16)
            start_classes(
                offsets, conversations, first, n_classes, switch, SWITCH_PRIOR,
                np.array([1, 2], np.uint64), classes,
            )  # fmt: skip
            count_classes(tokens, classes, self.counts)
            self.classes.append(classes)
        self.draw()

    def draw(self) -> None:
        """Draw the word weights from their posterior."""
        self.word_weights = draw_word_weights(
            self.counts, OMEGA, np.random.default_rng(self.n_swept)
        )

    def sweep_shards(self, run: Callable[..., Any], n_workers: int) -> None:
        """One sweep, the word weights unchanged; a worker counts all its shards in one array."""
        key = np.array([3, self.n_swept], np.uint64)

        def sweep_some(worker: int) -> Any:
            counts = np.zeros_like(self.counts)
            for i in range(worker, len(self.shards), n_workers):
                sweep_parallel(
                    *self.shards[i], self.classes[i], self.word_weights, self.alpha, self.switch,
                    SWITCH_PRIOR, 0.5, key, counts, NOT_RECORDED,
                )  # fmt: skip
            return counts

        self.n_swept += 1
        results = list(run(sweep_some, range(n_workers)))
        self.counts = results[0]
        for counts in results[1:]:
            self.counts += counts

    def sweep(self, n_sweeps: int) -> None:
        """Resample all tokens and the word weights that often."""
        for _ in range(n_sweeps):
            self.sweep_shards(map, 1)
            self.draw()


def tomotopy_model(data: Data, n_classes: int) -> Any:
    import tomotopy

    model = tomotopy.LDAModel(
        tw=tomotopy.TermWeight.ONE, min_cf=0, rm_top=0, k=n_classes, alpha=ALPHA, eta=OMEGA, seed=1
    )
    for first, last in zip(data.message_offsets[:-1], data.message_offsets[1:], strict=True):
        if last > first:
            model.add_doc([data.words[i] for i in data.tokens[first:last]])
    model.optim_interval = 0
    model.burn_in = 0
    model.train(0, workers=1)
    return model


def processor_seconds(action: Callable[[], Any]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def wall_seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def compare(data: Data, n_classes: int) -> list[dict[str, Any]]:
    """All variants and tomotopy at one number of classes, in alternating rounds."""
    model = tomotopy_model(data, n_classes)
    n_tokens = len(data.tokens)
    if model.num_words != n_tokens or model.num_vocabs != data.n_words:
        raise RuntimeError("tomotopy has other documents")
    chains: dict[str, Any] = {}
    for label, switch in SWITCHES.items():
        chains[f"collapsed{label}"] = Collapsed(data, n_classes, switch)
    chains["parallel, with its draws"] = Parallel(data, n_classes, SWITCH_OFF)
    actions = {name: chain.sweep for name, chain in chains.items()}
    actions["tomotopy"] = lambda n: model.train(n, workers=1)
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        action(BURN_IN)
    for _ in range(ROUNDS):
        for name, action in actions.items():
            seconds[name].append(processor_seconds(lambda a=action: a(SWEEPS_A_ROUND)))
    rows = []
    for name, times in seconds.items():
        ratios = np.array(seconds["tomotopy"]) / np.array(times)
        rates = n_tokens * SWEEPS_A_ROUND / np.array(times)
        row = {
            "sampler": name,
            "n_classes": n_classes,
            "million_tokens_per_second": float(np.median(rates)) / 1e6,
            "against_tomotopy": float(np.median(ratios)),
            "log_likelihood": None,
        }
        if name == "collapsed":
            row["log_likelihood"] = chains[name].log_likelihood()
        elif name == "tomotopy":
            row["log_likelihood"] = float(model.ll_per_word)
        rows.append(row)
    return rows


def compare_threads(data: Data, n_classes: int) -> dict[str, Any]:
    """Two threads against one over the same shards, by the best wall time of each."""
    chain = Parallel(data, n_classes, SWITCH_OFF)
    chain.sweep(BURN_IN)
    best = {1: np.inf, 2: np.inf}
    for _ in range(3 * ROUNDS):
        for n in best:
            with ThreadPoolExecutor(n) as pool:
                seconds = wall_seconds(lambda p=pool, n=n: chain.sweep_shards(p.map, n))
            best[n] = min(best[n], seconds)
    return {
        "sampler": "parallel, sweep only, 2 threads",
        "n_classes": n_classes,
        "million_tokens_per_second": chain.n_tokens / best[2] / 1e6,
        "two_threads_against_one": best[1] / best[2],
    }


def run(data: Path = DATA, classes: tuple[int, ...] = (20, 100)) -> list[dict[str, Any]]:
    """Measure; one row for each sampler and number of classes."""
    corpus = Data(data)
    rows = []
    for n_classes in classes:
        rows += compare(corpus, n_classes)
        rows.append(compare_threads(corpus, n_classes))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--classes", type=int, nargs="+", default=[20, 100])
    arguments = parser.parse_args()
    print(f"{'sampler':34}{'K':>5}{'M tokens/s':>12}{'ratio':>8}{'log lik.':>10}")
    for row in run(arguments.data, tuple(arguments.classes)):
        ratio = row.get("against_tomotopy") or row["two_threads_against_one"]
        likelihood = row.get("log_likelihood")
        print(
            f"{row['sampler']:34}{row['n_classes']:5}{row['million_tokens_per_second']:12.2f}"
            f"{ratio:8.2f}{'' if likelihood is None else f'{likelihood:.4f}':>10}"
        )
    print("ratio: against tomotopy; for two threads: against one")


if __name__ == "__main__":
    main()
