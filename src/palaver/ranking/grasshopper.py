"""GRASSHOPPER: items that are central and different from each other (Zhu et al. 2007).

A walker follows edges and sometimes jumps according to a prior. The first item is where she is
most often. Ranked items then absorb her, so their neighbours are visited less; the next item is
the one with the most expected visits before absorption. Equations in ``docs/ranking.md``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palaver.params import Limit, check, one_of, real
from palaver.ranking.exact import rank_exactly, stationary
from palaver.ranking.iterative import rank_iteratively, stationary_iteratively
from palaver.ranking.result import Ranking, sorted_ranking
from palaver.ranking.walk import LIMITS, Graph, RandomWalk, how_many, make_walk

_LIMITS: dict[str, Limit] = {
    **LIMITS,
    "escape": real(0, 1),
    "solver": one_of("auto", "exact", "iterative"),
}
#: Below the first, items are always ranked by inversion; below the second, if many are wanted.
_SMALL, _LARGE, _MOST = 1000, 20_000, 0.1


def grasshopper(
    W: Graph,
    prior: ArrayLike | None = None,
    weight: float = 0.5,
    top: int | None = None,
    escape: float = 0.0,
    *,
    solver: str = "auto",
    progress: Callable[[float], None] | None = None,
) -> Ranking:
    """Rank the items of a graph by centrality and diversity.

    Parameters
    ----------
    W : array or scipy sparse matrix, shape (n_items, n_items)
        ``W[i, j]`` is the weight of the edge from item i to item j, non-negative; directed or
        undirected, with self-edges allowed. From an item without edges, walks jump.
    prior : array, shape (n_items,), optional
        How much each item is preferred from the start, non-negative; only proportions matter.
        An item with zero is never jumped to. Uniform by default.
    weight : float
        Probability of following an edge rather than jumping by the prior: 0 ranks by the prior,
        1 ignores it (and needs a graph in which all walks meet).
    top : int, optional
        How many items to rank; all by default.
    escape : float
        Probability that a walk continues from a ranked item. 0 is GRASSHOPPER; towards 1 the order
        becomes that of the stationary distribution (PageRank).
    solver : {"auto", "exact", "iterative"}
        Invert a dense matrix once, or solve for each item on the sparse graph, with bounds
        that guarantee the order. "auto" inverts for up to 1,000 items, and for up to 20,000 if
        more than a tenth of them are to be ranked.
    progress : callable, optional
        Called with the share of the work just done.

    Returns
    -------
    Ranking
        With ``order``, ``scores`` and ``absorbed_by``. Ties go to the lowest number.

    Examples
    --------
    >>> import numpy as np, palaver as pv
    >>> two_groups = np.kron(np.eye(2), np.ones((3, 3)))
    >>> pv.grasshopper(two_groups, prior=[1, 2, 1, 1, 1.5, 1], top=2).order.tolist()
    [1, 4]
    """
    given = {"weight": weight, "top": top, "escape": escape, "solver": solver}
    check("grasshopper", _LIMITS, given)
    walk = make_walk(W, prior, weight)
    n_ranked = how_many(top, walk.n_items)
    if weight == 0:
        return _by_prior(walk, n_ranked, escape)
    if escape == 1:
        return sorted_ranking(stationary_scores(walk), n_ranked, "grasshopper", walk, escape)
    if weight == 1:
        walk.check_single_group()
    if solver == "auto":
        few = n_ranked <= _MOST * walk.n_items or walk.n_items > _LARGE
        solver = "iterative" if walk.n_items > _SMALL and few else "exact"
    rank = rank_exactly if solver == "exact" else rank_iteratively
    return rank(walk, n_ranked, escape, progress or (lambda _: None))


def stationary_scores(walk: RandomWalk) -> NDArray[np.float64]:
    """Return the stationary distribution of a walk, (n_items,)."""
    if walk.weight == 0:
        return walk.prior
    if walk.weight == 1:
        walk.check_single_group()
    return stationary(walk) if walk.n_items <= _SMALL else stationary_iteratively(walk)


def _by_prior(walk: RandomWalk, top: int, escape: float) -> Ranking:
    """Rank by the prior, to which a walk that only jumps reduces.

    Visits are one at the start, plus a share of the jumps until one of them is absorbed.
    """
    ranking = sorted_ranking(walk.prior, top, "grasshopper", walk, escape)
    if escape < 1:
        prior = walk.prior[ranking.order]
        n_open = walk.n_items - np.arange(1, top)
        ranking.scores[1:] = 1 / n_open + prior[1:] / (np.cumsum(prior)[:-1] * (1 - escape))
    return ranking
