"""Small training sets: the conditional random field with and without rare words, and a plain one.

Run: python -m benchmarks.few_labels --data ../shared/data

Training parts only. Conversations are drawn until they have some labels; those of 2,000 messages
more are tagged. Shares of right tags in percent, means of some draws.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import palaver as pv
from benchmarks.papers.taggers import peer_tags, read
from palaver.corpus.table import Corpus

#: Corpus, labels, draws.
SETS = (
    ("rumoureval2017", 60, 4), ("rumoureval2017", 200, 3), ("molweni", 700, 3),
    ("dailydialog", 60, 3), ("dailydialog", 1500, 2), ("nps-chat", 400, 2), ("sample", 66, 4),
    ("sample", 200, 2),
)  # fmt: skip
N_TEST, SEED = 2_000, 200


def corpus_of(data: Path, name: str) -> Corpus:
    """Return labelled messages of a corpus: a training part, Molweni's dev part, or the sample."""
    if name in ("dailydialog", "nps-chat"):
        return read(data, name, "train")
    table = pv.sample(400).table if name == "sample" else _table(data, name)
    table = table.filter(pl.col("act").is_not_null())
    return Corpus.from_polars(table.drop("reply_to") if name == "sample" else table)


def _table(data: Path, name: str) -> pl.DataFrame:
    table = pv.read(data / name / f"{name}.jsonl.gz").table
    if name == "molweni":  # dialogues that share no message
        table = table.filter(pl.col("split") == "dev", pl.col("distinct"))
        return table.select("conversation", "id", "speaker", "text", "act")
    table = table.filter(pl.col("split") == "train")
    return table.select("conversation", "id", "reply_to", "speaker", "text", "act", "time")


def parts(corpus: Corpus, n_labels: int, seed: int) -> tuple[Corpus, Corpus]:
    """Return conversations with about ``n_labels`` messages, and others to tag."""
    sizes = np.diff(corpus.conversation_offsets)
    order = np.random.default_rng(SEED + seed).permutation(len(sizes))
    n = min(int(np.searchsorted(np.cumsum(sizes[order]), n_labels)) + 1, int(0.6 * len(sizes)))
    rest = order[n:]
    n_rest = int(np.searchsorted(np.cumsum(sizes[rest]), N_TEST)) + 1
    return corpus.take(np.sort(order[:n])), corpus.take(np.sort(rest[:n_rest]))


def measure(data: Path, name: str, n_labels: int, n_draws: int) -> dict[str, float]:
    """Return shares of right tags by the name of the tagger, and the labels of the last draw."""
    corpus, found = corpus_of(data, name), {}
    for seed in range(n_draws):
        train, test = parts(corpus, n_labels, seed)
        gold = test.table["act"].to_numpy()
        tags: dict[str, Any] = {"python-crfsuite": peer_tags(train, test)}
        for min_count in (2, 1):
            tagger = pv.CRFTagger(min_count=min_count).fit(train, show_progress=False)
            tags[f"min_count={min_count}"] = tagger.predict(test)
        for tagger_name, own in tags.items():
            found.setdefault(tagger_name, []).append(np.mean(np.asarray(own) == gold))
    means = {tagger_name: 100 * float(np.mean(own)) for tagger_name, own in found.items()}
    return {"labels": train.n_messages, **means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", help="corpus")
    arguments = parser.parse_args()
    for name, n_labels, n_draws in SETS:
        if arguments.only in (None, name):
            row = measure(arguments.data, name, n_labels, n_draws)
            shown = ", ".join(f"{key} {value:,.1f}" for key, value in row.items())
            print(f"{name}: {shown}", flush=True)


if __name__ == "__main__":
    main()
