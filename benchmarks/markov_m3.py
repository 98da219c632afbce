"""Online Markov M3 and online LDA against scikit-learn's online LDA; memory for a long stream.

Run: python -m benchmarks.markov_m3 --data ../shared/data [--stream]

kos, 90% of the documents for training; of the others, 90% of the words are observed and 10%
predicted. 100 topics, batches of 500, learning rate (10 + t)^-0.75, seed 0. All learners see the
same batches in the same order on one thread, and take turns pass by pass in one process; times are
processor time of learning alone. ``--stream`` writes synthetic documents to disk, learns from the
file in a separate process, and reports its peak memory for a tenth of the documents and for all.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

import palaver as pv
from palaver.encoding import encode
from palaver.encoding.documents import Documents, documents_of
from palaver.models.documents.heldout import hold_out_words

N_TOPICS, BATCH, DELAY, DECAY, SEED = 100, 500, 10.0, 0.75, 0
FIRST_PASSES = 2
STREAM_DOCUMENTS, STREAM_WORDS, STREAM_TOPICS = 1_000_000, 2_000, 20


def kos(data: Path) -> tuple[list[Any], Documents, Documents]:
    """Return training batches, and the observed and held-out words of the test documents."""
    corpus = pv.read(data / "kos" / "docword.kos.txt.gz")
    documents = documents_of(encode(corpus, min_count=1))
    order = np.random.default_rng(SEED).permutation(documents.n_documents)
    n_test = documents.n_documents // 10
    train = documents.take(order[n_test:])
    batches = [train.part(i, min(i + BATCH, train.n_documents))
               for i in range(0, train.n_documents, BATCH)]  # fmt: skip
    return batches, *hold_out_words(documents.take(order[:n_test]), 0.9, SEED)


def peer_perplexity(model: Any, observed: Documents, heldout: Documents) -> float:
    """Return the perplexity of held-out words under scikit-learn's model."""
    shares = model.transform(observed.matrix())
    words = model.components_ / model.components_.sum(axis=1, keepdims=True)
    owners = np.repeat(np.arange(heldout.n_documents), np.diff(heldout.offsets))
    p = np.einsum("nk,nk->n", shares[owners], words.T[heldout.words])
    return float(np.exp(-np.dot(heldout.counts, np.log(p)) / heldout.n_tokens))


class Learner:
    """A model, the time it has spent, and its perplexity after each pass.

    Its rate excludes the first two passes: by then Markov M3's first steps, which are those of
    plain LDA, are over.
    """

    def __init__(self, step: Callable[[Documents], None], judge: Callable[[], float]) -> None:
        self.step, self.judge = step, judge
        self.seconds, self.seen = 0.0, 0
        self.curve: list[tuple[float, float]] = []

    def go(self, batches: list[Documents]) -> None:
        """Learn from all batches once."""
        for batch in batches:
            start = time.process_time()
            self.step(batch)
            self.seconds += time.process_time() - start
            self.seen += batch.n_documents
        self.curve.append((self.seconds, self.judge()))
        if len(self.curve) == FIRST_PASSES:
            self.first = self.seconds, self.seen

    @property
    def rate(self) -> float:
        """Documents per second."""
        return (self.seen - self.first[1]) / (self.seconds - self.first[0])


def learners(batches: list[Documents], observed: Documents, heldout: Documents) -> dict[str, Any]:
    """Return the learners to compare."""
    from sklearn.decomposition import LatentDirichletAllocation

    total = sum(batch.n_documents for batch in batches)
    peer = LatentDirichletAllocation(
        N_TOPICS, learning_method="online", batch_size=BATCH, learning_offset=DELAY,
        learning_decay=DECAY, total_samples=total, random_state=SEED,
    )  # fmt: skip

    def ours(model: Any) -> Learner:
        return Learner(
            lambda batch: model.partial_fit(
                batch, total_documents=total, learning_offset=DELAY, learning_decay=DECAY
            ),
            lambda: model.perplexity(observed, heldout),
        )  # fmt: skip

    return {
        "scikit-learn": Learner(
            lambda batch: peer.partial_fit(batch.matrix()),
            lambda: peer_perplexity(peer, observed, heldout),
        ),
        "OnlineLDA": ours(pv.OnlineLDA(N_TOPICS, random_state=SEED)),
        "MarkovM3": ours(pv.MarkovM3(N_TOPICS, random_state=SEED)),
        "MarkovM3, all visits": ours(pv.MarkovM3(N_TOPICS, max_visits=None, random_state=SEED)),
    }


def rates(data: Path, n_passes: int) -> dict[str, Any]:
    """Return documents per second, perplexities, and the time to reach the peer's last one."""
    batches, observed, heldout = kos(data)
    for warm in (pv.MarkovM3(3, start_sweeps=1), pv.OnlineLDA(3)):  # compile
        warm.partial_fit(batches[0].part(0, 5)).partial_fit(batches[0].part(0, 5))
    found = learners(batches, observed, heldout)
    for _ in range(n_passes):
        for learner in found.values():
            learner.go(batches)
    goal = found["scikit-learn"].curve[-1][1]
    return {
        name: {
            "documents_per_second": learner.rate,
            "ratio": learner.rate / found["scikit-learn"].rate,
            "perplexities": [perplexity for _, perplexity in learner.curve],
            "seconds_to_peer_perplexity": next((s for s, p in learner.curve if p <= goal), None),
        }
        for name, learner in found.items()
    }


def write_stream(folder: Path, n_documents: int) -> Path:
    """Write synthetic documents of about ten distinct words as a bag of words in UCI format."""
    generator = np.random.default_rng(SEED)
    topics = np.argsort(generator.random((STREAM_TOPICS, STREAM_WORDS)), axis=1)[:, :100]
    path = folder / "docword.stream.txt"
    (folder / "vocab.stream.txt").write_text("\n".join(f"w{i}" for i in range(STREAM_WORDS)))
    with path.open("wb") as file:
        file.write(f"{n_documents}\n{STREAM_WORDS}\n{n_documents * 10}\n".encode())
        for first in range(0, n_documents, 10_000):
            chosen = topics[generator.integers(STREAM_TOPICS, size=(10_000, 2))]
            side = generator.integers(2, size=(10_000, 10))
            place = np.sort(
                generator.permuted(np.tile(np.arange(100), (10_000, 1)), axis=1)[:, :10]
            )
            words = chosen[np.arange(10_000)[:, None], side, place] + 1
            numbers = np.repeat(np.arange(first + 1, first + 10_001), 10)
            rows = pl.DataFrame({"document": numbers, "word": words.ravel(), "count": 1})
            rows.write_csv(file, include_header=False, separator=" ")
    return path


def learn_stream(path: str) -> None:
    """Learn from a file and print the peak memory; run in a separate process."""
    start = time.monotonic()
    model = pv.MarkovM3(STREAM_TOPICS, truncation=5).fit_stream(path, batch_size=1000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"documents": model.n_seen_, "peak_bytes": peak,
                      "seconds": time.monotonic() - start}))  # fmt: skip


def stream() -> list[dict[str, Any]]:
    """Return peak memory for a tenth of the documents and for all."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for n_documents in (STREAM_DOCUMENTS // 10, STREAM_DOCUMENTS):
            path = write_stream(Path(folder), n_documents)
            command = [sys.executable, "-m", "benchmarks.markov_m3", "--learn", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            results.append({**json.loads(done.stdout), "file_bytes": path.stat().st_size})
    return results


def main() -> None:
    """Print the tables, and write them as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--learn", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.learn:
        learn_stream(arguments.learn)
        return
    results: dict[str, Any] = {}
    if arguments.stream:
        results["stream"] = stream()
        for row in results["stream"]:
            print(f"{row['documents']:>9,} documents, file {row['file_bytes'] / 1e6:,.0f} MB: peak "
                  f"{row['peak_bytes'] / 1e6:,.0f} MB, {row['seconds']:,.0f} s")  # fmt: skip
    else:
        with threadpool_limits(1):
            results["rates"] = rates(arguments.data, arguments.passes)
        for name, row in results["rates"].items():
            curve = " ".join(f"{p:,.0f}" for p in row["perplexities"])
            reached = row["seconds_to_peer_perplexity"]
            print(f"{name:22} {row['documents_per_second']:7,.0f} documents/s  "
                  f"{row['ratio']:5.2f}x  perplexity by pass {curve}  "
                  f"{'not reached' if reached is None else f'{reached:.1f} s'}")  # fmt: skip
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
