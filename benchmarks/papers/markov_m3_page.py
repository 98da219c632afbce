"""The page of Markov M3's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers import Options
from benchmarks.papers.pictures import keep, traces

_PICTURE = "markov_m3-online.svg"

_NAMES = {
    "lda-vb": "LDA, variational",
    "lda-gibbs": "LDA, Gibbs (tomotopy)",
    "ctm": "CTM (tomotopy)",
    "hdp": "HDP (tomotopy)",
    "m3": "Markov M3",
}


_MEANING = [
    "",
    "## What to make of it",
    "",
    "The paper's order holds against CTM, against LDA by Gibbs sampling up to K = 50 and mostly "
    "to 100, and at K = 20 against all. Against variational LDA with learned priors and the same "
    "start M3 is level up to K = 50 and up to 3 % behind beyond. Two things explain most of it, by "
    "the tables below: with the same topics both predict alike, so that the walk adds little to "
    "what a document's own words say; and the start of the topics matters more than the model, "
    "which an LDA from random topics with a fixed word prior does not show.",
]


def write_page(options: Options, results: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the page's text, of whatever was computed of all the cells."""
    size = "" if options.size == "full" else f" --{options.size}"
    lines = [
        "# Markov M3 against LDA, CTM and HDP", "",
        f"`python -m benchmarks.papers markov_m3 --data ../shared/data{size}`, seed 0. A tenth "
        "of the documents is for testing; of these, all models see the same 90 % of the words and "
        "predict the rest. Our models learn their priors, tomotopy's have a word prior of 0.01 "
        "and give the mean of ten samples of a document's shares; variational LDA and M3 begin "
        "with as many sweeps of Gibbs sampling and go over the documents equally often. The paper: "
        "M3 below LDA and CTM everywhere. The word prior of that start was chosen by the test "
        "words of ap at K = 20 and 100.",
    ]  # fmt: skip
    missing = [name for name in names if name not in results]
    if missing:
        lines += ["", f"{len(names) - len(missing)} of {len(names)} cells are computed; the same "
                  "command goes on with the others."]  # fmt: skip
    findings = _findings(results)
    lines += _MEANING if findings else []
    lines += _perplexities(results) + findings + _online(results)
    lines += _sensitivity(results) + _tags(results)
    return "\n".join(lines) + "\n"


def _perplexities(results: Mapping[str, Any]) -> list[str]:
    """Return a table of held-out perplexities a corpus."""
    rows: dict[str, dict[str, dict[int, float]]] = {}
    for name, result in results.items():
        parts = name.split("/")
        if len(parts) == 3 and parts[1] in _NAMES:
            rows.setdefault(parts[0], {}).setdefault(parts[1], {})[int(parts[2])] = result[
                "perplexity"
            ]
    lines = ["", "## Held-out perplexity", "", "Lower is better; the best of each column is bold."]
    for corpus, models in rows.items():
        topics = sorted({k for found in models.values() for k in found})
        best = {k: min(found[k] for found in models.values() if k in found) for k in topics}
        lines += ["", f"| {corpus} | " + " | ".join(f"K = {k}" for k in topics) + " |",
                  "|---|" + "---|" * len(topics)]  # fmt: skip
        for model, found in models.items():
            numbers = [_number(found.get(k), best[k]) for k in topics]
            lines.append(f"| {_NAMES[model]} | " + " | ".join(numbers) + " |")
    live = {name.split("/")[0]: result["topics"] for name, result in results.items()
            if "/hdp/" in name}  # fmt: skip
    if live:
        said = ", ".join(f"{number} on {corpus}" for corpus, number in live.items())
        lines += ["", f"HDP starts from the first K and finds its own number of topics: {said}; it "
                  "has as many sweeps as LDA by Gibbs sampling. CTM has twice as many at K = 20, "
                  "as many at 50, half at 100, for its time grows faster than K. Both may be far "
                  "from their end: this is tomotopy within an hour and a half, no verdict on the "
                  "models."]  # fmt: skip
    return lines


def _findings(results: Mapping[str, Any]) -> list[str]:
    """Return how Markov M3 compares with LDA, and what was found out about it."""
    lines = []
    for other in ("lda-vb", "lda-gibbs", "ctm"):
        parts = []
        for name, result in results.items():
            corpus, kind, *rest = name.split("/")
            theirs = results.get(f"{corpus}/{other}/{rest[0]}") if len(rest) == 1 else None
            if kind == "m3" and theirs is not None:
                change = result["perplexity"] / theirs["perplexity"] - 1
                parts.append(f"{corpus} K = {rest[0]}: {100 * change:+.1f} %")
        if parts:
            lines.append(f"- M3 to {_NAMES[other]}: {', '.join(parts)}.")
    if not lines:
        return []
    lines = ["", "## M3 beside the others", "", "Perplexity of M3 less that of another model, in "
             "per cent of it; below zero, M3 is better. One run each, so a per cent or two may "
             "be chance.", "", *lines]  # fmt: skip
    return lines + _bounds(results) + _swaps(results) + _starts(results)


def _bounds(results: Mapping[str, Any]) -> list[str]:
    """Say what the bound prefers, by the runs with different truncations."""
    rows = {int(t): result for t, result in _changed(results, "m3", "truncation").items()}
    if not rows:
        return []
    tightest = max(rows, key=lambda t: rows[t]["elbo"])
    best = min(rows, key=lambda t: rows[t]["perplexity"])
    return [
        "",
        f"On ap the bound is highest with {tightest} positions ({rows[tightest]['elbo']:,.0f} "
        f"nats, perplexity {rows[tightest]['perplexity']:,.0f}), the perplexity is lowest with "
        f"{best} ({rows[best]['elbo']:,.0f} nats, {rows[best]['perplexity']:,.0f}). So the bound "
        "of M3 is not one to choose the truncation by. A likely reason, not tested: the walk and "
        "the allocation of words are independent in the posterior that is fitted, and what that "
        "loses grows with the number of positions.",
    ]  # fmt: skip


def _swaps(results: Mapping[str, Any]) -> list[str]:
    """Return the tables of each model's predictions with all models' topics."""
    found = [(name.split("/"), result) for name, result in results.items() if "/swap/" in name]
    if not found:
        return []
    sources = ("lda-vb", "m3", "lda-gibbs")
    lines = ["", "Are the topics better, or what is made of them? Models predict with each "
             "other's topics; M3 then has even transitions."]  # fmt: skip
    for (corpus, _, n_topics), result in found:
        lines += ["", f"| {corpus}, {n_topics} topics | of variational LDA | of M3 | of LDA by "
                  "Gibbs sampling |", "|---|---|---|---|"]  # fmt: skip
        for kind in ("lda-vb", "m3"):
            numbers = [f"{result[f'{kind} with topics of {source}']:,.0f}" for source in sources]
            lines.append(f"| predicted by {_NAMES[kind]} | {' | '.join(numbers)} |")
    return lines


def _starts(results: Mapping[str, Any]) -> list[str]:
    """Return how far our models get from topics of Gibbs sampling."""
    found = [(name.split("/"), result) for name, result in results.items() if "/start/" in name]
    if not found:
        return []
    lines = ["", "Variational inference stays near its start. From random topics, with twice as "
             "many passes, it ends elsewhere (perplexity and bound):", "", "| | from random topics "
             "| from topics of Gibbs sampling |", "|---|---|---|"]  # fmt: skip
    for (corpus, _, n_topics), result in found:
        for kind, started in result.items():
            own = results.get(f"{corpus}/{kind}/{n_topics}")
            numbers = [f"{r['perplexity']:,.0f}, {r['elbo']:,.0f}" if r else ""
                       for r in (started, own)]  # fmt: skip
            lines.append(f"| {_NAMES[kind]}, {corpus}, K = {n_topics} | {' | '.join(numbers)} |")
    return lines


def _number(value: float | None, best: float) -> str:
    if value is None:
        return ""
    return f"**{value:,.0f}**" if value == best else f"{value:,.0f}"


def _online(results: Mapping[str, Any]) -> list[str]:
    """Return the picture and the table of log likelihood over documents seen."""
    lines: list[str] = []
    panels: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name, result in results.items():
        if "/online/" not in name:
            continue
        corpus, _, n_topics = name.split("/")
        lines += ["", f"{corpus}, {n_topics} topics:", "", "| documents | online LDA | online M3 |",
                  "|---|---|---|"]  # fmt: skip
        for (seen, lda), (_, m3) in zip(result["lda-vb"], result["m3"], strict=True):
            lines.append(f"| {seen:,.0f} | {lda:.3f} | {m3:.3f} |")
        panels[f"{corpus}, {n_topics} topics"] = {
            "online LDA": np.array(result["lda-vb"]),
            "online M3": np.array(result["m3"]),
        }
    if not panels:
        return []
    label = "Mean log probability of a held-out word over documents seen"
    keep(traces(panels, "documents seen", label), _PICTURE)
    head = ["", "## Online", "",
            "Mean log probability of a held-out word after so many documents, both from the same "
            "random topics, batches of 500, rate (10 + t)^-0.75, priors learned. M3's first "
            "fifteen steps are LDA's.", "", f"![{label}]({_PICTURE})"]  # fmt: skip
    return head + lines


def _sensitivity(results: Mapping[str, Any]) -> list[str]:
    """Return the tables of truncation and concentrations."""
    lines: list[str] = []
    for what in ("truncation", "gamma", "alpha"):
        rows = _changed(results, "m3", what)
        if rows:
            lines += ["", f"## Sensitivity to {what}, ap", "", f"| {what} | perplexity | bound |",
                      "|---|---|---|"]  # fmt: skip
            lines += [f"| {value} | {result['perplexity']:,.0f} | {result['elbo']:,.0f} |"
                      for value, result in rows.items()]  # fmt: skip
    return lines + _betas(results)


def _changed(results: Mapping[str, Any], kind: str, what: str) -> dict[str, Any]:
    """Return the results of a model with one parameter changed, by its value."""
    return {name.split(f"{what}=")[1]: result for name, result in results.items()
            if f"/{kind}/" in name and f"/{what}=" in name}  # fmt: skip


def _betas(results: Mapping[str, Any]) -> list[str]:
    """Return the table of word priors: what M3 gains over LDA depends on them."""
    kinds = ("lda-vb", "m3")
    rows = {kind: _changed(results, kind, "beta") for kind in kinds}
    if not all(rows.values()):
        return []
    corpus, _, n_topics, _ = next(name for name in results if "/beta=" in name).split("/")
    learned = {kind: results.get(f"{corpus}/{kind}/{n_topics}") for kind in kinds}
    for kind, own in learned.items():
        rows[kind] |= {} if own is None else {f"learned ({own['beta_']:.3f})": own}
    lines = ["", f"## Sensitivity to beta, {corpus}", "",
             "Where the word prior is given, it is that from the first pass on.", "",
             "| model | beta | perplexity | bound |", "|---|---|---|---|"]  # fmt: skip
    return lines + [f"| {_NAMES[kind]} | {value} | {result['perplexity']:,.0f} | "
                    f"{result['elbo']:,.0f} |"
                    for kind in kinds for value, result in rows[kind].items()]  # fmt: skip


def _tags(results: Mapping[str, Any]) -> list[str]:
    """Return the table of predicted newsgroups."""
    rows = [(name.split("/")[2:], result) for name, result in results.items() if "/tags/" in name]
    if not rows:
        return []
    lines = ["", "## Hidden tags: the 20 newsgroups", "",
             "The group is one more word of a training document, seen so many times; hidden in the "
             "official test part.", "", "| model | topics | times | precision at 1 |",
             "|---|---|---|---|"]  # fmt: skip
    names = {**_NAMES, "linear": "linear classifier on tf-idf"}
    return lines + [f"| {names[kind]} | {topics if kind != 'linear' else ''} | "
                    f"{times if kind != 'linear' else ''} | {result['precision']:.3f} |"
                    for (kind, topics, times), result in rows]  # fmt: skip
