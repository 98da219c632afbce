"""The results page of the hidden backoff experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers import hidden_backoff_factors, hidden_backoff_main
from benchmarks.papers.hidden_backoff import PAIR
from benchmarks.papers.hidden_backoff_main import difference
from benchmarks.papers.pictures import curves, keep

_PICTURE = "hidden_backoff-rounds.svg"
#: Parameters that had other names when results were stored.
_RENAMED = {"discount": "smoothing"}

_INTRO = """# Hidden backoff models on meetings

Written by `python -m benchmarks.papers hidden_backoff --data ../shared/data`, seed 0. Paper: Ji &
Bilmes (2006). Model: [hidden backoff](../models/hidden_backoff.md).
"""

_SETUP = """
## Setup

The sentences of the ICSI meetings (MRDA) have five tags: statements (s), questions (q),
backchannels (b), floor holders (h) and disruptions (x). 51 meetings are for training, 11 for
choosing settings (dev) and 11 for testing; rows without a tag or without words are left out. Errors
are percentages of sentences. All settings were chosen on dev, and the test meetings were tagged
once per row below. The dev meetings are harder than the test meetings for nearly every model.

**Words or marks?** The paper reports an error of 19.7% for its baseline (tag bigrams, and word
bigrams given the tag). Bare words without an end-of-sentence token, as in the paper's formula, come
nowhere near that (first row of [the table](#all-models), left). With the transcribers' marks
(right; `==` where a sentence breaks off, `-` for a break; no full stops, question marks or
exclamation marks) the same model nearly matches the paper's error on the test meetings. The marks
all but give the disruptions away. That is a coincidence: the paper most likely mapped tags in
another way ([below](#by-main-tags)), and then words alone come as near. *Words* are what a speech
recognizer would produce.
"""

#: Errors of the paper's baseline and of its best states per tag.
PAPERS = (0.197, 0.185)

_WORDS = """You can hear whether a sentence breaks off, and whether a *yeah* agrees, listens or
takes the floor, but the words do not show it. The paper makes the second point in its section
4.4."""

_PAPER = """
Paper: baseline 19.7, two states "more than 5 % relative better", best states per tag 6.1% relative
better (about 18.5); maximum entropy (Ang et al. 2005) 20.5 without prosody and 18.8 with it; the
paper's prosody model 18.4. Neural taggers with pretrained encoders are reported to reach 8–9% on
these tags, beyond the reach of n-gram models.
"""


def text(results: Mapping[str, Any], seconds: Mapping[str, float]) -> str:
    """Return the text of the page; results not computed yet are left out."""
    parts = [_INTRO, _findings(results), _SETUP]
    parts += ["## All models\n", _table(results, seconds), _PAPER]
    parts += [hidden_backoff_main.section(results), hidden_backoff_factors.section(results)]
    parts += [_words_alone(results), _searched(results)]
    parts += [_rounds(results), _confusion(results), _states(results), _calls(results)]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _names(results: Mapping[str, Any], convention: str) -> list[str]:
    prefix = f"{convention}/"
    return [
        name.removeprefix(prefix)
        for name in results
        if name.startswith(prefix) and "round " not in name
    ]


#: Row labels that differ from the names of the stored results.
_LABELS = {
    "baseline, without the end": "baseline, no end-of-sentence token",
    "baseline, change of speaker": "baseline, speaker changes",
    "baseline, trigram of tags": "baseline, tag trigrams",
    "2 states, word>state+tag, without the end": (
        "2 states, word>state+tag, no end-of-sentence token"
    ),
    "2 states, drawn alignments": "2 states, sampled alignments",
    "2 states, last ones tied": "2 states, last states tied",
    "broken off, says the transcriber (`==`)": "broken off according to the transcriber (`==`)",
    "all others": "all other sentences",
}


def _shown(name: str) -> str:
    return _LABELS.get(name, name)


def _own(results: Mapping[str, Any], convention: str) -> list[str]:
    """Return the names of all models except maximum entropy."""
    return [name for name in _names(results, convention) if not name.startswith("MaxEnt")]


def _table(results: Mapping[str, Any], seconds: Mapping[str, float]) -> str:
    names = list(dict.fromkeys([*_names(results, "words"), *_names(results, "marks")]))
    lines = [
        "| | words: dev | test | marks: dev | test | seconds (words, busy machine) |",
        "|---|---|---|---|---|---|",
    ]
    for name in names:
        cells = []
        for convention in ("words", "marks"):
            result = results.get(f"{convention}/{name}")
            cells += [_percent(result[part]) if result else "" for part in ("dev", "test")]
        time = seconds.get(f"words/{name}", 0.0)
        lines.append(f"| {_shown(name)} | {' | '.join(cells)} | {f'{time:.0f}' if time else ''} |")
    return "\n".join(lines)


def _findings(results: Mapping[str, Any]) -> str:
    """Summarize the table, with its figures."""

    def test(name: str) -> tuple[str, str]:
        found = [results[f"{convention}/{name}"]["test"] for convention in ("words", "marks")]
        return _percent(found[0]), _percent(found[1])

    bare, base = test("baseline, without the end"), test("baseline")
    two, fork = test("2 states"), test("2 states, fork")
    speaker = test("baseline, change of speaker")
    lost = [_percent(_lost(results[f"marks/{name}"], "s")) for name in ("baseline", "2 states")]
    papers = test("2 states, word>state+tag, without the end")
    return f"""## What to make of it

Errors on the test meetings, in percent. *Words* are bare words; *marks* include the transcribers'
marks. Both map tags in another way than the paper probably did ([by main tags](#by-main-tags)).

- **Hidden states do not help**, under either map of tags, with words or marks, forward or forked,
  from spread or random first states. The one row that is below its baseline is the paper's own
  model on marks, without an end-of-sentence token ({papers[1]} against {bare[1]}, with another
  backoff graph{_paired(results)}).
  With that token both are better, and the baseline is ahead. So the tagger has no hidden states by
  default.
{_best(results, "marks")}
- **The paper's own model** (marks, no end-of-sentence token): baseline {bare[1]} (paper 19.7); two
  states with `word>state+tag`, decoded by summing over states, {papers[1]}.
- **An end-of-sentence token** helps most: {bare[0]} → {base[0]} on words, {bare[1]} → {base[1]} on
  marks. The paper's formula does not have one.
- **Hidden states that only move forward** do not help: two states have {two[0]} against the
  baseline's {base[0]} on words, and {two[1]} against {base[1]} on marks. The paper reports an
  improvement of 5%. Here statements are lost to rarer tags: {lost[1]}% of them get another tag on
  marks, against {lost[0]}% with the baseline.
- **The fork** proposed in the paper's section 4.4, with two states: {fork[0]} on words and
  {fork[1]} on marks.
- **Speaker changes** as a parent of the tag, which the paper does not have: {speaker[0]} on words
  and {speaker[1]} on marks, against {base[0]} and {base[1]}."""


def _paired(results: Mapping[str, Any]) -> str:
    """Return the difference of the paper's own model from its baseline, paired over meetings."""
    found = results.get("paired/marks")
    if found is None:
        return ""
    base, states = (found[name] for name in PAIR)
    return f"; {difference(states, base)} points, paired over meetings"


def _best(results: Mapping[str, Any], convention: str) -> str:
    """Name the best configuration on dev, and the errors of maximum entropy."""
    best = min(_own(results, convention), key=lambda n: results[f"{convention}/{n}"]["dev"])
    reached = results[f"{convention}/{best}"]["test"]
    told = (
        f"- **The best configuration on dev with {convention}** is *{_shown(best)}*. Its test "
        f"error is {_percent(reached)}%, {'below' if reached < PAPERS[1] else 'not below'} the "
        f"paper's {_percent(PAPERS[0])} (baseline) and about {_percent(PAPERS[1])} (best)."
    )
    others = [f"{name} {_percent(results[f'{convention}/{name}']['test'])}"
              for name in ("MaxEnt", "MaxEnt with context")
              if f"{convention}/{name}" in results]  # fmt: skip
    return told + (f" Maximum entropy on {convention}: {', '.join(others)}." if others else "")


def _words_alone(results: Mapping[str, Any]) -> str:
    """Say how well words alone do, and where the errors are."""
    where = results.get("words/baseline", {}).get("where")
    if not where:
        return ""
    errors = [results[f"words/{name}"]["test"] for name in _names(results, "words")]
    lowest = min(errors)
    lines = ["", "## Words alone", "", _best(results, "words")]
    if lowest > PAPERS[0]:
        lines.append(
            "- Without the marks, and with these tags, no configuration beats the paper's "
            f"{_percent(PAPERS[0])}%, not even maximum entropy: the lowest error is "
            f"{_percent(lowest)}%."
        )
    pauses = results.get("words/baseline, searched, pauses")
    plain = results.get("words/baseline, searched")
    if pauses and plain:
        lines.append(
            "- *Pauses* precede each sentence with a token for the time until the speaker "
            "continues, which needs a recording but no transcriber: "
            f"{_percent(plain['test'])} → {_percent(pauses['test'])}."
        )
    lines += ["", "Where the baseline goes wrong on dev, in percent:", "",
              "| | share of sentences | error rate | share of all errors |",
              "|---|---|---|---|"]  # fmt: skip
    whole = sum(group["wrong"] for group in where.values())
    for name, group in where.items():
        lines.append(f"| {_shown(name)} | {_percent(group['sentences'])} | "
                     f"{_percent(group['wrong'] / group['sentences'])} | "
                     f"{_percent(group['wrong'] / whole)} |")  # fmt: skip
    lines += ["", _WORDS]
    return "\n".join(lines)


def _lost(result: Mapping[str, Any], label: str) -> float:
    """Return the share of a label's sentences that were given another tag."""
    rows = [row for row in result["confusion"] if row["label"] == label]
    whole = sum(row["messages"] for row in rows)
    return 1 - sum(row["messages"] for row in rows if row["tag"] == label) / max(whole, 1)


def _searched(results: Mapping[str, Any]) -> str:
    shown = ("n_states", "backoff", "interpolate", "min_count", "smoothing", "continuation",
             "cutoffs", "combine", "tag_order", "speaker_change", "decode", "word_weight",
             "topology")  # fmt: skip
    lines = []
    for name, result in results.items():
        if "params" not in result:
            continue
        params = {_RENAMED.get(key, key): value for key, value in result["params"].items()}
        found = ", ".join(f"{key} {params[key]!r}" for key in shown)
        lines.append(f"- *{name}* ({result['trials']} trials): {found}")
    return "\n".join(["", "Settings found by searching on dev:", "", *lines]) if lines else ""


def _rounds(results: Mapping[str, Any]) -> str:
    found = [results[name] for name in sorted(results) if "round " in name]
    if not found:
        return ""
    logs = np.array([row["log_likelihood"] for row in found])
    errors = np.array([100 * row["dev"] for row in found])
    panels = {
        "log-likelihood short of the last round's": {"millions": (logs[-1] - logs) / 1e6},
        "error on dev, percent": {"the paper's states": errors},
    }
    keep(curves(panels, "round", "log-likelihood and error by round of embedded EM"), _PICTURE)
    rows = [
        f"| {i} | {log:,.0f} | {error:.1f} |"
        for i, (log, error) in enumerate(zip(logs, errors, strict=True), 1)
    ]
    rising = "rises in every round" if (np.diff(logs) > 0).all() else "does not rise in every round"
    return "\n".join(
        [
            "",
            "## Rounds of embedded EM (the paper's figure 4)",
            "",
            "The paper's states per tag, on marks, with training stopped after each round. "
            f"The log-likelihood {rising}.",
            "",
            f"![log-likelihood and error by round]({_PICTURE})",
            "",
            "| round | log-likelihood | error on dev |",
            "|---|---|---|",
            *rows,
        ]
    )


def _confusion(results: Mapping[str, Any]) -> str:
    names = [f"marks/{n}" for n in _own(results, "marks")]
    if not names:
        return ""
    best = min(names, key=lambda name: results[name]["dev"])
    rows = results[best]["confusion"]
    tags = sorted({row["label"] for row in rows})
    count = {(row["label"], row["tag"]): row["messages"] for row in rows}
    lines = ["", f"## Confusion matrix ({best.removeprefix('marks/')}, marks, test)", "",
             f"| label | {' | '.join(f'tagged {tag}' for tag in tags)} | error |",
             "|---" * (len(tags) + 2) + "|"]  # fmt: skip
    for label in tags:
        whole = sum(count.get((label, tag), 0) for tag in tags)
        cells = " | ".join(f"{count.get((label, tag), 0):,}" for tag in tags)
        wrong = 1 - count.get((label, label), 0) / max(whole, 1)
        lines.append(f"| {label} | {cells} | {_percent(wrong)} |")
    return "\n".join(lines)


def _states(results: Mapping[str, Any]) -> str:
    result = results.get("marks/2 states, searched")
    if not result:
        return ""
    lines = ["", "## Characteristic words per tag and state (2 states, searched, marks)", "",
             "| tag | state | share of words | words |", "|---|---|---|---|"]  # fmt: skip
    groups: dict[tuple[str, int, float], list[str]] = {}
    for row in result["state_words"]:
        groups.setdefault((row["tag"], row["state"], row["share"]), []).append(row["word"])
    for (tag, state, share), words in groups.items():
        shown = " ".join(f"`{word}`" for word in words)
        lines.append(f"| {tag} | {state} | {_percent(share)}% | {shown} |")
    return "\n".join(lines)


def _calls(results: Mapping[str, Any]) -> str:
    rows = [(name, result) for name, result in results.items() if name.startswith("swda/")]
    if not rows:
        return ""
    lines = ["", "## Switchboard, 42 tags", "",
             "Split as in Stolcke et al. (2000), with 19 test calls; the 21 calls outside that "
             "split are dev. Rows with + or @ in their tag are left out. Stolcke et al. report an "
             "error of 29% on transcribed words.", "",
             "| | dev | test |", "|---|---|---|"]  # fmt: skip
    lines += [
        f"| {name.removeprefix('swda/')} | {_percent(r['dev'])} | {_percent(r['test'])} |"
        for name, r in rows
    ]
    return "\n".join(lines)
