"""Topics from a stream, by documents seen and processor seconds, against scikit-learn's online LDA.

    python -m benchmarks.markov_m3_streams --data ../shared/data

Of the training documents of each corpus, a tenth is held out: 90% of its words are shown and the
others predicted. All models see the other documents in the same mini-batches of 500. Ours find the
topics to begin with in the first 4,000 documents, so their curves begin there. scikit-learn's
model has its defaults (word and share prior 1/K) and the learning rate of ours.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.papers.markov_m3 import split_of
from palaver.encoding.documents import Documents
from palaver.models.documents.heldout import hold_out_words
from palaver.models.documents.stream import START_DOCUMENTS

BATCH, SEED = 500, 1


def batches(documents: Documents, passes: int) -> Iterator[Documents]:
    for number in range(passes):
        order = np.random.default_rng([SEED, number]).permutation(documents.n_documents)
        for first in range(0, len(order), BATCH):
            yield documents.take(order[first : first + BATCH])


class Curve:
    """Perplexity by documents seen; looking does not count as time."""

    def __init__(self, name: str, shown: Documents, hidden: Documents) -> None:
        self.name, self.shown, self.hidden = name, shown, hidden
        self.begun, self.looking, self.steps = time.process_time(), 0.0, 0

    def look(self, seen: int, shares: Any, words: Any) -> None:
        """Print a row after 1, 2, 4, 8 ... steps."""
        self.steps += 1
        if self.steps & (self.steps - 1):
            return
        now = time.process_time()
        found = perplexity(shares(), words(), self.hidden)
        print(f"{self.name:20} {seen:9,} {found:12,.0f} {now - self.begun - self.looking:9.1f}",
              flush=True)  # fmt: skip
        self.looking += time.process_time() - now


def perplexity(shares: Any, words: Any, hidden: Documents) -> float:
    owners = np.repeat(np.arange(hidden.n_documents), np.diff(hidden.offsets))
    p = np.einsum("nk,nk->n", shares[owners], np.ascontiguousarray(words.T)[hidden.words])
    return float(np.exp(-np.dot(hidden.counts, np.log(p)) / hidden.n_tokens))


def ours(kind: Any, n_topics: int, train: Documents, passes: int, curve: Curve) -> None:
    model = kind(n_topics, random_state=SEED)

    def look(step: int, info: dict[str, float], shared: Any) -> None:
        # the first topics come from the first documents, so no point of the curve is before them
        seen = max(int(info["documents"]), min(START_DOCUMENTS, train.n_documents))
        model._keep_globals([shared])
        curve.look(seen, lambda: model.transform(curve.shown), lambda: model.class_words_)

    model.fit_stream(batches(train, passes), total_documents=train.n_documents, callbacks=[look])


def sklearn(n_topics: int, train: Documents, passes: int, curve: Curve) -> None:
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        n_topics, learning_method="online", learning_decay=0.75, learning_offset=10.0,
        total_samples=train.n_documents, random_state=SEED,
    )  # fmt: skip
    seen = 0
    for batch in batches(train, passes):
        model.partial_fit(batch.matrix())
        seen += batch.n_documents
        curve.look(
            seen,
            lambda: model.transform(curve.shown.matrix()),
            lambda: model.components_ / model.components_.sum(axis=1, keepdims=True),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", default=["kos", "20news", "nips"])
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--passes", type=int, default=3)
    asked = parser.parse_args()
    for corpus in asked.corpora:
        documents = split_of(asked.data, corpus).train
        order = np.random.default_rng(SEED).permutation(documents.n_documents)
        n_judged = documents.n_documents // 10
        shown, hidden = hold_out_words(documents.take(order[:n_judged]), 0.9, SEED)
        train = documents.take(order[n_judged:])
        for kind in (pv.OnlineLDA, pv.MarkovM3):  # compile first
            kind(4, start_sweeps=2).fit_stream(train.take(np.arange(20)))
        print(f"\n{corpus}, {asked.topics} topics, {train.n_documents:,} documents")
        print("model                documents   perplexity   seconds", flush=True)
        sklearn(asked.topics, train, asked.passes, Curve("scikit-learn", shown, hidden))
        for kind in (pv.OnlineLDA, pv.MarkovM3):
            ours(kind, asked.topics, train, asked.passes, Curve(kind.__name__, shown, hidden))


if __name__ == "__main__":
    main()
