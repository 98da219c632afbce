"""Marks beside vectors, and vectors that count with a weight: the sampled target by enumeration."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln
from support.gaussian_reference import KINDS, all_states, log_chain, normalize, random_emissions
from support.geweke import batch_means_variance, bonferroni_threshold

from palaver.encoding import VectorShard
from palaver.kernels import gaussian
from palaver.models.gaussian.acts import join_states
from palaver.models.gaussian.engine import VectorEngine
from palaver.models.states.emissions.gaussian import GaussianEmissions
from palaver.parallel import Globals

ALPHA, OFFSETS = 0.8, np.array([0, 3, 5])
VECTORS = np.array([[0.9], [-0.3], [1.4], [-1.1], [0.2]])
MARKS = np.array([[1.0, 0], [0, 0], [1, 1], [0, 1], [1, 0]])


def emissions(kind="full", n_marks=2, weight=0.4, size=1):
    return GaussianEmissions(
        kind, np.full(size, 0.1), 0.7, size + 1.5, np.full(size, 0.9), n_marks, weight
    )


def log_marginal_by_hand(prior, vectors, marks, states, n_states=2):
    """log of the integral of prior(mean, variance) prod N(x)^weight, and of the marks, in 1-d.

    The mean is integrated by hand: with weight w, the w n-fold data have a known integral given
    the variance; the variance is integrated numerically.
    """
    total = 0.0
    for k in range(n_states):
        x, w = vectors[states == k, 0], prior.weight

        def density(variance, x=x, w=w):
            n = w * len(x)
            mean = (prior.strength * prior.mean[0] + w * x.sum()) / (prior.strength + n)
            square = prior.strength * prior.mean[0] ** 2 + w * (x**2).sum()
            square -= (prior.strength + n) * mean**2
            of_mean = np.sqrt(prior.strength / (prior.strength + n))
            of_data = (2 * np.pi * variance) ** (-n / 2) * np.exp(-square / (2 * variance))
            gamma = stats.invgamma.pdf(variance, prior.dof / 2, scale=prior.scale[0] / 2)
            return of_mean * of_data * gamma

        total += np.log(quad(density, 0, np.inf, epsabs=0, epsrel=1e-11, limit=500)[0])
        own = marks[states == k]
        ones = own.sum(axis=0)
        total += betaln(1 + ones, 1 + len(own) - ones).sum()
    return total


@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_the_marginal_is_the_integral_of_the_weighted_joint(weight):
    prior = emissions(weight=weight)
    both = np.hstack((VECTORS, MARKS))
    for states in list(all_states(5, 2))[::5]:
        states = np.array(states, np.int16)
        found = gaussian.statistics(prior.kind, both, states, OFFSETS, 2)
        by_hand = log_marginal_by_hand(prior, VECTORS, MARKS, states)
        assert prior.log_marginal(found) == pytest.approx(by_hand, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_weight_is_that_of_repeated_vectors(kind):
    """Densities to the power of two are those of every vector seen twice."""
    rng = np.random.default_rng(3)
    plain = random_emissions(rng, kind, 2)
    prior = GaussianEmissions(kind, plain.mean, plain.strength, plain.dof, plain.scale, 0, 2.0)
    vectors, states = rng.normal(size=(6, 2)), rng.integers(0, 2, 6).astype(np.int16)
    once = gaussian.statistics(prior.kind, vectors, states, np.array([0, 6]), 2)
    twice = gaussian.statistics(
        prior.kind, np.repeat(vectors, 2, axis=0), np.repeat(states, 2), np.array([0, 12]), 2
    )
    assert prior.log_marginal(once) == pytest.approx(plain.log_marginal(twice), abs=1e-10)
    for ours, theirs in zip(prior.posterior(once), plain.posterior(twice), strict=True):
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_densities_are_weighted_and_marks_count_in_full(kind):
    rng = np.random.default_rng(1)
    prior = emissions(kind, size=2, weight=0.3)
    vectors = np.hstack((rng.normal(size=(5, 2)), MARKS))
    states = np.array([0, 1, 0, 2, 1], np.int16)
    found = gaussian.statistics(prior.kind, vectors, states, OFFSETS, 3)
    parameters = prior.draw(found, rng)
    logs = prior.log_densities(vectors, parameters)
    chances = np.exp(parameters["log_marks"])
    np.testing.assert_allclose(chances.sum(axis=0), 1)
    plain = gaussian.log_densities(
        prior.kind, np.ascontiguousarray(vectors[:, :2]), parameters["means"],
        parameters["factors"], parameters["log_scales"],
    )  # fmt: skip
    for i, k in np.ndindex(5, 3):
        of_marks = stats.bernoulli.logpmf(MARKS[i], chances[0, k]).sum()
        assert logs[i, k] == pytest.approx(0.3 * plain[i, k] + of_marks)
    _, _, expected = prior.expected(found)
    counts = np.bincount(states)
    np.testing.assert_allclose(
        np.exp(expected["log_marks"][0])[0], (1 + MARKS[states == 0].sum(axis=0)) / (2 + counts[0])
    )


def run(prior, n_sweeps):
    """States of a blocked chain, as numbers."""
    shard = VectorShard(np.hstack((VECTORS, MARKS)), OFFSETS, 0, 0)
    engine = VectorEngine(2, ALPHA, prior, False, np.zeros((0, prior.size)))
    rng = np.random.default_rng(8)
    shared = engine.start(rng)
    state = engine.open(shared, shard, np.array([5, 0], np.uint64))
    codes = np.empty(n_sweeps, np.int64)
    for sweep in range(n_sweeps):
        found = engine.sweep(shared, shard, state, np.array([6, sweep], np.uint64))
        shared, _ = engine.update(shared, found, rng)
        assert isinstance(shared, Globals)
        codes[sweep] = int("".join(map(str, state["states"])), 2)
    return codes[1:]


def test_a_long_run_has_the_enumerated_target():
    """Frequencies of all likely states, false alarms 1e-6 (Bonferroni, batch means)."""

    def target(prior):
        both = np.hstack((VECTORS, MARKS))
        logs = []
        for states in all_states(5, 2):
            states = np.array(states, np.int16)
            found = gaussian.statistics(prior.kind, both, states, OFFSETS, 2)
            logs.append(prior.log_marginal(found) + log_chain(states, OFFSETS, ALPHA, 2))
        return normalize(logs)

    prior = emissions()
    codes = run(prior, 6_000)
    exact = target(prior)
    likely = np.flatnonzero(exact > 0.004)
    assert len(likely) > 10
    indicators = (codes[:, None] == likely).astype(float)
    errors = np.sqrt(batch_means_variance(indicators, n_batches=100))
    z = (indicators.mean(axis=0) - exact[likely]) / errors
    assert np.abs(z).max() < bonferroni_threshold(len(likely))
    # and the run is long enough to tell a target that is off
    wrong = target(emissions(weight=2.0))
    z = (indicators.mean(axis=0) - wrong[likely]) / errors
    assert np.abs(z).max() > bonferroni_threshold(len(likely))


@pytest.mark.parametrize("seed", range(4))
def test_states_are_joined_by_what_vectors_and_marks_lose(seed):
    rng = np.random.default_rng(seed)
    states = np.concatenate((np.arange(6), rng.integers(0, 6, 120)))
    vectors = rng.normal(size=(6, 2))[states] + 0.5 * rng.normal(size=(len(states), 2))
    marks = (rng.random((len(states), 2)) < rng.random((6, 2))[states]).astype(float)
    means = np.array([vectors[states == k].mean(axis=0) for k in range(6)])
    having = np.array([marks[states == k].sum(axis=0) for k in range(6)])
    counts, weight = np.bincount(states).astype(float), 0.3

    def log_likelihood(groups):
        total = 0.0
        for g in np.unique(groups):
            x, m = vectors[groups == g], marks[groups == g]
            normal = stats.multivariate_normal.logpdf(x, x.mean(axis=0), np.eye(2)).sum()
            total += weight * normal + stats.bernoulli.logpmf(m, m.mean(axis=0)).sum()
        return total

    acts = join_states(means, np.eye(2), counts, 2, having, weight)
    groups = states.copy()
    while len(np.unique(groups)) > 2:  # the naive twin tries every pair
        left = np.unique(groups)
        pairs = [(a, b) for i, a in enumerate(left) for b in left[i + 1 :]]
        groups = max((np.where(groups == b, a, groups) for a, b in pairs), key=log_likelihood)
    np.testing.assert_array_equal(acts[states], np.unique(groups, return_inverse=True)[1])
