"""Taggers against scikit-learn: seconds to train on the same features, messages tagged per second.

Run: python -m benchmarks.taggers --data ../shared/data

The part of DailyDialog that the results page trains on, one thread, processor time. Maximum entropy
and ``LogisticRegression(solver="lbfgs")`` take turns on the same sparse table with the same penalty
and 40 iterations each. Tagging is timed from texts to tags, on the test part.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import palaver as pv
from benchmarks.papers.taggers import TAGGERS, read
from benchmarks.rounds import seconds
from palaver.models.taggers.linear import labelled_messages

N_TURNS = 3


def training(data: Path) -> dict[str, float]:
    """Return processor seconds of both regressions, the least of some turns, and their ratio."""
    from sklearn.linear_model import LogisticRegression

    corpus = read(data, "dailydialog", "train")
    ours = pv.MaxEntTagger(tolerance=0.0)
    ours.fit(corpus.take(np.arange(2)), show_progress=False)  # compiles
    labelled = labelled_messages(ours, corpus, "act", None)
    shard = labelled.shard()
    table = sparse.csr_array(
        (shard.values, shard.columns, shard.offsets), (corpus.n_messages, labelled.features.size)
    )
    theirs = LogisticRegression(solver="lbfgs", C=1 / ours.penalty, max_iter=ours.max_iter, tol=0.0)
    found: dict[str, list[float]] = {"maximum entropy": [], "scikit-learn": []}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # scikit-learn warns of what was asked for
        for _ in range(N_TURNS):
            mine = seconds(lambda: ours._fit(labelled, show_progress=False), time.process_time)
            found["maximum entropy"].append(mine)
            other = seconds(lambda: theirs.fit(table, shard.tags), time.process_time)
            found["scikit-learn"].append(other)
    least = {name: min(values) for name, values in found.items()}
    return {**least, "ratio": least["scikit-learn"] / least["maximum entropy"]}


def tagging(data: Path) -> dict[str, float]:
    """Return messages per processor second, the most of some turns, from texts to tags."""
    train, test = (read(data, "dailydialog", part) for part in ("train", "test"))
    found = {}
    for name, make in TAGGERS.items():
        tagger = make(1).fit(train, show_progress=False)
        tagger.predict(test)
        least = min(
            seconds(lambda t=tagger: t.predict(test), time.process_time) for _ in range(N_TURNS)
        )
        found[name] = test.n_messages / least
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    for name, value in training(arguments.data).items():
        print(f"training, {name:24} {value:.2f}{'' if name == 'ratio' else ' s'}", flush=True)
    for name, value in tagging(arguments.data).items():
        print(f"tagging, {name:25} {value:,.0f} messages/s", flush=True)


if __name__ == "__main__":
    main()
