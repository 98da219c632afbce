"""The Geweke harness on a toy normal model: quiet when right, loud when wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from scipy import stats
from support.forests import Forest, check_forest, forests, random_forest
from support.geweke import (
    assert_geweke_catches,
    assert_geweke_passes,
    bonferroni_threshold,
    compare_samples,
    geweke,
)

N_DATA = 4
NAMES = ["mean", "mean^2", "data", "data^2", "mean*data"]


class NormalModel:
    """mean ~ N(0, 1); N_DATA observations ~ N(mean, 1); the sampler draws mean | data."""

    def __init__(self, seed: int, shift: float = 0.0, inflate: float = 1.0, keep: float = 0.0):
        self.rng = np.random.default_rng(seed)
        self.shift, self.inflate, self.keep = shift, inflate, keep
        self.mean = self.rng.normal()
        self.data = self.rng.normal(self.mean, 1, N_DATA)

    def statistics(self, mean: float, data: np.ndarray) -> np.ndarray:
        average = data.mean()
        return np.array([mean, mean**2, average, average**2, mean * average])

    def marginal(self) -> np.ndarray:
        mean = self.rng.normal()
        return self.statistics(mean, self.rng.normal(mean, 1, N_DATA))

    def successive(self) -> np.ndarray:
        if self.rng.random() >= self.keep:  # staying put is right, only slow
            precision = 1 + N_DATA
            centre = self.data.sum() / precision + self.shift
            self.mean = self.rng.normal(centre, self.inflate / np.sqrt(precision))
        self.data = self.rng.normal(self.mean, 1, N_DATA)
        return self.statistics(self.mean, self.data)


def run(model: NormalModel, n_draws: int = 20_000):
    return geweke(model.marginal, model.successive, n_draws, NAMES)


def test_right_sampler_passes():
    assert_geweke_passes(run(NormalModel(seed=1)))


def test_right_but_slow_sampler_passes_thanks_to_its_effective_size():
    table = run(NormalModel(seed=2, keep=0.5))
    assert_geweke_passes(table)
    assert table.effective_sizes[0] < 2_000  # of 20,000 steps


@pytest.mark.parametrize("bug", [{"shift": 0.05}, {"inflate": 1.3}, {"inflate": 0.8}])
def test_planted_bugs_are_caught(bug):
    table = run(NormalModel(seed=3, **bug))
    assert_geweke_catches(table)
    with pytest.raises(AssertionError, match="Geweke test failed"):
        assert_geweke_passes(table)


def test_planted_bug_helper_fails_on_a_right_sampler():
    with pytest.raises(AssertionError, match="not caught"):
        assert_geweke_catches(run(NormalModel(seed=4)))


def test_statistic_that_cannot_fail_is_refused():
    draws = np.random.default_rng(5).normal(size=(1000, 2))
    draws[:, 1] = 3.0
    with pytest.raises(AssertionError, match="never varies"):
        assert_geweke_passes(compare_samples(draws, draws[::-1], ["free", "stuck"]))


def test_stuck_chain_is_refused():
    rng = np.random.default_rng(6)
    walk = np.cumsum(rng.normal(size=(2000, 1)), axis=0) * 0.001
    with pytest.raises(AssertionError, match="proves little"):
        assert_geweke_passes(compare_samples(rng.normal(size=(2000, 1)) * 0.02, walk))


def test_wrong_constant_is_infinitely_wrong():
    table = compare_samples(np.zeros((1000, 1)), np.ones((1000, 1)))
    assert np.isinf(table.z[0])
    assert_geweke_catches(table)


def test_bad_input_is_refused():
    good = np.random.default_rng(7).normal(size=(1000, 2))
    with pytest.raises(ValueError, match="one column per statistic"):
        compare_samples(good, good[:, :1])
    with pytest.raises(ValueError, match="at least"):
        compare_samples(good, good[:100])
    with pytest.raises(ValueError, match="not finite"):
        compare_samples(good, np.where(good > 2, np.nan, good))
    with pytest.raises(ValueError, match="names"):
        compare_samples(good, good, ["one"])


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_z_is_standard_normal_for_autoregressive_chains(correlation):
    """500 right chains: z must look normal and not be overconfident."""
    rng = np.random.default_rng(8)
    n_chains, n_draws = 500, 4000
    noise = rng.normal(size=(n_draws, n_chains)) * np.sqrt(1 - correlation**2)
    chain = np.empty((n_draws, n_chains))
    chain[0] = rng.normal(size=n_chains)
    for i in range(1, n_draws):
        chain[i] = correlation * chain[i - 1] + noise[i]
    table = compare_samples(rng.normal(size=(n_draws, n_chains)), chain)
    # the larger of two error estimates: a little conservative, never wider than normal
    assert 0.8 < table.z.std() < 1.08
    assert np.abs(table.z).max() < table.threshold
    expected = n_draws * (1 - correlation) / (1 + correlation)
    assert 0.6 < np.median(table.effective_sizes) / expected < 1.2


def test_threshold_is_bonferroni():
    assert stats.norm.sf(bonferroni_threshold(10, 1e-6)) * 20 == pytest.approx(1e-6)


@given(forests())
def test_forests_of_the_strategy_are_valid(forest: Forest):
    check_forest(forest)


def test_random_forests_show_every_feature():
    rng = np.random.default_rng(9)
    many = [random_forest(rng) for _ in range(200)]
    for forest in many:
        check_forest(forest)
        assert (forest.n_tokens, forest.n_messages, forest.n_conversations) == (6, 5, 2)
    assert any(len(f.children(b)) > 1 for f in many for b in range(5))
    assert any((np.diff(f.message_offsets) == 0).any() for f in many)
    assert any((f.parents == -1).sum() > f.n_conversations for f in many)
    assert any(
        f.tokens[i] == f.tokens[j]
        for f in many
        for b in range(5)
        for i, j in itertools.combinations(f.message_tokens(b), 2)
    )
