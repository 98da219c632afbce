"""Defaults of the Gaussian HMM, chosen on several corpora: V of messages, corpus by corpus.

Run: python -m benchmarks.gaussian_defaults --data ../shared/data

Vectors learned from each corpus, 60 sweeps, mean of two seeds, on parts for choosing settings. The
last table leaves each corpus out in turn: the setting that is best on the others by mean V, and
what it gets on the corpus left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.training_parts import training_part
from palaver import evaluate
from palaver.encoding import encode

CORPORA = ("swda", "mrda", "dailydialog", "nps-chat", "sample")
SEEDS = (0, 1)
_OLD = {"weighting": "root-idf", "n_states": 42, "weight": 1.0, "marks": None}
SETTINGS: dict[str, dict[str, Any]] = {
    "42 states joined to 12, root-idf, no marks, weight 1": _OLD,
    "the same with question marks": {**_OLD, "marks": ["question"]},
}
for _weighting in ("root-idf", "even"):
    for _states in (12, 20):
        for _weight in (1.0, 0.5, 0.3):
            _name = f"{_states} states, {_weighting}, question marks, weight {_weight:g}"
            SETTINGS[_name] = {"weighting": _weighting, "n_states": _states, "weight": _weight,
                               "marks": ["question"]}  # fmt: skip
_CHOSEN = {"weighting": "even", "n_states": 20, "weight": 0.5}
SETTINGS |= {
    "20 states, even, no marks, weight 0.5": {**_CHOSEN, "marks": None},
    "20 states, even, ? and !, weight 0.5": {**_CHOSEN, "marks": ["question", "exclamation"]},
    "20 states, even, all marks, weight 0.5": {
        **_CHOSEN, "marks": ["question", "exclamation", "number", "link", "short"]
    },
    "20 states, even, question marks, weight 0.5, no context": {
        **_CHOSEN, "marks": ["question"], "kind": pv.GaussianMixture
    },
}  # fmt: skip


def measured(data: Path) -> dict[str, list[tuple[float, float]]]:
    """Return V and the share of the largest act by setting and corpus; prints rows as it goes."""
    parts = {name: training_part(data, name) for name in CORPORA}
    encoded = {name: encode(corpus) for name, corpus in parts.items()}
    found: dict[str, list[tuple[float, float]]] = {}
    for setting, params in SETTINGS.items():
        kind = params.get("kind", pv.GaussianHMM)
        given = {name: value for name, value in params.items() if name != "kind"}
        row = []
        for name, corpus in parts.items():
            scores = []
            for seed in SEEDS:
                model = kind(n_sweeps=60, random_state=seed, **given)
                acts = model.fit(encoded[name], show_progress=False).predict(encoded[name])
                acts = np.where(acts < 0, acts.max() + 1, acts)  # messages without a word
                largest = np.bincount(acts).max() / len(acts)
                scores.append((evaluate.v_measure(acts, corpus.table["act"]), largest))
            row.append(tuple(np.mean(scores, axis=0)))
        found[setting] = row
        cells = [f"{v:.3f} ({100 * share:.0f})" for v, share in row]
        mean = np.mean([v for v, _ in row])
        print("| " + " | ".join([setting, *cells, f"{mean:.3f}"]) + " |", flush=True)
    return found


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    data = parser.parse_args().data
    print("| V (largest act, %) | " + " | ".join([*CORPORA, "mean V"]) + " |")
    print("|" + "---|" * (len(CORPORA) + 2))
    found = measured(data)
    print("\n| left out | best on the others | V on it | best V on it |\n|---|---|---|---|")
    values = np.array([[v for v, _ in row] for row in found.values()])
    for column, name in enumerate(CORPORA):
        best = int(np.delete(values, column, axis=1).mean(axis=1).argmax())
        chosen = values[best, column]
        print(f"| {name} | {list(found)[best]} | {chosen:.3f} | {values[:, column].max():.3f} |")


if __name__ == "__main__":
    main()
