"""The part of the infinite HMM's results page that has one state per word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import f_oneway, t

from benchmarks.papers.infinite_hmm_words import (
    EARLY,
    FIRST_STATES,
    PENALTY,
    RUNS,
    SEEDS,
    START_SEEDS,
)
from benchmarks.papers.pictures import curves, keep

_HEAD = """## One state per word

All occurrences of a word have the word's state, given the words next to it and how it is written.
*Default* is `InfiniteHMM()`, which finds the number of states, at most 50; *50 states* is
`InfiniteHMM(n_states=50)`, which only moves words. 40 sweeps, the default. Forms, the search and
the limit of 50 were chosen on web text. Means over seeds, with 95% intervals (t distribution).
Newspaper text as [below](#a-state-per-occurrence), scored on the same 94,084 words; web text is UD
English (EWT) with its 49 XPOS tags. *Seconds* are of one processor. Alpha is the Dirichlet prior of
each transition, eta that of each word, both learned.
"""
_COLUMNS = {
    "v_measure": "V", "vi": "VI", "purity": "many-to-1", "one_to_one": "1-1 optimal",
    "homogeneity": "homogeneity", "completeness": "completeness", "v_beta": "V-beta",
}  # fmt: skip
_CORPORA = {"wsj": "newspaper", "ud": "web"}
#: Texts of the tables of first states, and what their cells are called.
_STARTED = {"Web text, its dev part": "ud-dev", "Newspaper text": "wsj"}
_STARTS = """
### The number of states

The model finds their number: in the burn-in by an optimizer that splits, merges and dissolves
states, then by births and deaths as words move and by split and merge moves. The default allows 50:
the search begins with 50, whatever `first_states` says, goes beyond and merges states back to 50.
With `max_states=1000` nothing limits it: the larger the text, the more states, which become finer
than parts of speech. That is what these tables show; *first states* is where the search begins
(`first_states`)."""


def text(results: Mapping[str, Any], seconds: Mapping[str, float], size: str) -> str:
    """Return the section, without what is not computed yet."""
    table = _table(results, seconds)
    if not table:
        return ""
    parts = [_HEAD, table, _picture(results, size), _starts(results, seconds)]
    parts += [_chunks(results), _missing(results, seconds)]
    return "\n".join(part for part in parts if part) + "\n"


def _missing(results: Mapping[str, Any], seconds: Mapping[str, float]) -> str:
    """Say what is not computed yet."""
    names = [name for name in seconds if name not in results]
    if not names:
        return ""
    lines = ["\nNot computed yet (the command continues with these cells):\n"]
    return "\n".join([*lines, *(f"- {name}" for name in names)])


def _seeds(results: Mapping[str, Any], corpus: str, run: str) -> list[str]:
    names = (f"{corpus}-types/{run}/{seed}" for seed in range(SEEDS[run]))
    return [name for name in names if name in results]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _interval(values: list[float], digits: int) -> str:
    """Return mean and half the width of its 95% interval."""
    mean = f"{np.mean(values):,.{digits}f}"
    if len(values) < 2:
        return mean
    half = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean} ± {half:.{digits}f}"


def _table(results: Mapping[str, Any], seconds: Mapping[str, float]) -> str:
    head = ["text", "run", "seeds", "states", *_COLUMNS.values(), "alpha", "eta", "seconds"]
    lines = []
    for corpus, label in _CORPORA.items():
        for run in RUNS:
            names = _seeds(results, corpus, run)
            if not names:
                continue
            found = [results[name] for name in names]
            cells = [label, run, str(len(names)), _interval([r["states"] for r in found], 0)]
            for column in _COLUMNS:
                scale, digits = (1, 2) if column == "vi" else (100, 1)
                cells.append(_interval([scale * r["scores"][column] for r in found], digits))
            cells += [_interval([r[prior] for r in found], 2) for prior in ("alpha", "eta")]
            cells.append(f"{np.mean([seconds[name] for name in names]):.0f}")
            lines.append(_row(cells))
    return "\n".join([_row(head), "|---" * len(head) + "|", *lines]) if lines else ""


def _picture(results: Mapping[str, Any], size: str) -> str:
    """Draw the measures by sweep."""
    lines = {
        f"{_CORPORA[corpus]}, seed {seed}": results[name]["curve"]
        for corpus in _CORPORA
        for seed, name in enumerate(_seeds(results, corpus, "default"))
    }
    shown = {"vi": "VI, bits", "v_measure": "V-measure", "completeness": "completeness",
             "v_beta": "V-beta"}  # fmt: skip
    panels = {
        title: {label: np.array([point[name] for point in curve]) for label, curve in lines.items()}
        for name, title in shown.items()
    }
    file = f"infinite_hmm_words{'' if size == 'full' else '-' + size}.svg"
    keep(curves(panels, "twentieths of the run", "One state per word: measures by sweep"), file)
    return f"\n![One state per word: measures by sweep]({file})\n"


def _starts(results: Mapping[str, Any], seconds: Mapping[str, float]) -> str:
    """Return the tables of the numbers of states that the model finds."""
    parts = []
    head = ["first states", "states", "log joint", "V", "VI", "many-to-1", "seconds"]
    for label, corpus in _STARTED.items():
        names = {first: f"{corpus}-types/{first} first states/0" for first in FIRST_STATES}
        done = {first: name for first, name in names.items() if name in results}
        if not done:
            continue
        parts += [f"\n{label}, seed 0:\n", _row(head), "|---" * len(head) + "|"]
        for first, name in done.items():
            result = results[name]
            scores = result["scores"]
            parts.append(
                _row([
                    str(first), str(result["states"]), f"{result['log_joint']:,.0f}",
                    f"{100 * scores['v_measure']:.1f}", f"{scores['vi']:.2f}",
                    f"{100 * scores['purity']:.1f}", f"{seconds[name]:.0f}",
                ])
            )  # fmt: skip
        if corpus == "ud-dev":
            parts.append(_seeds_of_starts(results))
    return "\n".join([_STARTS, *parts]) if parts else ""


def _seeds_of_starts(results: Mapping[str, Any]) -> str:
    """Return the table of where the seeds of each start end on web text."""
    head = ["first states", "seeds", "states", "log joint", "lowest", "highest"]
    lines, joints = [_row(head), "|---" * len(head) + "|"], []
    for first in FIRST_STATES:
        names = (f"ud-dev-types/{first} first states/{seed}" for seed in range(START_SEEDS))
        found = [results[name] for name in names if name in results]
        if len(found) < 2:
            return ""
        joints.append([result["log_joint"] for result in found])
        cells = [str(first), str(len(found)), _interval([r["states"] for r in found], 0)]
        cells.append(_interval(joints[-1], 0))
        lines.append(_row([*cells, f"{min(joints[-1]):,.0f}", f"{max(joints[-1]):,.0f}"]))
    p = f_oneway(*joints).pvalue
    return "\n".join([
        "\nThe same with several seeds from each start, means with 95% intervals:\n",
        *lines,
        f"\nDoes the log joint depend on the start? p = {p:.2f} (one-way analysis of variance).",
    ])  # fmt: skip


def _sweeps(number: int) -> str:
    return f"{number} sweep{'s' * (number != 1)}"


def _chunks(results: Mapping[str, Any]) -> str:
    """Return the table of shallow parsing."""
    labels = {"words": "words", "states": "words and states", "given tags": "words and given tags"}
    labels |= {f"states after {n}": f"words and states after {_sweeps(n)}" for n in EARLY}
    names = {label: f"chunks-types/{name}" for name, label in labels.items()}
    done = {label: results[name] for label, name in names.items() if name in results}
    if not done:
        return ""
    head = ["features", "accuracy", "precision", "recall", "F"]
    lines = [
        "\n### Shallow parsing with one state per word\n\nAs [below](#shallow-parsing), with "
        f"CRF++'s penalty (`penalty={PENALTY}`); states of seed 0.\n",
        _row(head),
        "|---" * len(head) + "|",
    ]
    for label, scores in done.items():
        values = [f"{100 * scores[key]:.2f}" for key in ("accuracy", "precision", "recall", "f1")]
        lines.append(_row([label, *values]))
    return "\n".join(lines)
