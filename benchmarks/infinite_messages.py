"""How many states messages end with, from several starts and seeds.

Run: python -m benchmarks.infinite_messages --data ../shared/data

InfiniteHMM(unit="message") from three first numbers of states, and GaussianHMM(n_states=None),
which begins with 20 states of k-means or of chance, on vectors learned from the corpus; all else as
by default. The built-in sample, parts of corpora for choosing settings, and all of RumourEval with
its replies. Does the log joint depend on the start? p is that of a one-way analysis of variance.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import f_oneway

import palaver as pv
from benchmarks.training_parts import training_part
from palaver import evaluate

CORPORA = ("sample", "nps-chat", "dailydialog", "rumoureval2017")
FIRST_STATES, INITS = (10, 20, 50), ("kmeans", "random")
SEEDS = range(4)
MODELS: dict[str, list[dict[str, Any]]] = {
    "messages": [{"unit": "message", "first_states": first} for first in FIRST_STATES],
    "vectors": [{"n_states": None, "init": init} for init in INITS],
}


def corpus_of(data: Path, name: str) -> pv.Corpus:
    """Return a corpus with gold acts."""
    if name == "sample":
        return pv.sample()
    if name == "rumoureval2017":
        return pv.read(data / name / f"{name}.jsonl.gz")
    return training_part(data, name)


def fits(corpus: pv.Corpus, kind: str, params: dict[str, Any]) -> Iterator[dict[str, float]]:
    """Yield the number of states, the log joint and V of each seed."""
    make: Callable[..., Any] = pv.InfiniteHMM if kind == "messages" else pv.GaussianHMM
    gold = corpus.table["act"].fill_null("").to_numpy()
    for seed in SEEDS:
        model = make(**params, random_state=seed).fit(corpus, show_progress=False)
        yield {
            "states": len(set(model.states_.tolist())),
            "log joint": float(model.trace_["log_joint"][-1]),
            "V": evaluate.v_measure(gold, model.states_),
        }


def _range(values: list[float]) -> str:
    low, high = f"{min(values):,.0f}", f"{max(values):,.0f}"
    return low if low == high else f"{low} to {high}"


def show(data: Path, name: str, kind: str) -> None:
    """Print a line for each start."""
    corpus, joints, lines = corpus_of(data, name), [], []
    for params in MODELS[kind]:
        found = list(fits(corpus, kind, params))
        joints.append([one["log joint"] for one in found])
        start = params.get("init") or f"{params['first_states']} states"
        cells = [name, f"{corpus.n_messages:,}", start, _range([one["states"] for one in found])]
        cells += [_range(joints[-1]), f"{100 * np.mean([one['V'] for one in found]):.1f}"]
        lines.append(cells)
    p = f"{f_oneway(*joints).pvalue:.2f}"
    for cells in lines:
        print("| " + " | ".join([*cells, p]) + " |", flush=True)


def main() -> None:
    """Print a table of each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", choices=MODELS)
    parser.add_argument("--corpus", choices=CORPORA)
    arguments = parser.parse_args()
    for kind in [arguments.only] if arguments.only else MODELS:
        print(f"\n{kind}, {len(SEEDS)} seeds from each start\n")
        print("| corpus | messages | start | states | log joint | V | p |\n" + "|---" * 7 + "|")
        for name in [arguments.corpus] if arguments.corpus else CORPORA:
            show(arguments.data, name, kind)


if __name__ == "__main__":
    main()
