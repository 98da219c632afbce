"""The beam sampler: whole sequences of states out of infinitely many, exactly.

Each position has a slice ``u_t ~ Uniform(0, rows[s_{t-1}, s_t])`` (Van Gael et al. 2008). Given the
slices only transitions with ``rows[j, k] >= u_t`` are possible, finitely many, and all of them are
equally likely: the filter adds up instead of multiplying. The first position's slice is under the
start row. Rows are kept sorted, so that the filter stops at the first transition below the slice.

Tables of transitions are ``(n_states + 1, n_states)``; the last row is the start. Emissions come as
one row a symbol, scaled by any factor a symbol: words have a table of them, positions with
densities of their own are their own symbols. What a symbol's row lacks is in ``extra``: states that
were drawn for this sweep only.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from palaver.kernels.random import open_stream, uniform

# What can be reached stays reachable: below this floor nothing can be told from anything.
_SMALLEST_MASS = 1e-290
# From this share of all states on, transitions above a slice are many (2 to 12 of 47 measured).
_MANY = 8
_LANES = 8  # numbers a vector: rows that end within one are slow


@njit(cache=True, nogil=True)
def draw_slices(states, offsets, first_sequence, rows, key, slices):  # type: ignore[no-untyped-def]
    """Draw the slice of every position, one stream a sequence.

    Parameters
    ----------
    states : array of int16, shape (n,). IN
    offsets : array of int64, shape (n_sequences + 1,). IN
    first_sequence : int. IN
        Number of the first sequence, which names its random stream.
    rows : array of float64, shape (n_states + 1, n_states). IN
    key : array of uint64, shape (2,). IN
    slices : array of float64, shape (n,). OUT

    Returns
    -------
    float
        The smallest slice; infinite without positions.
    """
    start = rows.shape[0] - 1
    stream = np.empty(4, np.uint64)
    smallest = np.inf
    for sequence in range(len(offsets) - 1):
        open_stream(key, first_sequence + sequence, stream)
        source = start
        for t in range(offsets[sequence], offsets[sequence + 1]):
            slices[t] = (1.0 - uniform(stream)) * rows[source, states[t]]
            smallest = min(smallest, slices[t])
            source = states[t]
    return smallest


@njit(cache=True, nogil=True)
def sort_rows(rows, smallest, values, targets):  # type: ignore[no-untyped-def]
    """Sort the entries of each row that reach the smallest slice, the largest first.

    Parameters
    ----------
    rows : array of float64, shape (n_rows, n_states). IN
    smallest : float. IN
    values : array of float64, shape (n_rows, n_states + 1). OUT
        After the last entry stands -1, below every slice, to the end.
    targets : array of int16, shape (n_rows, n_states). OUT
    """
    for j in range(len(rows)):
        order = np.argsort(-rows[j], kind="mergesort")
        n_kept = 0
        for k in order:
            if rows[j, k] < smallest:
                break
            values[j, n_kept] = rows[j, k]
            targets[j, n_kept] = k
            n_kept += 1
        values[j, n_kept:] = -1.0


@njit(cache=True)
def longest_sequence(offsets):  # type: ignore[no-untyped-def]
    """Return the length of the longest sequence."""
    longest = 0
    for sequence in range(len(offsets) - 1):
        longest = max(longest, offsets[sequence + 1] - offsets[sequence])
    return longest


@njit(cache=True, nogil=True)
def filter_beam(  # type: ignore[no-untyped-def]
    symbols, slices, rows, values, targets, emissions, extra, groups, allowed, belief, wide, shares,
    active, masses, sizes,
):  # fmt: skip
    """Filter one sequence forwards over the transitions that its slices admit.

    ``masses[t, i]`` becomes proportional to ``p(s_t = active[t, i] | x_1..x_t, u_1..u_t)``.

    Parameters
    ----------
    symbols : array of int, shape (T,). IN
    slices : array of float64, shape (T,). IN
    rows : array of float64, shape (n_states + 1, at least n_states). IN
        Further columns, of zeros, fill up vectors.
    values, targets : of :func:`sort_rows`. IN
    emissions : array of float, shape (n_symbols, n_known). IN
    extra : array of float, shape (n_symbols, n_states - n_known). IN
    groups : array of int, shape (T,) or (0,). IN
        Which row of ``allowed`` holds for each position; every state everywhere if empty.
    allowed : array of uint8, shape (n_groups, n_states). IN
    belief : array of float64, as long as a row. Scratch.
    wide, shares : arrays of int64 and float64, shape (n_states,). Scratch.
    active : array of int16, shape (at least T, n_states). OUT
        Possible states of each position, in order.
    masses : array of float64, shape (at least T, n_states). OUT
    sizes : array of int64, shape (at least T,). OUT
        How many states of each position are possible.

    Cost: one addition for each transition above the slice out of a possible state; where these are
    many, whole rows are compared with the slice instead, four rows at a time in vectors.
    """
    n_states, n_known = targets.shape[1], emissions.shape[1]
    many = n_states // _MANY
    restricted = len(groups) > 0
    scale = 1.0
    for t in range(len(symbols)):
        u = slices[t]
        belief[:] = 0.0
        n_wide = 0
        if t == 0:
            at = 0
            while values[n_states, at] >= u:
                belief[targets[n_states, at]] = 1.0
                at += 1
        else:
            for i in range(sizes[t - 1]):
                source, share = active[t - 1, i], masses[t - 1, i] * scale
                if values[source, many] >= u:
                    wide[n_wide] = source
                    shares[n_wide] = share
                    n_wide += 1
                    continue
                at = 0
                while values[source, at] >= u:
                    belief[targets[source, at]] += share
                    at += 1
            _add_wide(rows, u, wide, shares, n_wide, belief)
        if restricted:
            for k in range(n_states):
                if not allowed[groups[t], k]:
                    belief[k] = 0.0
        total = 0.0
        size = 0
        here, weights = active[t], masses[t]
        emission, other = emissions[symbols[t]], extra[symbols[t]]
        for k in range(n_known):
            if belief[k] > 0.0:
                mass = max(belief[k] * emission[k], _SMALLEST_MASS)
                here[size] = k
                weights[size] = mass
                total += mass
                size += 1
        for k in range(n_known, n_states):
            if belief[k] > 0.0:
                mass = max(belief[k] * other[k - n_known], _SMALLEST_MASS)
                here[size] = k
                weights[size] = mass
                total += mass
                size += 1
        sizes[t] = size
        scale = 1.0 / total


@njit(cache=True)
def _add_wide(rows, u, wide, shares, n_wide, belief):  # type: ignore[no-untyped-def]
    """Add the shares of some sources to all states (IN-OUT) that the slice admits after them."""
    n_states = len(belief)
    i = 0
    while i + 4 <= n_wide:
        a, b, c, d = wide[i], wide[i + 1], wide[i + 2], wide[i + 3]
        of_a, of_b, of_c, of_d = shares[i], shares[i + 1], shares[i + 2], shares[i + 3]
        for k in range(n_states):
            total = belief[k]
            total += of_a if rows[a, k] >= u else 0.0
            total += of_b if rows[b, k] >= u else 0.0
            total += of_c if rows[c, k] >= u else 0.0
            total += of_d if rows[d, k] >= u else 0.0
            belief[k] = total
        i += 4
    while i < n_wide:
        a, of_a = wide[i], shares[i]
        for k in range(n_states):
            belief[k] += of_a if rows[a, k] >= u else 0.0
        i += 1


@njit(cache=True, nogil=True)
def sample_beam(active, masses, sizes, slices, columns, stream, states):  # type: ignore[no-untyped-def]
    """Draw the states of one filtered sequence backwards, one uniform number a position.

    Parameters
    ----------
    active, masses, sizes : of :func:`filter_beam`. IN
    slices : array of float64, shape (T,). IN
    columns : array of float64, shape (n_states, n_states + 1). IN
        The rows, transposed.
    stream : array of uint64, shape (4,). IN-OUT
    states : array of int16, shape (T,). OUT
    """
    length = len(states)
    for t in range(length - 1, -1, -1):
        size = sizes[t]
        total = 0.0
        threshold = uniform(stream)
        if t == length - 1:
            for i in range(size):
                total += masses[t, i]
        else:
            column, u = columns[states[t + 1]], slices[t + 1]
            for i in range(size):
                if column[active[t, i]] < u:
                    masses[t, i] = 0.0
                total += masses[t, i]
        target = threshold * total
        cumulative = 0.0
        chosen = -1
        for i in range(size):
            if masses[t, i] > 0.0:
                chosen = active[t, i]
                cumulative += masses[t, i]
                if cumulative > target:
                    break
        states[t] = chosen


@njit(cache=True, nogil=True)
def beam_sweep(  # type: ignore[no-untyped-def]
    symbols, offsets, first_sequence, slices, rows, values, targets, emissions, extra, groups,
    allowed, key, states,
):  # fmt: skip
    """Resample all states of each sequence given its slices: :func:`filter_beam`, backwards.

    Parameters
    ----------
    symbols, slices, groups : arrays, one entry a position. IN
    offsets : array of int64, shape (n_sequences + 1,). IN
    first_sequence : int. IN
    rows : array of float64, shape (n_states + 1, n_states). IN
    values, targets : of :func:`sort_rows`. IN
    emissions, extra, allowed : see :func:`filter_beam`. IN
    key : array of uint64, shape (2,). IN
        Another one than that of the slices.
    states : array of int16, shape (n,). OUT
    """
    n_states = rows.shape[1]
    longest = longest_sequence(offsets)
    active = np.empty((longest, n_states), np.int16)
    masses = np.empty((longest, n_states))
    sizes = np.empty(longest, np.int64)
    room = -(-n_states // _LANES) * _LANES
    filled = np.zeros((n_states + 1, room))
    filled[:, :n_states] = rows
    belief, shares = np.empty(room), np.empty(n_states)
    wide = np.empty(n_states, np.int64)
    columns = rows.T.copy()
    stream = np.empty(4, np.uint64)
    for sequence in range(len(offsets) - 1):
        first, last = offsets[sequence], offsets[sequence + 1]
        if first == last:
            continue
        open_stream(key, first_sequence + sequence, stream)
        part = groups[first:last] if len(groups) else groups
        filter_beam(
            symbols[first:last], slices[first:last], filled, values, targets, emissions, extra,
            part, allowed, belief, wide, shares, active, masses, sizes,
        )  # fmt: skip
        sample_beam(active, masses, sizes, slices[first:last], columns, stream, states[first:last])


@njit(cache=True, nogil=True, fastmath={"contract"})
def dense_sweep(  # type: ignore[no-untyped-def]
    symbols, offsets, first_sequence, rows, emissions, groups, allowed, key, states
):
    """Resample all states of each sequence of a finite model, by all transitions.

    The blocked sampler of Gao & Johnson (2008): forward filtering, backward sampling. Parameters
    as of :func:`beam_sweep`. Cost: n_states² multiplications a position.
    """
    n_states = rows.shape[1]
    beliefs = np.empty((longest_sequence(offsets), n_states))
    columns = rows.T.copy()
    weights = np.empty(n_states)
    stream = np.empty(4, np.uint64)
    for sequence in range(len(offsets) - 1):
        first, last = offsets[sequence], offsets[sequence + 1]
        open_stream(key, first_sequence + sequence, stream)
        scale = 1.0
        for t in range(last - first):
            belief = beliefs[t]
            if t == 0:
                belief[:] = rows[n_states]
            else:
                before = beliefs[t - 1]
                belief[:] = 0.0
                for j in range(n_states):
                    share = before[j] * scale
                    row = rows[j]
                    for k in range(n_states):
                        belief[k] += share * row[k]
            emission = emissions[symbols[first + t]]
            total = 0.0
            for k in range(n_states):
                mass = max(belief[k] * emission[k], _SMALLEST_MASS)
                if len(groups) and not allowed[groups[first + t], k]:
                    mass = 0.0
                belief[k] = mass
                total += mass
            scale = 1.0 / total
        for t in range(last - first - 1, -1, -1):
            belief = beliefs[t]
            total = 0.0
            for k in range(n_states):
                weights[k] = belief[k]
                if t < last - first - 1:
                    weights[k] *= columns[states[first + t + 1], k]
                total += weights[k]
            target = uniform(stream) * total
            cumulative = 0.0
            chosen = -1
            for k in range(n_states):
                if weights[k] > 0.0:
                    chosen = k
                    cumulative += weights[k]
                    if cumulative > target:
                        break
            states[first + t] = chosen
