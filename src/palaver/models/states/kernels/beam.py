"""The beam sampler: whole sequences of states out of infinitely many, exactly.

Van Gael, Saatci, Teh & Ghahramani (2008), in the form of Van Gael, Vlachos & Ghahramani (2009),
section 3. Each position has a slice ``u_t ~ Uniform(0, rows[s_{t-1}, s_t])``; the first one's is
under the start row. Given the slices only finitely many transitions are possible, all of them
equally likely, so that the filter adds instead of multiplying::

    p(s_t | y_1..y_t, u_1..u_t)  ∝  p(y_t | s_t) sum_{j: rows[j, s_t] >= u_t} p(s_{t-1} = j | ...)

Rows are kept sorted, so that the filter stops at the first transition below the slice.

Tables of transitions are ``(n_states + 1, n_states)``; the last row is the start. Emissions come as
one row per symbol, each row scaled by any factor: words have a table of them; positions with
densities of their own are symbols of their own. States that were drawn for this sweep only are not
in a symbol's row but in ``extra``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from palaver.kernels.chains import draw_state
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream, uniform

# A state that can be reached keeps at least this mass, whatever it emits.
_SMALLEST_MASS = 1e-290
# States with less than this share of the mass are left out, unless that could matter: if the paths
# lost with them may have more than a share of _MOST_LOST, the filter runs again with all states.
_LEAST_SHARE, _MOST_LOST = 1e-33, 1e-12
# Above 1 / _MANY of all states it is cheaper to scan them all than to sort those found.
_MANY = 4


@njit(cache=True, nogil=True)
def draw_slices(states, offsets, first_sequence, rows, key, slices):  # type: ignore[no-untyped-def]
    """Draw the slice of every position, from one stream per sequence.

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
        Filled up with -1, which is below every slice.
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


@njit(cache=True, nogil=True)
def filter_beam(  # type: ignore[no-untyped-def]
    symbols, slices, values, targets, emissions, extra, ceilings, least, groups, allowed, belief,
    found, shares, active, masses, sizes,
):  # fmt: skip
    """Filter one sequence forwards over the transitions that its slices admit.

    ``masses[t, i]`` becomes proportional to ``p(s_t = active[t, i] | y_1..y_t, u_1..u_t)``. Most
    words are next to impossible in most states, so states with less than ``least`` of the mass
    are left out, with all paths through them. The loss is bounded: at each further position a mass
    grows by at most the sum of all emissions of the symbol, its ceiling.

    Parameters
    ----------
    symbols : array of int, shape (T,). IN
    slices : array of float64, shape (T,). IN
    values, targets : of :func:`sort_rows`. IN
    emissions : array of float, shape (n_symbols, n_known). IN
    extra : array of float, shape (n_symbols, n_states - n_known). IN
    ceilings : array of float64, shape (n_symbols,). IN
        Sums of the rows of both.
    least : float. IN
        Zero keeps every state.
    groups : array of int, shape (T,) or (0,). IN
        Which row of ``allowed`` holds for each position; every state everywhere if empty.
    allowed : array of uint8, shape (n_groups, n_states). IN
    belief : array of float64, shape (n_states,). Scratch, zeros before and after.
    found, shares : arrays of int64 and float64, shape (n_states,). Scratch.
    active : array of int16, shape (at least T, n_states). OUT
        Possible states of each position, in order.
    masses : array of float64, shape (at least T, n_states). OUT
    sizes : array of int64, shape (at least T,). OUT
        How many states of each position are possible.

    Returns
    -------
    float
        Upper bound of the weight of the paths left out, relative to those kept.

    Cost: one addition for each transition above the slice out of a state that is kept.
    """
    n_states, n_known = targets.shape[1], emissions.shape[1]
    restricted = len(groups) > 0
    scale, lost = 1.0, 0.0
    for t in range(len(symbols)):
        u, n_found = slices[t], 0
        n_sources = 1 if t == 0 else sizes[t - 1]
        for i in range(n_sources):
            source, share = n_states, 1.0
            if t > 0:
                source, share = active[t - 1, i], masses[t - 1, i] * scale
            at = 0
            while values[source, at] >= u:
                k = targets[source, at]
                if belief[k] == 0.0:
                    found[n_found] = k
                    n_found += 1
                belief[k] += share
                at += 1
        if n_found > n_states // _MANY:
            n_found = _in_order(belief, found)
        emission, other = emissions[symbols[t]], extra[symbols[t]]
        total = 0.0
        for i in range(n_found):
            k = found[i]
            factor = emission[k] if k < n_known else other[k - n_known]
            shares[i] = max(belief[k] * factor, _SMALLEST_MASS)
            if restricted and not allowed[groups[t], k]:
                shares[i] = 0.0
            total += shares[i]
            belief[k] = 0.0
        kept = _keep(found, shares, n_found, least * total, active[t], masses[t], sizes[t : t + 1])
        if kept <= 0.0:  # every path was left out
            return np.inf
        lost = (lost * ceilings[symbols[t]] + max(total - kept, 0.0)) / kept
        scale = 1.0 / kept
    return lost


@njit(cache=True)
def _in_order(belief, found):  # type: ignore[no-untyped-def]
    """Set ``found`` (OUT) to the states with belief, in order; return their number."""
    n_found = 0
    for k in range(len(belief)):
        if belief[k] > 0.0:
            found[n_found] = k
            n_found += 1
    return n_found


@njit(cache=True)
def _keep(found, shares, n_found, least, here, weights, size):  # type: ignore[no-untyped-def]
    """Keep the states with more than the least share, in order; return the sum of their shares.

    Parameters
    ----------
    found, shares : arrays. IN
        ``n_found`` states, in order if they are many, and their shares.
    least : float. IN
    here, weights, size : arrays. OUT
        States, their shares, and their number.
    """
    n_kept, kept = 0, 0.0
    for i in range(n_found):
        if shares[i] > least:
            at = n_kept
            while at > 0 and here[at - 1] > found[i]:
                here[at] = here[at - 1]
                weights[at] = weights[at - 1]
                at -= 1
            here[at] = found[i]
            weights[at] = shares[i]
            kept += shares[i]
            n_kept += 1
    size[0] = n_kept
    return kept


@njit(cache=True, nogil=True)
def sample_beam(active, masses, sizes, slices, columns, stream, states):  # type: ignore[no-untyped-def]
    """Draw the states of one filtered sequence backwards, one uniform number per position.

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
        weights = masses[t, : sizes[t]]
        if t < length - 1:
            column, u = columns[states[t + 1]], slices[t + 1]
            for i in range(len(weights)):
                if column[active[t, i]] < u:
                    weights[i] = 0.0
        states[t] = active[t, draw_state(weights, uniform(stream))]


@njit(cache=True, nogil=True)
def beam_sweep(  # type: ignore[no-untyped-def]
    symbols, offsets, first_sequence, slices, rows, values, targets, emissions, extra, ceilings,
    groups, allowed, key, states,
):  # fmt: skip
    """Resample all states of each sequence given its slices: :func:`filter_beam`, backwards.

    Parameters
    ----------
    symbols, slices, groups : arrays, one entry per position. IN
    offsets : array of int64, shape (n_sequences + 1,). IN
    first_sequence : int. IN
    rows : array of float64, shape (n_states + 1, n_states). IN
    values, targets : of :func:`sort_rows`. IN
    emissions, extra, ceilings, allowed : see :func:`filter_beam`. IN
    key : array of uint64, shape (2,). IN
        Not that of the slices.
    states : array of int16, shape (n,). OUT
    """
    n_states = rows.shape[1]
    longest = longest_stretch(offsets)
    active = np.empty((longest, n_states), np.int16)
    masses = np.empty((longest, n_states))
    sizes = np.empty(longest, np.int64)
    belief, shares = np.zeros(n_states), np.empty(n_states)
    found = np.empty(n_states, np.int64)
    columns = rows.T.copy()
    stream = np.empty(4, np.uint64)
    for sequence in range(len(offsets) - 1):
        first, last = offsets[sequence], offsets[sequence + 1]
        if first == last:
            continue
        open_stream(key, first_sequence + sequence, stream)
        part = groups[first:last] if len(groups) else groups
        for least in (_LEAST_SHARE, 0.0):
            lost = filter_beam(
                symbols[first:last], slices[first:last], values, targets, emissions, extra,
                ceilings, least, part, allowed, belief, found, shares, active, masses, sizes,
            )  # fmt: skip
            if lost <= _MOST_LOST:
                break
        sample_beam(active, masses, sizes, slices[first:last], columns, stream, states[first:last])


@njit(cache=True, nogil=True, fastmath={"contract"})
def dense_sweep(  # type: ignore[no-untyped-def]
    symbols, offsets, first_sequence, rows, emissions, groups, allowed, key, states
):
    """Resample all states of each sequence of a finite model, over all transitions.

    The blocked sampler of Gao & Johnson (2008): forward filtering, backward sampling. Parameters
    as in :func:`beam_sweep`. Cost: n_states² multiplications per position.
    """
    n_states = rows.shape[1]
    beliefs = np.empty((longest_stretch(offsets), n_states))
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
            total = 0.0  # summed in the same loop: faster than draw_state, which sums again
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
