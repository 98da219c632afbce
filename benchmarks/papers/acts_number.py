"""How many acts: what each step from twelve states to acts is worth, on training parts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import palaver as pv
from benchmarks.papers import Options
from benchmarks.papers.acts_data import TRAINING, training_part
from benchmarks.papers.cells import Cell
from palaver import evaluate
from palaver.corpus.table import Corpus
from palaver.models.acts import FEWEST_ACTS, consensus, merging, names

#: Steps, in the order in which they are taken.
STATES, FEATURES, FOLLOWING, FOREIGN, NAMES = (
    "states that are searched for", "alike in features", "alike in features and in what follows",
    "the same, and one act per name, with an inventory without words",
    "the same, and one act per name (the default)",
)  # fmt: skip
STEPS = (STATES, FEATURES, FOLLOWING, FOREIGN, NAMES)
SEEDS = range(2)
VERSION = 2


def number_cell(options: Options, corpus: str) -> Cell:
    """Return the cell of all steps on the training part of a corpus, for each seed."""

    def work(folder: Path) -> dict[str, list[dict[str, float]]]:
        part = training_part(options.data, corpus)
        found: dict[str, list[dict[str, float]]] = {step: [] for step in STEPS}
        for seed in SEEDS:
            model = pv.Acts(random_state=seed, n_jobs=options.n_jobs)
            model.fit(part, show_progress=False)
            for step, states in _steps(model, part).items():
                model._states = states
                found[step].append(_judged(np.asarray(model.message_classes(part)), part))
        return found

    settings = {"number": corpus, "seeds": len(SEEDS), "version": VERSION}
    return Cell(f"number/{corpus}", settings, work, cost=15)


def _steps(model: pv.Acts, part: Corpus) -> dict[str, np.ndarray]:
    """Return the act of each state after each step."""
    engine, _ = model._frozen()
    alone = np.arange(engine.n_acts)
    chosen, model._states = model._states, alone
    states = model._unit_posteriors(part)[0].argmax(axis=1)
    sizes = np.bincount(states, minlength=engine.n_acts).astype(float)
    counts, moves = model._answer["feature_counts"], model._answer["moves"]
    alike = {
        step: merging.merge_alike(engine, counts, sizes, fewest=FEWEST_ACTS, moves=seen)
        for step, seen in ((FEATURES, None), (FOLLOWING, moves))
    }
    foreign = _without_words(model, part, alike[FOLLOWING])
    return {STATES: alone, **alike, FOREIGN: foreign, NAMES: chosen}


def _without_words(model: pv.Acts, part: Corpus, states: np.ndarray) -> np.ndarray:
    """Return the act of each state if no cue word applies, as in a language without cues."""
    no_words: dict[str, list[str]] = {"begins": [], "has": [], "ends": []}
    signs = {
        name: {cue: no_words.get(cue, value) for cue, value in entry.items()}
        for name, entry in names.inventory().items()
    }
    engine, _ = model._frozen()
    model._states = np.arange(engine.n_acts)
    posteriors = model._unit_posteriors(part)[0]
    with mock.patch.object(names, "inventory", return_value=signs):
        model._set_acts(states, posteriors)
        model._merge_namesakes(engine, consensus.Answer(model._answer, posteriors, 0.0))
    return model._states


def _judged(found: np.ndarray, part: Corpus) -> dict[str, float]:
    gold = part.table["act"].to_numpy()
    table = evaluate.contingency(found, gold)
    return {"V": float(evaluate.v_measure(table)), "F1": float(evaluate.f1(table)),
            "acts": int((table.sum(axis=1) > 0).sum())}  # fmt: skip


def number_section(results: Mapping[str, Any]) -> str:
    """Return the table of all steps."""
    kept = {c: found for c in TRAINING if (found := results.get(f"number/{c}")) is not None}
    if not kept:
        return ""
    lines = [_NUMBER, "| | " + " | ".join([*kept, "mean"]) + " |",
             "|---" * (len(kept) + 2) + "|"]  # fmt: skip
    for step in STEPS:
        shown = [_cell(found[step]) for found in kept.values()]
        means = [
            float(np.mean([seed[m] for found in kept.values() for seed in found[step]]))
            for m in ("V", "F1")
        ]
        lines.append(f"| {step} | {' | '.join(shown)} | {means[0]:.3f}, {means[1]:.3f} |")
    return "\n".join(lines) + "\n"


def _cell(seeds: list[dict[str, float]]) -> str:
    v, f1 = (np.mean([seed[m] for seed in seeds]) for m in ("V", "F1"))
    counts = sorted({int(seed["acts"]) for seed in seeds})
    return f"{v:.3f}, {f1:.3f} ({' or '.join(map(str, counts))})"


_NUMBER = """## How the number of acts is found

V, F1 and, in parentheses, the number of acts on the training parts below, mean of two seeds, after
each step from states to acts. The limit of 2 nats was chosen with features alone. Acts that fewer
than two searches found are merged in the last row only. The row before it has an inventory of marks
and lengths alone, as if the texts were in a language without cue words.
"""
