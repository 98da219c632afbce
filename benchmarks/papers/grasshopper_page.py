"""The page of the GRASSHOPPER experiment: text, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers import Options
from benchmarks.papers.grasshopper import (
    ACTOR_WEIGHT,
    DUC_BYTES,
    MAIN_STARS,
    METHODS,
    RANDOM_RUNS,
    RESAMPLES,
    SEED,
    SENTENCE_WEIGHT,
    THRESHOLD,
    TOP,
    WEIGHTED,
    WORDS,
    three_groups,
)
from benchmarks.papers.grasshopper_grid import nested
from benchmarks.papers.pictures import curves, keep, weighted_points
from palaver.draw.svg import Svg
from palaver.evaluate import bootstrap, paired_bootstrap


def write(options: Options, results: Mapping[str, Any]) -> str:
    """Return the text of the page, and write its pictures."""
    suffix = "" if options.size == "full" else f"-{options.size}"
    names = {kind: f"grasshopper{suffix}-{kind}.svg" for kind in ("actors", "toy")}
    keep(_actors_picture(results["actors"]), names["actors"])
    keep(toy_picture(results["toy"]), names["toy"])
    command = "python -m benchmarks.papers grasshopper --data ../shared/data"
    lines = [
        "# GRASSHOPPER: the paper's experiments on free data",
        "",
        f"Written by `{command}{' --quick' if suffix else ''}`, seed {SEED}. Paper: Zhu, Goldberg,"
        " Van Gael & Andrzejewski (2007). Method: [ranking](../ranking.md).",
        "",
        *_meaning(results),
        *_toy_part(names["toy"]),
        *_opinosis_part(results),
        *_actors_part(results["actors"], names["actors"]),
        *duc_part(results.get("duc2004")),
    ]
    return "\n".join(lines) + "\n"


def toy_picture(result: Mapping[str, Any]) -> Svg:
    """Draw the expected visits before each of the three choices, as in the paper's figure 1."""
    points, _, graph = three_groups()
    order = result["order"]
    walk = graph / graph.sum(axis=1, keepdims=True)
    panels = {}
    for n_ranked, title in enumerate(("stationary distribution", "visits after the first",
                                      "visits after the second")):  # fmt: skip
        if n_ranked:
            left = np.setdiff1d(np.arange(len(walk)), order[:n_ranked])
            visits = np.zeros(len(walk))
            inverse = np.linalg.inv(np.eye(len(left)) - walk[np.ix_(left, left)])
            visits[left] = inverse.sum(axis=0) / len(left)
        else:
            visits = graph.sum(axis=1)  # of a symmetric graph
        panels[title] = (visits, order[: n_ranked + 1])
    return weighted_points(points, panels, "Expected visits in three groups of points")


def _meaning(results: Mapping[str, Any]) -> list[str]:
    """Summarize what the tables and pictures show."""
    toy = results["toy"]
    return [
        "## What to make of it",
        "",
        f"- **Toy example.** The top three items come from {_groups(toy['groups'])}; ranked by the"
        f" stationary distribution alone, they come from {_groups(toy['central_groups'])}."
        f" {100 * toy['own_group']:.1f}% of the points are absorbed by their own group's item.",
        f"- **Sentences.** {_sentences(results)}",
        f"- **People.** {_comparison(results['actors'])}",
        "",
    ]


def _groups(groups: Sequence[int]) -> str:
    """Say how many different groups there are."""
    n = len(set(groups))
    return f"{n} group" if n == 1 else f"{n} groups"


def _toy_part(picture: str) -> list[str]:
    return [
        "## The toy example of figure 1",
        "",
        "300 points in three groups, edge weights exp(-distance²/0.16), `weight=1`. Areas show the"
        " expected number of visits; numbers mark the ranked items.",
        "",
        f"![three groups]({picture})",
        "",
    ]


def _opinosis_part(results: Mapping[str, Any]) -> list[str]:
    n_topics = len(results[f"opinosis/{WORDS[0]}/grasshopper"]["topics"])
    lines = [
        "## Sentences: opinosis",
        "",
        f"Review sentences on {n_topics} topics. All summaries have the same number of words (the"
        " last sentence is cut off). Scores are ROUGE with stemming, averaged over each topic's"
        " references, which have 17 words on average; intervals are 95% bootstrap intervals over"
        f" topics ({RESAMPLES:,} resamples). The graph follows equation 6 (stemmed tf-idf cosine"
        f" above {THRESHOLD}) with `weight={SENTENCE_WEIGHT}` and no position prior, because the"
        " order of the sentences carries no meaning. *Cosines*: links are weighted by the cosine"
        " instead of one, the default of `pv.summarize`; the other methods rank the paper's graph."
        " *Random* is the mean of"
        f" {RANDOM_RUNS if n_topics > 8 else 3} random orders.",
        "",
    ]
    for n_words in WORDS:
        lines += _opinosis_tables(results, n_words)
    if "opinosis/grid" in results:
        lines += _nested_part(results["opinosis/grid"])
    return lines


def _opinosis_tables(results: Mapping[str, Any], n_words: int) -> list[str]:
    table = _by_method(results, n_words)
    lines = [
        f"### {n_words} words",
        "",
        "| method | ROUGE-1 recall | ROUGE-1 F | ROUGE-2 recall | ROUGE-2 F | sentences |",
        "|---|---|---|---|---|---|",
    ]
    for method, scores in table.items():
        shown = " | ".join(_interval(column) for column in scores.T[:4])
        lines.append(f"| {method} | {shown} | {scores[:, 4].mean():.1f} |")
    lines += [
        "",
        "GRASSHOPPER with cosines minus each other method, paired by topic (bootstrap p-values,"
        " uncorrected):",
        "",
        *_HEAD,
    ]
    mine = table[WEIGHTED]
    lines += [_paired_row(method, mine, table[method]) for method in METHODS]
    return [*lines, ""]


_HEAD = (
    "| compared with | ROUGE-1 recall | p | ROUGE-1 F | p | ROUGE-2 F | p |",
    "|---|---|---|---|---|---|---|",
)


def _by_method(results: Mapping[str, Any], n_words: int) -> dict[str, NDArray[np.float64]]:
    methods = (WEIGHTED, *METHODS)
    return {m: np.array(results[f"opinosis/{n_words}/{m}"]["topics"]) for m in methods}


def _paired_row(name: str, mine: NDArray[np.float64], theirs: NDArray[np.float64]) -> str:
    parts = []
    for column in (0, 1, 3):
        found = _paired(mine[:, column], theirs[:, column])
        parts.append(f"{found.difference:+.4f} | {found.p_value:.4f}")
    return f"| {name} | {' | '.join(parts)} |"


def _paired(mine: NDArray[np.float64], theirs: NDArray[np.float64]) -> Any:
    return paired_bootstrap(_sums(mine), _sums(theirs), n_resamples=RESAMPLES, random_state=SEED)


def _nested_part(result: Mapping[str, Any]) -> list[str]:
    """Show the methods with settings that were chosen on other topics."""
    lines = [
        "### Settings chosen on other topics",
        "",
        "Each topic is summarized with the setting that has the largest mean ROUGE-1 F on all other"
        " topics (nested cross-validation), for every method. The grid of GRASSHOPPER: the paper's"
        " graph; links weighted by the cosine, or by its square, above 0, 0.1, 0.2 or 0.3; or"
        " cosines of mean word vectors (GloVe); an even prior, the cosine with the centroid of all"
        " sentences, or the number of words up to 20; `weight` 0.25, 0.5 or 0.95. Of MMR: the same"
        " graphs of words, `weight` 0.3, 0.5 or 0.7. Of LexRank: the same graphs of words, `weight`"
        " 0.85. This grid was chosen after a smaller one, with 0.1 as the only threshold, had been"
        " seen.",
        "",
    ]
    for n_words in WORDS:
        table = {m: nested(result, n_words, m) for m in ("grasshopper", "mmr", "lexrank")}
        lines += [
            f"**{n_words} words**",
            "",
            "| method | ROUGE-1 recall | ROUGE-1 F | ROUGE-2 recall | ROUGE-2 F | chosen |",
            "|---|---|---|---|---|---|",
        ]
        for method, (scores, chosen) in table.items():
            shown = " | ".join(_interval(column) for column in scores.T)
            said = "; ".join(f"{name} ({n})" for name, n in chosen.items())
            lines.append(f"| {method} | {shown} | {said} |")
        mine = table["grasshopper"][0]
        lines += ["", *_HEAD]
        lines += [_paired_row(method, mine, table[method][0]) for method in ("mmr", "lexrank")]
        lines.append("")
    return lines


def _sentences(results: Mapping[str, Any]) -> str:
    """Say where GRASSHOPPER stands, from the figures."""
    said = []
    for n_words in WORDS:
        table = _by_method(results, n_words)
        fs = {
            m: f"{table[m][:, 1].mean():.4f}" for m in (WEIGHTED, "grasshopper", "mmr", "lexrank")
        }
        p_mmr, p_lex = (
            _paired(table[WEIGHTED][:, 1], table[m][:, 1]).p_value for m in ("mmr", "lexrank")
        )
        said.append(
            f"at {n_words} words, ROUGE-1 F is {fs[WEIGHTED]} with cosines and"
            f" {fs['grasshopper']} with the paper's graph (MMR {fs['mmr']}, p = {p_mmr:.3f};"
            f" LexRank {fs['lexrank']}, p = {p_lex:.3f})"
        )
    return (
        "Links weighted by the cosine make better summaries than links of weight one, most of all"
        " short ones: " + "; ".join(said) + ". The p-values compare the method with GRASSHOPPER on"
        " cosines. So `pv.summarize` uses cosines; `weighted=False` is the paper's graph. The paper"
        " compares GRASSHOPPER with the DUC 2004 systems on news, not with MMR."
        + (_tuned(results["opinosis/grid"]) if "opinosis/grid" in results else "")
    )


def _tuned(result: Mapping[str, Any]) -> str:
    """Say what is left of a lead if the others have the same graphs, and settings of their own."""
    said = []
    for n_words in WORDS:
        table = {m: nested(result, n_words, m)[0] for m in ("grasshopper", "mmr", "lexrank")}
        for method in ("mmr", "lexrank"):
            found = _paired(table["grasshopper"][:, 1], table[method][:, 1])
            said.append(f"{_CALLED[method]} at {n_words} words: {found.difference:+.4f},"
                        f" p = {found.p_value:.3f}")  # fmt: skip
    return (
        " If all methods may use cosines and choose their settings on other topics, GRASSHOPPER has"
        f" no significant lead in ROUGE-1 F (minus {'; '.join(said)})."
    )


_CALLED = {"mmr": "MMR", "lexrank": "LexRank"}


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack((values, np.ones(len(values))))


def _interval(values: NDArray[np.float64]) -> str:
    found = bootstrap(_sums(values), n_resamples=RESAMPLES, random_state=SEED)
    return f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]"


def _actors_part(result: Mapping[str, Any], picture: str) -> list[str]:
    ranks = [k for k in (5, 10, 20, 50, 100, 200, 500) if k <= TOP]
    lines = [
        "## People: co-stars of comedies",
        "",
        f"The first {MAIN_STARS} names in the cast of each of the {result['n_movies']:,} comedies"
        f" in a 2021 Netflix catalogue: {result['n_actors']:,} actors, {result['n_edges']:,} pairs"
        f" of co-stars, {result['n_countries']} countries. Edges count shared movies, self-edges"
        f" are 1, the prior is the number of movies, and `weight={ACTOR_WEIGHT}`. An actor's"
        " country is that of most of their movies. (The paper uses 3,452 actors from 1,027 movies"
        " in IMDb and 30 countries.)",
        "",
        f"![coverage]({picture})",
        "",
        "| distinct countries among the top | " + " | ".join(map(str, ranks)) + " |",
        "|---|" + "---|" * len(ranks),
    ]
    lines += _coverage_rows(result["countries"], ranks)
    lines += [
        "",
        "| distinct movies of the top | " + " | ".join(map(str, ranks)) + " |",
        "|---|" + "---|" * len(ranks),
    ]
    lines += _coverage_rows(result["movies"], ranks)
    first = ", ".join(f"{name} ({home}, {n})" for name, home, n in result["first"])
    by_count = ", ".join(f"{name} ({home}, {n})" for name, home, n in result["first_by_count"])
    lines += [
        "",
        f"Top 15 by GRASSHOPPER (country, movies): {first}.",
        "",
        f"Top 15 by movie count: {by_count}.",
        "",
        f"Ranking the top {TOP} of {result['n_actors']:,} actors took {result['seconds']:.1f} s of"
        f" processor time with the iterative solver; {result['tied']} of them were tied.",
        "",
    ]
    return lines


#: Orders to compare GRASSHOPPER's with, and how the text refers to them.
_OTHERS = {"movie count": "by movie count", "random": "in random order"}


def _comparison(result: Mapping[str, Any]) -> str:
    """Say for how many k up to 500 GRASSHOPPER covers more than the others."""
    said = []
    for kind in ("countries", "movies"):
        mine = np.array(result[kind]["grasshopper"])
        for other in _OTHERS:
            theirs = np.array(result[kind][other])
            said.append(
                f"more {kind} than {_OTHERS[other]} at {100 * (mine > theirs).mean():.0f}% of all k"
                f" (fewer at {100 * (mine < theirs).mean():.0f}%)"
            )
    return (
        f"Ranked by GRASSHOPPER, the top k actors cover {'; '.join(said)}. In the paper,"
        " GRASSHOPPER covers more of both than movie count does, and a random order leads in"
        " countries for small k."
    )


def _coverage_rows(curves_: Mapping[str, Sequence[float]], ranks: Sequence[int]) -> list[str]:
    return [
        f"| {name} | " + " | ".join(f"{values[k - 1]:.0f}" for k in ranks) + " |"
        for name, values in curves_.items()
    ]


def _actors_picture(result: Mapping[str, Any]) -> Svg:
    panels = {
        title: {name: np.array(values) for name, values in result[kind].items()}
        for kind, title in (("countries", "country coverage"), ("movies", "movie coverage"))
    }
    return curves(panels, "k, number of actors", "Country and movie coverage of the first actors")


def duc_part(result: Mapping[str, Any] | None) -> list[str]:
    lines = ["## DUC 2004", ""]
    if result is None:
        return [
            *lines,
            "Not run: NIST distributes the documents under an agreement. If you have them, put them"
            " into `duc2004/docs` and `duc2004/models` in the data folder (layout:"
            " `benchmarks/papers/duc.py`) and run the same command. The paper reports ROUGE-1"
            " 0.3755 [0.3622, 0.3888] on task 2.",
        ]
    recalls = np.array(result["recalls"])
    return [
        *lines,
        f"ROUGE-1 {_interval(recalls)} on {len(recalls)} sets, cut at {DUC_BYTES} bytes"
        " (paper, task 2: 0.3755 [0.3622, 0.3888]).",
    ]
