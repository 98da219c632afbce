"""Joining Gaussian states to acts, against the likelihood itself and a naive twin."""

import numpy as np
import pytest
from scipy import stats

import palaver as pv
from palaver.models.gaussian.acts import common_covariance, join_states, number_of_acts


def states_of(n_states=8, size=3, seed=0):
    """Return vectors, their states (of very different sizes), the means and a covariance."""
    rng = np.random.default_rng(seed)
    shares = 0.6 ** np.arange(n_states)
    drawn = rng.choice(n_states, 150, p=shares / shares.sum())
    states = np.concatenate((np.arange(n_states), drawn))
    X = rng.normal(size=(n_states, size))[states] + 0.3 * rng.normal(size=(len(states), size))
    means = np.array([X[states == k].mean(axis=0) for k in range(n_states)])
    root = rng.normal(size=(size, size))
    return X, states, means, root @ root.T + np.eye(size)


def log_likelihood(X, groups, covariance):
    """Return the log density of vectors, each around the mean of its group."""
    return sum(
        stats.multivariate_normal.logpdf(
            X[groups == g], X[groups == g].mean(axis=0), covariance
        ).sum()
        for g in np.unique(groups)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_acts", [4, 2])
def test_each_step_joins_what_costs_least_likelihood(seed, n_acts):
    X, states, means, covariance = states_of(seed=seed)
    acts = join_states(means, covariance, np.bincount(states), n_acts)
    groups = states.copy()
    while len(np.unique(groups)) > n_acts:  # the naive twin tries every pair on the vectors
        left = np.unique(groups)
        pairs = [(a, b) for i, a in enumerate(left) for b in left[i + 1 :]]
        tried = [np.where(groups == b, a, groups) for a, b in pairs]
        groups = max(tried, key=lambda joined: log_likelihood(X, joined, covariance))
    assert len(np.unique(acts)) == n_acts
    np.testing.assert_array_equal(acts[states], np.unique(groups, return_inverse=True)[1])


def test_an_empty_state_joins_the_nearest():
    means = np.array([[0.0, 0], [10, 0], [9, 0], [0, 1]])
    acts = join_states(means, np.eye(2), np.array([50.0, 50, 0, 50]), 3)
    np.testing.assert_array_equal(acts, [0, 1, 1, 2])


def test_the_common_covariance_is_the_mean_over_utterances():
    diagonal = np.array([[1.0, 2], [3, 4]])
    found = common_covariance("diag", diagonal, np.array([3.0, 1]))
    np.testing.assert_allclose(found, np.diag([1.5, 2.5]))
    full = np.array([np.eye(2), 5 * np.eye(2)])
    np.testing.assert_allclose(common_covariance("full", full, np.array([1.0, 1])), 3 * np.eye(2))


def test_how_many_acts():
    assert number_of_acts("auto", 42) == 12
    assert number_of_acts("auto", 36) == 36
    assert number_of_acts(None, 42) == 42
    assert number_of_acts(5, 3) == 3


@pytest.mark.parametrize("covariance", ["tied", "full", "diag"])
@pytest.mark.parametrize("kind", [pv.GaussianHMM, pv.GaussianMixture])
def test_an_act_has_the_probability_of_its_states(kind, covariance, tmp_path):
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0], [1.5, 0], [20, 0], [21.5, 0]])
    X = centres[rng.integers(0, 4, 200)] + 0.2 * rng.normal(size=(200, 2))
    fitted = {
        n: kind(6, n, covariance, "blocked", n_sweeps=20).fit(X, [120, 80]) for n in (2, None)
    }
    joined, apart = fitted[2], fitted[None]
    acts = joined.acts_
    np.testing.assert_array_equal(apart.acts_, np.arange(6))
    sums = np.stack([apart.predict_proba(X, [120, 80])[:, acts == a].sum(axis=1) for a in (0, 1)])
    np.testing.assert_allclose(joined.predict_proba(X, [120, 80]), sums.T, atol=1e-12)
    assert joined.score(X, [120, 80]) == apart.score(X, [120, 80])
    assert len(np.unique(joined.states_[X[:, 0] < 10])) == 1  # the two acts are two Gaussians each
    assert len(np.unique(joined.states_[X[:, 0] > 10])) == 1
    assert joined.transitions_.shape == (3, 2)
    np.testing.assert_allclose(joined.transitions_.sum(axis=1), 1)
    np.testing.assert_allclose(joined.class_shares_.sum(), 1)
    joined.save(tmp_path / "model")
    again = pv.load(tmp_path / "model")
    np.testing.assert_array_equal(again.acts_, acts)
    np.testing.assert_array_equal(again.predict(X, [120, 80]), joined.states_)
