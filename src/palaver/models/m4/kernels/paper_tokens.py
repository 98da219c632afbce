"""The tokens of one M4 message, resampled one after the other (spec 1, "M4").

Two samplers of the same conditional, equation (2) of :mod:`palaver.models.m4.kernels.paper_sweep`:

:func:`sample_exact`
    proposes with a bound instead of the child factor
    (:mod:`palaver.models.m4.kernels.paper_replies`) and accepts with their ratio; after MAX_TRIES,
    or where the bound is too loose, all child factors are computed. Either way the draw is from (2)
    itself, whatever the old class;
:func:`sample_proposed`
    proposes without child factor. Where there is none that is the draw; else Metropolis accepts
    with the ratio of the child factors of the new and the old class: the token may stay where
    it is.

Helpers take plain arrays because they run for every token, compiled without reference counts
(``_nrt=False``); counting took two thirds of a sweep.

For tests, ``recorded`` (n_recorded, 3, n_classes + 1) gets, for the first tokens of the shard, the
distributions at the moment of their draw: [0] the weights of (2), except from Metropolis; [1] the
weights of the proposal; [2] the log acceptance probability of each outcome (for Metropolis, its
log child factor). Usually nothing is recorded.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
from numba import njit, uint64

from palaver.kernels.random import uniform
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import choose_outcome
from palaver.kernels.simd.vectors import dot, exponentials, move_row
from palaver.kernels.switch import SWITCH_OFF, collapsed_switch_weights, drawn_switch_weights
from palaver.models.m4.kernels.paper_replies import (
    child_log,
    child_logs,
    set_tangent,
    tangent_excess,
)

MAX_TRIES = 4
"""Proposals of the exact sampler for one token."""

HOPELESS = 1.0
"""Minus the log of an acceptance probability below which a fresh bound is too loose."""

LARGEST_EXPONENT = 600.0
"""The background's part of a bound beyond which everything is done in logs."""

Words = namedtuple(
    "Words",
    "is_collapsed n_classes n_blocks n_tokens omega words_omega switch beta_prior "
    "class_probability tokens classes counts frozen spare_counts spare_frozen order "
    "denominators running",
)
"""What the word factor and the switch of a token need; matrices are flat.

denominators are ``n_k + W omega`` (ones where words are frozen). The background's place in
arrays that hold one number for each outcome is its *slot*, the first one past whole blocks.
"""


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def _background_odds(  # type: ignore[no-untyped-def]
    start, was_background, n_others, n_message, is_collapsed, n_classes, n_blocks, n_tokens, omega,
    words_omega, switch, beta_prior, class_probability, counts, frozen, denominators,
):  # fmt: skip
    """Return the background's weight where ``pi_b * word factor`` is that of a class.

    Counts leave the token out: n_message tokens of its message, n_others of them class-bearing.
    """
    if switch == SWITCH_OFF:
        return 0.0
    background = uint64(n_classes)
    n_background = n_message - n_others
    if is_collapsed:
        denominator = denominators[uint64(LANES * n_blocks)] - was_background
        corpus_background = denominator - words_omega
        for_background, for_class = collapsed_switch_weights(
            switch, corpus_background, n_tokens - 1.0 - corpus_background, n_background, n_others,
            beta_prior,
        )  # fmt: skip
        n_word = counts[start + background] - was_background
        return for_background * (n_word + omega) / (for_class * denominator)
    for_background, for_class = drawn_switch_weights(
        switch, class_probability, n_background, n_others, beta_prior
    )
    return for_background * frozen[start + background] / for_class


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def _propose(  # type: ignore[no-untyped-def]
    start, old, was_background, background_weight, base, factors, draw, is_collapsed, n_classes,
    n_blocks, omega, counts, frozen, spare_counts, spare_frozen, order, denominators, running,
):  # fmt: skip
    """Draw from ``base * word factor`` of the classes and ``background_weight``.

    factors are ``base / denominators``, the old class still counted. Returns (outcome, the
    background's weight, the old outcome's weight if it is not among the others); the weights of
    the classes are in ``running``.
    """
    background = uint64(n_classes)
    background_slot = uint64(LANES * n_blocks)
    old_slot = old if old < background else background_slot
    if is_collapsed:
        if start + background_slot > uint64(counts.size):
            for k in range(n_classes):
                spare_counts[k] = counts[start + uint64(k)]
        lowered = base[old_slot] / (denominators[old_slot] - 1.0)
        old_weight = lowered * (counts[start + old] - 1 + omega)
        # chosen by multiplication: a branch would be mispredicted often
        old_weight = (1.0 - was_background) * old_weight + was_background * background_weight
        background_weight *= 1.0 - was_background
        rank = choose_outcome(
            counts, start, spare_counts, omega, factors, old_slot, running, n_blocks,
            background_weight, old_weight, draw,
        )  # fmt: skip
    else:
        if start + background_slot > uint64(frozen.size):
            for k in range(n_classes):
                spare_frozen[k] = frozen[start + uint64(k)]
        old_weight = 0.0
        rank = choose_outcome(
            frozen, start, spare_frozen, 0.0, factors, background_slot, running, n_blocks,
            background_weight, old_weight, draw,
        )  # fmt: skip
    slot = order[rank]
    if slot > background_slot:
        slot = old_slot
    return min(slot, background), background_weight, old_weight


@njit(cache=True, error_model="numpy", _nrt=False)
def _record(  # type: ignore[no-untyped-def]
    running, n_classes, old, background_weight, old_weight, weights
):
    """Set ``weights`` (n_classes + 1,) to what :func:`_propose` has just drawn from."""
    for k in range(n_classes):
        weights[k] = running[k] - (running[k - LANES] if k >= LANES else 0.0)
    weights[n_classes] = background_weight
    weights[old] += old_weight


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def _move(  # type: ignore[no-untyped-def]
    i, start, old, new, base, factors, is_collapsed, n_classes, n_blocks, classes, counts,
    denominators,
):  # fmt: skip
    """Change class, counts and factors for a token."""
    classes[i] = new
    if is_collapsed:
        background = uint64(n_classes)
        background_slot = uint64(LANES * n_blocks)
        old_slot = old if old < background else background_slot
        new_slot = new if new < background else background_slot
        counts[start + old] -= 1
        counts[start + new] += 1
        denominators[old_slot] -= 1.0
        factors[old_slot] = base[old_slot] / denominators[old_slot]
        denominators[new_slot] += 1.0
        factors[new_slot] = base[new_slot] / denominators[new_slot]
    elif counts.size > 0:
        counts[start + new] += 1


@njit(cache=True, forceinline=True, error_model="numpy", _nrt=False)
def _set_factors(n_blocks, denominators, base, factors):  # type: ignore[no-untyped-def]
    for k in range(LANES * n_blocks):
        factors[k] = base[k] / denominators[k]


@njit(cache=True, forceinline=True, _nrt=False)
def _count_class_tokens(first, last, n_classes, classes):  # type: ignore[no-untyped-def]
    n_class = 0
    for i in range(uint64(first), uint64(last)):
        n_class += classes[i] < n_classes
    return n_class


@njit(cache=True, error_model="numpy", _nrt=False)
def sample_proposed(  # type: ignore[no-untyped-def]
    first, last, n_child_tokens, transition, factors, words, layout, children, state,
    recorded,
):  # fmt: skip
    """Draw the tokens of a message without child factor from (2), or move them towards it.

    Where children have class-bearing tokens (``n_child_tokens > 0``) it is one step of
    Metropolis-Hastings for each token. O(K) each.
    """
    (is_collapsed, n_classes, n_blocks, n_tokens, omega, words_omega, switch, beta_prior,
     class_probability, tokens, classes, counts, frozen, spare_counts, spare_frozen, order,
     denominators, running) = words  # fmt: skip
    stride, rows, powers, zeros = layout.stride, layout.rows, layout.powers, layout.zeros
    sums, scores = children.sums, children.scores
    background = uint64(n_classes)
    row_length = background + uint64(1)
    n_class = _count_class_tokens(first, last, n_classes, classes)
    has_children = n_child_tokens > 0.0
    sum_score = dot(children.counts, scores, n_blocks) if has_children else 0.0
    _set_factors(n_blocks, denominators, transition, factors)
    for i in range(uint64(first), uint64(last)):
        start = uint64(tokens[i]) * row_length
        old = uint64(classes[i])
        was_background = 1.0 if old == background else 0.0
        n_others = n_class - (old < background)
        odds = _background_odds(
            start, was_background, n_others, last - first - 1, is_collapsed, n_classes, n_blocks,
            n_tokens, omega, words_omega, switch, beta_prior, class_probability, counts, frozen,
            denominators,
        )  # fmt: skip
        new, background_weight, old_weight = _propose(
            start, old, was_background, odds, transition, factors, uniform(state), is_collapsed,
            n_classes, n_blocks, omega, counts, frozen, spare_counts, spare_frozen, order,
            denominators, running,
        )  # fmt: skip
        if i < uint64(recorded.shape[0]):
            drawn_from = recorded[i, 1 if has_children else 0]
            _record(running, n_classes, old, background_weight, old_weight, drawn_from)
            for k in range(n_classes + 1 if has_children else 0):
                recorded[i, 2, k] = child_log(
                    k, np.int64(old), n_others, n_child_tokens, sum_score, n_classes, n_blocks,
                    rows, powers, zeros, sums, scores,
                )  # fmt: skip
        if has_children and new != old:
            difference = child_log(
                np.int64(new), np.int64(old), n_others, n_child_tokens, sum_score, n_classes,
                n_blocks, rows, powers, zeros, sums, scores,
            ) - child_log(
                np.int64(old), np.int64(old), n_others, n_child_tokens, sum_score, n_classes,
                n_blocks, rows, powers, zeros, sums, scores,
            )  # fmt: skip
            if uniform(state) >= math.exp(min(difference, 0.0)):
                new = old
        _move(
            i, start, old, new, transition, factors, is_collapsed, n_classes, n_blocks, classes,
            counts, denominators,
        )  # fmt: skip
        n_class = n_others + (new < background)
        if has_children and new != old:
            move_row(rows, np.int64(new) * stride, np.int64(old) * stride, n_blocks, scores)
            sum_score += sums[new] - sums[old]


@njit(cache=True, error_model="numpy", _nrt=False)
def sample_exact(  # type: ignore[no-untyped-def]
    first, last, n_child_tokens, transition, base, factors, words, layout, children, state,
    recorded,
):  # fmt: skip
    """Draw the tokens of a message with children from (2), by rejection. O(K) each mostly."""
    (is_collapsed, n_classes, n_blocks, n_tokens, omega, words_omega, switch, beta_prior,
     class_probability, tokens, classes, counts, frozen, spare_counts, spare_frozen, order,
     denominators, running) = words  # fmt: skip
    stride, rows, columns, bias, mask = (
        layout.stride, layout.rows, layout.columns, layout.bias, layout.mask
    )  # fmt: skip
    sums, scores, tangent, centre, means, slopes, values, logs = children[1:9]
    background = uint64(n_classes)
    row_length = background + uint64(1)
    has_background = switch != SWITCH_OFF
    n_class = _count_class_tokens(first, last, n_classes, classes)
    sum_score = dot(children.counts, scores, n_blocks)
    is_loose = False
    reference = mean_score = mean_centre = lowest = highest = 0.0
    for i in range(uint64(first), uint64(last)):
        start = uint64(tokens[i]) * row_length
        old = uint64(classes[i])
        was_background = 1.0 if old == background else 0.0
        n_others = n_class - (old < background)
        inverse = 1.0 / (n_others + 1)
        odds = _background_odds(
            start, was_background, n_others, last - first - 1, is_collapsed, n_classes, n_blocks,
            n_tokens, omega, words_omega, switch, beta_prior, class_probability, counts, frozen,
            denominators,
        )  # fmt: skip
        new = background + uint64(1)  # none yet
        attempt = 0
        while attempt < MAX_TRIES and not is_loose:
            is_fresh = (i == uint64(first) and attempt == 0) or attempt == 1
            if is_fresh:
                mean_score, mean_centre, lowest, highest = set_tangent(
                    n_others, np.int64(old), n_child_tokens, n_classes, n_blocks, rows, columns,
                    bias, mask, sums, scores, values, tangent, centre, means, slopes,
                )  # fmt: skip
                reference = inverse
                exponentials(slopes, highest, reference, transition, n_blocks, base)
                _set_factors(n_blocks, denominators, base, factors)
            # of what the bound is raised by where this count is not that of the tangent
            excess_slope = (highest if inverse > reference else lowest) * (inverse - reference)
            background_weight = 0.0
            if has_background:
                slope_score = sum_score - n_child_tokens * mean_score
                if old < background:
                    slope_score -= slopes[old]
                exponent = slope_score * (1.0 / max(n_others, 1) - inverse)
                exponent -= excess_slope + highest * reference
                if exponent > LARGEST_EXPONENT:
                    is_loose = is_fresh
                    attempt += 1
                    continue
                background_weight = odds * math.exp(exponent)
            candidate, background_weight, old_weight = _propose(
                start, old, was_background, background_weight, base, factors, uniform(state),
                is_collapsed, n_classes, n_blocks, omega, counts, frozen, spare_counts,
                spare_frozen, order, denominators, running,
            )  # fmt: skip
            if i < uint64(recorded.shape[0]) and attempt == 0:
                _record(running, n_classes, old, background_weight, old_weight, recorded[i, 1])
                for k in range(n_classes + 1):
                    recorded[i, 2, k] = -n_child_tokens * math.log1p(
                        tangent_excess(
                            k, np.int64(old), n_others, mean_score, mean_centre, n_classes,
                            n_blocks, rows, scores, tangent, centre, means,
                        )
                    )  # fmt: skip
                    if k < n_classes:
                        recorded[i, 2, k] -= excess_slope - slopes[k] * (inverse - reference)
            excess = tangent_excess(
                np.int64(candidate), np.int64(old), n_others, mean_score, mean_centre, n_classes,
                n_blocks, rows, scores, tangent, centre, means,
            )  # fmt: skip
            cost = 0.0
            if candidate < background:
                cost = excess_slope - slopes[candidate] * (inverse - reference)
            draw = uniform(state)
            # exp(-x) >= 1 - x and log(1 + x) <= x: mostly no logarithm is needed
            if draw < 1.0 - n_child_tokens * excess - cost:
                new = candidate
                break
            cost += n_child_tokens * math.log1p(max(excess, 0.0))
            if draw < math.exp(-cost):
                new = candidate
                break
            is_loose = is_fresh and cost > HOPELESS
            attempt += 1

        if new > background or i < uint64(recorded.shape[0]):
            child_logs(
                np.int64(old), n_others, n_child_tokens, sum_score, has_background, layout,
                children,
            )  # fmt: skip
            exponentials(logs, 0.0, 1.0, transition, n_blocks, base)
            _set_factors(n_blocks, denominators, base, factors)
            candidate, background_weight, old_weight = _propose(
                start, old, was_background, odds * math.exp(logs[n_classes]), base, factors,
                uniform(state) if new > background else 0.0, is_collapsed, n_classes, n_blocks,
                omega, counts, frozen, spare_counts, spare_frozen, order, denominators, running,
            )  # fmt: skip
            if i < uint64(recorded.shape[0]):
                _record(running, n_classes, old, background_weight, old_weight, recorded[i, 0])
            if new > background:
                new = candidate
            if not is_loose:
                exponentials(slopes, highest, reference, transition, n_blocks, base)
                _set_factors(n_blocks, denominators, base, factors)
        _move(
            i, start, old, new, base, factors, is_collapsed, n_classes, n_blocks, classes, counts,
            denominators,
        )  # fmt: skip
        if new != old:
            n_class = n_others + (new < background)
            move_row(rows, np.int64(new) * stride, np.int64(old) * stride, n_blocks, scores)
            sum_score += sums[new] - sums[old]
            mean_score += means[new] - means[old]
