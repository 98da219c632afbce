"""The first stream on a machine, compilation included, against scikit-learn's online LDA.

    python -m benchmarks.markov_m3_first_run --data ../shared/data

The data and settings are those of benchmarks/markov_m3_streams.py; words of training documents
judge. Every run is a process of its own, on one thread; ours begin without compiled kernels, and
then run again with them. Prints seconds by the clock and of the processor, from the first import to
the end of the last pass, and the perplexity.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

MODELS = ("scikit-learn", "OnlineLDA", "MarkovM3")
THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")


def write_split(folder: Path, data: Path, corpus: str) -> None:
    """Write the documents of a corpus as plain arrays."""
    from benchmarks.papers.markov_m3 import training_split

    split = training_split(data, corpus)
    for name, part in vars(split).items():
        np.savez(folder / name, offsets=part.offsets, words=part.words, counts=part.counts,
                 shape=(part.n_documents, len(part.vocabulary)))  # fmt: skip


def _matrix(folder: Path, name: str) -> Any:
    from scipy.sparse import csr_matrix

    with np.load(folder / f"{name}.npz") as file:
        return csr_matrix((file["counts"], file["words"], file["offsets"]), tuple(file["shape"]))


def learn(folder: Path, kind: str, n_topics: int) -> dict[str, float]:
    """Learn and judge in this process."""
    train, shown, hidden = (_matrix(folder, name) for name in ("train", "observed", "heldout"))
    clocks = time.monotonic(), time.process_time()
    if kind == "scikit-learn":
        words, shares = _sklearn(train, n_topics)
    else:
        words, shares = _ours(kind, train, n_topics)
    seconds = time.monotonic() - clocks[0], time.process_time() - clocks[1]
    owners, places = hidden.nonzero()
    found = shares(shown)
    p = np.einsum("nk,nk->n", found[owners], np.ascontiguousarray(words.T)[places])
    perplexity = float(np.exp(-np.dot(hidden.data, np.log(p)) / hidden.data.sum()))
    return {"clock": seconds[0], "processor": seconds[1], "perplexity": perplexity}


def _sklearn(train: Any, n_topics: int) -> Any:
    from sklearn.decomposition import LatentDirichletAllocation

    from benchmarks.papers.markov_m3_online import SEED

    model = LatentDirichletAllocation(
        n_topics, learning_method="online", learning_decay=0.75, learning_offset=10.0,
        total_samples=train.shape[0], random_state=SEED,
    )  # fmt: skip
    for rows in _batches(train):
        model.partial_fit(rows)
    return model.components_ / model.components_.sum(axis=1, keepdims=True), model.transform


def _ours(kind: str, train: Any, n_topics: int) -> Any:
    import palaver as pv
    from benchmarks.papers.markov_m3_online import SEED

    model = getattr(pv, kind)(n_topics, random_state=SEED)
    model.fit_stream(_batches(train), total_documents=train.shape[0])
    return model.class_words_, model.transform


def _batches(train: Any) -> Any:
    from benchmarks.papers.markov_m3_online import BATCH, PASSES, SEED

    for number in range(PASSES):
        order = np.random.default_rng([SEED, number]).permutation(train.shape[0])
        for first in range(0, len(order), BATCH):
            yield train[order[first : first + BATCH]]


def run(folder: Path, kind: str, n_topics: int, cache: Path) -> dict[str, float]:
    """Learn in a process of its own."""
    settings = os.environ | dict.fromkeys(THREADS, "1") | {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "benchmarks.markov_m3_first_run", "--data", str(folder),
               "--topics", str(n_topics), "--learn", kind]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    return dict(json.loads(done.stdout))


def first_runs(data: Path, corpus: str, n_topics: int = 50) -> dict[str, dict[str, float]]:
    """Return what each model takes, ours without compiled kernels and then with them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_split(folder, data, corpus)
        return {
            kind + again: run(folder, kind, n_topics, folder / f"compiled-{kind}")
            for kind in MODELS
            for again in (("",) if kind == "scikit-learn" else ("", ", again"))
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", default=["20news"])
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--learn", choices=MODELS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.learn:
        print(json.dumps(learn(asked.data, asked.learn, asked.topics)))
        return
    for corpus in asked.corpora:
        print(f"\n{corpus}, {asked.topics} topics")
        print("model                        clock  processor  perplexity")
        for what, found in first_runs(asked.data, corpus, asked.topics).items():
            print(f"{what:25} {found['clock']:8.1f} {found['processor']:10.1f} "
                  f"{found['perplexity']:11,.0f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
