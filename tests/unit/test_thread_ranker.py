"""The softmax ranker: its gradient, what it finds, and its temperature."""

import numpy as np
import pytest

from palaver.threads.pairs import Pairs
from palaver.threads.ranker import (
    fit_temperature,
    fit_weights,
    loss_and_gradient,
    normalized,
    scores_of,
)


def draw_pairs(n_messages, n_features, seed=0):
    dice = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(dice.integers(2, 9, n_messages))))
    features = dice.normal(size=(offsets[-1], n_features)).astype(np.float32)
    return Pairs(features, offsets, np.zeros(offsets[-1], np.int32), np.arange(n_messages))


def draw_right(pairs, weights, seed=1):
    """Draw the parent of each message from the model."""
    dice = np.random.default_rng(seed)
    chances = normalized(scores_of(pairs, weights), pairs.offsets)
    right = np.zeros(len(chances), bool)
    for begin, end in zip(pairs.offsets, pairs.offsets[1:], strict=False):
        right[begin + dice.choice(end - begin, p=chances[begin:end])] = True
    return right


@pytest.mark.parametrize("soft", [False, True])
def test_gradient_against_differences(soft):
    pairs = draw_pairs(40, 5)
    dice = np.random.default_rng(2)
    weights, centre, precision = dice.normal(size=(3, 5))
    precision = precision**2
    targets = np.where(draw_right(pairs, weights), 0.0, -np.inf)
    if soft:
        targets = dice.normal(size=len(targets))
    _, gradient = loss_and_gradient(weights, pairs, targets, centre, precision)
    for k in range(5):
        step = np.eye(5)[k] * 1e-2  # features are in single precision
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
