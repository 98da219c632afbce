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
    WORDS,
    three_groups,
)
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
        f"- **Sentences.** {_WHY}",
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
        " order of the sentences carries no meaning. *Random* is the mean of"
        f" {RANDOM_RUNS if n_topics > 8 else 3} random orders.",
        "",
    ]
    for n_words in WORDS:
        lines += _opinosis_tables(results, n_words)
    return lines


_WHY = (
    "The tables below use the paper's graph, in which all links count the same; on it, MMR leads in"
    " ROUGE-1 at 20 words. `pv.summarize` weights links by their cosine instead, which is not part"
    " of these tables. The paper compares GRASSHOPPER with the DUC 2004 systems on news, not with"
    " MMR."
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
        "GRASSHOPPER minus each other method, paired by topic (bootstrap p-values, uncorrected):",
        "",
        "| compared with | ROUGE-1 recall | p | ROUGE-1 F | p | ROUGE-2 F | p |",
        "|---|---|---|---|---|---|---|",
    ]
    mine = table["grasshopper"]
    for method in METHODS[1:]:
        parts = []
        for column in (0, 1, 3):
            found = paired_bootstrap(
                _sums(mine[:, column]), _sums(table[method][:, column]), n_resamples=RESAMPLES,
                random_state=SEED,
            )  # fmt: skip
            parts.append(f"{found.difference:+.4f} | {found.p_value:.4f}")
        lines.append(f"| {method} | {' | '.join(parts)} |")
    return [*lines, ""]


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
