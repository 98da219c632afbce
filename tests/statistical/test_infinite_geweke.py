"""Geweke tests of the infinite HMM: states, what they emit and all hyperparameters.

Three kinds of positions: words of sentences, messages of reply trees, vectors in sequences. alpha
and gamma have Gamma(1, 1) priors for words and are fixed for the others, which then mix better;
levels have a Dirichlet process, discounts a Beta(1, 9) prior. False alarms 1e-6 for each test,
seeds fixed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.gaussian_draws import draw_vectors, vectors_given
from support.geweke import assert_geweke_catches, assert_geweke_passes, compare_samples
from support.infinite_reference import chain_parents, draw_states
from threadpoolctl import threadpool_limits

from palaver import rng
from palaver.encoding.shards import Shard, VectorShard
from palaver.models.states import priors
from palaver.models.states.emissions.gaussian import GaussianEmissions
from palaver.models.states.emissions.messages import MessageEmissions
from palaver.models.states.emissions.vectors import VectorEmissions
from palaver.models.states.emissions.words import WordEmissions
from palaver.models.states.engine import StateEngine
from palaver.models.states.sticks import concentrations
from palaver.models.states.tags import Tags
from palaver.parallel import Globals

N, N_WORDS = 5, 3  # few, and firm priors, or the chain hardly moves
N_DRAWS = 4000
NAMES = ["states", "states squared", "same as before", "same at starts"]


class Words:
    """Words of two sentences: a position is a word."""

    offsets = np.array([0, 3, 5])
    parents = chain_parents(offsets)
    starts = (0, 3)
    lengths = np.ones(N, int)  # words of each position
    kind: type[WordEmissions] = WordEmissions
    fixed: tuple[float | None, float | None] = (None, None)  # alpha and gamma
    low, high = 0.5, 5.0
    names: tuple[str, ...] = (
        "words 0", "alike within a state", "alike between states", "levels", "log level",
        "level of alike",
    )  # fmt: skip

    def concentrations(self, generator) -> tuple[float, float]:
        alpha, gamma = generator.standard_gamma(1.0, 2)
        return self.fixed[0] or alpha, self.fixed[1] or gamma

    def emissions(self) -> Any:
        return self.kind(N_WORDS, self.low, self.high)

    def first(self, n_states: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Levels by the Chinese restaurant process, concentration 1."""
        etas = np.empty(n_states)
        for k in range(n_states):
            at = generator.integers(k + 1)
            etas[k] = (
                etas[at] if at < k else self.low * (self.high / self.low) ** generator.random()
            )
        return {"word_priors": etas}

    def draw(self, states, first, generator) -> np.ndarray:
        """Words given states and levels, their distributions drawn."""
        of_words = np.repeat(states, self.lengths)
        words = np.empty(len(of_words), np.int32)
        for k in set(states.tolist()):
            phi = generator.dirichlet(np.full(N_WORDS, first["word_priors"][k]))
            words[of_words == k] = generator.choice(N_WORDS, (of_words == k).sum(), p=phi)
        return words

    def given(self, states, arrays, generator) -> np.ndarray:
        """Words given the distributions that the sampler drew."""
        logs = np.log(arrays["emissions"].astype(float)) + arrays["scales"][:, None]
        return self.words_of(states, logs, generator)

    def words_of(self, states, logs, generator) -> np.ndarray:
        phi = np.exp(logs)
        phi /= phi.sum(axis=0)
        of_words = np.repeat(states, self.lengths)
        return np.array([generator.choice(N_WORDS, p=phi[:, k]) for k in of_words], np.int32)

    def shard(self, words) -> Any:
        n = len(self.offsets) - 1
        parents = np.full(n, -1, np.int32)
        return Shard(words, self.offsets, parents, np.arange(n + 1), 0, 0, 0, N_WORDS)

    def describe(self, states, words, arrays) -> list[float]:
        of_words, etas = np.repeat(states, self.lengths), arrays["word_priors"]
        pairs = np.triu_indices(len(words), 1)
        alike = (words[:, None] == words)[pairs]
        within = (of_words[:, None] == of_words)[pairs]
        used = etas[np.unique(states)]
        return [
            (words == 0).sum(), (alike & within).sum(), (alike & ~within).sum(),
            len(set(used.tolist())), np.log(used).mean(),
            (np.log(etas[of_words]) * (words == words[0])).sum(),
        ]  # fmt: skip


class Messages(Words):
    """Messages of two reply trees: branching, an empty message, several words in others."""

    parents = np.array([-1, 0, 0, 1, -1])
    starts = (0, 4)
    lengths = np.array([3, 2, 0, 4, 2])
    kind = MessageEmissions
    fixed = (2.0, 2.0)
    low, high = 0.1, 1.0

    def given(self, states, arrays, generator) -> np.ndarray:
        return self.words_of(states, arrays["log_words"], generator)

    def shard(self, words) -> Shard:
        offsets = np.concatenate(([0], np.cumsum(self.lengths)))
        parents = self.parents.astype(np.int32)
        return Shard(words, offsets, parents, np.array([0, 4, 5]), 0, 0, 0, N_WORDS)


class Vectors(Words):
    """Vectors of two sequences."""

    fixed = (2.0, 2.0)
    names = ("x", "x squared", "x y", "apart within a state", "apart between states",
             "alike with the one before")  # fmt: skip

    def __init__(self, covariance: str) -> None:
        mean, scale = np.array([0.3, -0.2]), np.array([2.0, 3.0])
        self.prior = GaussianEmissions(covariance, mean, 0.25, 6.0, scale)

    def emissions(self) -> VectorEmissions:
        return VectorEmissions(self.prior, np.zeros((0, 2)))

    def first(self, n_states, generator) -> dict[str, np.ndarray]:
        return {}

    def draw(self, states, first, generator) -> np.ndarray:
        return draw_vectors(self.prior, states, generator)

    def given(self, states, arrays, generator) -> np.ndarray:
        return vectors_given(arrays, self.prior.covariance, states, generator)

    def shard(self, vectors) -> VectorShard:
        return VectorShard(vectors, self.offsets, 0, 0)

    def describe(self, states, vectors, arrays) -> list[float]:
        x = np.arctan(vectors)  # tails are heavy
        distances = (x[:, 0, None] - x[:, 0]) ** 2
        within = states[:, None] == states
        before = self.parents >= 0
        return [
            x[:, 0].sum(), (x[:, 0] ** 2).sum(), (x[:, 0] * x[:, 1]).sum(), distances[within].sum(),
            distances[~within].sum(),
            (x[before, 1] * x[self.parents[before], 1]).sum(),
        ]  # fmt: skip


CASES: dict[str, Any] = {
    "words": Words(), "messages": Messages(),
    **{kind: Vectors(kind) for kind in ("full", "diag", "tied")},
}  # fmt: skip


def describe(case, alpha, gamma, states, data, arrays) -> np.ndarray:
    n_states = len(set(states.tolist()))
    follows = case.parents >= 0
    same = states[follows] == states[case.parents[follows]]
    first, second = (states[start] for start in case.starts)
    learned = [] if all(case.fixed) else [np.log(alpha), np.log(gamma)]
    found = [n_states, n_states**2, same.sum(), first == second, *learned]
    return np.array([*found, *case.describe(states, data, arrays)], float)


@cache
def marginal(name: str, discount: float) -> np.ndarray:
    case, generator = CASES[name], np.random.default_rng(1)
    rows = []
    for _ in range(N_DRAWS):
        alpha, gamma = case.concentrations(generator)
        states = draw_states(case.parents, alpha, gamma, discount, generator)
        first = case.first(int(states.max()) + 1, generator)
        data = case.draw(states, first, generator)
        rows.append(describe(case, alpha, gamma, states, data, first))
    return np.array(rows)


def successive(name: str, engine: StateEngine, discount: float) -> np.ndarray:
    """The chain: parameters given states and data, data given both, then new states."""
    case, generator = CASES[name], np.random.default_rng(2)
    alpha, gamma = case.concentrations(generator)
    states = draw_states(case.parents, alpha, gamma, discount, generator)
    n_states = int(states.max()) + 1
    weights = generator.dirichlet(np.append(np.ones(n_states), 1.0))
    first = case.first(n_states, generator)
    arrays = {**engine.start(generator).arrays, "row_concentration": np.array(alpha),
              "state_concentration": np.array(gamma), "state_weights": weights,
              "relabel": np.arange(n_states, dtype=np.int16), **first}  # fmt: skip
    shared = Globals("count", arrays)
    data = case.draw(states, first, generator)
    rows = []
    for step in range(N_DRAWS + 100):  # the first weights are not of the joint
        found = engine.sweep(shared, case.shard(data), {"states": states}, rng.key(step, "sweep"))
        shared, _ = engine.update(shared, found, generator)
        arrays = shared.arrays
        now = arrays["relabel"][states]
        data = case.given(now, arrays, generator)
        alpha, gamma = concentrations(arrays)[:2]
        rows.append(describe(case, alpha, gamma, now, data, arrays))
    return np.array(rows[100:])


def table(name: str, discount: float = 0.0, kind: type[StateEngine] = StateEngine) -> Any:
    case = CASES[name]
    engine = kind(case.emissions(), None, *case.fixed, discount, 2, 20_000, False, Tags.none())
    names = [*NAMES, *([] if all(case.fixed) else ["alpha", "gamma"]), *case.names]
    with threadpool_limits(1):
        found = successive(name, engine, discount)
        return compare_samples(marginal(name, discount), found, names)


@pytest.mark.parametrize(
    ("name", "discount"),
    [("words", 0.0), ("words", 0.15), ("messages", 0.0), ("full", 0.0), ("diag", 0.15),
     ("tied", 0.0)],
)  # fmt: skip
def test_the_sampler_leaves_the_joint_alone(name, discount):
    assert_geweke_passes(table(name, discount), 100)


class LazySticks(StateEngine):
    """A planted bug: states are not drawn until the rests are small enough."""

    def _extended(self, arrays, smallest, at_least):
        return super()._extended(arrays, max(smallest, 0.6), at_least)


class DoubleCounts(StateEngine):
    """A planted bug: weights and concentrations are drawn as if from twice the transitions."""

    def _draw_weights(self, old, counts, weights, generator):
        return super()._draw_weights(old, 2 * counts, weights, generator)


class Deaf(StateEngine):
    """A planted bug: states are drawn whatever they emit."""

    def _resample(self, shared, shard, states, key):
        deaf = replace(shared, arrays={**shared.arrays, "power": np.array(0.0)})
        super()._resample(deaf, shard, states, key)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [(name, LazySticks) for name in ("words", "messages", "full")]
    + [("words", DoubleCounts), ("messages", Deaf), ("full", Deaf)],
)
def test_planted_bugs_are_caught(name, wrong):
    assert_geweke_catches(table(name, kind=wrong))


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
        gamma, discount = generator.standard_gamma(1.0), generator.beta(1.0, 9.0)
        independent.append(told(gamma, discount, partition(gamma, discount, 12, generator)))
    chain = []
    gamma, discount = generator.standard_gamma(1.0), generator.beta(1.0, 9.0)
    for _ in range(6000):
        sizes = partition(gamma, discount, 12, generator)
        gamma, discount = priors.move_pitman_yor(
            gamma,
            discount,
            sizes,
            generator,
            priors.HYPERPRIORS,
            learn_concentration=True,
            learn_discount=True,
        )
        gamma *= 1 + wrong
        chain.append(told(gamma, discount, sizes))
    return np.array(independent), np.array(chain)


def test_moves_of_gamma_and_discount_leave_the_joint_alone():
    assert_geweke_passes(compare_samples(*pitman_yor()), 100)
    assert_geweke_catches(compare_samples(*pitman_yor(wrong=0.3)))
