"""The infinite HMM on newspaper text: the measurements of Van Gael et al. (2009), section 5.

Models are trained without labels on conll2000 and wsj-sample together and scored against the gold
tags of wsj-sample (conll2000's tags are a tagger's output); on UD English against its tags; and by
shallow parsing with the states as a column of features.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.papers import Options
from benchmarks.papers import infinite_hmm_words as by_word
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.infinite_hmm_data import chunk_scores_of, corpus, judged
from palaver.parallel import LocalExecutor

SEED, VERSION, POINTS = 0, 2, 20
SWEEPS = {"quick": 60, "full": 2000, "paper": 9000}
#: The paper anneals over 3,400 of its 9,000 sweeps; we anneal over the same share of the run,
#: starting with likelihoods to the power 1 / start_temperature.
COMMON = {"start": "words", "first_states": 50, "start_temperature": 1.3, "anneal": 0.75}
RUNS: dict[str, dict[str, Any]] = {
    "DP fixed": {"row_concentration": 0.8, "state_concentration": 5.0},
    "PY fixed": {"row_concentration": 0.8, "state_concentration": 1.0, "discount": 0.1},
    "DP learned": {},
    "finite, 50 states": {"n_states": 50, "row_concentration": 0.8},
}
#: Settings keep the parameter names under which results were first stored, because a cell's key is
#: the hash of its settings.
STORED_NAMES = {
    "row_concentration": "alpha", "state_concentration": "gamma", "start_temperature": "hottest",
}  # fmt: skip
#: Ablations: what the start and the temperature contribute.
VARIANTS: dict[str, dict[str, Any]] = {
    "DP fixed, 20 states at first": {**RUNS["DP fixed"], "first_states": 20},
    "DP fixed, from power 0.4": {**RUNS["DP fixed"], "start_temperature": 2.5},
}
#: The paper's own schedule: 9,000 sweeps, annealed over 3,400, each occurrence in one of 20 states.
PAPER = "DP fixed, the paper's schedule"
LONG: dict[str, dict[str, Any]] = {
    PAPER: {
        **RUNS["DP fixed"], "start": "random", "first_states": 20, "start_temperature": 2.5,
        "sampler": "beam",
    }
}  # fmt: skip
LONG_SWEEPS = {"quick": 60, "full": 9000, "paper": 9000}
#: Of the burn-in, so that annealing over three quarters of it takes 3,400 sweeps.
LONG_BURN_IN = {"quick": 30, "full": 4534, "paper": 4534}


def fit_cell(options: Options, name: str, run: str) -> Cell:
    """Return the cell for one run: measures during and after it, and characteristic words."""
    n_sweeps = (LONG_SWEEPS if run in LONG else SWEEPS)[options.size]
    params = {**COMMON, **(RUNS | VARIANTS | LONG)[run], "n_sweeps": n_sweeps, "random_state": SEED}
    if run in LONG:
        params["burn_in"] = LONG_BURN_IN[options.size]

    def work(folder: Path) -> dict[str, Any]:
        text = corpus(options.data, name, options.size)
        executor = LocalExecutor(options.n_jobs)
        kept = folder / "curve.json"  # an interrupted fit continues, and so does its curve
        curve: list[dict[str, float]] = json.loads(kept.read_text()) if kept.exists() else []

        def look(sweep: int, chains: Any) -> None:
            if sweep % max(n_sweeps // POINTS, 1) == 0:
                parts = executor.states()
                states = np.concatenate([parts[place]["states"] for place in sorted(parts)])
                curve[:] = [point for point in curve if point["sweep"] < sweep]
                curve.append({"sweep": sweep, **judged(states, text.tags)})
                kept.write_text(json.dumps(curve))

        model = pv.InfiniteHMM(**params, n_jobs=options.n_jobs)
        model.fit(
            text.sentences, executor=executor, callbacks=[look], show_progress=False,
            folder=folder / "model",
        )  # fmt: skip
        words = model.top_words(8).group_by("class", maintain_order=True).agg("word")
        shares = [float(share) for share in model.class_shares_]
        return {
            "states": model.n_states_,
            "scores": judged(model.states_, text.tags),
            "likeliest": judged(model.predict(text.sentences), text.tags),
            "curve": curve,
            "perplexity": model.perplexity(text.sentences),
            "alpha": model.row_concentration_,
            "gamma": model.state_concentration_,
            "levels": sorted(set(model.word_priors_.tolist())),
            "words": [row.to_list() for row in words["word"]],
            "shares": shares,
        }

    stored = {STORED_NAMES.get(name, name): value for name, value in params.items()}
    if stored["start"] == "words":  # the only one when results were first stored
        del stored["start"]
    settings = {"corpus": name, "size": options.size, **stored, "version": VERSION}
    return Cell(f"{name}/{run}", settings, work, n_sweeps / 100)


def chunk_cell(options: Options, kept: Cells, columns: str, fit: Cell | None) -> Cell:
    """Return the cell that parses with words alone, with the given tags, or with states."""

    def work(folder: Path) -> dict[str, float]:
        text = corpus(options.data, "wsj", options.size)
        column: Any = None
        if fit is not None:
            model = pv.load(kept.folder(fit) / "model")
            column = text.lists(model.states_)[: text.n_chunked]
        elif columns == "given tags":
            column = list(text.given)
        return chunk_scores_of(text, column, 1.0, 30 if options.size == "quick" else 100)

    settings = {"chunk": columns, "size": options.size, "version": VERSION}
    if fit is not None:
        settings["of"] = fit.key
    return Cell(f"chunks/{columns}", settings, work, 3)


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells: newspaper text, then parsing with its states, then web text."""
    fits = [fit_cell(options, "wsj", run) for run in RUNS]
    found = [*fits, chunk_cell(options, kept, "words", None)]
    found += [chunk_cell(options, kept, "given tags", None)]
    found += [chunk_cell(options, kept, run, fit) for run, fit in zip(RUNS, fits, strict=True)]
    found += [fit_cell(options, "ud", run) for run in RUNS]
    found += [fit_cell(options, "wsj", run) for run in (*VARIANTS, *LONG)]
    return found + by_word.cells(options, kept)


def page(options: Options, kept: Cells, results: Mapping[str, Any]) -> str:
    """Return the text of the page."""
    from benchmarks.papers.infinite_hmm_page import text

    found = cells(options, kept)
    seconds = {cell.name: kept.processor_seconds([cell]) for cell in found}
    return text(results, seconds, options.size)
