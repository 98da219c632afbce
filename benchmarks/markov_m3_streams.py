"""Topics from a stream on training words, by which the start of streams is chosen.

    python -m benchmarks.markov_m3_streams --data ../shared/data

Of the training documents of each corpus, a tenth is held out: 90% of its words are shown and the
others predicted. The curves are those of benchmarks/papers/markov_m3_online.py. With --start-words
or --start-draws, only Markov M3, beginning with so many words, or draws of topics, at most.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import palaver as pv
from benchmarks.papers.markov_m3 import Split, training_split
from benchmarks.papers.markov_m3_online import Curve, Row, curves, ours
from palaver.models.documents import stream


def _tell(name: str, row: Row) -> None:
    seen, seconds, value = row
    print(f"{name:20} {seen:9,} {value:12,.0f} {seconds:9.1f}", flush=True)


def _only_m3(split: Split, n_topics: int, name: str) -> None:
    curve = Curve(split.observed, split.heldout, partial(_tell, name))
    ours(pv.MarkovM3, n_topics, split.train, curve)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", default=["kos", "20news", "nips"])
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--start-words", nargs="+", type=float)
    parser.add_argument("--start-draws", nargs="+", type=float)
    asked = parser.parse_args()
    for corpus in asked.corpora:
        split = training_split(asked.data, corpus)
        print(f"\n{corpus}, {asked.topics} topics, {split.train.n_documents:,} documents")
        print("model                documents   perplexity   seconds", flush=True)
        one = partial(_only_m3, split, asked.topics)
        if not asked.start_words and not asked.start_draws:
            curves(split.train, split.observed, split.heldout, asked.topics, _tell)
        for stream.START_TOKENS in asked.start_words or ():
            one(f"{stream.START_TOKENS:,.0f} words")
        for stream.START_DRAWS in asked.start_draws or ():
            one(f"{stream.START_DRAWS:,.0f} draws")


if __name__ == "__main__":
    main()
