"""The page of the GRASSHOPPER experiment: its tables, words and pictures."""

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
    WORDS,
    three_groups,
)
from benchmarks.papers.pictures import curves, keep, weighted_points
from palaver.draw.svg import Svg
from palaver.evaluate import bootstrap, paired_bootstrap


def write(options: Options, results: Mapping[str, Any]) -> str:
    """Return the page's text; pictures are written beside it."""
    suffix = "" if options.size == "full" else f"-{options.size}"
    names = {kind: f"grasshopper{suffix}-{kind}.svg" for kind in ("actors", "toy")}
    keep(_actors_picture(results["actors"]), names["actors"])
    keep(toy_picture(results["toy"]), names["toy"])
    command = "python -m benchmarks.papers grasshopper --data ../shared/data"
    lines = [
        "# GRASSHOPPER: measurements of the paper on free data",
        "",
        f"Written by `{command}{' --quick' if suffix else ''}`; seed {SEED}. What it is:"
        " [ranking.md](../ranking.md). Zhu, Goldberg, Van Gael & Andrzejewski (2007).",
        "",
        *_meaning(results),
        *_toy_part(names["toy"]),
        *_opinosis_part(results),
        *_actors_part(results["actors"], names["actors"]),
        *duc_part(results.get("duc2004")),
    ]
    return "\n".join(lines) + "\n"


def toy_picture(result: Mapping[str, Any]) -> Svg:
    """Draw the visits before each of the three items is chosen, as the paper's figure 1."""
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
    """Say first what the tables and pictures below show."""
    toy = results["toy"]
    return [
        "## What to make of it",
        "",
        f"- **The toy.** The first three items are of {len(set(toy['groups']))} groups; by the"
        f" stationary distribution alone they are of {len(set(toy['central_groups']))}."
        f" {100 * toy['own_group']:.1f} % of the points end in the item of their own group.",
        f"- **Sentences.** {_WHY}",
        f"- **People.** {_comparison(results['actors'])}",
        "",
    ]


def _toy_part(picture: str) -> list[str]:
    return [
        "## The toy of figure 1",
        "",
        "300 points in three groups, edges exp(-distance²/0.16), weight 1. Areas are expected"
        " visits, numbers the ranked items.",
        "",
        f"![three groups]({picture})",
        "",
    ]


def _opinosis_part(results: Mapping[str, Any]) -> list[str]:
    n_topics = len(results[f"opinosis/{WORDS[0]}/grasshopper"]["topics"])
    lines = [
        "## Sentences: opinosis",
        "",
        f"{n_topics} topics of review sentences. Every summary has the same number of words (the"
        " last sentence is cut). ROUGE with stemming, mean over each topic's references, which"
        " have 17 words on average; 95 % bootstrap intervals over topics"
        f" ({RESAMPLES:,} resamples). Graph as in equation 6 (stemmed tf-idf cosine over"
        f" {THRESHOLD}), weight {SENTENCE_WEIGHT}, no position prior: the order of the sentences"
        f" means nothing. Random: mean of {RANDOM_RUNS if n_topics > 8 else 3} orders.",
        "",
    ]
    for n_words in WORDS:
        lines += _opinosis_tables(results, n_words)
    return lines


_WHY = (
    "GRASSHOPPER's first sentence is PageRank's, and in 20 words there is hardly room for a second,"
    " so diversity cannot show there. MMR's relevance is the number of similar sentences, which a"
    " walk divides by the neighbours' degrees: the likely reason for its lead in ROUGE-1 at 20"
    " words. The paper compares with the systems of DUC 2004 on news, not with MMR."
)


def _opinosis_tables(results: Mapping[str, Any], n_words: int) -> list[str]:
    table = {m: np.array(results[f"opinosis/{n_words}/{m}"]["topics"]) for m in METHODS}
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
        "Differences of GRASSHOPPER, paired by topic (p by bootstrap, not corrected):",
        "",
        "| against | ROUGE-1 recall | p | ROUGE-1 F | p | ROUGE-2 F | p |",
        "|---|---|---|---|---|---|---|",
    ]
    mine = table["grasshopper"]
    for method in METHODS[1:]:
        parts = []
        for column in (0, 1, 3):
            found = paired_bootstrap(
                _sums(mine[:, column]), _sums(table[method][:, column]), n_resamples=RESAMPLES,
                seed=SEED,
            )  # fmt: skip
            parts.append(f"{found.difference:+.4f} | {found.p_value:.4f}")
        lines.append(f"| {method} | {' | '.join(parts)} |")
    return [*lines, ""]


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack((values, np.ones(len(values))))


def _interval(values: NDArray[np.float64]) -> str:
    found = bootstrap(_sums(values), n_resamples=RESAMPLES, seed=SEED)
    return f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]"


def _actors_part(result: Mapping[str, Any], picture: str) -> list[str]:
    ranks = [k for k in (5, 10, 20, 50, 100, 200, 500) if k <= TOP]
    lines = [
        "## People: co-stars of comedies",
        "",
        f"The first {MAIN_STARS} of each cast of the {result['n_movies']:,} comedies of a Netflix"
        f" catalogue of 2021: {result['n_actors']:,} actors, {result['n_edges']:,} pairs of"
        f" co-stars, {result['n_countries']} countries. Edges are numbers of shared movies,"
        f" self-edges 1, the prior is the number of movies, weight {ACTOR_WEIGHT}. An actor's"
        " country is the one of most of their movies. (The paper: 3,452 actors of 1,027 movies"
        " from IMDb, 30 countries.)",
        "",
        f"![coverage]({picture})",
        "",
        "| different countries among the first | " + " | ".join(map(str, ranks)) + " |",
        "|---|" + "---|" * len(ranks),
    ]
    lines += _coverage_rows(result["countries"], ranks)
    lines += [
        "",
        "| different movies of the first | " + " | ".join(map(str, ranks)) + " |",
        "|---|" + "---|" * len(ranks),
    ]
    lines += _coverage_rows(result["movies"], ranks)
    first = ", ".join(f"{name} ({home}, {n})" for name, home, n in result["first"])
    by_count = ", ".join(f"{name} ({home}, {n})" for name, home, n in result["first_by_count"])
    lines += [
        "",
        f"First by GRASSHOPPER (country, movies): {first}.",
        "",
        f"First by movie count: {by_count}.",
        "",
        f"The first {TOP} of {result['n_actors']:,} actors took {result['seconds']:.1f} s of"
        f" processor by the iterative solver; {result['tied']} were ties.",
        "",
    ]
    return lines


def _comparison(result: Mapping[str, Any]) -> str:
    """Say at how many k up to 500 GRASSHOPPER covers more than the others."""
    said = []
    for kind in ("countries", "movies"):
        mine = np.array(result[kind]["grasshopper"])
        for other in ("movie count", "random"):
            theirs = np.array(result[kind][other])
            said.append(
                f"more {kind} than {other} at {100 * (mine > theirs).mean():.0f} % of all k"
                f" (fewer at {100 * (mine < theirs).mean():.0f} %)"
            )
    return (
        f"GRASSHOPPER covers {'; '.join(said)}. The paper finds more of both than movie count, and"
        " that random is ahead in countries at first."
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
            "Not run: NIST hands out the documents under an agreement. Those who have them put"
            " them into `duc2004/docs` and `duc2004/models` of the data folder"
            " (`benchmarks/papers/duc.py`) and run the same command. The paper has ROUGE-1"
            " 0.3755 [0.3622, 0.3888] on task 2.",
        ]
    recalls = np.array(result["recalls"])
    return [
        *lines,
        f"ROUGE-1 {_interval(recalls)} on {len(recalls)} sets, cut at {DUC_BYTES} bytes"
        " (the paper, task 2: 0.3755 [0.3622, 0.3888]).",
    ]
