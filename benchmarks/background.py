"""When a background helps: short messages against long ones, with labels and without.

Run: python -m benchmarks.background --data ../shared/data

With labels, V-measure of messages against acts, on parts for choosing settings; without, perplexity
of held-out words and the coherence of classes. Mean of two seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.training_parts import training_part
from palaver import evaluate
from palaver.corpus.table import Corpus
from palaver.encoding import encode
from palaver.trials.trial import hold_out, mean_coherence

LABELLED = ("nps-chat", "swda", "mrda", "dailydialog", "sample")
#: File and number of conversations of corpora without labels.
LONG = {"ubuntu-irc": ("ubuntu-irc.jsonl.gz", 500), "4forums": ("4forums.jsonl.gz", 25),
        "r-help": ("r-help-2001-2002.jsonl.gz", 300)}  # fmt: skip
MODELS = {"block HMM": pv.BlockHMM, "M4": pv.M4}
SEEDS = (0, 1)


def labelled_rows(data: Path) -> Iterator[list[Any]]:
    """Yield V of each model with a background and without."""
    for name in LABELLED:
        corpus = training_part(data, name)
        encoded, gold = encode(corpus), corpus.table["act"]
        row: list[Any] = [name, f"{encoded.n_tokens / encoded.n_messages:.0f}"]
        for kind in MODELS.values():
            for background in (True, False):
                found = [
                    kind(12, background, n_sweeps=100, random_state=seed)
                    .fit(encoded, show_progress=False)
                    .message_classes(encoded)
                    for seed in SEEDS
                ]
                row.append(f"{np.mean([evaluate.v_measure(one, gold) for one in found]):.3f}")
        yield row


def unlabelled_rows(data: Path) -> Iterator[list[Any]]:
    """Yield perplexity and coherence of each model with a background and without."""
    for name, (file, n_conversations) in LONG.items():
        corpus: Corpus = pv.read(data / name / file)
        step = max(corpus.n_conversations // n_conversations, 1)
        corpus = corpus.take(np.arange(corpus.n_conversations)[::step][:n_conversations])
        parts = hold_out(corpus, 0.25, 0)
        row: list[Any] = [name, f"{parts.both.n_tokens / parts.both.n_messages:.0f}"]
        for kind in MODELS.values():
            for background in (True, False):
                fitted = [
                    kind(10, background, n_sweeps=150, random_state=seed).fit(
                        parts.train, show_progress=False
                    )
                    for seed in SEEDS
                ]
                words = np.mean([model.perplexity(parts.test, n_particles=50) for model in fitted])
                coherent = np.mean([mean_coherence(model, parts.both) for model in fitted])
                row.append(f"{words:.0f} / {coherent:.2f}")
        yield row


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    data = parser.parse_args().data
    columns = [f"{name}, {what}" for name in MODELS for what in ("background", "none")]
    tables = {"V of messages": labelled_rows(data), "perplexity / coherence": unlabelled_rows(data)}
    for title, rows in tables.items():
        print("| " + " | ".join([title, "words per message", *columns]) + " |")
        print("|" + "---|" * (len(columns) + 2))
        for row in rows:
            print("| " + " | ".join(row) + " |", flush=True)
        print()


if __name__ == "__main__":
    main()
