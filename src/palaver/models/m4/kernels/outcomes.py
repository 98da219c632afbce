"""Outcomes of M4's tokens: how they are counted, and how one is proposed.

The proposal is (a) of :mod:`palaver.models.m4.kernels.sweep`: Paul (2012), equation (2), without
the factor of the replies. Everything here runs for every token and is compiled into its caller:
handing over so many arrays would cost more than the draw.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palaver.kernels.compiled import inner
from palaver.kernels.random import uniform
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import TOKENS_AHEAD, prefetch_line
from palaver.models.m4.kernels.lanes import choose_of_parts

FloatArray = NDArray[np.float64]


class Words(NamedTuple):
    """Words and outcomes of a sweep, and the scratch of a draw.

    counts, frozen: flat (W, n_columns); spares: one row, padded. By slots, those of the classes
    padded to whole blocks, then the topics, then one for the background: masses (``own`` of the
    message's classes, ``n_dt + alpha_t`` of the conversation's topics), denominators
    (``n + W omega``, or ones) and their inverses. switches: (3,) corpus-wide counts or
    probabilities of (background, class, topic); message_switches: (3,) counts of the message;
    order: outcomes by rank of the draw.
    """

    is_collapsed: bool
    is_message_switch: bool
    n_classes: int
    n_columns: int
    n_class_blocks: int
    n_blocks: int
    omega: float
    tokens: NDArray[np.int32]
    classes: NDArray[np.int16]
    counts: NDArray[np.int32]
    frozen: FloatArray
    spare_counts: NDArray[np.int32]
    spare_frozen: FloatArray
    masses: FloatArray
    denominators: FloatArray
    inverses: FloatArray
    switch_prior: FloatArray
    switches: FloatArray
    message_switches: FloatArray
    running: FloatArray
    order: NDArray[np.int64]


@inner(inline="always")
def kind_of(outcome, n_classes):  # type: ignore[no-untyped-def]
    """Return 0 for the background, 1 for a class, 2 for a topic."""
    return 1 if outcome < n_classes else (0 if outcome == n_classes else 2)


@inner(inline="always")
def slot_of(outcome, n_classes, n_class_blocks, n_blocks):  # type: ignore[no-untyped-def]
    """Return where the numbers of an outcome stand."""
    if outcome < n_classes:
        return outcome
    if outcome == n_classes:
        return LANES * n_blocks
    return outcome - n_classes - 1 + LANES * n_class_blocks


@inner(forceinline=True, error_model="numpy", _nrt=False)
def take_out(i, words):  # type: ignore[no-untyped-def]
    """Take a token out of all counts; return its outcome."""
    outcome = np.int64(words.classes[i])
    _count(i, outcome, -1, words)
    return outcome


@inner(forceinline=True, error_model="numpy", _nrt=False)
def put_in(i, outcome, words):  # type: ignore[no-untyped-def]
    """Give a token its outcome and count it."""
    words.classes[i] = outcome
    _count(i, outcome, 1, words)


@inner(forceinline=True, error_model="numpy", _nrt=False)
def _count(i, outcome, change, words):  # type: ignore[no-untyped-def]
    """Add a change to all counts of a token's outcome."""
    kind = kind_of(outcome, words.n_classes)
    slot = slot_of(outcome, words.n_classes, words.n_class_blocks, words.n_blocks)
    words.message_switches[kind] += change
    if words.is_collapsed:
        words.counts[words.tokens[i] * words.n_columns + outcome] += change
        words.denominators[slot] += change
        words.inverses[slot] = 1.0 / words.denominators[slot]
        words.switches[kind] += change
    if kind == 2:
        words.masses[slot] += change


@inner(forceinline=True, _nrt=False)
def fetch_ahead(i, words):  # type: ignore[no-untyped-def]
    """Ask for the row of a token that comes a little later."""
    ahead = min(i + TOKENS_AHEAD, words.tokens.shape[0] - 1)
    start = np.int64(words.tokens[ahead]) * words.n_columns
    if words.is_collapsed:
        for column in range(0, words.n_columns, 16):
            prefetch_line(words.counts, start + column)
    else:
        for column in range(0, words.n_columns, 8):
            prefetch_line(words.frozen, start + column)


@inner(forceinline=True, error_model="numpy", _nrt=False)
def propose(  # type: ignore[no-untyped-def]
    i, old, own_old, own_total, topic_total, words, state, recorded
):
    """Draw an outcome for a token from (a) of the sweep. O(K + T).

    The token is still counted everywhere, which is cheaper than to take it out of all counts: its
    old outcome gets a weight of its own. Weights are relative to ``switch_class / own_total``.

    own_old : mass of the old class without the token; own_total : what masses of classes are to be
    divided by, without the token; topic_total : ``n_d. + sum(alpha)`` without it; recorded: OUT,
    see the sweep.
    """
    n_classes, n_columns, n_blocks = words.n_classes, words.n_columns, words.n_blocks
    start = np.int64(words.tokens[i]) * n_columns
    prior, kind = words.switch_prior, kind_of(old, n_classes)
    for_background, for_class, for_topic = words.switches
    if words.is_message_switch:
        for_background, for_class, for_topic = words.message_switches
    if words.is_message_switch or words.is_collapsed:
        for_background += prior[0] - (kind == 0)
        for_class += prior[1] - (kind == 1)
        for_topic += prior[2] - (kind == 2)
    scale = own_total / for_class
    background_weight = for_background * scale * words.inverses[LANES * n_blocks]
    topic_scale = for_topic * scale / topic_total
    slot = slot_of(old, n_classes, words.n_class_blocks, n_blocks)
    if kind == 1:
        old_weight = own_old
    elif kind == 0:
        old_weight = for_background * scale
    else:
        old_weight = (words.masses[slot] - 1.0) * topic_scale
    size = LANES * (n_blocks + 1)  # the background stands between the parts
    if words.is_collapsed:
        old_weight *= words.counts[start + old] - 1 + words.omega
        old_weight /= words.denominators[slot] - 1.0
        background_weight *= words.counts[start + n_classes] + words.omega
        if kind == 0:
            background_weight = 0.0
        if start + size > words.counts.size:
            for column in range(n_columns):
                words.spare_counts[column] = words.counts[start + column]
        rank = choose_of_parts(
            words.counts, start, words.spare_counts, words.omega, words.masses, words.inverses,
            words.n_class_blocks, n_classes + 1, n_blocks, topic_scale, slot, words.running,
            background_weight, old_weight, uniform(state),
        )  # fmt: skip
    else:
        old_weight *= words.frozen[start + old]
        background_weight *= words.frozen[start + n_classes]
        if kind == 0:
            background_weight = 0.0
        if start + size > words.frozen.size:
            for column in range(n_columns):
                words.spare_frozen[column] = words.frozen[start + column]
        rank = choose_of_parts(
            words.frozen, start, words.spare_frozen, 0.0, words.masses, words.inverses,
            words.n_class_blocks, n_classes + 1, n_blocks, topic_scale, slot, words.running,
            background_weight, old_weight, uniform(state),
        )  # fmt: skip
    if i < recorded.shape[0]:
        _record(old, background_weight, old_weight, words, recorded[i, 0])
    outcome = words.order[rank]
    return outcome if outcome < n_columns else old


@inner(_nrt=False)
def _record(old, background_weight, old_weight, words, weights):  # type: ignore[no-untyped-def]
    """Set ``weights`` (n_columns,) to what an outcome has just been drawn from."""
    for outcome in range(words.n_columns):
        slot = slot_of(outcome, words.n_classes, words.n_class_blocks, words.n_blocks)
        weights[outcome] = background_weight
        if outcome != words.n_classes:
            before = words.running[slot - LANES] if slot >= LANES else 0.0
            weights[outcome] = words.running[slot] - before
    weights[old] = old_weight
