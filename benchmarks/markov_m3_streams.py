"""Topics from a stream on training words, by which the start of streams is chosen.

    python -m benchmarks.markov_m3_streams --data ../shared/data

Of the training documents of each corpus, a tenth is held out: 90% of its words are shown and the
others predicted. The curves are those of benchmarks/papers/markov_m3_online.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.papers.markov_m3 import training_split
from benchmarks.papers.markov_m3_online import Row, curves


def _tell(name: str, row: Row) -> None:
    seen, seconds, value = row
    print(f"{name:20} {seen:9,} {value:12,.0f} {seconds:9.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", default=["kos", "20news", "nips"])
    parser.add_argument("--topics", type=int, default=50)
    asked = parser.parse_args()
    for corpus in asked.corpora:
        split = training_split(asked.data, corpus)
        print(f"\n{corpus}, {asked.topics} topics, {split.train.n_documents:,} documents")
        print("model                documents   perplexity   seconds", flush=True)
        curves(split.train, split.observed, split.heldout, asked.topics, _tell)


if __name__ == "__main__":
    main()
