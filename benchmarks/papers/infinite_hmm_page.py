"""The results page of the infinite HMM experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers import infinite_hmm_words_page as by_word_page
from benchmarks.papers.pictures import curves, keep

_INTRO = """# The infinite HMM on newspaper text

Written by `python -m benchmarks.papers infinite_hmm --data ../shared/data{flag}`, seed 0. Paper:
Van Gael, Vlachos & Ghahramani (2009). Model: [infinite HMM](../models/infinite_hmm.md).
"""

_SETUP = """## A state per occurrence

The paper finds parts of speech without labels in the Wall Street Journal: about one million words,
1,000 sweeps of burn-in and 8,000 more. We use a third as much text (conll2000 and
wsj-sample, 353,188 words) {sweeps}. All occurrences of a word start in the same
one of 50 states (`start="words"`, not the default `"types"`), and the emission likelihood is
annealed from the power 1 / 1.3 to 1 over three quarters of the burn-in. (In the paper, and in the
run with its schedule, each occurrence starts independently in one of 20 states, and annealing
starts from the power 0.4.)
Scores cover the 94,084 words of wsj-sample, which have 45 gold tags; the tags of conll2000 are a
tagger's output. States are those of the last sample.

*DP* and *PY* are the Dirichlet and Pitman-Yor processes (`discount`). *Fixed* runs set the
concentrations, the paper's alpha and gamma (`row_concentration` and `state_concentration`);
*learned* runs infer them. *Minutes* are of processor time.
"""

_PAPER = """
VI is in bits, lower is better; the other measures are percentages. The paper (one million words,
9,000 sweeps) reports: DP fixed about 50 states, VI 3.93–3.94, V 53.3; PY fixed 90 states, VI 3.73;
DP learned 194 states, VI 4.32, homogeneity 69.4. Gao & Johnson's finite sampler with 50 states has
VI 4.04.
"""

_MEANING = """## What to make of it

**One state per word is the better model of parts of speech**: it is ahead by every measure, and
takes less than a minute of processor time. Chunks are found better with its states than with words
alone, even with those of the first sweeps, and best with the given tags.

**Its number of states** is found by a search in the burn-in, and hardly depends on where the search
begins: with any number of states, web text ends with 93 to 105 and newspaper text with 442 to 456.
Five seeds from each of four starts on web text do not show that the log joint depends on the start
(p = 0.11); with seed 0, the one from 10 first states lies just above the range of the five from 20.
At the default limit of 50 the search begins with 50, so that `first_states` changes nothing. The
larger a text, the more states it calls for, which are finer than parts of speech: with 450 states,
V on newspaper text is 66 instead of 71. So there are at most 50 by default.

**A state per occurrence** is the paper's model; all that follows is about it. Its states are parts
of speech, some finer, some coarser. On newspaper text, the first four runs beat the paper's
V-measure of 53.3 with a third of the text and less than a quarter of the sweeps; their VI is close
to the paper's.

**The start decides how far a chain gets.** Of the last three rows of its first table, one starts
with fewer states; one at the paper's temperature, which leaves 12 states and V 11 after 2,000
sweeps. The last row has the paper's schedule: that chain passes the same point (13 states, V 11 at
half time) and then climbs to 25 states and V 49 within its 9,000 sweeps, still rising at the end,
below what the paper reports on three times as much text.

**Without a search, the start decides the number of states, too.** These runs have none
(`start="words"` or `"random"`; the default, `"types"`, has one). Chains with fixed concentrations
stay near the number they start with: a new state draws its word distribution from the prior, which
rarely fits, so few are created. With learned concentrations the number grows, as in the paper,
whose chains were longer. The finite model, with as many states as the others start with, does as
well on newspaper text and better on web text. A likely reason, which we did not test: it filters
over all transitions at once, whereas slices keep a chain close to where it is.
"""

_SWEEPS = {
    "quick": "and 60 sweeps (a quick run on fewer sentences: a check, not a result)",
    "full": "and 2,000 sweeps",
    "paper": "and the paper's 9,000 sweeps",
}
_NOT_YET = "Not computed yet: run the command above."
#: Row labels that differ from the names of the stored results.
_LABELS = {
    "DP fixed, 20 states at first": "DP fixed, 20 initial states",
}
_MEASURES = {
    "vi": "VI", "v_measure": "V", "v_beta": "V-beta", "homogeneity": "homogeneity",
    "completeness": "completeness", "one_to_one_greedy": "1-1 greedy", "one_to_one": "1-1 optimal",
    "purity": "many-to-1",
}  # fmt: skip


def text(results: Mapping[str, Any], seconds: Mapping[str, float], size: str) -> str:
    """Return the text of the page; results not computed yet are left out."""
    sweeps = _SWEEPS[size]
    flag = "" if size == "full" else f" --{size}"
    table = _table(results, seconds, "wsj") or _NOT_YET
    parts = [_INTRO.format(flag=flag)]
    judged = {name for name in seconds if not name.startswith("chunks-types/")}
    if size == "full" and all(n in results for n in judged if "-types/" not in n):
        parts.append(_MEANING)
    parts += [by_word_page.text(results, seconds, size)]
    parts += [_SETUP.format(sweeps=sweeps), "### Newspaper text\n", table, _PAPER]
    parts += [_picture(results, size), _chunks(results), _words(results)]
    other = _table(results, seconds, "ud")
    if other:
        parts += ["\n### Web text\n\nUD English (EWT), scored against its 49 XPOS tags.\n", other]
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
        row = [_LABELS.get(name, name), str(result["states"]), *values, minutes]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _picture(results: Mapping[str, Any], size: str) -> str:
    """Draw states and measures by sweep, which the paper gives in its table 1."""
    runs = _runs(results, "wsj")
    if not runs:
        return ""
    shown = {"classes": "states", "vi": "VI, bits", "v_measure": "V-measure",
             "homogeneity": "homogeneity", "completeness": "completeness",
             "v_beta": "V-beta"}  # fmt: skip
    panels = {
        title: {
            _LABELS.get(n, n): np.array([point[name] for point in r["curve"]])
            for n, r in runs.items()
        }
        for name, title in shown.items()
    }
    file = f"infinite_hmm{'' if size == 'full' else '-' + size}.svg"
    keep(curves(panels, "twentieths of the run", "States and measures by sweep"), file)
    return f"\n![States and measures by sweep]({file})\n\n*Annealing ends at 7.5 of 20.*\n"


def _chunks(results: Mapping[str, Any]) -> str:
    """Return the section on shallow parsing."""
    rows = _runs(results, "chunks")
    if not rows:
        return ""
    lines = [
        "\n### Shallow parsing\n\nA linear-chain CRF finds the chunks of conll2000 from the words "
        "in a window of two and, except in the\nfirst row, a column of tags or states. Training "
        "set 8,936 sentences, test set 2,012; the states come\nfrom a model that saw the words of "
        "both, as in the paper.\n",
        "| features | accuracy | precision | recall | F |\n|---|---|---|---|---|",
    ]
    for name, scores in rows.items():
        label = name if name in ("words", "given tags") else f"states, {name}"
        values = (f"{100 * scores[key]:.2f}" for key in ("accuracy", "precision", "recall", "f1"))
        lines.append(f"| {label} | " + " | ".join(values) + " |")
    lines.append(
        "\nThe paper (CRF++, accuracy / F) reports: words 93.25 / 88.58; with states 94.48 / 90.98;"
        "\nwith the given tags 96.07 / 93.81."
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
        f"\n### Words per state\n\nThe largest states of *{name}*.\n",
        "| share | words |",
        "|---|---|",
    ]
    for k in order:
        told = " ".join(word.replace("|", "&#124;") for word in result["words"][k])
        fence = "```" if "`" in told else "`"
        lines.append(f"| {100 * result['shares'][k]:.1f}% | {fence} {told} {fence} |")
    return "\n".join(lines)
