"""The page of results of the infinite HMM experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.pictures import curves, keep

_INTRO = """# The infinite HMM on newspaper text

`python -m benchmarks.papers infinite_hmm --data ../shared/data{flag}`, seed 0. Van Gael, Vlachos &
Ghahramani (2009) find parts of speech without labels in the Wall Street Journal: about one million
words, 1,000 sweeps of burn-in and 8,000 more. Here the text is a third of that (conll2000 and
wsj-sample, 353,188 words) {sweeps}. All occurrences of a word start in one of 50 states, with the
emission likelihood to the power 1 / 1.3, rising to 1 over three quarters of the burn-in. (The
paper: each occurrence by itself in one of 20 states, and from the power 0.4.) Measured are the
94,084 words of wsj-sample, whose 45 tags are gold; conll2000's are a tagger's output. States are
those of the last sample.
"""

_PAPER = """
Paper (one million words, 9,000 sweeps): DP fixed about 50 states, VI 3.93–3.94 bits, V 53.3 %; PY
fixed 90 states, VI 3.73; DP learned 194 states, VI 4.32, homogeneity 69.4 %. Gao & Johnson's finite
sampler with 50 states: VI 4.04. VI is in bits and better if lower; all others are in per cent.
"""

_MEANING = """## What to make of it

As in the paper states are parts of speech, finer here and coarser there, and help to parse: chunks
are found better with states than with words alone, and best with the given tags. On newspaper text
the V-measures of the first four runs are above the paper's 53.3 % with a third of the text and less
than a quarter of the sweeps, and VI is near the paper's.

The start decides how far a chain gets in 2,000 sweeps: the last rows of the first table have fewer
states at first, or the paper's temperature, which melts the states down to a few.

These runs do not find the number of states. Chains with fixed concentrations stay near the number
that they start with: a new state's words come from their prior and seldom fit anything, so births
are rare. With learned concentrations the number grows, as in the paper, whose chains were longer.
The finite model, with as many states as the others begin with, is as good on newspaper text and
better on web text; a likely reason, not tested: it filters over all transitions at once, while
slices hold a chain near where it is.
"""

_SWEEPS = {
    "quick": "and 60 sweeps (a quick run of fewer sentences: a check, not a result)",
    "full": "and 2,000 sweeps",
    "paper": "with the paper's 9,000 sweeps",
}
_NOT_YET = "The runs have not been computed yet: the command above does what is missing."
_MEASURES = {
    "vi": "VI", "v_measure": "V", "v_beta": "V-beta", "homogeneity": "homogeneity",
    "completeness": "completeness", "one_to_one_greedy": "1-1 greedy", "one_to_one": "1-1 optimal",
    "purity": "many-to-1",
}  # fmt: skip


def text(results: Mapping[str, Any], seconds: Mapping[str, float], size: str) -> str:
    """Return the page; what was not computed is left out."""
    sweeps = _SWEEPS[size]
    flag = "" if size == "full" else f" --{size}"
    table = _table(results, seconds, "wsj") or _NOT_YET
    parts = [_INTRO.format(flag=flag, sweeps=sweeps)]
    if size == "full" and results.keys() >= seconds.keys():
        parts.append(_MEANING)
    parts += ["## Newspaper text\n", table, _PAPER]
    parts += [_picture(results, size), _chunks(results), _words(results)]
    other = _table(results, seconds, "ud")
    if other:
        parts += ["\n## Web text\n\nUD English (EWT), against its 49 XPOS tags.\n", other]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _runs(results: Mapping[str, Any], corpus: str) -> dict[str, Any]:
    prefix = f"{corpus}/"
    return {n.removeprefix(prefix): r for n, r in results.items() if n.startswith(prefix)}


def _value(name: str, scores: Mapping[str, float]) -> str:
    return f"{scores[name]:.2f}" if name == "vi" else f"{100 * scores[name]:.1f}"


def _table(results: Mapping[str, Any], seconds: Mapping[str, float], corpus: str) -> str:
    runs = _runs(results, corpus)
    if not runs:
        return ""
    head = ["run", "states", *_MEASURES.values(), "minutes"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, result in runs.items():
        values = [_value(measure, result["scores"]) for measure in _MEASURES]
        minutes = f"{seconds[f'{corpus}/{name}'] / 60:.0f}"
        lines.append("| " + " | ".join([name, str(result["states"]), *values, minutes]) + " |")
    return "\n".join(lines)


def _picture(results: Mapping[str, Any], size: str) -> str:
    """Draw states and measures by sweep, as the paper's table 1."""
    runs = _runs(results, "wsj")
    if not runs:
        return ""
    shown = {"classes": "states", "vi": "VI, bits", "v_measure": "V-measure",
             "homogeneity": "homogeneity"}  # fmt: skip
    panels = {
        title: {n: np.array([point[name] for point in r["curve"]]) for n, r in runs.items()}
        for name, title in shown.items()
    }
    file = f"infinite_hmm{'' if size == 'full' else '-' + size}.svg"
    keep(curves(panels, "twentieths of the run", "States and measures by sweep"), file)
    return f"\n![States and measures by sweep]({file})\n\n*Annealing ends at 7.5 of 20.*\n"


def _chunks(results: Mapping[str, Any]) -> str:
    """Return the table of shallow parsing."""
    rows = _runs(results, "chunks")
    if not rows:
        return ""
    lines = [
        "\n## Shallow parsing\n\nconll2000's chunks by a linear-chain CRF: words in a window of "
        "two, and a further column of\ntags or states. Training part 8,936 sentences, test part "
        "2,012; states from a model that saw the\nwords of both, as in the paper.\n",
        "| features | accuracy | precision | recall | F |\n|---|---|---|---|---|",
    ]
    for name, scores in rows.items():
        label = name if name in ("words", "given tags") else f"states, {name}"
        values = (f"{100 * scores[key]:.2f}" for key in ("accuracy", "precision", "recall", "f1"))
        lines.append(f"| {label} | " + " | ".join(values) + " |")
    lines.append(
        "\nPaper (CRF++): words 93.25 / F 88.58; with states 94.48 / F 90.98; with the given tags\n"
        "96.07 / F 93.81."
    )
    return "\n".join(lines)


def _words(results: Mapping[str, Any]) -> str:
    """Return the most frequent words of the largest states of one run."""
    runs = _runs(results, "wsj")
    if not runs:
        return ""
    name, result = next(iter(runs.items()))
    order = np.argsort(-np.array(result["shares"]))[:24]
    lines = [
        f"\n## Words of states\n\nThe largest states of *{name}*.\n",
        "| share | words |",
        "|---|---|",
    ]
    for k in order:
        told = " ".join(word.replace("|", "&#124;") for word in result["words"][k])
        fence = "```" if "`" in told else "`"
        lines.append(f"| {100 * result['shares'][k]:.1f} % | {fence} {told} {fence} |")
    return "\n".join(lines)
