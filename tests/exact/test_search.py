"""The search for states in a burn-in: gains of merges against the log joint, what it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from palaver.models.states import priors, search
from palaver.models.states.emissions.gaussian import GaussianEmissions
from palaver.models.states.emissions.vectors import VectorEmissions
from palaver.models.states.kernels import levels
from palaver.models.states.kernels.mergers import transition_gains, word_gains
from palaver.models.states.signs import grouped, signs

ALPHA, GAMMA = 0.7, 1.3
RNG = np.random.default_rng(5)
COUNTS = RNG.integers(0, 6, (5, 4)) * RNG.integers(0, 2, (5, 4))
WEIGHTS = RNG.dirichlet(np.ones(5))
WORDS = RNG.integers(0, 4, (7, 4)).astype(np.int32)
ETAS = np.array([0.2, 0.2, 0.9, 0.4])
PAIRS = [(a, b) for a in range(4) for b in range(a)]


def log_weights(weights, discount):
    """Density of the weights of K states in use, whatever their order, and of the rest."""
    *own, rest = weights
    n_states = len(own)
    result = sum(np.log(GAMMA + i * discount) for i in range(1, n_states)) + gammaln(GAMMA + 1)
    result -= gammaln(GAMMA + n_states * discount) + n_states * gammaln(1 - discount)
    result -= (1 + discount) * np.log(own).sum()
    return result + (GAMMA + n_states * discount - 1) * np.log(rest)


def joint(counts, weights, discount):
    return log_weights(weights, discount) + priors.log_states(counts, ALPHA, weights[:-1])


def groups_for(a, b, n=4):
    groups = np.arange(n)
    groups[a] = b
    return np.unique(groups, return_inverse=True)[1]


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_gains_of_transitions(discount):
    gains = transition_gains(COUNTS, ALPHA, WEIGHTS, GAMMA, discount)
    for a, b in PAIRS:
        groups = groups_for(a, b)
        counts = np.vstack(
            (grouped(COUNTS[:-1], (0, 1), groups), grouped(COUNTS[-1], (0,), groups))
        )
        weights = np.append(grouped(WEIGHTS[:-1], (0,), groups), WEIGHTS[-1])
        change = joint(counts, weights, discount) - joint(COUNTS, WEIGHTS, discount)
        change -= np.log(WEIGHTS[a] + WEIGHTS[b])  # of the share of one part, which is uniform
        assert gains[a, b] == gains[b, a] == pytest.approx(change, abs=1e-9)


def test_the_weights_have_the_posterior_of_the_sampler():
    """Given tables m, the density is Dirichlet(m_k - d, gamma + K d), and its integral the EPPF."""
    tables, discount = np.array([3, 1, 2]), 0.3
    shapes = np.append(tables - discount, GAMMA + 3 * discount)
    weights = RNG.dirichlet(np.ones(4))
    log_dirichlet = ((shapes - 1) * np.log(weights)).sum() + gammaln(shapes.sum())
    log_dirichlet -= gammaln(shapes).sum()
    found = log_weights(weights, discount) + tables @ np.log(weights[:-1])
    assert found - log_dirichlet == pytest.approx(priors.log_partition(tables, GAMMA, discount))


def log_words(counts, eta):
    return levels.log_words(counts[counts > 0], (counts > 0)[counts > 0].astype(int), eta, 7)


def test_gains_of_words():
    gains = word_gains(WORDS, ETAS)
    totals = WORDS.sum(axis=0)
    for a, b in PAIRS:
        eta = ETAS[a if totals[a] >= totals[b] else b]
        change = log_words(WORDS[:, a] + WORDS[:, b], eta)
        change -= log_words(WORDS[:, a], ETAS[a]) + log_words(WORDS[:, b], ETAS[b])
        assert gains[a, b] == gains[b, a] == pytest.approx(change, abs=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diag", "tied"])
def test_gains_of_vectors(covariance):
    prior = GaussianEmissions(covariance, np.zeros(2), 0.5, 4.0, np.ones(2))
    emissions = VectorEmissions(prior, np.zeros((0, 2)))
    vectors, states = RNG.standard_normal((12, 2)), np.arange(12) % 3

    def statistics(states):
        n = states.max() + 1
        outer = vectors[:, :, None] * vectors[:, None]
        squares = np.stack([outer[states == k].sum(axis=0) for k in range(n)])
        if covariance == "diag":
            squares = np.diagonal(squares, 0, -2, -1)
        return {
            "state_counts": np.bincount(states),
            "state_sums": np.stack([vectors[states == k].sum(axis=0) for k in range(n)]),
            "state_squares": squares.sum(axis=0) if covariance == "tied" else squares,
        }

    before = statistics(states)
    gains = emissions.merge_gains({}, before)
    for a, b in ((1, 0), (2, 0), (2, 1)):
        after = statistics(groups_for(a, b, 3)[states])
        change = prior.log_marginal(after) - prior.log_marginal(before)
        assert gains[a, b] == gains[b, a] == pytest.approx(change, abs=1e-9)


class Silent:
    """Emissions that say nothing."""

    def merge_gains(self, arrays, statistics):
        return np.zeros((len(statistics["start_counts"]),) * 2)


def test_merges_end_where_none_raises_the_joint():
    axes = {"transition_counts": (0, 1), "start_counts": (0,)}
    before = {"transition_counts": COUNTS[:-1], "start_counts": COUNTS[-1]}
    numbers, after, grown, weights = search.merged(
        before, axes, {"word_priors": ETAS}, WEIGHTS, (ALPHA, GAMMA, 0.0), Silent()
    )
    assert numbers.max() + 1 == len(after["start_counts"]) == len(grown["word_priors"])
    assert weights.sum() == pytest.approx(1)
    for name, value in before.items():
        np.testing.assert_array_equal(grouped(value, axes[name], numbers), after[name])
    counts = np.vstack((after["transition_counts"], after["start_counts"]))
    assert (transition_gains(counts, ALPHA, weights, GAMMA, 0.0) <= 0).all()


def test_groups_pair_each_state_once_and_best_first():
    gains = np.full((4, 4), -np.inf)
    for a, b, gain in ((0, 1, 3.0), (1, 2, 5.0), (0, 3, 1.0), (2, 3, 4.0)):
        gains[a, b] = gains[b, a] = gain
    np.testing.assert_array_equal(search.groups_of(gains), [0, 1, 1, 0])
    assert search.groups_of(np.minimum(gains, 0)) is None
    np.testing.assert_array_equal(search.leaders(np.array([0, 1, 1, 0]), np.array([2, 1, 5, 2])),
                                  [0, 2])  # fmt: skip


def test_signs_are_the_same_in_every_shard_and_even():
    key = np.array([3, 9], np.uint64)
    found = signs(np.arange(10_000), key)
    np.testing.assert_array_equal(found[500:600], signs(np.arange(500, 600), key))
    assert abs(found.sum()) < 400
    assert set(found) == {-1, 1}
