"""The softmax ranker: its gradient, what it finds, and its temperature."""

import numpy as np
import pytest

from palaver.threads.pairs import CandidatePairs
from palaver.threads.ranker import (
    Ranker,
    fit_ranker,
    fit_temperature,
    fit_weights,
    fresh_ranker,
    loss_and_gradient,
    normalized,
    scores_of,
    spread_of,
)


def draw_pairs(n_messages, n_features, seed=0):
    dice = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(dice.integers(2, 9, n_messages))))
    features = dice.normal(size=(offsets[-1], n_features)).astype(np.float32)
    return CandidatePairs(features, offsets, np.zeros(offsets[-1], np.int32), np.arange(n_messages))


def draw_right(pairs, weights, seed=1):
    """Draw the parent of each message from the model."""
    dice = np.random.default_rng(seed)
    chances = normalized(scores_of(pairs, weights), pairs.offsets)
    right = np.zeros(len(chances), bool)
    for begin, end in zip(pairs.offsets, pairs.offsets[1:], strict=False):
        right[begin + dice.choice(end - begin, p=chances[begin:end])] = True
    return right


@pytest.mark.parametrize(("soft", "n_units"), [(False, 0), (True, 0), (False, 3)])
def test_gradient_against_differences(soft, n_units):
    pairs = draw_pairs(40, 5)
    pairs.features[np.random.default_rng(5).random(pairs.features.shape) < 0.3] = 0.0
    dice = np.random.default_rng(2)
    n_numbers = 5 + n_units * (5 + 2)
    weights, centre, precision = dice.normal(size=(3, n_numbers))
    precision = precision**2
    targets = np.where(draw_right(pairs, weights[:5]), 0.0, -np.inf)
    if soft:
        targets = dice.normal(size=len(targets))
    _, gradient = loss_and_gradient(weights, pairs, targets, centre, precision)
    for k in range(n_numbers):
        step = np.eye(n_numbers)[k] * 1e-2  # features are in single precision
        high, _ = loss_and_gradient(weights + step, pairs, targets, centre, precision)
        low, _ = loss_and_gradient(weights - step, pairs, targets, centre, precision)
        assert gradient[k] == pytest.approx((high - low) / 2e-2, rel=2e-3, abs=2e-3)


def test_loss_is_that_of_the_definition():
    pairs = draw_pairs(3, 2)
    weights = np.array([0.5, -1.0])
    right = draw_right(pairs, weights)
    expected = 0.5 * 3.0 * (weights @ weights)
    for begin, end in zip(pairs.offsets, pairs.offsets[1:], strict=False):
        powers = np.exp(pairs.features[begin:end] @ weights)
        expected -= np.log(powers[right[begin:end]].sum() / powers.sum())
    targets = np.where(right, 0.0, -np.inf)
    loss, _ = loss_and_gradient(weights, pairs, targets, np.zeros(2), np.full(2, 3.0))
    assert loss == pytest.approx(expected, rel=1e-5)


def test_scores_are_those_of_the_definition():
    pairs = draw_pairs(20, 4)
    pairs.features[np.random.default_rng(5).random(pairs.features.shape) < 0.3] = 0.0
    dice = np.random.default_rng(6)
    ranker = Ranker(dice.normal(size=4), dice.normal(size=(5, 3)), dice.normal(size=3))
    for row, score in zip(pairs.features, ranker.scores(pairs), strict=True):
        wanted = float(ranker.weights @ row)
        for unit in range(3):
            inside = float(ranker.inner[:4, unit] @ row) + ranker.inner[4, unit]
            wanted += ranker.outer[unit] * np.tanh(inside)
        assert score == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    again = Ranker.unpacked(ranker.packed, 4)
    for name in ("weights", "inner", "outer"):
        np.testing.assert_array_equal(getattr(again, name), getattr(ranker, name))


def test_hidden_units_learn_what_two_features_mean_together():
    pairs = draw_pairs(3000, 4)
    pairs.features[:, :2] = np.sign(pairs.features[:, :2])
    together = pairs.features[:, 0] * pairs.features[:, 1]  # no single weight can express this
    score = 4.0 * together + 0.5 * pairs.features[:, 2]
    right = np.zeros(len(score), bool)
    for begin, end in zip(pairs.offsets, pairs.offsets[1:], strict=False):
        right[begin + np.argmax(score[begin:end])] = True
    spread = spread_of(pairs.features)
    np.testing.assert_allclose(spread, pairs.features.std(axis=0), rtol=1e-4)
    hits = []
    for n_units in (0, 8):
        begin = fresh_ranker(spread, n_units, np.random.default_rng(0))
        scores = fit_ranker(pairs, right, 0.01, spread, begin).scores(pairs)
        starts = np.repeat(np.maximum.reduceat(scores, pairs.offsets[:-1]), np.diff(pairs.offsets))
        hits.append((right & (scores == starts)).sum() / 3000)
    assert hits[0] < 0.6
    assert hits[1] > 0.95


def test_planted_weights_are_found():
    pairs = draw_pairs(6000, 4)
    planted = np.array([1.5, -0.7, 0.0, 0.3])
    targets = np.where(draw_right(pairs, planted), 0.0, -np.inf)
    found = fit_weights(pairs, targets, np.zeros(4), np.full(4, 1e-3))
    np.testing.assert_allclose(found, planted, atol=0.1)  # about 4 standard errors


def test_temperature_undoes_a_scale():
    pairs = draw_pairs(4000, 3)
    weights = np.array([1.0, -1.0, 0.5])
    right = draw_right(pairs, weights)
    found = fit_temperature(3.0 * scores_of(pairs, weights), pairs.offsets, right)
    assert found == pytest.approx(3.0, rel=0.1)
