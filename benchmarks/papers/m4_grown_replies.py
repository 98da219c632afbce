"""Test whether features and multiple parents help M4 to find replies in a known order."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.papers import Options
from benchmarks.papers.cells import Cell
from benchmarks.papers.m4 import SEED, Source, corpus_of
from palaver.evaluate.bootstrap import bootstrap, paired_bootstrap
from palaver.evaluate.threads import first_parents, previous_parents, right_parents

FEATURES = ["same_speaker", "position", "time_gap"]
SOURCES = {
    "r-help": Source("r-help/r-help-2001-2002.jsonl.gz", 500),
    "ubuntu-irc": Source("ubuntu-irc/ubuntu-irc.jsonl.gz", 1500),
    "rumoureval2017": Source("rumoureval2017/rumoureval2017.jsonl.gz"),
}
VARIANTS: dict[str, dict[str, Any]] = {
    "M4": {},
    "M4, features": {"features": FEATURES},
    "M4, all parents": {"parents": "all"},
    "M4, all parents, features": {"parents": "all", "features": FEATURES},
}
_FIT = {"n_classes": 10, "n_sweeps": 200, "n_chains": 1, "random_state": SEED}
#: M4 needs a hot start (docs/results/m4.md); the last sweeps are at temperature 0.2.
_SEARCH = {"n_sweeps": 300, "n_restarts": 2, "temperature": 20.0, "cooling": 0.985}
BASELINES = {"the message before": previous_parents, "the first message": first_parents}

#: How the table calls the baselines.
_LABELS = {"the message before": "previous message", "the first message": "first message"}

_TEXT = """## Do features help to find replies?

Models learn from 75% of the conversations, with their replies. They then find the replies in the
other 25% from the words, and from features if the model has them; only earlier messages are
candidates (`reconstruct(test, order="time")`, 300 sweeps from temperature 20, 2 restarts; K = 10,
200 sweeps, one chain, Dirichlet transitions).

The table shows the share of messages with the right parent, with 95% bootstrap intervals over
conversations; *p* is from a paired bootstrap against M4. Features are `same_speaker`, `position`
and `time_gap`; the tweets have no speakers. Only ubuntu-irc has messages with several parents, of
which `reply_to` counts as right. *CPU* is the processor time of fit and search; the first row
includes compilation.

"""


def reply_cells(options: Options) -> list[Cell]:
    """Return the cells, one per corpus and variant."""
    return [
        _cell(options, name, variant)
        for name in SOURCES
        for variant, params in VARIANTS.items()
        if name == "ubuntu-irc" or "parents" not in params
    ]


def _cell(options: Options, name: str, variant: str) -> Cell:
    source, params = SOURCES[name], {**_FIT, **VARIANTS[variant]}

    def work(folder: Path) -> dict[str, Any]:
        train, test = corpus_of(options.data, source).split(test=0.25, random_state=SEED)
        start = time.process_time()
        model = pv.M4(**params, background=True, n_jobs=options.n_jobs).fit(
            train, show_progress=False
        )
        found = model.reconstruct(test, "time", **_SEARCH, show_progress=False)  # type: ignore[arg-type]
        seconds = time.process_time() - start
        offsets = test.conversation_offsets
        others = {
            guess: right_parents(by(offsets), test.parents, offsets)[:, 0].tolist()
            for guess, by in BASELINES.items()
        }
        sums = right_parents(found["parent_row"].to_numpy(), test.parents, offsets)
        return {
            "right": sums[:, 0].tolist(), "messages": sums[:, 1].tolist(), **others,
            "cpu_seconds": round(seconds, 2),
        }  # fmt: skip

    settings = {"replies": 2, "source": vars(source), **params, "search": _SEARCH}
    return Cell(f"replies/{name}/{variant}", settings, work)


def replies_text(results: Mapping[str, Any]) -> str:
    """Return the section of the page, or an empty string if nothing was computed."""
    lines = []
    for name in SOURCES:
        rows = {v: results.get(f"replies/{name}/{v}") for v in VARIANTS}
        plain = rows["M4"]
        if plain is None:
            continue
        messages = np.asarray(plain["messages"])
        for guess in BASELINES:
            value = bootstrap(np.column_stack((plain[guess], messages)))
            lines.append(_line(name, _LABELS[guess], value, "", ""))
        own = np.column_stack((plain["right"], messages))
        for variant, row in rows.items():
            if row is not None:
                sums = np.column_stack((row["right"], messages))
                p = "" if variant == "M4" else _p(paired_bootstrap(sums, own).p_value)
                lines.append(
                    _line(name, variant, bootstrap(sums), p, f"{row['cpu_seconds']:.0f} s")
                )
    if not lines:
        return ""
    head = "| corpus | method | right | p | CPU |\n| --- | --- | --- | --- | --- |\n"
    return _TEXT + head + "\n".join(lines) + "\n"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _line(name: str, by: str, value: Any, p: str, seconds: str) -> str:
    share = f"{value.value:.1%} [{value.low:.1%}, {value.high:.1%}]"
    return f"| {name} | {by} | {share} | {p} | {seconds} |"
