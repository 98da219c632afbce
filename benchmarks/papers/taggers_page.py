"""The results page of the taggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.taggers import (
    CORPORA,
    CURVES,
    FEW,
    LABELLED,
    N_DRAWS,
    N_LABELS,
    N_UNLABELLED,
    NAMES,
    PEER,
    ROUNDS,
    TAGGERS,
)  # fmt: skip
from palaver import evaluate

_INTRO = """# Taggers on labelled talk

Written by `python -m benchmarks.papers taggers --data ../shared/data`. Models:
[conditional random field](../models/crf.md), [maximum entropy](../models/maxent.md),
[hidden backoff](../models/hidden_backoff.md).

Taggers have their defaults, which were chosen by cross-validation within training parts and, for
MRDA and Switchboard, on their dev parts; the test parts were tagged once per row, and again
whenever the descent of the linear taggers changed: with 25 steps from a guess of the curvature,
given up because the field had 0.3 points less on MRDA's dev part (words); with 40; and with
today's kernels, which round differently. *Majority* always answers the most frequent label of the
training part. *python-crfsuite* is a plain conditional random field: words, pairs of words, words
of the message before, whether its speaker is the same, and the speaker if there are at most twenty
in all; L-BFGS, `c2=1`, at most 100 iterations. It needs a list of strings per message.
"""

_NOTES = """
Trained on / tested on: DailyDialog's dev part / its test part; NPS chat's first eight rooms / its
other seven, without joins and parts; the usual 51 / 11 meetings of MRDA (*words*: bare words;
*marks*: with the transcribers' marks; see [hidden backoff](hidden_backoff.md#setup) for both and
for the tags); the usual 1,115 / 19 calls of Switchboard, rows with + or @ left out.
"""


#: Rows of the table of seconds.
_TIMED = ("hidden backoff", "conditional random field", PEER)
_FEW = """## Few labels

Share of right tags on the dev parts, in percent. The labelled messages are the first ones of
conversations drawn at random; mean of {draws} draws. *Acts*: the classes of the
[model of acts](../models/acts.md), fitted without labels to training conversations with about
{rest:,} messages, are features as well (`--acts`).

"""


def _share(result: Mapping[str, Any]) -> float:
    right, n = np.sum(result["right"], axis=0)
    return float(right / n)


def _rows() -> list[str]:
    return ["majority", *TAGGERS, PEER]


def text(results: Mapping[str, Any]) -> str:
    """Return the text of the page; results not computed yet are left out."""
    parts = [_INTRO, "## Share of right tags, in percent\n", _accuracies(results), _NOTES]
    parts.append(_missing(results))
    parts += [_choices(results), _differences(results), _seconds(results), _few(results)]
    parts.append(_labelling(results))
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _accuracies(results: Mapping[str, Any]) -> str:
    lines = ["| | " + " | ".join(CORPORA) + " |", "|---" * (len(CORPORA) + 1) + "|"]
    best = {
        corpus: max((_share(results[f"{corpus}/{row}"]) for row in _rows()
                     if f"{corpus}/{row}" in results), default=0.0)
        for corpus in CORPORA
    }  # fmt: skip
    for row in _rows():
        cells = []
        for corpus in CORPORA:
            result = results.get(f"{corpus}/{row}")
            shown = "" if result is None else f"{100 * _share(result):.1f}"
            cells.append(f"**{shown}**" if result and _share(result) == best[corpus] else shown)
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _missing(results: Mapping[str, Any]) -> str:
    """Say what has not been measured with today's taggers."""
    wanted = [f"{corpus}/{row}" for corpus in CORPORA for row in (*_rows(), "choice")]
    wanted += [f"{corpus}/{n or 'all'} labels/{row}"
               for corpus in CURVES for n in N_LABELS for row in FEW]  # fmt: skip
    lost = [f"*{name}*" for name in wanted if name not in results]
    return f"Not measured yet (the command above does it): {'; '.join(lost)}.\n" if lost else ""


def _choices(results: Mapping[str, Any]) -> str:
    lines = []
    for corpus in CORPORA:
        found = results.get(f"{corpus}/choice")
        if found is None:
            continue
        table = ", ".join(f"{row['tagger']} {100 * row['accuracy']:.1f}" for row in found["table"])
        name = NAMES[found["chosen"]]
        test = results.get(f"{corpus}/{name}")
        judged = "" if test is None else f"; on the test part it has {100 * _share(test):.1f}"
        lines.append(f"- **{corpus}**: {found['chosen']} ({table}){judged}.")
    if not lines:
        return ""
    head = (
        "## What `palaver train-tagger` takes\n\nBy cross-validation within at most 10,000 "
        "labelled messages of the training part, in percent:\n"
    )
    return head + "\n" + "\n".join(lines) + "\n"


def _differences(results: Mapping[str, Any]) -> str:
    """Compare the field with every other row, paired over conversations."""
    lines = []
    ours = "conditional random field"
    for corpus in CORPORA:
        mine = results.get(f"{corpus}/{ours}")
        if mine is None:
            continue
        shown = []
        for row in _rows()[1:]:
            other = results.get(f"{corpus}/{row}")
            if other is None or row == ours:
                continue
            found = evaluate.paired_bootstrap(
                np.array(mine["right"], float), np.array(other["right"], float)
            )
            limits = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
            shown.append(f"{row} {100 * found.difference:+.1f} ({limits})")
        lines.append(f"- **{corpus}**: {'; '.join(shown)}.")
    if not lines:
        return ""
    return (
        "## The conditional random field against the others\n\nDifferences in points, with 95 % "
        "intervals by a bootstrap over conversations:\n\n" + "\n".join(lines) + "\n"
    )


def _seconds(results: Mapping[str, Any]) -> str:
    lines = ["| | " + " | ".join(CORPORA) + " |", "|---" * (len(CORPORA) + 1) + "|"]
    field = results.get("swda/conditional random field")
    clock = ""
    if field is not None:
        seconds = f"{field['train_wall']:.0f} seconds"
        clock = f"\nBy the clock, training the field on all of swda took {seconds} on two cores.\n"
    for row in _TIMED:
        cells = []
        for corpus in CORPORA:
            found = results.get(f"{corpus}/{row}")
            if found is None:
                cells.append("")
                continue
            n_test = int(np.sum(found["right"], axis=0)[1])
            speed = n_test / found["tag"] / 1000
            cells.append(f"{found['train']:.1f} / {speed:,.0f}")
        lines.append(f"| {row} | {' | '.join(cells)} |")
    sizes = [f"{corpus} {results[f'{corpus}/majority']['messages']:,}" for corpus in CORPORA
             if f"{corpus}/majority" in results]  # fmt: skip
    return (
        "## Time\n\nProcessor seconds to train / thousands of messages tagged per processor "
        "second, splitting texts into words included, the field on another day than the others; "
        "training messages: "
        + ", ".join(sizes) + ". [Maximum entropy](../performance.md#taggers).\n\n"
        + "\n".join(lines) + "\n" + clock
    )  # fmt: skip


def _few(results: Mapping[str, Any]) -> str:
    lines = []
    for corpus in CURVES:
        for n in N_LABELS:
            found = [results.get(f"{corpus}/{n or 'all'} labels/{row}") for row in FEW]
            if any(found):
                cells = ["" if one is None else f"{100 * one['accuracy']:.1f}" for one in found]
                lines.append(f"| {corpus} | {'all' if n is None else f'{n:,}'} | "
                             f"{' | '.join(cells)} |")  # fmt: skip
    if not lines:
        return ""
    head = f"| | labels | {' | '.join(FEW)} |\n|---|---|{'---|' * len(FEW)}\n"
    return _FEW.format(draws=N_DRAWS, rest=N_UNLABELLED) + head + "\n".join(lines) + "\n"


def _labelling(results: Mapping[str, Any]) -> str:
    lines = []
    for corpus in LABELLED:
        for how, said in (("drawn", "drawn at random"), ("chosen", "chosen by `palaver label`")):
            found = results.get(f"{corpus}/labels {how}")
            if found is not None:
                cells = " | ".join(f"{100 * found[str(n)]:.1f}" for n in ROUNDS)
                lines.append(f"| {corpus}, {said} | {cells} |")
    if not lines:
        return ""
    head = f"| labels | {' | '.join(map(str, ROUNDS))} |\n|---|{'---|' * len(ROUNDS)}\n"
    return (
        "## Which messages to label\n\nShare of right tags in percent by a conditional random "
        "field. Messages of three quarters of the training conversations are labelled in rounds, "
        "drawn (mean of three draws) or [chosen](../labelling.md); the other quarter judges. The "
        "weight of the graph was set on the same conversations.\n\n"
        + head + "\n".join(lines) + "\n"
    )  # fmt: skip
