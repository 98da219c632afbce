"""GRASSHOPPER on sentences, on actors and on the toy of figure 1: Zhu et al. (2007).

Opinosis takes the place of DUC, whose documents are not free; the comedies of a Netflix catalogue
that of IMDb's. With a folder ``duc2004`` beside the other data (:mod:`benchmarks.papers.duc`),
the paper's own table is computed too.
"""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import palaver as pv
from benchmarks.papers import Options
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.duc import read_duc
from benchmarks.papers.pictures import curves, weighted_points
from palaver import rng
from palaver.draw.svg import Svg
from palaver.evaluate import bootstrap, mean_rouge, paired_bootstrap
from palaver.ranking.similarity import cosine_graph, tfidf
from palaver.ranking.summarize import shortened

SEED, VERSION = 0, 1
PICTURES = Path(__file__).parents[2] / "docs" / "results"
METHODS = ("grasshopper", "lexrank", "mmr", "pagerank", "random")
#: Words of a summary: about the length of opinosis' references (17 on average), and more.
WORDS = (20, 100)
RESAMPLES, RANDOM_RUNS = 10_000, 20
#: As in the paper's sections 3.1 and 3.2.
THRESHOLD, SENTENCE_WEIGHT, ACTOR_WEIGHT, MAIN_STARS, TOP = 0.1, 0.5, 0.95, 5, 500
DUC_BYTES = 665


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells."""
    n_topics = 8 if options.size == "quick" else None
    runs = 3 if options.size == "quick" else RANDOM_RUNS
    work = [
        _opinosis_cell(options.data, method, n_words, n_topics, runs)
        for n_words in WORDS
        for method in METHODS
    ]
    work += [_actors_cell(options.data, runs), _toy_cell()]
    if (options.data / "duc2004").is_dir():
        work.append(_duc_cell(options.data / "duc2004"))
    return work


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


# sentences


def _opinosis_cell(data: Path, method: str, n_words: int, n_topics: int | None, runs: int) -> Cell:
    settings = {"version": VERSION, "opinosis": method, "words": n_words, "threshold": THRESHOLD,
                "weight": SENTENCE_WEIGHT, "n_topics": n_topics,
                "runs": runs if method == "random" else 1}  # fmt: skip

    def work(folder: Path) -> dict[str, Any]:
        topics = _rows(data / "opinosis/opinosis.jsonl.gz")[:n_topics]
        scores = [_topic_scores(topic, method, n_words, settings["runs"]) for topic in topics]
        return {"topics": scores}

    return Cell(f"opinosis/{n_words}/{method}", settings, work, cost=2.0)


def _topic_scores(topic: Mapping[str, Any], method: str, n_words: int, runs: int) -> list[float]:
    """Return recall and F of ROUGE-1 and of ROUGE-2, and the number of sentences.

    All are means over references (and runs).
    """
    texts = [sentence["text"] for sentence in topic["sentences"]]
    cosines = cosine_graph(tfidf(texts, stemmed=True), THRESHOLD)
    graph = cosines.copy()
    graph.data[:] = 1.0
    scores = []
    for run in range(runs):
        options: dict[str, Any] = {"weight": SENTENCE_WEIGHT, "top": n_words}
        if method in ("lexrank", "mmr"):
            options["similarity"] = cosines
        if method == "random":
            options["seed"] = SEED + run
        order = pv.rank(graph, method=method, **options).order
        sentences = shortened([texts[item] for item in order], words=n_words)
        found = mean_rouge(" ".join(sentences), topic["references"], stemmed=True)
        scores.append([found["rouge1"].recall, found["rouge1"].f, found["rouge2"].recall,
                       found["rouge2"].f, len(sentences)])  # fmt: skip
    return [float(value) for value in np.mean(scores, axis=0)]


def _duc_cell(folder: Path) -> Cell:
    settings = {"version": VERSION, "duc": "2004", "bytes": DUC_BYTES}

    def work(_: Path) -> dict[str, Any]:
        recalls = []
        for group in read_duc(folder):
            summary = pv.summarize(group.documents, bytes=DUC_BYTES, stemmed=True)
            found = mean_rouge(" ".join(summary.sentences), group.references, stemmed=True)
            recalls.append(found["rouge1"].recall)
        return {"recalls": recalls}

    return Cell("duc2004", settings, work, cost=5.0)


# people


@cache
def costar_graph(data: Path) -> tuple[Any, list[str], list[list[int]], list[str], list[int]]:
    """Return graph, names, movies and country of the main stars of comedies; movies' sizes."""
    comedies = [row for row in _rows(data / "movies/netflix.jsonl.gz")
                if any("Comed" in genre for genre in row["genres"])]  # fmt: skip
    numbers: dict[str, int] = {}
    movies: list[list[int]] = []
    countries: list[Counter[str]] = []
    edges: Counter[tuple[int, int]] = Counter()
    for movie, row in enumerate(comedies):
        stars = list(dict.fromkeys(row["cast"][:MAIN_STARS]))
        for name in stars:
            if name not in numbers:
                numbers[name] = len(numbers)
                movies.append([])
                countries.append(Counter())
            movies[numbers[name]].append(movie)
            countries[numbers[name]].update(row["country"])
        edges.update(combinations([numbers[name] for name in stars], 2))
    n = len(numbers)
    pairs = np.array(list(edges), np.int64)
    half = sparse.csr_matrix((list(edges.values()), pairs.T), shape=(n, n), dtype=np.float64)
    homes = [min(c, key=lambda name: (-c[name], name)) if c else "" for c in countries]
    return half + half.T + sparse.eye(n), list(numbers), movies, homes, [len(comedies)]


def _actors_cell(data: Path, runs: int) -> Cell:
    settings = {"version": VERSION, "actors": "netflix comedies", "weight": ACTOR_WEIGHT,
                "stars": MAIN_STARS, "top": TOP, "runs": runs}  # fmt: skip

    def work(folder: Path) -> dict[str, Any]:
        graph, names, movies, homes, (n_movies,) = costar_graph(data)
        counts = np.array([len(seen) for seen in movies], np.float64)
        start = time.process_time()
        ranking = pv.grasshopper(graph, counts, ACTOR_WEIGHT, TOP)
        seconds = time.process_time() - start
        by_count = pv.rank(sparse.diags(counts), method="degree", top=TOP).order
        orders = {"grasshopper": [ranking.order], "movie count": [by_count]}
        orders["random"] = [
            rng.generator(SEED, "random actors", chain=run).permutation(len(names))[:TOP]
            for run in range(runs)
        ]
        return {
            "n_actors": len(names), "n_movies": n_movies,
            "n_countries": len({home for home in homes if home}),
            "n_edges": int((graph.nnz - len(names)) // 2), "seconds": seconds,
            "tied": int(ranking.tied.sum()),
            "first": [[names[item], homes[item], len(movies[item])]
                      for item in ranking.order[:15]],
            "first_by_count": [[names[item], homes[item], len(movies[item])]
                               for item in by_count[:15]],
            "countries": {name: _mean([_coverage([[h] for h in homes], order) for order in some])
                          for name, some in orders.items()},
            "movies": {name: _mean([_coverage(movies, order) for order in some])
                       for name, some in orders.items()},
        }  # fmt: skip

    return Cell("actors", settings, work, cost=2.0)


def _coverage(members: Sequence[Sequence[Any]], order: Sequence[int]) -> list[int]:
    """Return how many different members the first 1, 2, ... items have."""
    seen: set[Any] = set()
    sizes = []
    for item in order:
        seen.update(member for member in members[item] if member != "")
        sizes.append(len(seen))
    return sizes


def _mean(curves_: Sequence[Sequence[int]]) -> list[float]:
    return [float(value) for value in np.mean(curves_, axis=0)]


# the toy of figure 1


def three_groups(seed: int = SEED) -> tuple[NDArray[np.float64], NDArray[np.int64], Any]:
    """Return 300 points in three groups of different density, their groups and their graph."""
    draw = rng.generator(seed, "three groups")
    groups = ((3.2, 5.0, 100, 0.5), (5.0, 4.0, 150, 0.35), (6.9, 5.2, 50, 0.55))
    points = np.vstack([draw.normal((x, y), s, (k, 2)) for x, y, k, s in groups])
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    return points, np.repeat([0, 1, 2], [100, 150, 50]), np.exp(-distances / 0.16)


def _toy_cell() -> Cell:
    def work(folder: Path) -> dict[str, Any]:
        _, group, graph = three_groups()
        ranking = pv.grasshopper(graph, weight=1, top=3)
        central = pv.rank(graph, method="pagerank", weight=1, top=3)
        return {
            "order": ranking.order.tolist(), "scores": ranking.scores.tolist(),
            "groups": group[ranking.order].tolist(),
            "central_groups": group[central.order].tolist(),
            "own_group": float((group[ranking.absorbed_by] == group).mean()),
        }  # fmt: skip

    return Cell("toy", {"version": VERSION, "toy": SEED}, work)


def _toy_picture(result: Mapping[str, Any]) -> Svg:
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


# the page


def page(options: Options, kept: Cells, results: Mapping[str, Any]) -> str:
    """Return the page's text; pictures are written beside it."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    suffix = "" if options.size == "full" else f"-{options.size}"
    names = {kind: f"grasshopper{suffix}-{kind}.svg" for kind in ("actors", "toy")}
    _actors_picture(results["actors"]).save(PICTURES / names["actors"])
    _toy_picture(results["toy"]).save(PICTURES / names["toy"])
    command = "python -m benchmarks.papers grasshopper --data ../shared/data"
    lines = [
        "# GRASSHOPPER: measurements of the paper on free data",
        "",
        f"Written by `{command}{' --quick' if suffix else ''}`; seed {SEED}. What it is:"
        " [ranking.md](../ranking.md). Zhu, Goldberg, Van Gael & Andrzejewski (2007).",
        "",
        *_toy_part(results["toy"], names["toy"]),
        *_opinosis_part(results),
        *_actors_part(results["actors"], names["actors"]),
        *_duc_part(results.get("duc2004")),
    ]
    return "\n".join(lines) + "\n"


def _toy_part(result: Mapping[str, Any], picture: str) -> list[str]:
    return [
        "## The toy of figure 1",
        "",
        "300 points in three groups, edges exp(-distance²/0.16), weight 1. Areas are expected"
        " visits, numbers the ranked items.",
        "",
        f"![three groups]({picture})",
        "",
        f"The first three items are of {len(set(result['groups']))} groups; by the stationary"
        f" distribution alone they are of {len(set(result['central_groups']))}."
        f" {100 * result['own_group']:.1f} % of the points end in the item of their own group.",
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
    return [*lines, *_WHY, ""]


_WHY = [
    "GRASSHOPPER's first sentence is PageRank's, and in 20 words there is hardly room for a second,"
    " so diversity cannot show there. MMR's relevance is the number of similar sentences, which a"
    " walk divides by the neighbours' degrees: the likely reason for its lead in ROUGE-1 at 20"
    " words. The paper compares with the systems of DUC 2004 on news, not with MMR.",
]


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
        _comparison(result),
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


def _duc_part(result: Mapping[str, Any] | None) -> list[str]:
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
