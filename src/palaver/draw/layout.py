"""The layout of an act graph: a flow from what starts threads to what ends them.

Classes are arranged in columns in the order in which they occur in a thread, and sorted within
columns to reduce crossings of strong edges. Narrow screens get a single column from top to
bottom, with space for arcs on the left and names on the right, so that no arrow crosses a
name. Layouts are deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_STEPS = 6  # messages along a path that determine a class's place
_ROUNDS = 8  # passes over the columns to untangle edges


@dataclass(frozen=True)
class GraphLayout:
    """The size of a picture, and the centre and radius of each node.

    Attributes
    ----------
    width, height : float
    x, y, radius : array of float64, shape (n_nodes,)
    is_column : bool
        Whether all nodes are in one column.
    """

    width: float
    height: float
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    radius: NDArray[np.float64]
    is_column: bool = False


def typical_places(following: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far into a thread each class occurs on average, by the transitions alone.

    Parameters
    ----------
    following : array of float64, shape (n_classes + 1, n_classes)
        Rows sum to one; the last row is the start.
    """
    here = following[-1]
    reached, weighted = np.zeros_like(here), np.zeros_like(here)
    for step in range(_STEPS):
        reached += here
        weighted += step * here
        here = here @ following[:-1]
    return np.asarray(weighted / np.maximum(reached, np.finfo(float).tiny))


def place(
    shares: NDArray[np.float64],
    effects: NDArray[np.float64],
    places: NDArray[np.float64],
    *,
    tall: bool = False,
) -> GraphLayout:
    """Lay out classes as a flow, left to right, or in one column for narrow screens.

    Parameters
    ----------
    shares, places : array of float64, shape (n_nodes,)
        Sizes of the nodes, and their order along the flow.
    effects : array of float64, shape (n_nodes + 1, n_nodes)
        Strong edges are kept short.
    """
    if tall:
        return _column(shares, places)
    n_nodes = len(shares)
    across = max(2, round(np.sqrt(n_nodes / 1.9)))
    n_ranks = max(1, -(-n_nodes // across))
    pull = np.log2(np.maximum(effects[:-1], 1e-9)).clip(0, 5)
    ranks = _untangle(_ranks(places, n_ranks), pull + pull.T)
    along, beside = _coordinates(ranks, n_nodes, 0.22 / across)
    radius = 16 + 24 * np.sqrt(shares / max(shares.max(), 1e-12))
    width, height = max(900.0, 60 + 210.0 * n_ranks), 60 + 180.0 * across
    x = 120 + (width - 240) * along / max(n_ranks - 1, 1) if n_ranks > 1 else along + width / 2
    return GraphLayout(width, height, x, (height - 90) * beside + 34, radius)


def _column(shares: NDArray[np.float64], places: NDArray[np.float64]) -> GraphLayout:
    """Arrange the classes from top to bottom in the order of their places."""
    n_nodes, step, top = len(shares), 62.0, 44.0
    row = np.empty(n_nodes)
    row[np.lexsort((np.arange(n_nodes), places))] = np.arange(n_nodes)
    radius = 11 + 13 * np.sqrt(shares / max(shares.max(), 1e-12))
    height = 2 * top + step * (n_nodes - 1)
    return GraphLayout(
        380.0, height, np.full(n_nodes, 150.0), top + step * row, radius, is_column=True
    )


def _ranks(places: NDArray[np.float64], n_ranks: int) -> list[list[int]]:
    """Split the nodes, in order, into columns of equal size."""
    order = np.lexsort((np.arange(len(places)), places))
    return [part.tolist() for part in np.array_split(order, n_ranks)]


def _untangle(ranks: list[list[int]], pull: NDArray[np.float64]) -> list[list[int]]:
    """Sort each column by the heights of linked nodes in neighbouring columns."""
    height = np.zeros(len(pull))
    for column in ranks:
        height[column] = _heights(len(column))
    for _ in range(_ROUNDS):
        for i, column in enumerate(ranks):
            near = [node for j in (i - 1, i + 1) if 0 <= j < len(ranks) for node in ranks[j]]
            weights = pull[np.ix_(column, near)]
            total = weights.sum(axis=1)
            wanted = np.where(total > 0, weights @ height[near] / np.maximum(total, 1e-12),
                              height[column])  # fmt: skip
            ranks[i] = [column[k] for k in np.lexsort((np.array(column), wanted))]
            height[ranks[i]] = _heights(len(column))
    return ranks


def _heights(n_nodes: int) -> NDArray[np.float64]:
    return (np.arange(n_nodes) + 0.5) / n_nodes


def _coordinates(
    ranks: list[list[int]], n_nodes: int, stagger: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each node's column and its height in it (0..1), with columns slightly staggered."""
    along, beside = np.empty(n_nodes), np.empty(n_nodes)
    for i, column in enumerate(ranks):
        shift = (stagger if i % 2 else -stagger) if len(ranks) > 1 else 0.0
        for k, node in enumerate(column):
            along[node] = i
            beside[node] = (k + 0.5) / len(column) + shift
    return along, beside
