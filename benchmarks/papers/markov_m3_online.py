"""Topics from a stream, by documents seen and processor seconds, against scikit-learn's online LDA.

All models see the same documents in the same mini-batches of 500, with the same learning rate. Ours
find the topics to begin with in the first documents, so their curves begin after these;
scikit-learn's model has its defaults (word and share prior 1/K).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.papers.pictures import keep, traces
from palaver.encoding.documents import Documents
from palaver.models.documents.stream import n_start_documents

BATCH, SEED, PASSES = 500, 1, 3
NAMES = {"scikit-learn": "scikit-learn's online LDA", "OnlineLDA": "online LDA",
         "MarkovM3": "Markov M3"}  # fmt: skip
_PICTURE = "markov_m3-online.svg"

#: Documents seen, processor seconds, perplexity.
Row = tuple[int, float, float]


def batches(documents: Documents, passes: int = PASSES, size: int = BATCH) -> Iterator[Documents]:
    """Yield all documents in a new random order on each pass."""
    for number in range(passes):
        order = np.random.default_rng([SEED, number]).permutation(documents.n_documents)
        for first in range(0, len(order), size):
            yield documents.take(order[first : first + size])


class Curve:
    """Perplexity by documents seen; looking does not count as time."""

    def __init__(self, shown: Documents, hidden: Documents, tell: Callable[[Row], None]) -> None:
        self.shown, self.hidden, self.tell = shown, hidden, tell
        self.rows: list[Row] = []
        self.begun, self.looking, self.steps = time.process_time(), 0.0, 0

    def look(self, seen: int, shares: Any, words: Any, *, is_last: bool = False) -> None:
        """Judge after 1, 2, 4, 8 ... steps, and at the end."""
        self.steps += 1
        if self.steps & (self.steps - 1) and not is_last:
            return
        now = time.process_time()
        found = perplexity(shares(), words(), self.hidden)
        self.rows.append((seen, now - self.begun - self.looking, found))
        self.tell(self.rows[-1])
        self.looking += time.process_time() - now


def perplexity(shares: Any, words: Any, hidden: Documents) -> float:
    """Return the perplexity of hidden words; shares (D, K), words (K, W)."""
    owners = np.repeat(np.arange(hidden.n_documents), np.diff(hidden.offsets))
    p = np.einsum("nk,nk->n", shares[owners], np.ascontiguousarray(words.T)[hidden.words])
    return float(np.exp(-np.dot(hidden.counts, np.log(p)) / hidden.n_tokens))


def ours(kind: Any, n_topics: int, train: Documents, curve: Curve) -> None:
    """Learn one of our models from the stream."""
    model = kind(n_topics, random_state=SEED)
    n_all = PASSES * train.n_documents
    n_start = n_start_documents(next(batches(train, 1, train.n_documents)))

    def look(step: int, info: dict[str, float], shared: Any) -> None:
        # the first topics come from the first documents, so no point of the curve is before them
        seen = max(int(info["documents"]), n_start)
        model._keep_globals([shared])
        curve.look(seen, lambda: model.transform(curve.shown), lambda: model.class_words_,
                   is_last=seen == n_all)  # fmt: skip

    model.fit_stream(batches(train), total_documents=train.n_documents, callbacks=[look])


def sklearn(n_topics: int, train: Documents, curve: Curve) -> None:
    """Learn scikit-learn's online LDA from the stream."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        n_topics, learning_method="online", learning_decay=0.75, learning_offset=10.0,
        total_samples=train.n_documents, random_state=SEED,
    )  # fmt: skip
    seen = 0
    for batch in batches(train):
        model.partial_fit(batch.matrix())
        seen += batch.n_documents
        curve.look(
            seen,
            lambda: model.transform(curve.shown.matrix()),
            lambda: model.components_ / model.components_.sum(axis=1, keepdims=True),
            is_last=seen == PASSES * train.n_documents,
        )


def curves(
    train: Documents,
    shown: Documents,
    hidden: Documents,
    n_topics: int,
    tell: Callable[[str, Row], None] = lambda name, row: None,
) -> dict[str, list[Row]]:
    """Return the curve of each model."""
    for kind in (pv.OnlineLDA, pv.MarkovM3):  # compile first
        kind(4, start_sweeps=2).fit_stream(train.take(np.arange(20)))
    found: dict[str, list[Row]] = {}
    for name in NAMES:
        curve = Curve(shown, hidden, partial(tell, name))
        if name == "scikit-learn":
            sklearn(n_topics, train, curve)
        else:
            ours(getattr(pv, name), n_topics, train, curve)
        found[name] = curve.rows
    return found


def write_online(results: Mapping[str, Any]) -> list[str]:
    """Return the picture and the tables of perplexity by documents seen and by seconds."""
    found = {name.split("/")[0]: (name.split("/")[2], result) for name, result in results.items()
             if "/stream/" in name}  # fmt: skip
    if not found:
        return []
    panels = {
        f"{corpus}, {n_topics} topics": {
            NAMES[name]: np.array([[row[1], row[2]] for row in rows])
            for name, rows in result.items()
        }
        for corpus, (n_topics, result) in found.items()
    }
    label = "Perplexity of held-out words by processor seconds"
    keep(traces(panels, "processor seconds", label), _PICTURE)
    lines = ["", "## Online", "",
             "Three passes in batches of 500, learning rate (10 + t)^-0.75, one thread each, "
             "kernels compiled before. Our streams begin with topics that a Gibbs sampler finds in "
             "the first 4,000 documents or million words, so their curves begin after these; "
             "scikit-learn's online LDA has its default priors. Processor seconds were measured on "
             "a busy machine: only their ratios mean something.", "",
             f"![{label}]({_PICTURE})"]  # fmt: skip
    for corpus, (n_topics, result) in found.items():
        lines += ["", f"{corpus}, {n_topics} topics:", "",
                  "| model | documents: perplexity (seconds) |", "|---|---|"]  # fmt: skip
        for name, rows in result.items():
            last = {seen: (seconds, value) for seen, seconds, value in rows}  # after the start
            points = [f"{seen:,}: {value:,.0f} ({seconds:.1f})"
                      for seen, (seconds, value) in last.items()]  # fmt: skip
            lines.append(f"| {NAMES[name]} | {'; '.join(points)} |")
    return lines
