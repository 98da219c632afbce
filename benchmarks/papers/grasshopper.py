"""GRASSHOPPER on sentences, actors and the toy example of figure 1: Zhu et al. (2007).

Opinosis replaces DUC, whose documents are not free, and the comedies of a Netflix catalogue replace
IMDb's. If the data folder contains ``duc2004`` (:mod:`benchmarks.papers.duc`), the paper's own
table is computed as well.
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
from benchmarks.papers.grasshopper_grid import grid_scores
from benchmarks.papers.grasshopper_grid import settings as grid
from palaver import rng
from palaver.evaluate import mean_rouge
from palaver.ranking.similarity import cosine_graph, tfidf
from palaver.ranking.summarize import shortened

SEED, VERSION = 0, 1
METHODS = ("grasshopper", "lexrank", "mmr", "pagerank", "random")
#: GRASSHOPPER on cosines instead of links of weight one, as :func:`palaver.summarize` has it.
WEIGHTED = "grasshopper, cosines"
#: Words per summary: about the length of Opinosis' references (17 on average), and more.
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
        for method in (*METHODS, WEIGHTED)
    ]
    work.append(_grid_cell(options.data, n_topics))
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
    """Return recall and F of ROUGE-1 and ROUGE-2, and the number of sentences.

    Scores are averaged over references (and runs).
    """
    texts = [sentence["text"] for sentence in topic["sentences"]]
    cosines = cosine_graph(tfidf(texts, stemmed=True), THRESHOLD)
    graph = cosines.copy()
    if method == WEIGHTED:
        method = "grasshopper"
    else:
        graph.data[:] = 1.0
    scores = []
    for run in range(runs):
        options: dict[str, Any] = {"weight": SENTENCE_WEIGHT, "top": n_words}
        if method in ("lexrank", "mmr"):
            options["similarity"] = cosines
        if method == "random":
            options["random_state"] = SEED + run
        order = pv.rank(graph, method=method, **options).order
        sentences = shortened([texts[item] for item in order], words=n_words)
        found = mean_rouge(" ".join(sentences), topic["references"], stemmed=True)
        scores.append([found["rouge1"].recall, found["rouge1"].f, found["rouge2"].recall,
                       found["rouge2"].f, len(sentences)])  # fmt: skip
    return [float(value) for value in np.mean(scores, axis=0)]


def _grid_cell(data: Path, n_topics: int | None) -> Cell:
    settings = {"version": VERSION, "opinosis": "grid", "words": list(WORDS), "n_topics": n_topics,
                "grid": [list(setting) for setting in grid()]}  # fmt: skip

    def work(folder: Path) -> dict[str, Any]:
        topics = _rows(data / "opinosis/opinosis.jsonl.gz")[:n_topics]
        return grid_scores(topics, WORDS, data / "glove-100d")

    return Cell("opinosis/grid", settings, work, cost=20.0)


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
    """Return the co-star graph, names, movies and countries of comedies; the number of movies."""
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
    """Return how many distinct members the first 1, 2, ... items have."""
    seen: set[Any] = set()
    sizes = []
    for item in order:
        seen.update(member for member in members[item] if member != "")
        sizes.append(len(seen))
    return sizes


def _mean(curves_: Sequence[Sequence[int]]) -> list[float]:
    return [float(value) for value in np.mean(curves_, axis=0)]


# the toy example of figure 1


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


def page(options: Options, kept: Cells, results: Mapping[str, Any]) -> str:
    """Return the text of the page, and write its pictures."""
    from benchmarks.papers.grasshopper_page import write

    return write(options, results)
