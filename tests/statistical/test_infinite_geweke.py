"""Geweke tests of the infinite HMM: states, words, sparsity levels and all hyperparameters.

alpha and gamma have Gamma(1, 1) priors, levels a Dirichlet process, discounts an even prior. False
alarms 1e-6 for each test, seeds fixed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.geweke import assert_geweke_catches, assert_geweke_passes, compare_samples
from support.infinite_reference import draw_states

from palaver import rng
from palaver.encode.shards import Shard
from palaver.models import infinite_priors as priors
from palaver.models.infinite_emissions import WordEmissions
from palaver.models.infinite_engine import InfiniteEngine
from palaver.models.infinite_tags import Tags
from palaver.parallel import Globals

OFFSETS = np.array([0, 3, 5])
N, N_WORDS, LOW, HIGH = 5, 3, 0.5, 5.0  # firm priors, or the chain hardly moves
N_DRAWS = 4000
NAMES = [
    "alpha", "gamma", "states", "states squared", "same as before", "same at starts",
    "words 0", "alike within a state", "alike", "levels", "log level", "level of alike",
]  # fmt: skip


def draw_levels(n_states: int, generator: np.random.Generator) -> np.ndarray:
    """By the Chinese restaurant process, concentration 1."""
    etas = np.empty(n_states)
    for k in range(n_states):
        at = generator.integers(k + 1)
        etas[k] = etas[at] if at < k else LOW * (HIGH / LOW) ** generator.random()
    return etas


def describe(alpha, gamma, states, words, etas) -> np.ndarray:
    n_states = len(set(states.tolist()))
    follows = np.ones(N, bool)
    follows[OFFSETS[:-1]] = False
    same = (states[1:] == states[:-1]) & follows[1:]
    pairs = np.triu_indices(N, 1)
    alike = (words[:, None] == words)[pairs]
    within = (states[:, None] == states)[pairs]
    used = etas[np.unique(states)]
    return np.array([
        np.log(alpha), np.log(gamma), n_states, n_states**2, same.sum(),
        states[0] == states[3], (words == 0).sum(), (alike & within).sum(), alike.sum(),
        len(set(used.tolist())), np.log(used).mean(),
        (np.log(etas[states]) * (words == words[0])).sum(),
    ])  # fmt: skip


@cache
def marginal(discount: float) -> np.ndarray:
    generator = np.random.default_rng(1)
    rows = []
    for _ in range(N_DRAWS):
        alpha, gamma = generator.standard_gamma(1.0, 2)
        states = draw_states(OFFSETS, alpha, gamma, discount, generator)
        etas = draw_levels(int(states.max()) + 1, generator)
        words = np.empty(N, np.int32)
        for k in set(states.tolist()):
            phi = generator.dirichlet(np.full(N_WORDS, etas[k]))
            words[states == k] = generator.choice(N_WORDS, (states == k).sum(), p=phi)
        rows.append(describe(alpha, gamma, states, words, etas))
    return np.array(rows)


def shard(words) -> Shard:
    n = len(OFFSETS) - 1
    parents = np.full(n, -1, np.int32)
    return Shard(words, OFFSETS, parents, np.arange(n + 1), 0, 0, 0)


def successive(engine: InfiniteEngine, discount: float, n_draws: int = N_DRAWS) -> np.ndarray:
    """The chain: parameters given states and words, words given both, then states anew."""
    generator = np.random.default_rng(2)
    alpha, gamma = generator.standard_gamma(1.0, 2)
    states = draw_states(OFFSETS, alpha, gamma, discount, generator)
    n_states = int(states.max()) + 1
    shared = engine.start(generator)
    weights = generator.dirichlet(np.append(np.ones(n_states), 1.0))
    arrays = {**shared.arrays, "alpha": np.array(alpha), "gamma": np.array(gamma),
              "betas": weights, "relabel": np.arange(n_states, dtype=np.int16),
              "etas": draw_levels(n_states, generator)}  # fmt: skip
    shared = Globals("count", arrays)
    words = generator.integers(0, N_WORDS, N).astype(np.int32)
    rows = []
    for step in range(n_draws + 100):  # the first weights and words are not of the joint
        state = {"states": states}
        found = engine.sweep(shared, shard(words), state, rng.key(step, "sweep"))
        shared, _ = engine.update(shared, found, generator)
        arrays = shared.arrays
        now = arrays["relabel"][states]
        phi = np.exp(np.log(arrays["emissions"].astype(float)) + arrays["scales"][:, None])
        phi /= phi.sum(axis=0)
        words = np.array([generator.choice(N_WORDS, p=phi[:, k]) for k in now], np.int32)
        rows.append(
            describe(float(arrays["alpha"]), float(arrays["gamma"]), now, words, arrays["etas"])
        )
    return np.array(rows[100:])


def engine(discount: float, **changes) -> InfiniteEngine:
    emissions = WordEmissions(N_WORDS, LOW, HIGH)
    made = InfiniteEngine(emissions, None, None, None, discount, 2, 20_000, False, Tags.none())
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("discount", [0.0, 0.15])
def test_the_sampler_leaves_the_joint_alone(discount):
    found = successive(engine(discount), discount)
    assert_geweke_passes(compare_samples(marginal(discount), found, NAMES), 100)


class LazySticks(InfiniteEngine):
    """A planted bug: states are not drawn until the rests are small enough."""

    def _extended(self, arrays, smallest, at_least):
        return super()._extended(arrays, max(smallest, 0.6), at_least)


class DoubleCounts(InfiniteEngine):
    """A planted bug: weights and concentrations are drawn as if from twice the transitions."""

    def _draw_weights(self, old, counts, betas, generator):
        return super()._draw_weights(old, 2 * counts, betas, generator)


@pytest.mark.parametrize("wrong", [LazySticks, DoubleCounts])
def test_planted_bugs_are_caught(wrong):
    emissions = WordEmissions(N_WORDS, LOW, HIGH)
    made = wrong(emissions, None, None, None, 0.0, 2, 20_000, False, Tags.none())
    assert_geweke_catches(compare_samples(marginal(0.0), successive(made, 0.0), NAMES))


def partition(gamma, discount, n: int, generator) -> np.ndarray:
    """Sizes of the blocks of n things under a Pitman-Yor process."""
    sizes: list[int] = []
    for _ in range(n):
        weights = np.array([size - discount for size in sizes] + [gamma + len(sizes) * discount])
        at = generator.choice(len(weights), p=weights / weights.sum())
        if at == len(sizes):
            sizes.append(0)
        sizes[at] += 1
    return np.array(sizes)


def pitman_yor(wrong: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Gamma and discount with partitions of 12: from the prior; by moves and new partitions."""
    generator = np.random.default_rng(5)

    def told(gamma, discount, sizes):
        return [np.log(gamma), discount, discount**2, gamma * discount, len(sizes),
                discount * len(sizes), (sizes == 1).sum()]  # fmt: skip

    independent = []
    for _ in range(2000):
        gamma, discount = generator.standard_gamma(1.0), generator.random()
        independent.append(told(gamma, discount, partition(gamma, discount, 12, generator)))
    chain = []
    gamma, discount = generator.standard_gamma(1.0), generator.random()
    for _ in range(6000):
        sizes = partition(gamma, discount, 12, generator)
        gamma, discount = priors.move_pitman_yor(
            gamma, discount, sizes, generator, learn_gamma=True, learn_discount=True
        )
        gamma *= 1 + wrong
        chain.append(told(gamma, discount, sizes))
    return np.array(independent), np.array(chain)


def test_moves_of_gamma_and_discount_leave_the_joint_alone():
    assert_geweke_passes(compare_samples(*pitman_yor()), 100)
    assert_geweke_catches(compare_samples(*pitman_yor(wrong=0.3)))
