"""The random walk with jumps on a graph of items (Zhu et al. 2007, equation 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from palaver.errors import InputError
from palaver.params import Limit, either, nothing, real, whole

#: Options of every ranking.
LIMITS: dict[str, Limit] = {"weight": real(0, 1), "top": either(whole(1), nothing())}
#: A graph: ``graph[i, j]`` is the weight of the edge from item i to item j.
Graph = Any


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """A walk that follows edges with probability ``weight`` and otherwise jumps by the prior.

    Attributes
    ----------
    steps : csr matrix of float64, shape (n_items, n_items)
        Rows of the graph, each divided by its sum; rows of zeros stay zeros.
    prior : array of float64, shape (n_items,)
        Sums to one.
    weight : float
        Probability of following an edge; items without edges always jump.
    ends : array of bool, shape (n_items,)
        Items without outgoing edges.
    """

    steps: Any
    prior: NDArray[np.float64]
    weight: float
    ends: NDArray[np.bool_]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.prior)

    @property
    def jumps(self) -> NDArray[np.float64]:
        """Probability of jumping from each item, (n_items,)."""
        return np.where(self.ends, 1.0, 1.0 - self.weight)

    def dense(self) -> NDArray[np.float64]:
        """Return the transition probabilities P of equation 1, (n_items, n_items)."""
        steps: NDArray[np.float64] = self.steps.toarray()
        steps *= self.weight
        steps += np.outer(self.jumps, self.prior)
        return steps

    def check_single_group(self) -> int:
        """Return an item to which every walk keeps returning; check that there is one.

        Raises
        ------
        InputError
            There are several closed groups of items, so where a walk ends up depends on
            where it starts, and the stationary distribution is not unique.
        """
        kind, is_closed = _closed_groups(self)
        if is_closed.sum() > 1:
            members = [np.flatnonzero(kind == group)[0] for group in np.flatnonzero(is_closed)]
            raise InputError(
                f"grasshopper: with weight=1 the walk never leaves any of {len(members)} separate "
                f"groups of items (one contains item {members[0]}, another item {members[1]}), so "
                "its stationary distribution is not unique; use a weight below 1, such as 0.95"
            )
        inside = is_closed[kind]
        popularity = np.asarray(self.steps.sum(axis=0)).ravel() + self.prior
        return int(np.argmax(np.where(inside, popularity, -1.0)))


def _closed_groups(walk: RandomWalk) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the strongly connected group of each item, and which groups are never left.

    An extra node stands for the jump, so that n jumps need n edges instead of n squared.
    """
    n = walk.n_items
    jumping = np.flatnonzero(walk.jumps > 0)
    landing = np.flatnonzero(walk.prior > 0)
    edges = walk.steps.tocoo() if walk.weight > 0 else sparse.coo_matrix((n, n))
    kept = edges.data > 0
    source = np.concatenate((edges.row[kept], jumping, np.full(len(landing), n)))
    target = np.concatenate((edges.col[kept], np.full(len(jumping), n), landing))
    graph = sparse.csr_matrix((np.ones(len(source)), (source, target)), shape=(n + 1, n + 1))
    n_groups, kind = connected_components(graph, directed=True, connection="strong")
    is_left = np.zeros(n_groups, bool)
    is_left[kind[source][kind[source] != kind[target]]] = True
    if not len(jumping):
        is_left[kind[n]] = True  # no walk jumps, so the node is not part of the walk
    return kind[:n], ~is_left


def make_walk(graph: Graph, prior: ArrayLike | None, weight: float) -> RandomWalk:
    """Check a graph and a prior, and return their walk.

    Raises
    ------
    InputError
        The graph is not square, is empty, or has weights that are negative or not finite;
        the prior does not fit the graph.
    """
    matrix = _checked_graph(graph)
    n = matrix.shape[0]
    steps, ends = _normalized(matrix)
    return RandomWalk(steps, checked_prior(prior, n), float(weight), ends)


def _checked_graph(graph: Graph) -> Any:
    """Return a copy of a graph as a csr matrix of float64."""
    if sparse.issparse(graph):
        _refuse_odd(graph.dtype, "the graph")
        _refuse_broken(graph)
    else:
        _refuse_odd(graph, "the graph")
        try:
            graph = np.asarray(graph, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"the graph must be a matrix of numbers: {error}") from error
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise InputError(
            f"the graph must be a square matrix with one row and one column per item; "
            f"its shape is {graph.shape}"
        )
    if not graph.shape[0]:
        raise InputError("the graph has no items")
    matrix = sparse.csr_matrix(graph, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    wrong = ~(np.isfinite(matrix.data) & (matrix.data >= 0))
    if wrong.any():
        place = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        raise InputError(
            f"the graph's weights must be finite and non-negative; the edge from item {row} to "
            f"item {matrix.indices[place]} has {matrix.data[place]}"
        )
    matrix.eliminate_zeros()
    return matrix


def _refuse_odd(values: Any, what: str) -> None:
    """Refuse what a conversion to numbers would silently reduce: complex parts and masks."""
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(f"{what} has a mask; fill or drop the masked values first")
    kind = values.kind if isinstance(values, np.dtype) else np.asarray(values).dtype.kind
    if kind == "c":
        raise InputError(f"{what} must hold real numbers, got complex ones")


def _refuse_broken(graph: Any) -> None:
    """Refuse a sparse matrix whose indices lead out of it, which compiled code would follow."""
    if graph.format not in ("csr", "csc", "bsr"):
        return
    try:
        graph.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"the graph is no sound sparse matrix ({error})") from error


def _normalized(matrix: Any) -> tuple[Any, NDArray[np.bool_]]:
    """Divide rows by their sums, in place; first by their maximum, to avoid overflow."""
    lengths = np.diff(matrix.indptr)
    ends = lengths == 0
    starts = matrix.indptr[:-1][~ends]
    for reduce in (np.maximum, np.add):
        if len(starts):
            matrix.data /= np.repeat(reduce.reduceat(matrix.data, starts), lengths[~ends])
    return matrix, ends


def checked_prior(prior: ArrayLike | None, n_items: int) -> NDArray[np.float64]:
    """Return a prior that sums to one, given any non-negative numbers."""
    if prior is None:
        return np.full(n_items, 1.0 / n_items)
    try:
        _refuse_odd(prior, "the prior")
        values = np.array(prior, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the prior must be numbers: {error}") from error
    if values.shape != (n_items,):
        raise InputError(
            f"the prior must have one number per item, {n_items} in all; "
            f"its shape is {values.shape}"
        )
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(
            f"the prior must be finite and non-negative; item {place} has {values[place]}"
        )
    if not values.any():
        raise InputError("the prior is zero for all items; omit it for a uniform one")
    values /= values.max()
    values /= values.sum()
    return values


def how_many(top: int | None, n_items: int) -> int:
    """Return how many items to rank: all, or at most ``top``."""
    return n_items if top is None else min(int(top), n_items)
