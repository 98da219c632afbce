"""Acts on forests: exact sampling and exact posteriors, upwards and down again.

A unit depends on the unit before it, its parent, and on how it follows it, its relation ``c``:

    (b)  p(z_u = k | z_parent = j, c) = rows[c K + j, k],    p(z_root = k) = rows[C K, k]

Parents precede their children, so one backward pass over the units gathers what the descendants
of each unit say, and one forward pass draws acts, or sums over them. A chain is a forest in which
everybody has one child. Both passes cost K² multiplications per unit.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.chains import draw_state, floored
from palaver.kernels.compiled import inner, kernel
from palaver.kernels.random import open_stream, uniform


@inner
def gather(densities, parents, relations, fixed, rows, evidence):  # type: ignore[no-untyped-def]
    """Fill what each unit and its descendants say about its act; return the log evidence.

    ``evidence[u, k]`` is proportional to the density of u's subtree given ``z_u = k``, with a
    largest entry of one. Units with a known act have all evidence there.

    Parameters
    ----------
    densities : array of float64, shape (n_units, K). IN
        Log densities.
    parents : array of int32, shape (n_units,). IN
        -1 for roots; parents precede children.
    relations : array of int8, shape (n_units,). IN
    fixed : array of int16, shape (n_units,) or (0,). IN
        Known acts, -1 for unknown ones.
    rows : array of float64, shape (C K + 1, K), of :func:`floored`. IN
    evidence : array of float64, shape (n_units, K). OUT

    Returns
    -------
    float
        Log of the tempered density of all units, acts summed out.
    """
    n_units, n_acts = densities.shape
    message = np.empty(n_acts)
    log_evidence = 0.0
    for unit in range(n_units):
        for k in range(n_acts):
            evidence[unit, k] = 1.0
    for unit in range(n_units - 1, -1, -1):
        largest = -math.inf
        for k in range(n_acts):
            if len(fixed) == 0 or fixed[unit] < 0 or fixed[unit] == k:
                evidence[unit, k] = math.log(max(evidence[unit, k], 1e-300)) + densities[unit, k]
                largest = max(largest, evidence[unit, k])
            else:
                evidence[unit, k] = -math.inf
        for k in range(n_acts):
            evidence[unit, k] = math.exp(evidence[unit, k] - largest)
        log_evidence += largest
        parent = parents[unit]
        if parent < 0:
            total = 0.0
            for k in range(n_acts):
                total += rows[len(rows) - 1, k] * evidence[unit, k]
            log_evidence += math.log(total)
            continue
        first = relations[unit] * n_acts
        highest = 0.0
        for j in range(n_acts):
            total = 0.0
            for k in range(n_acts):
                total += rows[first + j, k] * evidence[unit, k]
            message[j] = total
            highest = max(highest, total * evidence[parent, j])
        for j in range(n_acts):
            evidence[parent, j] *= message[j] / highest
        log_evidence += math.log(highest)
    return log_evidence


@kernel
def sample_forests(  # type: ignore[no-untyped-def]
    densities, parents, relations, fixed, conversations, first_conversation, rows, key, states
):
    """Resample all acts exactly, given densities and rows.

    Parameters
    ----------
    densities, parents, relations, fixed
        As in :func:`gather`. IN
    conversations : array of int64, shape (n_conversations + 1,). IN
        First unit of each; no unit has its parent in another.
    first_conversation : int. IN
        Names the random streams: one per conversation, one draw per unit.
    rows : array of float64, shape (C K + 1, K). IN
    key : array of uint64, shape (2,). IN
    states : array of int16, shape (n_units,). OUT

    Returns
    -------
    float
        Log evidence, as of :func:`gather`.
    """
    n_acts = densities.shape[1]
    safe = floored(rows)
    evidence = np.empty_like(densities)
    log_evidence = gather(densities, parents, relations, fixed, safe, evidence)
    stream, weights = np.empty(4, np.uint64), np.empty(n_acts)
    for conversation in range(len(conversations) - 1):
        open_stream(key, first_conversation + conversation, stream)
        for unit in range(conversations[conversation], conversations[conversation + 1]):
            row = len(safe) - 1
            if parents[unit] >= 0:
                row = relations[unit] * n_acts + states[parents[unit]]
            for k in range(n_acts):
                weights[k] = safe[row, k] * evidence[unit, k]
            states[unit] = draw_state(weights, uniform(stream))
    return log_evidence


@kernel
def forest_posteriors(  # type: ignore[no-untyped-def]
    densities, parents, relations, fixed, rows, posteriors, moves
):
    """Fill the probability of each act of each unit, given everything in its forest.

    Parameters
    ----------
    densities, parents, relations, fixed, rows
        As in :func:`sample_forests`. IN
    posteriors : array of float64, shape (n_units, K). OUT
    moves : array of float64, shape (C K + 1, K). IN-OUT
        Expected numbers of transitions are added.

    Returns
    -------
    float
        Log evidence, as of :func:`gather`.
    """
    n_units, n_acts = densities.shape
    safe = floored(rows)
    log_evidence = gather(densities, parents, relations, fixed, safe, posteriors)
    weights = np.empty(n_acts)
    own = np.empty(n_acts)
    for unit in range(n_units):
        parent = parents[unit]
        if parent < 0:
            total = 0.0
            for k in range(n_acts):
                posteriors[unit, k] *= safe[len(safe) - 1, k]
                total += posteriors[unit, k]
            for k in range(n_acts):
                posteriors[unit, k] /= total
                moves[len(safe) - 1, k] += posteriors[unit, k]
            continue
        first = relations[unit] * n_acts
        for k in range(n_acts):
            own[k] = posteriors[unit, k]
            posteriors[unit, k] = 0.0
        for j in range(n_acts):
            share = posteriors[parent, j]
            if share <= 0.0:
                continue
            total = 0.0
            for k in range(n_acts):
                weights[k] = safe[first + j, k] * own[k]
                total += weights[k]
            share /= total
            for k in range(n_acts):
                moved = share * weights[k]
                posteriors[unit, k] += moved
                moves[first + j, k] += moved
    return log_evidence


@kernel
def count_moves(states, parents, relations, moves):  # type: ignore[no-untyped-def]
    """Add the transitions of all units to ``moves`` (C K + 1, K), IN-OUT."""
    n_acts = moves.shape[1]
    for unit in range(len(states)):
        row = len(moves) - 1
        if parents[unit] >= 0:
            row = relations[unit] * n_acts + states[parents[unit]]
        moves[row, states[unit]] += 1


@kernel
def open_acts(  # type: ignore[no-untyped-def]
    conversations, first_conversation, fixed, n_acts, key, states
):
    """Draw every act evenly, from one stream per conversation, except the known ones."""
    stream = np.empty(4, np.uint64)
    for conversation in range(len(conversations) - 1):
        open_stream(key, first_conversation + conversation, stream)
        for unit in range(conversations[conversation], conversations[conversation + 1]):
            states[unit] = min(int(uniform(stream) * n_acts), n_acts - 1)
            if len(fixed) > 0 and fixed[unit] >= 0:
                states[unit] = fixed[unit]
