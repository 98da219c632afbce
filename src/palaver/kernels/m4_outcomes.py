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
    i, old, own, own_old, own_total, topic_total, words, state, recorded
):
    """Draw an outcome for a token from (1). O(K + T).

    The token is still counted everywhere, which is cheaper than to take it out of all counts: its
    old outcome gets a weight of its own.

    own : (n_classes,) IN, its sum may be anything; own_old : that of the old class without the
    token; own_total : what own is to be divided by, without the token; topic_total : ``n_d. +
    sum(alpha)`` without it; recorded: OUT, see the sweep.
    """
    n_classes, n_columns, factors = words.n_classes, words.n_columns, words.factors
    start = np.int64(words.tokens[i]) * n_columns
    prior, kind = words.switch_prior, kind_of(old, n_classes)
    for_background, for_class, for_topic = words.switches
    if words.is_message_switch:
        for_background, for_class, for_topic = words.message_switches
    if words.is_message_switch or words.is_collapsed:
        for_background += prior[0] - (kind == 0)
        for_class += prior[1] - (kind == 1)
        for_topic += prior[2] - (kind == 2)
    inverses = words.inverses
    scale = for_class / own_total
    for k in range(n_classes):
        factors[k] = own[k] * scale * inverses[k]
    factors[n_classes] = for_background * inverses[n_classes]
    topics, targets = words.topics, factors[n_classes + 1 : n_columns]
    of_topics = inverses[n_classes + 1 : n_columns]  # from zero on, loops run by vectors
    topic_scale = for_topic / topic_total
    for t in range(topics.shape[0]):
        targets[t] = topics[t] * topic_scale * of_topics[t]
    if kind == 1:
        old_weight = own_old * scale
    elif kind == 0:
        old_weight = for_background
    else:
        old_weight = (topics[old - n_classes - 1] - 1.0) * topic_scale
    size = LANES * words.n_blocks
    if words.is_collapsed:
        old_weight *= words.counts[start + old] - 1 + words.omega
        old_weight /= words.denominators[old] - 1.0
        if start + size > words.counts.size:
            for column in range(n_columns):
                words.spare_counts[column] = words.counts[start + column]
        rank = choose_outcome(
            words.counts, start, words.spare_counts, words.omega, factors, old, words.running,
            words.n_blocks, 0.0, old_weight, uniform(state),
        )  # fmt: skip
    else:
        old_weight *= words.frozen[start + old]
        if start + size > words.frozen.size:
            for column in range(n_columns):
                words.spare_frozen[column] = words.frozen[start + column]
        rank = choose_outcome(
            words.frozen, start, words.spare_frozen, 0.0, factors, old, words.running,
            words.n_blocks, 0.0, old_weight, uniform(state),
        )  # fmt: skip
    if i < recorded.shape[0]:
        for column in range(n_columns):
            before = words.running[column - LANES] if column >= LANES else 0.0
            recorded[i, 0, column] = words.running[column] - before
        recorded[i, 0, old] = old_weight
    outcome = np.int64(words.order[rank])
    return outcome if outcome < n_columns else old
