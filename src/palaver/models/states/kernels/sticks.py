"""Sticks: the weights of infinitely many states, broken off one by one as needed.

The stick-breaking construction of Van Gael et al. (2009), section 2. ``betas`` are the weights of
the represented states; the last entry, the rest, is that of all others together. ``rows`` are the
transitions; the last column is the rest, the last row the start. A new state, its weight, its share
of every row's rest and its own row are drawn from a stream named by the state's number: whoever
extends the same table with the same key gets the same states, however many.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.word_weights import log_gamma_draw

# Smaller shapes of Gamma draws make no difference; at this one draws are still finite in logs.
_SMALLEST_SHAPE = 1e-290


@inner
def _split(first, second, stream):  # type: ignore[no-untyped-def]
    """Return both parts of a Beta(first, second) draw, each to full precision. stream: IN-OUT."""
    left = log_gamma_draw(max(first, _SMALLEST_SHAPE), stream)
    right = log_gamma_draw(max(second, _SMALLEST_SHAPE), stream)
    return 1.0 / (1.0 + math.exp(min(right - left, 700.0))), 1.0 / (
        1.0 + math.exp(min(left - right, 700.0))
    )


@kernel
def break_stick(betas, rows, n_states, alpha, gamma, discount, key):  # type: ignore[no-untyped-def]
    """Represent one more state.

    With ``l`` the new state's number counted from one, (a) its weight is a
    Beta(1 - d, gamma + l d) share of the rest; (b) of each row's rest it takes a
    Beta(alpha beta_new, alpha beta_rest) share; (c) its own row is a draw from
    Dirichlet(alpha beta).

    Parameters
    ----------
    betas : array of float64, shape (room + 1,). IN-OUT
        Weights of the first ``n_states`` states; the last entry is the rest.
    rows : array of float64, shape (room + 1, room + 1). IN-OUT
        The last column is the rest, the last row the start.
    n_states : int, below the room. IN
    alpha, gamma, discount : float. IN
    key : array of uint64, shape (2,). IN
    """
    room = len(betas) - 1
    stream = np.empty(4, np.uint64)
    open_stream(key, n_states, stream)
    taken, left = _split(1.0 - discount, gamma + (n_states + 1) * discount, stream)
    betas[n_states] = taken * betas[room]
    betas[room] *= left
    for j in range(n_states + 1):
        source = j if j < n_states else room
        taken, left = _split(alpha * betas[n_states], alpha * betas[room], stream)
        rows[source, n_states] = taken * rows[source, room]
        rows[source, room] *= left
    draws = np.empty(n_states + 2)
    for k in range(n_states + 2):
        weight = betas[k] if k <= n_states else betas[room]
        draws[k] = log_gamma_draw(max(alpha * weight, _SMALLEST_SHAPE), stream)
    draws = np.exp(draws - draws.max())
    draws /= draws.sum()
    rows[n_states, : n_states + 1] = draws[: n_states + 1]
    rows[n_states, room] = draws[n_states + 1]


@kernel
def break_sticks(  # type: ignore[no-untyped-def]
    betas, rows, n_states, alpha, gamma, discount, key, smallest, at_least, reached
):
    """Represent states until the rest of no reachable row reaches the smallest slice.

    A state that is not represented then has ``rows[j, k] < smallest`` in every row ``j`` that a
    sequence can be in: no slice admits it. Most new states cannot be reached at all, so their own
    rows, whose rests are large, do not matter.

    Parameters
    ----------
    betas, rows, n_states, alpha, gamma, discount, key : see :func:`break_stick`
    smallest : float. IN
        Infinite to represent ``at_least`` states and no more.
    at_least : int. IN
    reached : array of bool, shape (room + 1,). IN-OUT
        Which of the first ``n_states`` states some sequence can be in, at the smallest slice;
        the last entry is the start's and true.

    Returns
    -------
    n_states : int
    enough : bool
        False if the table was full before the rests were small enough.
    """
    room = len(betas) - 1
    while True:
        largest = 0.0
        for j in range(room + 1):
            if reached[j]:
                largest = max(largest, rows[j, room])
        if largest < smallest and n_states >= at_least:
            return n_states, True
        if n_states == room:
            return n_states, False
        break_stick(betas, rows, n_states, alpha, gamma, discount, key)
        n_states += 1
        for j in range(room + 1):
            if reached[j] and rows[j, n_states - 1] >= smallest:
                _reach(rows, n_states, n_states - 1, smallest, reached)
                break


@inner
def _reach(rows, n_states, first, smallest, reached):  # type: ignore[no-untyped-def]
    """Mark a state, and all states reachable from it, as reached (IN-OUT)."""
    waiting = [first]
    reached[first] = True
    while len(waiting) > 0:
        source = waiting.pop()
        for k in range(n_states):
            if not reached[k] and rows[source, k] >= smallest:
                reached[k] = True
                waiting.append(k)


@kernel
def draw_tables(counts, weights, key):  # type: ignore[no-untyped-def]
    """Draw how many tables serve the customers of each dish in each restaurant.

    The number for ``n`` customers and weight ``a`` is the sum of Bernoulli(a / (a + i)),
    i = 0..n-1 (Antoniak 1974).

    Parameters
    ----------
    counts : array of int64, shape (n_rows, n_states). IN
    weights : array of float64, shape (n_states,). IN
        alpha beta.
    key : array of uint64, shape (2,). IN
        One stream per row.

    Returns
    -------
    array of int64, shape (n_states,)
        Tables of each dish in all restaurants.
    """
    n_rows, n_states = counts.shape
    tables = np.zeros(n_states, np.int64)
    stream = np.empty(4, np.uint64)
    for j in range(n_rows):
        open_stream(key, j, stream)
        for k in range(n_states):
            if counts[j, k] > 0:
                tables[k] += 1
            for i in range(1, counts[j, k]):
                if uniform(stream) * (weights[k] + i) < weights[k]:
                    tables[k] += 1
    return tables
