"""The beam sampler: whole sequences of states out of infinitely many, exactly.

Van Gael, Saatci, Teh & Ghahramani (2008), in the form of Van Gael, Vlachos & Ghahramani (2009),
section 3. Each position has a slice ``u_t ~ Uniform(0, rows[s_{t-1}, s_t])``; the first one's is
under the start row. Given the slices only finitely many transitions are possible, all of them
equally likely, so that the filter adds instead of multiplying::

    p(s_t | y_1..y_t, u_1..u_t)  ∝  p(y_t | s_t) sum_{j: rows[j, s_t] >= u_t} p(s_{t-1} = j | ...)

Without slices (``sliced`` false) the same filter goes over all transitions of finitely many states,
the blocked sampler of Gao & Johnson (2008)::

    p(s_t | y_1..y_t)  ∝  p(y_t | s_t) sum_j rows[j, s_t] p(s_{t-1} = j | y_1..y_{t-1})

Tables of transitions are ``(n_states + 1, n_states)``; the last row is the start. Emissions come as
one row per symbol, each row scaled by any factor: words have a table of them; positions with
densities of their own are symbols of their own. Most words are next to impossible in most states:
a filter visits only the states that :func:`list_states` names, and goes over all of them if no path
is left. States that were drawn for this sweep only are not in a symbol's row but in ``extra``.
"""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.simd.lanes import prefetch_line

# A state that can be reached keeps at least this mass, whatever it emits.
_SMALLEST_MASS = 1e-290
# Columns of tables are filled up to a multiple of this, for vectors of processors.
_BLOCK = 8


@kernel
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


@kernel
def list_states(emissions, floor):  # type: ignore[no-untyped-def]
    """List the states in which each symbol is likelier than the floor.

    Parameters
    ----------
    emissions : array of float, shape (n_symbols, n_states). IN
    floor : float. IN

    Returns
    -------
    limits : array of int64, shape (n_symbols + 1,)
    states : array of int16
        Those of symbol w, in order, are ``states[limits[w]:limits[w + 1]]``.
    values : array of float
        Their emissions.
    """
    n_symbols, n_states = emissions.shape
    limits = np.zeros(n_symbols + 1, np.int64)
    for w in range(n_symbols):
        n_listed = 0
        for k in range(n_states):
            n_listed += emissions[w, k] > floor
        limits[w + 1] = limits[w] + n_listed
    states = np.empty(limits[n_symbols] + 1, np.int16)  # one to spare, written but not read
    values = np.empty(limits[n_symbols] + 1, emissions.dtype)
    for w in range(n_symbols):
        at = limits[w]
        for k in range(n_states):
            states[at], values[at] = k, emissions[w, k]
            at += emissions[w, k] > floor
            if at == limits[w + 1]:
                break
    return limits, states[:-1], values[:-1]


@kernel
def padded(rows):  # type: ignore[no-untyped-def]
    """Return the rows with zeros up to the next multiple of :data:`_BLOCK` columns."""
    n_rows, n_states = rows.shape
    table = np.zeros((n_rows, (n_states + _BLOCK - 1) // _BLOCK * _BLOCK))
    table[:, :n_states] = rows
    return table


@inner(fastmath={"contract"})
def _spread(active, masses, t, n_sources, table, belief):  # type: ignore[no-untyped-def]
    """Set ``belief`` (OUT) to the mass that reaches each state from those of place t."""
    belief[:] = 0.0
    i = 0
    while i + 4 <= n_sources:  # four rows at a time: fewer loads and stores
        p, q, r, s = masses[t, i], masses[t, i + 1], masses[t, i + 2], masses[t, i + 3]
        a, b, c, d = active[t, i], active[t, i + 1], active[t, i + 2], active[t, i + 3]
        for k in range(len(belief)):
            belief[k] += p * table[a, k] + q * table[b, k] + r * table[c, k] + s * table[d, k]
        i += 4
    while i < n_sources:
        p, a = masses[t, i], active[t, i]
        for k in range(len(belief)):
            belief[k] += p * table[a, k]
        i += 1


@inner
def _admit(active, masses, t, n_sources, table, u, belief):  # type: ignore[no-untyped-def]
    """Do as :func:`_spread` over transitions above the slice u, all equally likely."""
    belief[:] = 0.0
    i = 0
    while i + 4 <= n_sources:  # four rows at a time: fewer loads and stores
        p, q, r, s = masses[t, i], masses[t, i + 1], masses[t, i + 2], masses[t, i + 3]
        a, b, c, d = active[t, i], active[t, i + 1], active[t, i + 2], active[t, i + 3]
        for k in range(len(belief)):
            first = (p if table[a, k] >= u else 0.0) + (q if table[b, k] >= u else 0.0)
            second = (r if table[c, k] >= u else 0.0) + (s if table[d, k] >= u else 0.0)
            belief[k] = (belief[k] + first) + second
        i += 4
    if i + 2 <= n_sources:
        p, q, a, b = masses[t, i], masses[t, i + 1], active[t, i], active[t, i + 1]
        for k in range(len(belief)):
            first = p if table[a, k] >= u else 0.0
            belief[k] += first + (q if table[b, k] >= u else 0.0)
        i += 2
    if i < n_sources:
        p, a = masses[t, i], active[t, i]
        for k in range(len(belief)):
            belief[k] += p if table[a, k] >= u else 0.0


@inner
def _keep(first, last, listed, values, n_known, extra, belief, active, masses):  # type: ignore[no-untyped-def]
    """Collect the states of one symbol that can be reached, and their masses.

    Parameters
    ----------
    first, last : int. IN
        Where the symbol's states are listed.
    listed, values : see :func:`filter_states`. IN
    n_known : int. IN
    extra : array of float, shape (n_states - n_known,). IN
    belief : array of float64. IN
    active : array of int16, shape (n_states,). OUT
    masses : array of float64, shape (n_states,). OUT

    Returns
    -------
    n_kept : int
    total : float
        Of the masses.
    """
    n_kept, total = 0, 0.0
    for i in range(first, last):  # no branches: whether a slice admits a state is hard to guess
        k = listed[i]
        mass = max(belief[k] * values[i], _SMALLEST_MASS)
        kept = belief[k] > 0.0
        active[n_kept], masses[n_kept] = k, mass
        total += mass if kept else 0.0
        n_kept += kept
    for k in range(n_known, n_known + len(extra)):
        if extra[k - n_known] > 0.0 and belief[k] > 0.0:
            mass = max(belief[k] * extra[k - n_known], _SMALLEST_MASS)
            active[n_kept], masses[n_kept] = k, mass
            total += mass
            n_kept += 1
    return n_kept, total


@inner
def _keep_allowed(  # type: ignore[no-untyped-def]
    word, full, limits, listed, values, emissions, extra, allowed, group, belief, active, masses
):  # fmt: skip
    """Do as :func:`_keep` with states that are not listed (``full``) or allowed only in part."""
    n_known = emissions.shape[1]
    first = limits[word]
    n_listed = n_known if full else limits[word + 1] - first
    n_kept, total = 0, 0.0
    for i in range(n_listed + extra.shape[1]):
        if i >= n_listed:  # a state of this sweep
            k = n_known + i - n_listed
            value = extra[word, k - n_known]
            if value == 0.0 and not full:
                continue
        elif full:
            k = i
            value = emissions[word, i]
        else:
            k = listed[first + i]
            value = values[first + i]
        if belief[k] > 0.0 and (group < 0 or allowed[group, k]):
            mass = max(belief[k] * value, _SMALLEST_MASS)
            active[n_kept], masses[n_kept] = k, mass
            total += mass
            n_kept += 1
    return n_kept, total


@kernel
def filter_states(  # type: ignore[no-untyped-def]
    symbols, slices, sliced, table, limits, listed, values, emissions, extra, full, groups,
    allowed, belief, active, masses, sizes,
):  # fmt: skip
    """Filter one sequence forwards over all transitions, or those that its slices admit.

    ``masses[t + 1, i]`` becomes proportional to ``p(s_t = active[t + 1, i] | y_1..y_t, u_1..u_t)``;
    place 0 is the start.

    Parameters
    ----------
    symbols : array of int, shape (T,). IN
    slices : array of float64, shape (T,). IN
    sliced : bool. IN
        Whether slices hold.
    table : of :func:`padded`, with the start as the last row. IN
    limits, listed, values : of :func:`list_states`. IN
    emissions : array of float, shape (n_symbols, n_known). IN
    extra : array of float, shape (n_symbols, n_states - n_known). IN
        A zero leaves the state out.
    full : bool. IN
        Visit all states, also those that are not listed or left out.
    groups : array of int, shape (T,) or (0,). IN
        Which row of ``allowed`` holds for each position; every state everywhere if empty.
    allowed : array of uint8, shape (n_groups, n_states). IN
    belief : array of float64, shape (width of the table,). Scratch.
    active : array of int16, shape (more than T, n_states). OUT
        Possible states of each place, in order.
    masses : array of float64, shape (more than T, n_states). OUT
    sizes : array of int64, shape (more than T,). OUT
        How many states of each place are possible.

    Returns
    -------
    bool
        False if no path is left.

    Cost: as many additions as there are states for each possible state, in vectors.
    """
    n_states, n_known = len(table) - 1, emissions.shape[1]
    active[0, 0], masses[0, 0], sizes[0] = n_states, 1.0, 1
    for t in range(len(symbols)):
        word, u, n_sources = symbols[t], slices[t], sizes[t]
        if t + 1 < len(symbols):  # what the next place needs
            prefetch_line(listed, limits[symbols[t + 1]])
            prefetch_line(values, limits[symbols[t + 1]])
        if sliced:
            _admit(active, masses, t, n_sources, table, u, belief)
        else:
            _spread(active, masses, t, n_sources, table, belief)
        if full or len(groups) > 0:
            n_kept, total = _keep_allowed(
                word, full, limits, listed, values, emissions, extra, allowed,
                groups[t] if len(groups) > 0 else -1, belief, active[t + 1], masses[t + 1],
            )  # fmt: skip
        else:
            n_kept, total = _keep(
                limits[word], limits[word + 1], listed, values, n_known, extra[word], belief,
                active[t + 1], masses[t + 1],
            )  # fmt: skip
        if n_kept == 0:
            return False
        sizes[t + 1] = n_kept
        scale = 1.0 / total
        for i in range(n_kept):
            masses[t + 1, i] *= scale
    return True


@kernel
def sample_states(  # type: ignore[no-untyped-def]
    active, masses, sizes, slices, sliced, columns, sums, stream, states
):
    """Draw the states of one filtered sequence backwards, one uniform number per position.

    Parameters
    ----------
    active, masses, sizes : of :func:`filter_states`. IN
    slices : array of float64, shape (T,). IN
    sliced : bool. IN
    columns : array of float64, shape (n_states, n_states + 1). IN
        The rows, transposed.
    sums : array of float64, shape (n_states,). Scratch.
    stream : array of uint64, shape (4,). IN-OUT
    states : array of int16, shape (T,). OUT
    """
    length = len(states)
    for t in range(length, 0, -1):
        total = 0.0
        for i in range(sizes[t]):
            weight = masses[t, i]
            if t < length:
                step = columns[states[t], active[t, i]]
                if sliced:
                    step = 1.0 if step >= slices[t] else 0.0
                weight *= step
            total += weight
            sums[i] = total
        target = uniform(stream) * total
        chosen = 0
        for i in range(sizes[t]):  # no branches: where it ends is hard to guess
            chosen += sums[i] <= target
        if chosen == sizes[t]:  # rounded up to the total: the last possible state
            chosen = 0
            for i in range(sizes[t]):
                chosen += sums[i] < total
        states[t - 1] = active[t, chosen]


@kernel
def resample_states(  # type: ignore[no-untyped-def]
    symbols, offsets, first_sequence, slices, sliced, rows, limits, listed, values, emissions,
    extra, groups, allowed, key, states,
):  # fmt: skip
    """Resample all states of each sequence: filter forwards, sample backwards.

    Parameters
    ----------
    symbols, slices, groups : arrays, one entry per position. IN
    offsets : array of int64, shape (n_sequences + 1,). IN
    first_sequence : int. IN
    sliced : bool. IN
        Whether the slices hold, or all transitions are possible.
    rows : array of float64, shape (n_states + 1, n_states). IN
    limits, listed, values, emissions, extra, allowed : see :func:`filter_states`. IN
    key : array of uint64, shape (2,). IN
        Not that of the slices.
    states : array of int16, shape (n,). OUT
        A sequence without any possible path keeps its states.
    """
    n_states = rows.shape[1]
    longest = longest_stretch(offsets) + 1
    active = np.empty((longest, n_states), np.int16)
    masses = np.empty((longest, n_states))
    sizes = np.empty(longest, np.int64)
    sums = np.empty(n_states)
    table, columns = padded(rows), rows.T.copy()
    belief = np.empty(table.shape[1])
    stream = np.empty(4, np.uint64)
    for sequence in range(len(offsets) - 1):
        first, last = offsets[sequence], offsets[sequence + 1]
        part = groups[first:last] if len(groups) else groups
        for full in (False, True):
            possible = filter_states(
                symbols[first:last], slices[first:last], sliced, table, limits, listed, values,
                emissions, extra, full, part, allowed, belief, active, masses, sizes,
            )  # fmt: skip
            if possible:
                open_stream(key, first_sequence + sequence, stream)
                sample_states(
                    active, masses, sizes, slices[first:last], sliced, columns, sums, stream,
                    states[first:last],
                )  # fmt: skip
                break
