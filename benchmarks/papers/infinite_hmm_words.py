"""The infinite HMM with one state per word: seeds, first numbers of states, parsing.

The settings (forms, 50 states, 40 sweeps) were chosen on UD English, not on newspaper text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.papers import Options
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.infinite_hmm_data import chunk_scores_of, corpus, judged
from palaver.parallel import LocalExecutor

POINTS = 20
#: Of the results; of those of runs that find any number of states; and of those that find at most
#: 50: the search has changed.
VERSION, SEARCHED, LIMITED = 1, 2, 3
SWEEPS = {"quick": 10, "full": 40, "paper": 40}
N_STATES = 50
#: Runs of several seeds, then runs with any number of states that differ in the first number, and
#: on web text in the seed as well.
RUNS: dict[str, dict[str, Any]] = {"50 states": {"n_states": N_STATES}, "default": {}}
SEEDS = {"50 states": 3, "default": 5}
#: Where the search for any number of states begins; seeds of each start on web text.
FIRST_STATES, START_SEEDS = (10, 20, 50, 100), 5
#: As many states as the data call for; no part of the settings, because it was the default when
#: results were first stored.
UNLIMITED = 1000
#: Sweeps after which states already serve for parsing.
EARLY = (1, 4, 12)
#: As CRF++ has it.
PENALTY, ITERATIONS = 0.5, {"quick": 30, "full": 150, "paper": 150}


def fit_cell(options: Options, name: str, run: str, params: dict[str, Any], seed: int) -> Cell:
    """Return the cell of one fit: measures during and after it, and the priors it reached."""
    n_sweeps = SWEEPS[options.size]
    params = {**params, "one_state_per_word": True, "n_sweeps": n_sweeps, "random_state": seed}

    def work(folder: Path) -> dict[str, Any]:
        text = corpus(options.data, name, options.size)
        executor = LocalExecutor(1)
        curve: list[dict[str, float]] = []

        def look(sweep: int, chains: Any) -> None:
            if sweep % max(n_sweeps // POINTS, 1) == 0:
                parts = executor.states()
                states = np.concatenate([parts[place]["states"] for place in sorted(parts)])
                curve.append({"sweep": sweep, **judged(states, text.tags)})

        most = {"max_states": UNLIMITED} if "first_states" in params else {}
        model = pv.InfiniteHMM(**{**most, **params})
        model.fit(text.sentences, executor=executor, callbacks=[look], show_progress=False)
        model.save(folder / "model")
        words = model.top_words(8).group_by("class", maintain_order=True).agg("word")
        return {
            "states": model.n_states_,
            "scores": judged(model.states_, text.tags),
            "curve": curve,
            "log_joint": float(model.trace_["log_joint"][-1]),
            "alpha": model.row_concentration_,
            "gamma": model.state_concentration_,
            "eta": float(model.word_priors_[0]),
            "words": [row.to_list() for row in words["word"]],
            "shares": [float(share) for share in model.class_shares_],
        }

    limited = LIMITED if "first_states" not in params else SEARCHED
    version = VERSION if "n_states" in params else limited
    settings = {"corpus": name, "size": options.size, **params, "version": version}
    return Cell(f"{name}-types/{run}/{seed}", settings, work, 2 if "n_states" in params else 16)


def chunk_cell(options: Options, kept: Cells, columns: str, fit: Cell | None) -> Cell:
    """Return the cell that parses with CRF++'s penalty: words, given tags, or states."""

    def work(folder: Path) -> dict[str, float]:
        text = corpus(options.data, "wsj", options.size)
        column: Any = list(text.given) if columns == "given tags" else None
        if fit is not None:
            model = pv.load(kept.folder(fit) / "model")
            column = text.lists(model.states_)[: text.n_chunked]
        return chunk_scores_of(text, column, PENALTY, ITERATIONS[options.size])

    settings = {
        "chunk": columns, "size": options.size, "penalty": PENALTY,
        "iterations": ITERATIONS[options.size], "version": VERSION,
    }  # fmt: skip
    if fit is not None:
        settings["of"] = fit.key
    return Cell(f"chunks-types/{columns}", settings, work, 8)


def early_cell(options: Options, n_sweeps: int) -> Cell:
    """Return the cell that parses with the states of a chain that has only begun."""

    def work(folder: Path) -> dict[str, float]:
        text = corpus(options.data, "wsj", options.size)
        model = pv.InfiniteHMM(
            N_STATES, one_state_per_word=True, n_sweeps=n_sweeps, random_state=0
        ).fit(text.sentences, show_progress=False)
        column = text.lists(model.states_)[: text.n_chunked]
        return chunk_scores_of(text, column, PENALTY, ITERATIONS[options.size])

    settings = {
        "chunk": "states", "sweeps": n_sweeps, "size": options.size, "penalty": PENALTY,
        "iterations": ITERATIONS[options.size], "version": VERSION,
    }  # fmt: skip
    return Cell(f"chunks-types/states after {n_sweeps}", settings, work, 8)


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells: seeds on both corpora, first numbers of states, parsing."""
    found = [
        fit_cell(options, name, run, params, seed)
        for name in ("wsj", "ud")
        for run, params in RUNS.items()
        for seed in range(SEEDS[run])
    ]
    fits = {cell.name: cell for cell in found}
    found += [
        chunk_cell(options, kept, "words", None),
        chunk_cell(options, kept, "states", fits["wsj-types/50 states/0"]),
        chunk_cell(options, kept, "given tags", None),
        *(early_cell(options, n_sweeps) for n_sweeps in EARLY),
    ]
    starts = [("ud-dev", first, 0) for first in FIRST_STATES]
    starts += [("ud-dev", first, seed) for seed in range(1, START_SEEDS) for first in FIRST_STATES]
    starts += [("wsj", first, 0) for first in FIRST_STATES]
    found += [
        fit_cell(options, name, f"{first} first states", {"first_states": first}, seed)
        for name, first, seed in starts
    ]
    return found
