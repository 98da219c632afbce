"""The results page of Markov M3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers import Options
from benchmarks.papers.markov_m3_online import write_online
from benchmarks.papers.markov_m3_pictures import write_pictures

_NAMES = {
    "lda-vb": "LDA, variational",
    "lda-gibbs": "LDA, Gibbs (tomotopy)",
    "lda-tuned": "LDA, Gibbs (tomotopy), word prior 0.03",
    "hdp": "HDP (tomotopy)",
    "hlda": "Hierarchical LDA (tomotopy)",
    "nhdp": "Nested HDP",
    "lda-tuned-more": "LDA, Gibbs (tomotopy), word prior 0.03, twice the sweeps",
    "lda-vb-few": "LDA, variational, start of 100 sweeps",
    "m3-few": "Markov M3, start of 100 sweeps",
    "m3": "Markov M3",
}


_MEANING = [
    "",
    "## What to make of it",
    "",
    "In the paper, M3 has a lower perplexity than LDA everywhere. Here it is level with "
    "variational LDA that has learned priors and the same start, within 1% or the interval in "
    "most cells.",
    "",
    "LDA by Gibbs sampling with tomotopy's default word prior of 0.01 is above M3 on ap and kos. "
    "With 0.03, the best prior on training words, it is a fair rival. With 50 topics it was 2% "
    "below M3 in the first run. Two more seeds show that most of this was chance: on ap the means "
    "of three runs are within each other's intervals. On kos it stays 1% below, and there the "
    "prediction makes the difference, not the topics: tomotopy averages ten samples of a "
    "document's shares under an uneven prior that it has learned. Its topics, folded in by the "
    "same step as M3's, predict worse than these on kos.",
    "",
    "With 150 topics its topics were better, too, because M3's start was too short: 100 Gibbs "
    "sweeps find 50 topics but not 150, and the passes after them stay near what the sweeps found. "
    "With [two sweeps per topic](../models/markov_m3.md#the-sweeps-of-the-start), a rule chosen on "
    "training words, M3 is 5% below tomotopy's LDA on ap and within 0.5% of it on kos. The rows "
    '"start of 100 sweeps" show what M3 and variational LDA did before, and "twice the sweeps" '
    "gives the sampler more time as well.",
    "",
    "On nips, whose documents are by far the longest, M3 with 150 topics is 2 to 3% above "
    "tomotopy's LDA. There the topics make the difference: folded in by the same step, tomotopy's "
    "predict 4% better than M3's. The reason is the start: the more tokens there are for each "
    "topic, the smoother its [word prior]"
    "(../models/markov_m3.md#the-word-prior-of-the-start), and on nips it is too smooth for so "
    "many topics. On training words a prior of 0.05 instead gains 5%. We did not change the rule, "
    "because every cell with many topics would have to be computed again.",
    "",
    "From a stream, M3 is below scikit-learn's online LDA and level with or below our own after "
    "every number of documents that was measured, in less processor time over the three passes. "
    "Its curve begins after the start. The seconds are those of compiled kernels; the first run on "
    "a machine also [compiles them]"
    "(../performance.md#markov-m3-and-online-lda-against-scikit-learns-online-lda).",
    "",
    "Why is the difference between the models so small? The tables below suggest two reasons. "
    "Given the same topics, both predict about equally well, so the walk adds little to what a "
    "document's own words say. And the start of the topics matters more than the model, which a "
    "comparison with LDA from random topics and a fixed word prior does not show.",
    "",
    "The nested HDP (nHDP), the paper's strongest rival, is [ours](../models/nested_hdp.md), for "
    "there is no package that installs. It chooses the topics of a document and updates them much "
    "as its paper says, but begins with the same Gibbs sweeps as the others, not nested k-means, "
    "and gives new documents the whole tree; with the topics that they would choose it predicts 4% "
    "worse on training words. On ap and kos its means and those of M3 are within each other's "
    "intervals with 20 and 50 topics. With 100 and 150, where it was run with one seed, it is "
    "level with M3 on ap and 2% below on kos. So a tree, too, adds little to prediction. Trees as "
    "large as its paper's, with 20 topics, 10 below each and 5 below each of these, were not "
    "fitted. The other trees here are HDP, which has one level, and hierarchical LDA, in which a "
    "document stays on one path.",
    "",
    "What is not here: CTM, because tomotopy's sampler had not converged after the sweeps that we "
    "could afford, and a table of such figures says nothing about the model.",
]


_SETUP = [
    "",
    "## Setup",
    "",
    "A tenth of the documents is for testing. All models see the same 90% of the words of these "
    "documents and predict the rest. Our models learn their priors; tomotopy's have a word prior "
    "of 0.01, its default (LDA in one row 0.03), and average ten samples of a document's topic "
    "shares after 200 sweeps. Variational LDA, the nested HDP and M3 start with the same number of "
    "Gibbs sweeps, two for each topic and 100 at least, and make the same 20 passes over the "
    "documents. The nested HDP has three levels; its K are the topics of all of them. "
    "The word prior and the sweeps of that start and how M3's walks grow were chosen on training "
    "words (see [the model](../models/markov_m3.md#parameters-that-matter)); up to K = 50 walks "
    "have 15 positions. Seeds are 0 to 2 where a table shows an interval, else 0; the split into "
    "training and test documents is always the same.",
]

#: Our parameters and the symbols that the paper and the stored results use.
_PARAMETERS = {
    "truncation": "`truncation`",
    "gamma": "`position_concentration` (gamma in the paper)",
    "alpha": "`step_concentration` (alpha in the paper)",
    "beta": "`word_prior` (beta in the paper)",
}


def write_page(options: Options, results: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the text of the page, from the results computed so far."""
    size = "" if options.size == "full" else f" --{options.size}"
    lines = [
        "# Markov M3 against LDA and HDP", "",
        f"Written by `python -m benchmarks.papers markov_m3 --data ../shared/data{size}`. "
        "Paper: Zhang & Paisley (2015). Model: [Markov M3](../models/markov_m3.md).",
    ]  # fmt: skip
    missing = [name for name in names if name not in results]
    if missing:
        once = [name for name in missing if "/seed=" not in name]
        lines += ["", f"{len(names) - len(missing)} of {len(names)} cells are computed; the same "
                  f"command computes the others: {len(missing) - len(once)} runs with more seeds, "
                  f"and {', '.join(once)}."]  # fmt: skip
    findings = _findings(results)
    lines += _MEANING if findings else []
    lines += _SETUP
    lines += _perplexities(results) + findings + write_online(results)
    lines += write_pictures(results)
    lines += _sensitivity(results) + _tags(results)
    return "\n".join(lines) + "\n"


#: Of Student's distribution with one, two ... degrees of freedom: half of an interval of 95%, in
#: standard errors.
_STUDENT = (12.706, 4.303, 3.182, 2.776)


class Runs(NamedTuple):
    """Perplexities of one model with one number of topics, by seed."""

    values: list[float]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def half(self) -> float:
        """Half of the 95% interval of the mean; 0 for one run."""
        n = len(self.values)
        return 0.0 if n == 1 else float(_STUDENT[n - 2] * np.std(self.values, ddof=1) / n**0.5)


def _run_of(name: str) -> tuple[str, str, int] | None:
    """Return corpus, model and number of topics of a cell with a model's usual settings."""
    corpus, kind, *rest = name.split("/")
    is_run = len(rest) == 1 or (len(rest) == 2 and rest[1].startswith("seed="))
    return (corpus, kind, int(rest[0])) if kind in _NAMES and is_run else None


def runs_of(results: Mapping[str, Any]) -> dict[str, dict[str, dict[int, Runs]]]:
    """Return the perplexities by corpus, model and number of topics."""
    found: dict[str, dict[str, dict[int, Runs]]] = {}
    for name, result in results.items():
        run = _run_of(name)
        if run is not None:
            corpus, kind, n_topics = run
            own = found.setdefault(corpus, {}).setdefault(kind, {})
            own.setdefault(n_topics, Runs([])).values.append(result["perplexity"])
    return found


def _perplexities(results: Mapping[str, Any]) -> list[str]:
    """Return one table of held-out perplexities per corpus."""
    lines = ["", "## Held-out perplexity", "",
             "Lower is better. Where a model was fitted with several seeds, the mean and the 95% "
             "interval of the mean; bold are the best of each column and those within its "
             "interval."]  # fmt: skip
    for corpus, models in runs_of(results).items():
        topics = sorted(
            {k for kind, found in models.items() if kind not in _GROWING for k in found}
        )
        best = {k: min((found[k] for found in models.values() if k in found),
                       key=lambda runs: runs.mean) for k in topics}  # fmt: skip
        lines += ["", f"| {corpus} | " + " | ".join(f"K = {k}" for k in topics) + " |",
                  "|---|" + "---|" * len(topics)]  # fmt: skip
        for kind in (kind for kind in _NAMES if kind in models and kind not in _GROWING):
            numbers = [_interval(models[kind].get(k), best[k]) for k in topics]
            lines.append(f"| {_NAMES[kind]} | {' | '.join(numbers)} |")
    return lines + _growing(results)


_GROWING = ("hdp", "hlda")


def _interval(runs: Runs | None, best: Runs) -> str:
    if runs is None:
        return ""
    said = f"{runs.mean:,.0f}" + (f" ± {runs.half:,.0f}" if runs.half else "")
    return f"**{said}**" if runs.mean <= best.mean + best.half else said


def _growing(results: Mapping[str, Any]) -> list[str]:
    """Return the table of the models that find their own number of topics."""
    rows = [(name.split("/")[:2], result) for name, result in results.items()
            if name.split("/")[1] in _GROWING]  # fmt: skip
    if not rows:
        return []
    lines = ["", "Models that find their own number of topics, with as many sweeps as LDA by Gibbs "
             "sampling. HDP starts with the smallest K. Hierarchical LDA is a tree of three "
             "levels with a word prior chosen on training words; at the library's concentration of "
             "0.1 it stays small, which says little about trees. The library does not say which "
             "path it finds for a new document, so only the topics are judged, folded in by LDA's "
             "step. So are those of HDP, beside what the "
             "library itself infers, which is far worse.", "",
             "| model | corpus | topics | own | folded in by LDA's step |",
             "|---|---|---|---|---|"]  # fmt: skip
    for (corpus, kind), result in rows:
        own = "" if kind == "hlda" else f"{result['perplexity']:,.0f}"
        common = f"{result['common']:,.0f}" if "common" in result else ""
        lines.append(f"| {_NAMES[kind]} | {corpus} | {result['topics']} | {own} | {common} |")
    return lines


def _findings(results: Mapping[str, Any]) -> list[str]:
    """Return how Markov M3 compares with the other models, and why."""
    runs = runs_of(results)
    others = ("lda-vb", "lda-gibbs", "lda-tuned", "nhdp")
    rows = [(other, corpus, models["m3"], models[other]) for other in others
            for corpus, models in runs.items()
            if set(models.get("m3", ())) & set(models.get(other, ()))]  # fmt: skip
    if not rows:
        return []
    topics = sorted({k for *_, ours, theirs in rows for k in ours if k in theirs})
    lines = ["", "## M3 against the others", "",
             "Perplexity of M3 relative to another model's, means of the runs above; M3 is better "
             "where the difference is negative.", "",
             "| compared with | corpus | " + " | ".join(f"K = {k}" for k in topics) + " |",
             "|---|---|" + "---|" * len(topics)]  # fmt: skip
    for other, corpus, ours, theirs in rows:
        numbers = [f"{100 * (ours[k].mean / theirs[k].mean - 1):+.1f}%"
                   if k in ours and k in theirs else "" for k in topics]  # fmt: skip
        lines.append(f"| {_NAMES[other]} | {corpus} | {' | '.join(numbers)} |")
    return (
        lines
        + _etas(results)
        + _branchings(results)
        + _common(results)
        + _bounds(results)
        + _swaps(results)
        + _starts(results)
    )


def _etas(results: Mapping[str, Any]) -> list[str]:
    """Return what word priors do to tomotopy's LDA and tree, on training words."""
    lines: list[str] = []
    for what, question in (
        ("eta", "**What word prior suits Gibbs sampling?** Perplexity of words of training "
                "documents, tomotopy's LDA, 50 topics:"),
        ("tree", "And hierarchical LDA?"),
    ):  # fmt: skip
        found: dict[str, dict[str, float]] = {}
        for name, result in results.items():
            corpus, kind, *rest = name.split("/")
            if kind == what:
                found.setdefault(corpus, {})[rest[0]] = result["perplexity"]
        if not found:
            continue
        values = list(next(iter(found.values())))
        lines += ["", question, "", "| word prior | " + " | ".join(values) + " |",
                  "|---|" + "---|" * len(values)]  # fmt: skip
        for corpus, own in found.items():
            numbers = [_number(own.get(v), min(own.values())) for v in values]
            lines.append(f"| {corpus} | {' | '.join(numbers)} |")
    return lines


def _branchings(results: Mapping[str, Any]) -> list[str]:
    """Return what the shape of its tree does to the nested HDP, on training words."""
    rows = [(name.split("/"), result) for name, result in results.items() if "/branching/" in name]
    if not rows:
        return []
    lines = ["", "**What shape suits the tree of the nested HDP?** Perplexity of words of training "
             "documents, 50 topics on three levels, each with so many times as many topics as the "
             "one above, the last with the rest. A new document has the whole tree, or topics that "
             "it chooses as documents do while the model learns.", "",
             "| corpus | children | whole tree | chosen topics | folded in by LDA's step |",
             "|---|---|---|---|---|"]  # fmt: skip
    best = {corpus: min(result["perplexity"] for parts, result in rows if parts[0] == corpus)
            for (corpus, *_), _ in rows}  # fmt: skip
    for (corpus, _, children), result in rows:
        lines.append(f"| {corpus} | {children} | {_number(result['perplexity'], best[corpus])} | "
                     f"{result['chosen']:,.0f} | {result['common']:,.0f} |")  # fmt: skip
    return lines


def _common(results: Mapping[str, Any]) -> list[str]:
    """Return perplexities with the same fold-in for the topics of any model, where computed."""
    rows: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for name, result in results.items():
        found = _run_of(name)
        if found and found[1] not in _GROWING and "common" in result:
            rows.setdefault(found, []).append((result["perplexity"], result["common"]))
    if not rows:
        return []
    lines = [
        "",
        "**One fold-in for all.** The same topics, folded into the test documents by "
        "variational LDA's step with a fixed share prior of 5/K, and each model's own fold-in; "
        "means of the runs that were judged both ways:",
        "",
        "| model | corpus | K | runs | own | common |",
        "|---|---|---|---|---|---|",
    ]
    order = sorted(rows, key=lambda row: (row[0], row[2], list(_NAMES).index(row[1])))
    for corpus, kind, n_topics in order:
        runs = rows[corpus, kind, n_topics]
        own, common = np.mean(runs, axis=0)
        lines.append(
            f"| {_NAMES[kind]} | {corpus} | {n_topics} | {len(runs)} | {own:,.0f} | {common:,.0f} |"
        )
    return lines


def _bounds(results: Mapping[str, Any]) -> list[str]:
    """Say which truncation the bound prefers."""
    rows = {int(t): result for t, result in _changed(results, "m3", "truncation").items()}
    if not rows:
        return []
    tightest = max(rows, key=lambda t: rows[t]["elbo"])
    best = min(rows, key=lambda t: rows[t]["perplexity"])
    return [
        "",
        f"**Do not choose the truncation by M3's bound.** On ap the bound is highest with "
        f"{tightest} positions ({rows[tightest]['elbo']:,.0f} nats, perplexity "
        f"{rows[tightest]['perplexity']:,.0f}), but perplexity is lowest with {best} "
        f"({rows[best]['elbo']:,.0f} nats, {rows[best]['perplexity']:,.0f}). A likely reason, "
        "which we did not test: the fitted posterior treats the walk and the allocation of words "
        "as independent, and what this loses grows with the number of positions.",
    ]  # fmt: skip


def _swaps(results: Mapping[str, Any]) -> list[str]:
    """Return the tables of predictions with each other's topics."""
    found = [(name.split("/"), result) for name, result in results.items() if "/swap/" in name]
    if not found:
        return []
    sources = ("lda-vb", "m3", "lda-gibbs")
    lines = ["", "**Do better topics or better predictions make the difference?** Here the models "
             "predict with each other's topics; M3 then has uniform transitions and walks of "
             "15."]  # fmt: skip
    for (corpus, _, n_topics), result in found:
        lines += ["", f"| {corpus}, {n_topics} topics | topics of variational LDA | of M3 | of LDA "
                  "by Gibbs sampling |", "|---|---|---|---|"]  # fmt: skip
        for kind in ("lda-vb", "m3"):
            numbers = [f"{result[f'{kind} with topics of {source}']:,.0f}" for source in sources]
            lines.append(f"| predicted by {_NAMES[kind]} | {' | '.join(numbers)} |")
    return lines


def _starts(results: Mapping[str, Any]) -> list[str]:
    """Return how the start of the topics affects variational LDA."""
    found = [(name.split("/"), result) for name, result in results.items() if "/start/" in name]
    if not found:
        return []
    lines = ["", "**Variational inference stays close to its start.** From random topics, even "
             "with twice as many passes, it ends up elsewhere (perplexity, bound):", "",
             "| | from random topics | from topics of Gibbs sampling |",
             "|---|---|---|"]  # fmt: skip
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


def _sensitivity(results: Mapping[str, Any]) -> list[str]:
    """Return the tables of truncation and concentrations."""
    lines: list[str] = []
    for what in ("truncation", "gamma", "alpha"):
        rows = _changed(results, "m3", what)
        if rows:
            parameter = _PARAMETERS[what]
            lines += ["", f"## Sensitivity to {parameter}, ap", "",
                      f"| {parameter.split(' ')[0]} | perplexity | bound |",
                      "|---|---|---|"]  # fmt: skip
            lines += [f"| {value} | {result['perplexity']:,.0f} | {result['elbo']:,.0f} |"
                      for value, result in rows.items()]  # fmt: skip
        if rows and what == "truncation":
            lines += _long_walks(results)
    return lines + _betas(results)


def _long_walks(results: Mapping[str, Any]) -> list[str]:
    """Return the table of truncations with many topics."""
    rows = [(name.split("/"), result) for name, result in results.items() if "/max_visits=" in name]
    if not rows:
        return []
    lines = ["", "With many topics, one topic more than positions may be visited (start of 100 "
             "sweeps):", "",
             "| topics | `truncation` | perplexity | bound |", "|---|---|---|---|"]  # fmt: skip
    return lines + [f"| {parts[2]} | {parts[3].split('=')[1]} | {result['perplexity']:,.0f} | "
                    f"{result['elbo']:,.0f} |" for parts, result in rows]  # fmt: skip


def _changed(results: Mapping[str, Any], kind: str, what: str) -> dict[str, Any]:
    """Return the results of a model with one parameter changed, by the parameter's value."""
    return {name.split(f"{what}=")[1]: result for name, result in results.items()
            if f"/{kind}/" in name and f"/{what}=" in name and name.count("/") == 3}  # fmt: skip


def _betas(results: Mapping[str, Any]) -> list[str]:
    """Return the table of word priors, on which M3's gain over LDA depends."""
    kinds = ("lda-vb", "m3")
    rows = {kind: _changed(results, kind, "beta") for kind in kinds}
    if not all(rows.values()):
        return []
    corpus, _, n_topics, _ = next(name for name in results if "/beta=" in name).split("/")
    learned = {kind: results.get(f"{corpus}/{kind}/{n_topics}") for kind in kinds}
    for kind, own in learned.items():
        rows[kind] |= {} if own is None else {f"learned ({own['beta_']:.3f})": own}
    lines = ["", f"## Sensitivity to {_PARAMETERS['beta']}, {corpus}", "",
             "A given word prior applies from the first pass on.", "",
             "| model | `word_prior` | perplexity | bound |", "|---|---|---|---|"]  # fmt: skip
    return lines + [f"| {_NAMES[kind]} | {value} | {result['perplexity']:,.0f} | "
                    f"{result['elbo']:,.0f} |"
                    for kind in kinds for value, result in rows[kind].items()]  # fmt: skip


def _tags(results: Mapping[str, Any]) -> list[str]:
    """Return the table of predicted newsgroups."""
    rows = [(name.split("/")[2:], result) for name, result in results.items() if "/tags/" in name]
    if not rows:
        return []
    lines = ["", "## Hidden tags: the 20 newsgroups", "",
             "Each training document contains its group as an additional word, repeated as the "
             "table says; in the official test set the group is hidden.", "",
             "| model | topics | repetitions | precision at 1 |",
             "|---|---|---|---|"]  # fmt: skip
    names = {**_NAMES, "linear": "linear classifier on tf-idf"}
    return lines + [f"| {names[kind]} | {topics if kind != 'linear' else ''} | "
                    f"{times if kind != 'linear' else ''} | {result['precision']:.3f} |"
                    for (kind, topics, times), result in rows]  # fmt: skip
