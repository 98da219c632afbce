"""Seconds until LDA predicts held-out words as well as tomotopy's does in the end.

Run: python -m benchmarks.time_to_perplexity --data ../shared/data

Messages of r-help are documents; nine in ten are learned from, and of the others the model sees
90% of the words and predicts the rest. The topics of both are folded in by the same step, so only
the topics count. tomotopy's last perplexity is the mean of its last checkpoints; the time to reach
it is that of Palaver's first checkpoint that is no higher, by the clock, training alone, so the
machine must be idle. On one thread that is the collapsed sampler, on two the parallel one. tomotopy
learns its topic priors as it does by default, and has the word prior that was best for it on
training words (docs/results/markov_m3.md); Palaver learns its own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import palaver as pv
from benchmarks.models import FILE, show
from benchmarks.papers.markov_m3 import Split, common_perplexity
from benchmarks.rounds import Rounds
from palaver.encoding import encode
from palaver.encoding.documents import documents_of
from palaver.models.documents.heldout import hold_out_words

N_TOPICS, ETA, STEP, SWEEPS, LAST = 25, 0.03, 10, 200, 5
Topics = NDArray[np.float64]
Curve = list[tuple[float, float]]


@dataclass
class Learner:
    """What learns: how to continue for some sweeps, and its topics (K, W)."""

    go_on: Callable[[int], Any]
    topics: Callable[[], Topics]


def split_messages(data: Path) -> tuple[Split, Any]:
    """Return training and test documents, and the training messages as they are encoded."""
    corpus = pv.read(data / FILE)
    test = np.random.default_rng(0).random(corpus.n_conversations) < 0.1
    of_test = pv.Corpus.from_polars(corpus.table.filter(np.repeat(
        test, np.diff(corpus.conversation_offsets))))  # fmt: skip
    of_train = pv.Corpus.from_polars(corpus.table.filter(np.repeat(
        ~test, np.diff(corpus.conversation_offsets))))  # fmt: skip
    train = encode(of_train)
    observed, heldout = hold_out_words(documents_of(encode(of_test, train.vocabulary)), 0.9, 0)
    return Split(documents_of(train), observed, heldout), train


def ours(train: Any, n_jobs: int) -> Learner:
    """Return Palaver's LDA."""
    sampler = "collapsed" if n_jobs == 1 else "parallel"
    model = pv.LDA(n_classes=N_TOPICS, sampler=sampler, n_jobs=n_jobs)
    engine: Any = model._engine(train)
    chain = Rounds(engine, model._shards(train, engine), n_jobs)

    def topics() -> Topics:
        words = engine.sample(chain.shared, chain.statistics)["class_words"]
        return np.ascontiguousarray(words[:, :N_TOPICS].T)

    return Learner(chain.sweep, topics)


def peer(split: Split, n_jobs: int) -> Learner:
    """Return tomotopy's LDA on the same documents."""
    import tomotopy

    model = tomotopy.LDAModel(k=N_TOPICS, seed=1, eta=ETA)
    train = split.train
    for first, last in zip(train.offsets[:-1], train.offsets[1:], strict=True):
        own = slice(int(first), int(last))
        words = np.repeat(train.words[own], train.counts[own].astype(int))
        if len(words):
            model.add_doc([str(word) for word in words])
    model.train(0)  # learns the words
    places = [int(word) for word in model.used_vocabs]

    def topics() -> Topics:
        found = np.full((N_TOPICS, len(train.vocabulary)), 0.01 / len(train.vocabulary))
        for k in range(N_TOPICS):
            found[k, places] += model.get_topic_word_dist(k)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    return Learner(lambda n: model.train(n, workers=n_jobs), topics)


def curve(learner: Learner, split: Split, goal: float | None = None) -> Curve:
    """Return seconds of training so far and perplexity, after every few sweeps.

    With a goal it ends where that is reached, or after five times as many sweeps.
    """
    taken, found = 0.0, []
    for _ in range(SWEEPS // STEP if goal is None else 5 * SWEEPS // STEP):
        start = time.perf_counter()
        learner.go_on(STEP)
        taken += time.perf_counter() - start
        found.append((taken, common_perplexity(split, learner.topics())))
        if goal is not None and found[-1][1] <= goal:
            break
    return found


def compared(data: Path) -> list[dict[str, Any]]:
    """Return a row for one thread and one for two."""
    split, train = split_messages(data)
    ours(train, 2).go_on(2)  # compilation
    return [row(n_jobs, split, train) for n_jobs in (1, 2)]


def row(n_jobs: int, split: Split, train: Any) -> dict[str, Any]:
    """Return how long both take to tomotopy's last perplexity."""
    theirs = curve(peer(split, n_jobs), split)
    final = float(np.mean([perplexity for _, perplexity in theirs[-LAST:]]))
    own = curve(ours(train, n_jobs), split, final)
    needed = next((s for s, perplexity in theirs if perplexity <= final), theirs[-1][0])
    reached = own[-1][0] if own[-1][1] <= final else float("inf")
    return {"threads": n_jobs, "tomotopy's perplexity": final, "its seconds": needed,
            "all its sweeps": theirs[-1][0], "Palaver's seconds": reached,
            "and sweeps": len(own) * STEP, "times as fast": needed / reached}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    show(compared(parser.parse_args().data))


if __name__ == "__main__":
    main()
