"""Expected visits of a killed random walk on a sparse graph, by pushing residuals along edges.

Visits x from starts b solve ``x = b + M' D x``, with M the probabilities of moves and D the share
of walks that passes each item. ``residuals = b + M' D x - x`` is what x still lacks. A
push settles one item's residual and passes the consequences to its successors, so an update
that touches few items costs no more than the part of the graph that it affects.
"""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import kernel


@kernel
def push_visits(  # type: ignore[no-untyped-def]
    offsets, targets, moves, self_moves, passes, is_open, limit, closed_limit, forward,
    visits, residuals,
):  # fmt: skip
    """Push every item whose residual exceeds the limit, once.

    Parameters
    ----------
    offsets : array of int64, shape (n_items + 1,). IN
    targets : array of int32, moves : array of float64, shape (n_edges,). IN
        Successors of each item and the probability of moving there.
    self_moves, passes : array of float64, shape (n_items,). IN
        Probability of a move to itself; the share of walks that passes an item, D.
    is_open : array of bool, shape (n_items,). IN
    limit, closed_limit : float
        Residuals up to this size stay, for open items and for the others.
    forward : bool
        Direction of the pass; alternating directions suit directed graphs.
    visits, residuals : array of float64, shape (n_items,). IN-OUT

    Returns
    -------
    int
        Number of items pushed. Linear in their edges.
    """
    n_items = len(visits)
    n_pushed = 0
    for place in range(n_items):
        item = place if forward else n_items - 1 - place
        residual = residuals[item]
        if abs(residual) <= (limit if is_open[item] else closed_limit):
            continue
        n_pushed += 1
        change = residual / (1.0 - passes[item] * self_moves[item])
        visits[item] += change
        flow = passes[item] * change
        if flow != 0.0:
            for edge in range(offsets[item], offsets[item + 1]):
                residuals[targets[edge]] += moves[edge] * flow
        residuals[item] = 0.0  # the change includes its move to itself
    return n_pushed


@kernel
def push_two_visits(  # type: ignore[no-untyped-def]
    offsets, targets, moves, self_moves, passes, is_open, limits, closed_limits, forward,
    visits, residuals,
):  # fmt: skip
    """Do as :func:`push_visits` for two right-hand sides at once, one column each.

    Parameters
    ----------
    limits, closed_limits : array of float64, shape (2,). IN
    visits, residuals : array of float64, shape (n_items, 2). IN-OUT

    Returns
    -------
    int
        Number of items pushed.
    """
    n_items = len(visits)
    n_pushed = 0
    for place in range(n_items):
        item = place if forward else n_items - 1 - place
        first, second = residuals[item, 0], residuals[item, 1]
        if is_open[item]:
            if abs(first) <= limits[0] and abs(second) <= limits[1]:
                continue
        elif abs(first) <= closed_limits[0] and abs(second) <= closed_limits[1]:
            continue
        n_pushed += 1
        share = 1.0 / (1.0 - passes[item] * self_moves[item])
        visits[item, 0] += first * share
        visits[item, 1] += second * share
        if passes[item] > 0.0:
            first *= share * passes[item]
            second *= share * passes[item]
            for edge in range(offsets[item], offsets[item + 1]):
                residuals[targets[edge], 0] += moves[edge] * first
                residuals[targets[edge], 1] += moves[edge] * second
        residuals[item, 0] = 0.0
        residuals[item, 1] = 0.0
    return n_pushed


@kernel
def residual_extent(residuals, is_open):  # type: ignore[no-untyped-def]
    """Return the extent of residuals, up and down: maximum of the open, sum of the others.

    Parameters
    ----------
    residuals : array of float64, shape (n_items,). IN
    is_open : array of bool, shape (n_items,). IN

    Returns
    -------
    array of float64, shape (2, 2)
        Rows: upwards, downwards. Columns: open items, closed items.
    """
    extent = np.zeros((2, 2))
    for item in range(len(residuals)):
        side = 0 if residuals[item] > 0 else 1
        size = abs(residuals[item])
        if not is_open[item]:
            extent[side, 1] += size
        elif size > extent[side, 0]:
            extent[side, 0] = size
    return extent


@kernel
def best_two(visits, weights, is_candidate):  # type: ignore[no-untyped-def]
    """Return the candidate with the largest weighted sum of its columns, and the runner-up's sum.

    Parameters
    ----------
    visits : array of float64, shape (n_items, n_columns). IN
    weights : array of float64, shape (n_columns,). IN
    is_candidate : array of bool, shape (n_items,). IN

    Returns
    -------
    item : int
        The first of the best; -1 if there is no candidate.
    best, next : float
    """
    item, best, runner_up = -1, -np.inf, -np.inf
    for i in range(len(visits)):
        if is_candidate[i]:
            total = 0.0
            for column in range(visits.shape[1]):
                total += weights[column] * visits[i, column]
            if total > best:
                item, best, runner_up = i, total, best
            elif total > runner_up:
                runner_up = total
    return item, best, runner_up
