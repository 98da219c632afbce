"""How long walks may be and how many topics they may visit, by the number of topics.

    python -m benchmarks.markov_m3_defaults --data ../shared/data

Documents that no page of results judges by: of the training documents of each corpus, a tenth is
held out, 90% of its words are shown and the others predicted. Prints perplexity by corpus, number
of topics and setting, and processor seconds.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import palaver as pv
from benchmarks.papers.markov_m3 import split_of
from palaver.models.documents.heldout import hold_out_words

SETTINGS = ((15, 16), (20, 24), (30, 32), (45, 48))
TOPICS = (20, 50, 100, 150)
PASSES = {"start_sweeps": 100, "n_sweeps": 20}
SEED = 1


def perplexity(data: Path, corpus: str, n_topics: int, truncation: int, visits: int) -> float:
    """Return the perplexity of words of training documents that were held out."""
    documents = split_of(data, corpus).train
    order = np.random.default_rng(SEED).permutation(documents.n_documents)
    n_judged = documents.n_documents // 10
    shown, hidden = hold_out_words(documents.take(order[:n_judged]), 0.9, SEED)
    model = pv.MarkovM3(n_topics, truncation=truncation, max_visits=visits, **PASSES)
    return model.fit(documents.take(order[n_judged:])).perplexity(shown, hidden)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", default=["ap", "kos"])
    parser.add_argument("--topics", nargs="+", type=int, default=list(TOPICS))
    asked = parser.parse_args()
    print("corpus  topics  truncation  visits  perplexity  seconds", flush=True)
    for corpus in asked.corpora:
        for n_topics in asked.topics:
            for truncation, visits in SETTINGS:
                start = time.process_time()
                found = perplexity(asked.data, corpus, n_topics, truncation, visits)
                seconds = time.process_time() - start
                print(f"{corpus:6}  {n_topics:6}  {truncation:10}  {visits:6}  {found:10.1f}  "
                      f"{seconds:7.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
