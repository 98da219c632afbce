"""What view="acts" does to M4 and the block HMM: V of messages, on parts for choosing settings.

Run: python -m benchmarks.act_view --data ../shared/data

Twelve classes, 100 sweeps, mean of two seeds; no background in either view.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import palaver as pv
from benchmarks.training_parts import training_part
from palaver import evaluate
from palaver.encoding import encode
from palaver.trials.rivals import kmeans_tfidf

CORPORA = ("nps-chat", "swda", "mrda", "dailydialog", "sample")
MODELS = {"block HMM": pv.BlockHMM, "M4": pv.M4}
N_CLASSES, SEEDS = 12, (0, 1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    data = parser.parse_args().data
    columns = [f"{name}, {view}" for name in MODELS for view in ("words", "acts")]
    print("| " + " | ".join(["V of messages", *columns, "k-means of tf-idf"]) + " |")
    print("|" + "---|" * (len(columns) + 2))
    for name in CORPORA:
        corpus = training_part(data, name)
        gold = corpus.table["act"]
        cells = []
        for kind in MODELS.values():
            for view in ("words", "acts"):
                encoded = encode(corpus, view=view)
                found = [
                    kind(N_CLASSES, False, n_sweeps=100, random_state=seed)
                    .fit(encoded, show_progress=False)
                    .message_classes(encoded)
                    for seed in SEEDS
                ]
                cells.append([evaluate.v_measure(one, gold) for one in found])
        means = [kmeans_tfidf(corpus.table["text"], N_CLASSES, seed) for seed in SEEDS]
        cells.append([evaluate.v_measure(one, gold) for one in means])
        print(
            "| " + " | ".join([name, *(f"{np.mean(own):.3f}" for own in cells)]) + " |", flush=True
        )


if __name__ == "__main__":
    main()
