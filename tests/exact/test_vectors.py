"""The vector functions against their numpy lines."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numba import njit
from scipy.special import psi

from palaver.kernels.simd import vectors
from palaver.kernels.simd.instructions import EXPONENT_LIMIT, LANES
from palaver.kernels.simd.lanes import aligned, n_lane_blocks
from palaver.models.m4.kernels import lanes as lane_parts

BLOCKS = pytest.mark.parametrize("n_blocks", [1, 2, 3, 4, 5, 7, 13])


@njit
def exponentials(values, shift, scale, factors, n_blocks, out):
    return vectors.exponentials(values, shift, scale, factors, n_blocks, out)


@njit
def digammas(values, shift, n_blocks, out):
    vectors.digammas(values, shift, n_blocks, out)


@njit
def moved_exponentials(
    rests, first, scores, rows, added, removed, scale, factors, n_blocks, values, out
):
    return vectors.moved_exponentials(
        rests, first, scores, rows, added, removed, scale, factors, n_blocks, values, out
    )


@njit
def choose_of_parts(
    rows, start, spare, offset, masses, inverses, n_class_blocks, column, n_blocks, scale, skipped,
    running, background, old, draw,
):  # fmt: skip
    return lane_parts.choose_of_parts(
        rows, start, spare, offset, masses, inverses, n_class_blocks, column, n_blocks, scale,
        skipped, running, background, old, draw,
    )  # fmt: skip


@njit
def move_row(rows, added, removed, n_blocks, sums):
    vectors.move_row(rows, added, removed, n_blocks, sums)


@njit
def weighted_rows(weights, rows, n_rows, n_blocks, out):
    vectors.weighted_rows(weights, rows, n_rows, n_blocks, out)


@njit
def dot(left, right, n_blocks):
    return vectors.dot(left, right, n_blocks)


@njit
def largest(values, sign, n_blocks):
    return vectors.largest(values, sign, n_blocks)


def test_exponentials_are_right_to_the_last_bits():
    rng = np.random.default_rng(1)
    # whole multiples of log 2 / 2 are where the rounding turns
    values = np.concatenate([
        rng.uniform(-1, 1, 64), rng.uniform(-700, 700, 64), rng.uniform(-1e-8, 1e-8, 64),
        np.arange(-32, 32) * math.log(2) / 2,
    ])  # fmt: skip
    ones, out = np.ones_like(values), np.empty_like(values)
    exponentials(values, 0.0, 1.0, ones, len(values) // LANES, out)
    with localcontext() as context:
        context.prec = 40
        errors = [
            abs(Decimal(found) / Decimal(x).exp() - 1)
            for x, found in zip(values.tolist(), out.tolist(), strict=True)
        ]
    assert max(errors) < Decimal("1e-15")
    assert exponentials(np.zeros(8), 0.0, 1.0, np.ones(8), 1, np.empty(8)) == 8.0


def test_digammas_are_right():
    values = np.concatenate((np.geomspace(1e-8, 1e9, 512), np.linspace(0.01, 20, 512)))
    out = np.empty_like(values)
    digammas(values, 0.0, len(values) // LANES, out)
    error = np.abs(out - psi(values)) / np.maximum(np.abs(psi(values)), 1.0)
    assert error.max() < 1e-14
    shifted = values.copy()
    digammas(shifted, 2.5, len(values) // LANES, shifted)
    np.testing.assert_array_equal(shifted, out - 2.5)


def test_exponents_are_cut_off():
    values = np.array([-np.inf, -1e300, -709.0, -708.0, 708.0, 709.0, 1e300, np.inf])
    out = np.empty(8)
    exponentials(values, 0.0, 1.0, np.ones(8), 1, out)
    expected = np.exp(np.clip(values, -EXPONENT_LIMIT, EXPONENT_LIMIT))
    np.testing.assert_allclose(out, expected, rtol=1e-14)
    assert np.isfinite(out).all()
    assert (out >= np.finfo(float).tiny).all()


@BLOCKS
def test_lines(n_blocks):
    rng = np.random.default_rng(n_blocks)
    n, n_rows = LANES * n_blocks, 5
    left, right, out = (aligned(n) for _ in range(3))
    for array in (left, right):
        array[:] = rng.normal(0, 2, n)
    rows = aligned(n_rows * n)
    rows[:] = rng.normal(0, 3, n_rows * n)
    matrix = rows.reshape(n_rows, n)
    close = {"rtol": 1e-13, "atol": 1e-13}

    total = exponentials(left, 0.3, -1.7, right, n_blocks, out)
    expected = right * np.exp((left - 0.3) * -1.7)
    np.testing.assert_allclose(out, expected, **close)
    np.testing.assert_allclose(total, expected.sum(), atol=1e-12 * np.abs(expected).sum(), rtol=0)
    in_place = left.copy()
    assert exponentials(in_place, 0.3, -1.7, right, n_blocks, in_place) == total
    np.testing.assert_array_equal(in_place, out)

    weights = rng.normal(size=n_rows)
    for used in (0, 1, 2, n_rows):
        weighted_rows(weights, rows, used, n_blocks, out)
        np.testing.assert_allclose(out, weights[:used] @ matrix[:used], **close)

    moved = left.copy()
    move_row(rows, 4 * n, 2 * n, n_blocks, moved)
    np.testing.assert_allclose(moved, left + matrix[4] - matrix[2], **close)
    stays = moved.copy()
    move_row(rows, 2 * n, 2 * n, n_blocks, stays)
    np.testing.assert_array_equal(stays, moved)

    np.testing.assert_allclose(dot(left, right, n_blocks), left @ right, **close)
    assert largest(left, 1.0, n_blocks) == left.max()
    assert largest(left, -1.0, n_blocks) == -left.min()


@BLOCKS
def test_moved_exponentials(n_blocks):
    rng = np.random.default_rng(n_blocks)
    n = LANES * n_blocks
    rests, scores, rows = rng.normal(0, 2, 2 * n), rng.normal(0, 2, n), rng.normal(0, 2, 3 * n)
    factors, values, out = (rng.random(n) < 0.8).astype(float), np.empty(n), np.empty(n)
    total = moved_exponentials(
        rests, n, scores, rows, 2 * n, 0, 0.25, factors, n_blocks, values, out
    )
    expected = rests[n:] + (scores + rows[2 * n :] - rows[:n]) * 0.25
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-14)  # of sums of size ten
    np.testing.assert_allclose(out, factors * np.exp(values), rtol=1e-14)
    assert math.isclose(total, out.sum(), rel_tol=1e-13)


@pytest.mark.parametrize("seed", range(60))
def test_choose_of_parts_is_its_numpy_line(seed):
    rng = np.random.default_rng(seed)
    n_classes, n_topics = int(rng.integers(1, 20)), int(rng.integers(0, 20))
    n_class_blocks = n_lane_blocks(n_classes)
    n_blocks = n_class_blocks + n_lane_blocks(n_topics)
    row_length, first_topic, n = n_classes + 1 + n_topics, LANES * n_class_blocks, LANES * n_blocks
    masses, inverses, padded = aligned(n), aligned(n), np.zeros(n)
    inverses[:] = rng.random(n)
    for slots in (slice(0, n_classes), slice(first_topic, first_topic + n_topics)):
        masses[slots] = rng.random(len(masses[slots]))
    counts = rng.integers(0, 5, (3, row_length)).astype(np.int32)
    word, skipped = int(rng.integers(0, 3)), int(rng.integers(0, n + 1))
    padded[:n_classes] = counts[word, :n_classes]
    padded[first_topic : first_topic + n_topics] = counts[word, n_classes + 1 :]
    background, old, draw = rng.random(3) * [rng.random() < 0.5, 1, 1]
    weights = (padded + 0.3) * masses * inverses
    weights[first_topic:] *= 0.7
    weights[skipped : skipped + 1] = 0.0
    lane_by_lane = weights.reshape(n_blocks, LANES).T.ravel()
    cumulative = np.cumsum([*lane_by_lane, background, old])
    for rows in (counts, counts.astype(np.float64)):
        spare = np.zeros(n + 2 * LANES, rows.dtype)
        spare[:row_length] = rows[word]
        running = aligned(n)
        rank = choose_of_parts(
            rows.ravel(), word * row_length, spare, 0.3, masses, inverses, n_class_blocks,
            n_classes + 1, n_blocks, 0.7, skipped, running, background, old, draw,
        )  # fmt: skip
        found = np.diff(running.reshape(n_blocks, LANES), axis=0, prepend=0.0).ravel()
        np.testing.assert_allclose(found, weights, rtol=0, atol=1e-13)
        assert rank == np.searchsorted(cumulative, draw * cumulative[-1], side="right")
    order = lane_parts.parts_order(n_classes, n_topics)
    assert sorted(order[order < row_length]) == list(range(row_length))
