"""Pictures of a ranking: the graph as in the paper's figure 1, coverage as in its figure 3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from palaver import rng
from palaver.draw.plots import curves, weighted_points
from palaver.draw.springs import spring_layout
from palaver.draw.svg import Svg, shorten
from palaver.ranking.grasshopper import stationary_scores
from palaver.ranking.result import Ranking
from palaver.ranking.walk import RandomWalk

#: Most items to draw, and most for which visits are computed with a dense matrix.
MOST_DRAWN, _DENSE = 300, 2000
_PANELS, _RUNS, _MOST_LINES = 3, 20, 1500


def graph_picture(ranking: Ranking, names: Sequence[str]) -> Svg:
    """Draw where walks are before each of the first choices, as in figure 1 of the paper.

    Areas are expected visits, numbers mark ranked items, and colours show which of the first
    ranked items absorbs walks from each item. Of a large graph, the most visited items are drawn.

    Parameters
    ----------
    ranking : Ranking
    names : sequence of str
        What the items are called.
    """
    walk = ranking.walk
    central = stationary_scores(walk)
    n_marked = min(len(ranking), _PANELS if walk.n_items <= _DENSE else 1)
    titles = ["stationary distribution", "visits after the first", "visits after the second"]
    visits = [central] + [expected_visits(walk, ranking.order[:k]) for k in range(1, n_marked)]
    shown = _most_visited(central, ranking.order)
    place = {int(item): number for number, item in enumerate(shown)}
    steps = walk.steps[shown][:, shown]
    marked = [place[int(item)] for item in ranking.order if int(item) in place]
    absorbers = {int(item): rank for rank, item in enumerate(ranking.order)}
    owners = np.array([absorbers[int(item)] for item in ranking.absorbed_by[shown]])
    panels = {
        title: (seen[shown], marked[: number + 1] if walk.n_items <= _DENSE else marked[:12])
        for number, (title, seen) in enumerate(zip(titles, visits, strict=False))
    }
    legend = [
        f"{rank}  {shorten(names[int(item)], 60)}"
        for rank, item in enumerate(ranking.order[:12], 1)
    ]
    return weighted_points(
        spring_layout(steps), panels, "Expected visits to the items of a graph",
        lines=_strongest(steps), owners=owners, legend=legend,
    )  # fmt: skip


def expected_visits(walk: RandomWalk, ranked: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the expected visits before absorption, (n_items,), equation 4; zero for ranked."""
    left = np.setdiff1d(np.arange(walk.n_items), ranked)
    visits = np.zeros(walk.n_items)
    system = np.eye(len(left)) - walk.dense()[np.ix_(left, left)]
    visits[left] = np.linalg.solve(system.T, np.ones(len(left))) / max(len(left), 1)
    return visits


def _most_visited(central: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the items to draw: the ranked ones first, then by centrality."""
    first = order[: MOST_DRAWN // 2]
    rest = np.setdiff1d(np.argsort(-central, kind="stable")[:MOST_DRAWN], first)
    return np.concatenate((first, rest))[:MOST_DRAWN]


def _strongest(steps: sparse.csr_matrix) -> NDArray[np.int64]:
    """Return the pairs of the strongest edges, (n_lines, 2)."""
    upper = sparse.triu(steps + steps.T, k=1).tocoo()
    kept = np.argsort(-upper.data, kind="stable")[:_MOST_LINES]
    return np.column_stack((upper.row[kept], upper.col[kept])).astype(np.int64)


def coverage(order: NDArray[np.int64], groups: pl.Series) -> NDArray[np.float64]:
    """Return how many distinct groups the first 1, 2, ... items have; null counts for none."""
    seen: set[str] = set()
    sizes = []
    for item in order:
        group = groups[int(item)]
        if group is not None:
            seen.add(group)
        sizes.append(len(seen))
    return np.array(sizes, np.float64)


def coverage_curves(ranking: Ranking, groups: pl.Series) -> dict[str, NDArray[np.float64]]:
    """Return the coverage of the ranking, of the prior's order and of random orders.

    Parameters
    ----------
    ranking : Ranking
    groups : polars.Series of str, shape (n_items,)
        Null for items without a group.
    """
    top = len(ranking)
    by_prior = np.argsort(-ranking.walk.prior, kind="stable")[:top]
    random = [
        coverage(rng.generator(0, "coverage", chain=run).permutation(len(groups))[:top], groups)
        for run in range(_RUNS)
    ]
    found = {ranking.method: coverage(ranking.order, groups)}
    if np.ptp(ranking.walk.prior) > 0:
        found["by prior"] = coverage(by_prior, groups)
    return {**found, "random": np.mean(random, axis=0)}


def coverage_picture(found: dict[str, NDArray[np.float64]]) -> Svg:
    """Draw :func:`coverage_curves`, as in figure 3 of the paper."""
    return curves({"groups covered": found}, "k, number of items", "Groups among the first items")
