"""The results page of the experiment on threads."""

from __future__ import annotations

from typing import Any

from benchmarks.papers import Options
from benchmarks.papers.cells import Cells
from benchmarks.papers.threads_official import PUBLISHED

#: Name of the cell with the official measures.
OFFICIAL = "official"
#: Name of the cell about what was learned from other corpora.
ELSEWHERE = "elsewhere"
#: Second part of the names of the trained rebuilder's cells.
TRAINED = "trained"

_ORDER = (
    "previous message", "first message", "nearest by tf-idf", "M4 alone", "block HMM alone",
    "untrained", "trained", "linear", "linear, with M4", "linear, with block HMM",
)  # fmt: skip


def page(options: Options, kept: Cells, results: dict[str, Any]) -> str:
    """Return the text of docs/results/threads.md."""
    del kept
    official, elsewhere = results.pop(OFFICIAL, None), results.pop(ELSEWHERE, None)
    results = _merged(results)
    parts = [
        "# Rebuilding threads",
        "",
        "Written by `python -m benchmarks.papers threads --data ../shared/data"
        f"{'' if options.size == 'full' else f' --{options.size}'}`. Given messages without reply "
        "links, who replies to whom? Method: [rebuilding threads](../threads.md).",
        "",
        "## What to make of it",
        "",
        *_verdict(results),
        "",
        _METHODS,
        *_official(official),
        "## Accuracy",
        "",
        *_accuracy(results),
        "",
        _READING,
        "## Against the best baseline",
        "",
        *_gains(results),
        "",
        *_elsewhere(elsewhere),
        "## Calibration",
        "",
        *_calibration(results),
        "",
        "## Conversations in channels",
        "",
        *_channels(results),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _merged(results: dict[str, Any]) -> dict[str, Any]:
    """Return the results of both cells of each corpus as one.

    What the first cell calls trained is the linear ranker; it stands in if the second cell is
    missing.
    """
    merged = {}
    for name, result in results.items():
        if name.endswith(f"/{TRAINED}"):
            continue
        trained = results.get(f"{name}/{TRAINED}")
        methods = {k.replace("trained", "linear") if k.startswith("trained") else k: value
                   for k, value in result["methods"].items()}  # fmt: skip
        gains, calibration = dict(result["gains"]), dict(result["calibration"])
        if trained is not None:
            methods |= trained["methods"]
            gains["trained"] = trained["gains"][result["best"][1]]
            gains["hidden"] = methods["trained"]["accuracy"][0] - methods["linear"]["accuracy"][0]
            calibration["trained"] = trained["calibration"]
        merged[name] = {**result, "methods": methods, "gains": gains, "calibration": calibration}
    return merged


_METHODS = """\
## Setup

**Task and measures.** Messages are in chronological order; who replies to whom is hidden.
*Accuracy* is the share of messages with the right parent; a message that starts a conversation is
right if it is found to be a start. *Choices* leaves out the first message of each conversation, for
which there is nothing to find. Intervals (95%) come from resampling conversations.

**Data.** We use the official splits of ubuntu-irc and rumoureval2017; the other corpora have 75% of
the conversations for training and 25% for testing (seed 0). From molweni we take only the dialogues
that share no message (`distinct`). Sets much larger than 40,000 training or 10,000 test messages
are thinned to about that size by taking every n-th conversation. The channels are the logs of
ubuntu-irc with their conversations interleaved as they were; there the first message means nothing.

**Methods.** *Untrained* is `ThreadRebuilder.by_places()` with parameters learned from the training
sets of the **other** corpora (both forms of ubuntu-irc count as one), and with hand-set conventions
for names and handles (`CONVENTIONS` in `palaver/threads/places.py`). We chose the features and the
form of the untrained method with all five corpora in view, and the number of hidden units and their
penalty on held-out fifths of the training sets. *Linear* is the trained ranker without hidden units
(`hidden=0`), alone or with the score of a model as an additional feature. *M4 alone* and *block HMM
alone* take the candidate whose classes best predict those of the message (10 classes, 150 sweeps on
about 2,500 training messages); for the search of M4's own paper see [m4.md](m4.md). M4's figures
are from 2026-11-16, when the paper's transitions had a sampler of their own; today's sampler of the
same model draws other random numbers.
"""

_READING = """\
*Random* is the expected accuracy of a parent drawn uniformly from the earlier messages and the
start.
"""


def _official(result: dict[str, Any] | None) -> list[str]:
    """Return the comparison that people of this field look for."""
    if result is None:
        return []
    train, elsewhere, test = result["messages"]
    lines = [
        "## Whole channels, by the official measures",
        "",
        f"The test logs of the Ubuntu IRC channel (Kummerfeld et al. 2019; {test:,} messages), as "
        "near to the official protocol as the data allow: messages in the order of their line "
        "numbers, links from `reply_to` and `other_parents`, a start counts as a link to itself. "
        "System lines are missing from the data; as their numbers show where they were, each "
        "counts as a conversation of its own, which every method gets right. With them there are "
        "5,000 annotated lines. A message has at most one parent here, which limits recall. "
        "Settings were chosen on the development logs; the test logs were looked at once.",
        "",
        "| method | P | R | F of links | scaled VI | one-to-one | F of exact matches |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, scores in result["scores"].items():
        lines.append(f"| {name} | {' | '.join(f'{score:.1f}' for score in scores)} |")
    for name, (links, vi, exact) in PUBLISHED.items():
        shown = "–" if links is None else f"{links:.1f}"
        lines.append(f"| *{name}* | – | – | {shown} | {vi:.1f} | – | {exact:.1f} |")
    return [
        *lines,
        "",
        "*Shipped* is what `--channel` uses without training: learned from the training logs "
        "(CC BY 4.0), without words. *By places* is what was used before. *Other years* has only "
        f"the {elsewhere:,} of the {train:,} training messages that are from years without a test "
        "log. *One look* leaves out the [second look](../threads.md#trained).",
        "",
    ]


def _elsewhere(result: dict[str, Any] | None) -> list[str]:
    """Show how well each corpus is rebuilt by what was learned from another one alone."""
    if result is None:
        return []
    rows = result["rows"]
    ahead = sum(row["used"] > row["best"] for row in rows)
    lines = [
        "## Learned from another corpus",
        "",
        "Each corpus left out: a rebuilder learned from up to 10,000 training messages of "
        "*another* one, used on up to 3,000 test messages; the default that it falls back to is "
        "learned without the corpus that is rebuilt. *Best baseline*: the better of previous and "
        "first message. *Distance*: how unlike the two corpora "
        "[look](../threads.md#learned-elsewhere); from 0.6 on, the default is used. As used, the "
        "rebuilder is above the best baseline in "
        f"{ahead} of {len(rows)} cases, by {_points(rows, 'used')} points on average (the worst: "
        f"{min(_gain(row, 'used') for row in rows):+.1f}); what was learned, alone, in "
        f"{sum(row['alone'] > row['best'] for row in rows)}, by {_points(rows, 'alone')} points "
        f"(the worst: {min(_gain(row, 'alone') for row in rows):+.1f}). No corpus here is another "
        "one of the same kind, such as a second forum.",
        "",
        "| used on | learned from | distance | best baseline | learned alone | as used | gain |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['on']} | {row['learned']} | {row['distance']:.2f} | {row['best']:.3f} | "
        f"{row['alone']:.3f} | {row['used']:.3f} | {_gain(row, 'used'):+.1f} |"
        for row in rows
    ]
    return [*lines, ""]


def _gain(row: dict[str, Any], kind: str) -> float:
    return 100.0 * float(row[kind] - row["best"])


def _points(rows: list[dict[str, Any]], kind: str) -> str:
    return f"{sum(_gain(row, kind) for row in rows) / len(rows):+.1f}"


def _cell(value: list[float]) -> str:
    return f"{value[0]:.3f} ({value[1]:.3f}–{value[2]:.3f})"


def _accuracy(results: dict[str, Any]) -> list[str]:
    lines = []
    for name, result in results.items():
        train, test = result["messages"]
        lines += [
            f"**{name}**: {test:,} messages, {result['conversations'][1]:,} conversations; "
            f"trained on {train:,} messages; random {result['random']:.3f}",
            "",
            "| method | accuracy | choices | F1 of links |",
            "|---|---|---|---|",
        ]
        for label in _ORDER:
            if label in result["methods"]:
                method = result["methods"][label]
                lines.append(
                    f"| {label} | {_cell(method['accuracy'])} | {method['choices']:.3f} | "
                    f"{method['links']['f1']:.3f} |"
                )
        lines.append("")
    return lines


def _difference(values: list[float] | float) -> str:
    if isinstance(values, float):
        return f"{100 * values:+.1f}"
    return f"{100 * values[2]:+.1f} ({100 * values[3]:+.1f} to {100 * values[4]:+.1f})"


def _gains(results: dict[str, Any]) -> list[str]:
    lines = [
        "Differences in accuracy, in percentage points, with intervals. *Trained* is compared with "
        "the best of all baselines, *untrained* with the better of previous and first message. The "
        "last three columns show what hidden units add to the linear ranker (two fits, no "
        "interval), and what the score of a model adds to it.",
        "",
        "| corpus | best baseline | trained | untrained | hidden units add | M4 adds | "
        "block HMM adds |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        gains = result["gains"]
        columns = ("trained", "untrained", "hidden", "trained, with M4", "trained, with block HMM")
        cells = [_difference(gains[label]) if label in gains else "–" for label in columns]
        lines.append(f"| {name} | {result['best'][1]} | {' | '.join(cells)} |")
    return lines


def _verdict(results: dict[str, Any]) -> list[str]:
    """Summarize the table of differences."""
    weak = {
        name: 100 * result["gains"]["trained"][2]
        for name, result in results.items()
        if result["methods"][result["best"][1]]["accuracy"][0] < 0.9
        and result["gains"]["trained"][2] < 0.05
    }
    short = ", ".join(f"{name} ({gain:+.1f})" for name, gain in weak.items())
    untrained = {name: 100 * r["gains"]["untrained"][2] for name, r in results.items()}
    above = sum(gain > 0 for gain in untrained.values())
    worst = min(untrained, key=untrained.__getitem__)
    told = [
        f"{label.removeprefix('trained, with ')} on {name}"
        for name, result in results.items()
        for label, gain in result["gains"].items()
        if label.startswith("trained, with") and gain[3] > 0
    ]
    adds = f"except {', '.join(told)}" if told else "on any corpus"
    missing = [name for name, result in results.items() if "hidden" not in result["gains"]]
    note = (
        f" Hidden units were not measured on {', '.join(missing)}; the linear ranker stands in for "
        "the trained one there."
    )
    return [
        "- **Trained** beats the best baseline by at least five percentage points on every corpus "
        "here" + (f" except {short}." if short else ".") + (note if missing else ""),
        "- These are held-out parts of the corpora that were learned from. Expect less from what "
        "was learned elsewhere; from another kind of talk (mail for chat) it can be worse than the "
        "previous message, so the [default is used instead](../threads.md#learned-elsewhere).",
        f"- **Untrained** beats the better of previous and first message on {above} of "
        f"{len(untrained)} corpora; its worst difference is {untrained[worst]:+.1f} points "
        f"({worst}).",
        f"- **A word model adds nothing measurable** to the other evidence {adds}: names, turns "
        "and shared words say more than classes do. We did not fit word models for channels.",
    ]


def _calibration(results: dict[str, Any]) -> list[str]:
    lines = [
        "Expected calibration error (10 bins) of the chosen parents of held-out messages with more "
        "than one candidate. *Confident*: accuracy of the choices with a probability of at least "
        "0.9, and their share in parentheses.",
        "",
        "| corpus | trained | confident | untrained | confident |",
        "|---|---|---|---|---|",
    ]
    for name, result in results.items():
        row = [name]
        for label in ("trained", "untrained"):
            found = result["calibration"][label]
            count, _, right = found["bins"][-1]
            total = sum(cells[0] for cells in found["bins"])
            row += [f"{found['error']:.3f}", f"{right:.3f} ({100 * count / total:.0f}%)"]
        lines.append(f"| {' | '.join(row)} |")
    return lines


def _channels(results: dict[str, Any]) -> list[str]:
    lines = [
        "Conversations are the trees that the links form. VI is the variation of information in "
        "bits, and scaled VI is 1 - VI / log2 N. One-to-one is the share of messages in matched "
        "conversations under the best matching. Exact F1 counts conversations of two or more "
        "messages that are found exactly.",
        "",
        "| method | precision | recall | F1 of links | VI | scaled VI | one-to-one | exact F1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        if "channels" not in name:
            continue
        for label in _ORDER:
            if label in result["methods"]:
                links = result["methods"][label]["links"]
                split = result["methods"][label]["conversations"]
                values = [links[key] for key in ("precision", "recall", "f1")]
                values += [split[k] for k in ("vi", "scaled_vi", "one_to_one", "exact_f1")]
                lines.append(f"| {label} | {' | '.join(f'{v:.3f}' for v in values)} |")
    return lines
