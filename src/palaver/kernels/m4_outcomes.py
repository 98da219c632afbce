"""Outcomes of the general M4's tokens: how they are counted, and how one is proposed.

Equation (1) is that of :mod:`palaver.kernels.m4_general`. Everything here runs for every token and
is compiled into its caller: handing over so many arrays would cost more than the draw.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from palaver.kernels.lanes import LANES, choose_outcome
from palaver.kernels.random import uniform

FloatArray = NDArray[np.float64]


class Words(NamedTuple):
    """Words and outcomes of a sweep, and the scratch of a draw.

    denominators: (n_columns,) ``n + W omega``, or ones, and their inverses; counts, frozen: flat
    (W, n_columns);
    switches: (3,) corpus-wide counts or probabilities of (background, class, topic);
    message_switches: (3,) counts of the message; topics: (T,) ``n_dt + alpha_t``.
    """

    is_collapsed: bool
    is_message_switch: bool
    n_classes: int
    n_columns: int
    n_blocks: int
    omega: float
    tokens: NDArray[np.int32]
    classes: NDArray[np.int16]
    counts: NDArray[np.int32]
    frozen: FloatArray
    spare_counts: NDArray[np.int32]
    spare_frozen: FloatArray
    denominators: FloatArray
    inverses: FloatArray
    switch_prior: FloatArray
    switches: FloatArray
    message_switches: FloatArray
    topics: FloatArray
    factors: FloatArray
    running: FloatArray
    order: NDArray[np.uint64]


@njit(cache=True, inline="always")
def kind_of(outcome, n_classes):  # type: ignore[no-untyped-def]
    """Return 0 for the background, 1 for a class, 2 for a topic."""
    return 1 if outcome < n_classes else (0 if outcome == n_classes else 2)


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def take_out(i, words):  # type: ignore[no-untyped-def]
    """Take a token out of all counts; return its outcome."""
    outcome = np.int64(words.classes[i])
    kind = kind_of(outcome, words.n_classes)
    words.message_switches[kind] -= 1.0
    if words.is_collapsed:
        words.counts[words.tokens[i] * words.n_columns + outcome] -= 1
        words.denominators[outcome] -= 1.0
        words.inverses[outcome] = 1.0 / words.denominators[outcome]
        words.switches[kind] -= 1.0
    if kind == 2:
        words.topics[outcome - words.n_classes - 1] -= 1.0
    return outcome


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def put_in(i, outcome, words):  # type: ignore[no-untyped-def]
    """Give a token its outcome and count it."""
    words.classes[i] = outcome
    kind = kind_of(outcome, words.n_classes)
    words.message_switches[kind] += 1.0
    if words.is_collapsed:
        words.counts[words.tokens[i] * words.n_columns + outcome] += 1
        words.denominators[outcome] += 1.0
        words.inverses[outcome] = 1.0 / words.denominators[outcome]
        words.switches[kind] += 1.0
    if kind == 2:
        words.topics[outcome - words.n_classes - 1] += 1.0


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def propose(  # type: ignore[no-untyped-def]
    i, own, own_total, topic_total, words, state, recorded
):
    """Draw an outcome for a token that is out of all counts from (1). O(K + T).

    own : (n_classes,) IN, its sum may be anything; own_total : what it is to be divided by;
    topic_total : ``n_d. + sum(alpha)`` without the token; recorded: OUT, see the sweep.
    """
    n_classes, n_columns, factors = words.n_classes, words.n_columns, words.factors
    start = np.int64(words.tokens[i]) * n_columns
    prior = words.switch_prior
    if words.is_message_switch:
        for_background = words.message_switches[0] + prior[0]
        for_class = words.message_switches[1] + prior[1]
        for_topic = words.message_switches[2] + prior[2]
    else:
        for_background, for_class, for_topic = words.switches
        if words.is_collapsed:
            for_background += prior[0]
            for_class += prior[1]
            for_topic += prior[2]
    inverses = words.inverses
    scale = for_class / own_total
    for k in range(n_classes):
        factors[k] = own[k] * scale * inverses[k]
    factors[n_classes] = for_background * inverses[n_classes]
    scale = for_topic / topic_total
    topics, targets = words.topics, factors[n_classes + 1 : n_columns]
    of_topics = inverses[n_classes + 1 : n_columns]  # from zero on, loops run by vectors
    for t in range(topics.shape[0]):
        targets[t] = topics[t] * scale * of_topics[t]
    size = LANES * words.n_blocks
    if words.is_collapsed:
        if start + size > words.counts.size:
            for column in range(n_columns):
                words.spare_counts[column] = words.counts[start + column]
        rank = choose_outcome(
            words.counts, start, words.spare_counts, words.omega, factors, size, words.running,
            words.n_blocks, 0.0, 0.0, uniform(state),
        )  # fmt: skip
    else:
        if start + size > words.frozen.size:
            for column in range(n_columns):
                words.spare_frozen[column] = words.frozen[start + column]
        rank = choose_outcome(
            words.frozen, start, words.spare_frozen, 0.0, factors, size, words.running,
            words.n_blocks, 0.0, 0.0, uniform(state),
        )  # fmt: skip
    if i < recorded.shape[0]:
        for column in range(n_columns):
            before = words.running[column - LANES] if column >= LANES else 0.0
            recorded[i, 0, column] = words.running[column] - before
    return np.int64(words.order[rank])
