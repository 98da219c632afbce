"""Baseline rankings (PageRank, LexRank, MMR, degree, random), and :func:`rank` for all methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from palaver import rng
from palaver.params import check, one_of, real
from palaver.ranking.grasshopper import grasshopper, stationary_scores
from palaver.ranking.result import Ranking, pick, sorted_ranking
from palaver.ranking.walk import LIMITS, Graph, RandomWalk, how_many, make_walk


def pagerank(
    W: Graph, prior: ArrayLike | None = None, weight: float = 0.85, top: int | None = None
) -> Ranking:
    """Rank by the stationary distribution alone: central items, however similar."""
    walk = _walk("pagerank", W, prior, weight, top)
    n_ranked = how_many(top, walk.n_items)
    return sorted_ranking(stationary_scores(walk), n_ranked, "pagerank", walk)


def lexrank(
    W: Graph,
    prior: ArrayLike | None = None,
    weight: float = 0.85,
    top: int | None = None,
    threshold: float = 0.5,
    similarity: Graph | None = None,
) -> Ranking:
    """Rank by PageRank, skipping items that are too similar to a better one.

    LexRank (Erkan & Radev 2004): an item whose similarity to a ranked one exceeds
    ``threshold`` waits until all others are ranked. Similarities are the weights of the graph,
    or given separately if the graph only says whether items are similar.
    """
    walk = _walk("lexrank", W, prior, weight, top)
    check("lexrank", {"threshold": real(0)}, {"threshold": threshold})
    central = sorted_ranking(stationary_scores(walk), walk.n_items, "lexrank", walk)
    similar = sparse.csr_matrix(W if similarity is None else similarity)
    waits = np.zeros(walk.n_items, bool)
    for item in central.order:
        if not waits[item]:
            row = slice(similar.indptr[item], similar.indptr[item + 1])
            near = similar.indices[row][similar.data[row] > threshold]
            waits[near[near != item]] = True
    waiting = waits[central.order]
    places = np.concatenate((np.flatnonzero(~waiting), np.flatnonzero(waiting)))
    places = places[: how_many(top, walk.n_items)]
    return Ranking(
        central.order[places], central.scores[places], central.tied[places],
        np.zeros(len(places)), "lexrank", walk,
    )  # fmt: skip


def mmr(
    W: Graph,
    prior: ArrayLike | None = None,
    weight: float = 0.5,
    top: int | None = None,
    similarity: Graph | None = None,
) -> Ranking:
    """Rank by maximal marginal relevance (Carbonell & Goldstein 1998).

    The next item has the largest ``weight * relevance - (1 - weight) * largest similarity to
    a ranked item``. Relevance is the prior, or the sum of an item's edges if there is
    none; relevance and similarities are both divided by their maximum.
    """
    walk = _walk("mmr", W, prior, weight, top)
    n_ranked = how_many(top, walk.n_items)
    edges = sparse.csr_matrix(W, dtype=np.float64)
    relevance = _edge_sums(edges) if prior is None else walk.prior
    relevance = weight * relevance / max(relevance.max(), np.finfo(float).tiny)
    similar = edges if similarity is None else sparse.csr_matrix(similarity, dtype=np.float64)
    scale = (1 - weight) / max(similar.data.max(initial=0.0), np.finfo(float).tiny)
    nearest = np.zeros(walk.n_items)
    is_open = np.ones(walk.n_items, bool)
    order, scores, tied = [], [], []
    for _ in range(n_ranked):
        marginal = relevance - nearest
        item, level = pick(marginal, is_open)
        order.append(item)
        scores.append(marginal[item])
        tied.append(level)
        is_open[item] = False
        row = slice(similar.indptr[item], similar.indptr[item + 1])
        near = similar.indices[row]
        nearest[near] = np.maximum(nearest[near], scale * similar.data[row])
    return Ranking(
        np.array(order), np.array(scores), np.array(tied), np.zeros(n_ranked), "mmr", walk
    )


def degree(
    W: Graph, prior: ArrayLike | None = None, weight: float = 0.5, top: int | None = None
) -> Ranking:
    """Rank by the sum of incoming edges; the prior is ignored."""
    walk = _walk("degree", W, prior, weight, top)
    scores = _edge_sums(sparse.csr_matrix(W, dtype=np.float64))
    return sorted_ranking(scores, how_many(top, walk.n_items), "degree", walk)


def random(
    W: Graph,
    prior: ArrayLike | None = None,
    weight: float = 0.5,
    top: int | None = None,
    random_state: rng.RandomState = 0,
) -> Ranking:
    """Rank at random; graph and prior are ignored."""
    walk = _walk("random", W, prior, weight, top)
    seed = rng.resolve_seed(random_state)
    scores = rng.generator(seed, "random ranking").permutation(walk.n_items).astype(np.float64)
    return sorted_ranking(scores, how_many(top, walk.n_items), "random", walk)


def _walk(
    owner: str, W: Graph, prior: ArrayLike | None, weight: float, top: int | None
) -> RandomWalk:
    check(owner, LIMITS, {"weight": weight, "top": top})
    return make_walk(W, prior, weight)


def _edge_sums(edges: Any) -> Any:
    return np.asarray(edges.sum(axis=0)).ravel()


#: Methods by name.
METHODS: dict[str, Callable[..., Ranking]] = {
    "grasshopper": grasshopper,
    "pagerank": pagerank,
    "lexrank": lexrank,
    "mmr": mmr,
    "degree": degree,
    "random": random,
}


def rank(W: Graph, method: str = "grasshopper", **options: Any) -> Ranking:
    """Rank the items of a graph by a named method.

    Parameters
    ----------
    W : array or scipy sparse matrix, shape (n_items, n_items)
    method : {"grasshopper", "pagerank", "lexrank", "mmr", "degree", "random"}
    **options
        Options of the method: all accept ``prior``, ``weight`` and ``top``; GRASSHOPPER also
        ``escape``, LexRank ``threshold``, LexRank and MMR ``similarity``, and the random order
        ``random_state``.

    Examples
    --------
    >>> import numpy as np, palaver as pv
    >>> star = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    >>> pv.rank(star, method="degree", top=1).order.tolist()
    [0]
    """
    check("rank", {"method": one_of(*METHODS)}, {"method": method})
    return METHODS[method](W, **options)
