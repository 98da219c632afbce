"""M4's weights: statistics against a plain twin, gradient, bound steps, sampled posterior."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp
from support.forests import Forest, make_forest, random_forest
from support.m4_reference import threads_of

from palaver.models.m4 import weight_steps
from palaver.models.m4.kernels.weight_statistics import weight_statistics
from palaver.models.m4.weight_steps import (
    NormalPrior,
    accept_weights,
    bound_step,
    gradient_step,
    propose_weights,
    softmax_precision,
)

VARIANCE = 10.0
PRIOR = NormalPrior(VARIANCE)


def corpus(seed, n_classes, n_messages=12):
    generator = np.random.default_rng(seed)
    forest = random_forest(generator)
    classes = generator.integers(0, n_classes + 1, len(forest.tokens)).astype(np.int16)
    weights = generator.normal(0, 2, (n_classes + 2, n_classes))
    return forest, classes, weights


def statistics_of(forest: Forest, classes, weights):
    """Objective, gradient and curvature of softmax transitions, by the kernel."""
    objective, gradient, curvature = weight_statistics(False, threads_of(forest), classes, weights)
    return objective, gradient, curvature[:, :, 0]


def naive(forest, classes, weights):
    """Message by message, as the paper has them (its equation 3, without the prior)."""
    n_features, n_classes = weights.shape
    histograms = [
        np.bincount(classes[a:b], minlength=n_classes + 1)[:n_classes].astype(float)
        for a, b in zip(forest.message_offsets, forest.message_offsets[1:], strict=False)
    ]
    objective, gradient = 0.0, np.zeros_like(weights)
    curvature = np.zeros((n_features, n_features))
    for b, parent in enumerate(forest.parents):
        x = np.zeros(n_features)
        x[-1] = 1
        if parent < 0:
            x[n_classes] = 1
        elif histograms[parent].sum():
            x[:n_classes] = histograms[parent] / histograms[parent].sum()
        log_pi = log_softmax(x @ weights)
        n = histograms[b]
        objective += n @ log_pi
        gradient += np.outer(x, n - n.sum() * np.exp(log_pi))
        curvature += n.sum() * np.outer(x, x)
    return objective, gradient, curvature


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_statistics_against_a_plain_twin(seed, n_classes):
    forest, classes, weights = corpus(seed, n_classes)
    found = statistics_of(forest, classes, weights)
    for ours, theirs in zip(found, naive(forest, classes, weights), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_gradient_by_finite_differences(seed):
    forest, classes, weights = corpus(seed, 3)
    gradient = statistics_of(forest, classes, weights)[1]
    for f, j in np.ndindex(weights.shape):
        step = np.zeros_like(weights)
        step[f, j] = 1e-5
        up = statistics_of(forest, classes, weights + step)[0]
        down = statistics_of(forest, classes, weights - step)[0]
        assert abs((up - down) / 2e-5 - gradient[f, j]) < 1e-5


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(4))
def test_bound_step_never_lowers_the_log_posterior(seed, scale):
    forest, classes, weights = corpus(seed, 3)
    weights = weights * scale / 2
    values = []
    for _ in range(60):
        objective, gradient, curvature = statistics_of(forest, classes, weights)
        values.append(objective + PRIOR.log(weights))
        weights = bound_step(weights, gradient, curvature, PRIOR)
    steps = np.diff(values)
    assert steps.min() >= -1e-9 * abs(values[0])
    if scale:
        assert values[-1] > values[0]


def test_gradient_step():
    weights, gradient = np.full((4, 2), 3.0), np.ones((4, 2))
    expected = 3.0 + 0.1 / 1007 * (1 - 3.0 / VARIANCE)
    np.testing.assert_allclose(gradient_step(weights, gradient, PRIOR, 7), expected)


def test_wide_weights_do_not_overflow():
    forest, classes, _ = corpus(1, 3)
    weights = np.full((5, 3), 30.0) * np.array([1, -1, 0])
    for array in statistics_of(forest, classes, weights):
        assert np.isfinite(array).all()


def chain(n_draws, seed, forest, classes):
    """Run the Metropolis-Hastings sampler of the weights alone, given classes."""
    generator = np.random.default_rng(seed)
    weights = np.zeros((4, 2))

    def facts_of(weights):
        objective, gradient, curvature = statistics_of(forest, classes, weights)
        return objective, gradient, softmax_precision(curvature, PRIOR)

    facts = facts_of(weights)
    draws, accepted = [], 0
    for _ in range(n_draws):
        proposal = propose_weights(weights, *facts[1:], PRIOR, generator)
        proposed = facts_of(proposal)
        if accept_weights(weights, facts, proposal, proposed, PRIOR, generator):
            weights, facts = proposal, proposed
            accepted += 1
        draws.append(weights)
    return np.array(draws), accepted / n_draws


def root_posterior():
    """Posterior mean of pi of the roots by quadrature: two classes, roots only.

    pi depends on the difference of (start + bias) between the classes, Normal(0, 4 variance).
    """
    grid = np.linspace(-60, 60, 200_001)
    log_density = -(grid**2) / (2 * 4 * VARIANCE) + 5 * -np.logaddexp(0, -grid)
    log_density += 2 * -np.logaddexp(0, grid)
    density = np.exp(log_density - logsumexp(log_density))
    share = 1 / (1 + np.exp(-grid))
    return (density * share).sum(), (density * grid).sum(), (density * grid**2).sum()


def root_chain(n_draws, seed):
    classes = np.array([0, 0, 0, 0, 0, 1, 1], np.int16)
    draws, rate = chain(n_draws, seed, make_forest([[0]] * 7, [-1] * 7), classes)
    score = draws[:, 2] + draws[:, 3]
    difference = score[:, 0] - score[:, 1]
    return 1 / (1 + np.exp(-difference)), difference, rate


def z_score(values, truth, n_batches=50):
    batches = values[: len(values) // n_batches * n_batches].reshape(n_batches, -1).mean(axis=1)
    return (batches.mean() - truth) / (batches.std(ddof=1) / np.sqrt(n_batches))


def test_sampled_weights_match_the_integrated_posterior():
    share, difference, rate = root_chain(40_000, 5)
    mean_share, mean, mean_square = root_posterior()
    assert 0.3 < rate < 0.98
    for values, truth in (
        (share, mean_share), (difference, mean), (difference**2, mean_square),
    ):  # fmt: skip
        assert abs(z_score(values, truth)) < 5.5  # 49 degrees of freedom: about 1e-6


def test_a_forgotten_proposal_ratio_is_noticed(monkeypatch):
    monkeypatch.setattr(weight_steps, "_log_proposal", lambda *arguments: 0.0)
    _, difference, _ = root_chain(40_000, 5)
    assert abs(z_score(difference**2, root_posterior()[2])) > 5.5
