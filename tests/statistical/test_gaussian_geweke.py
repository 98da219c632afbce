"""Geweke tests of the Gaussian HMM's samplers: collapsed and blocked, each kind of covariance.

Priors are fixed; states, vectors and (blocked) means, covariances and rows are random. False
alarms 1e-6 for each test, seeds fixed. Vectors enter the statistics through the arc tangent, for
their tails are heavy.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from support.gaussian_draws import draw_vectors, vectors_given
from support.geweke import (
    GewekeTable,
    assert_geweke_catches,
    assert_geweke_passes,
    compare_samples,
)
from threadpoolctl import threadpool_limits

from palaver.encoding import VectorShard
from palaver.kernels import gaussian
from palaver.models.gaussian.engine import VectorEngine
from palaver.models.states.emissions.gaussian import GaussianEmissions
from palaver.parallel import Globals

OFFSETS = np.array([0, 3, 4])  # few vectors and a firm prior, or the chain hardly moves
N, SIZE, K, ALPHA = 4, 2, 2, 0.7
NAMES = [
    "state 0", "state 0 squared", "same as before", "same over two", "state 0 at start",
    "x", "x squared", "x y", "alike within a state", "alike with the one before",
    "x of state 0",
]  # fmt: skip
N_DRAWS, N_CHAIN = 3000, 3000


def emissions(kind: str) -> GaussianEmissions:
    return GaussianEmissions(kind, np.array([0.3, -0.2]), 1.5, 6.0, np.array([2.0, 3.0]))


def draw_states(generator: np.random.Generator) -> np.ndarray:
    """From the prior."""
    rows = generator.dirichlet(np.full(K, ALPHA), K + 1)
    states = np.empty(N, np.int16)
    for first, last in pairwise(OFFSETS):
        source = K
        for i in range(first, last):
            source = states[i] = generator.choice(K, p=rows[source])
    return states


def describe(states, vectors) -> np.ndarray:
    x = np.arctan(vectors)
    follows = np.ones(N, bool)
    follows[OFFSETS[:-1]] = False
    same = states[1:] == states[:-1]
    zero = states == 0
    third = follows[2:] & follows[1:-1]
    distance = x[:, 0, None] - x[:, 0]
    alike = (states[:, None] == states) * distance**2
    return np.array([
        zero.sum(), zero.sum() ** 2, (same & follows[1:]).sum(),
        ((states[2:] == states[:-2]) & third).sum(), zero[OFFSETS[:-1]].sum(),
        x[:, 0].sum(), (x[:, 0] ** 2).sum(), (x[:, 0] * x[:, 1]).sum(), alike.sum(),
        (x[1:, 1] * x[:-1, 1])[follows[1:]].sum(), x[zero, 0].sum(),
    ])  # fmt: skip


@cache
def marginal(kind: str) -> np.ndarray:
    generator = np.random.default_rng(1)
    rows = []
    for _ in range(N_DRAWS):
        states = draw_states(generator)
        rows.append(describe(states, draw_vectors(emissions(kind), states, generator)))
    return np.array(rows)


def successive(kind: str, collapsed: bool, given: GaussianEmissions, alpha: float) -> np.ndarray:
    """The chain: states by the sampler under test, then new vectors."""
    engine = VectorEngine(K, alpha, given, collapsed, np.zeros((0, SIZE)))
    generator = np.random.default_rng(2)
    states = draw_states(generator)
    vectors = draw_vectors(emissions(kind), states, generator)
    rows = []
    for step in range(N_CHAIN):
        shard = VectorShard(vectors, OFFSETS, 0, 0)
        state = {"states": states}
        if collapsed:
            engine.sweep(Globals("sweep"), shard, state, np.array([step, 3], np.uint64))
            vectors = draw_vectors(emissions(kind), states, generator)
        else:
            found = gaussian.statistics(given.kind, vectors, states, OFFSETS, K)
            shared, _ = engine.update(Globals("sweep"), found, generator)
            engine.sweep(shared, shard, state, np.array([step, 3], np.uint64))
            vectors = vectors_given(shared.arrays, kind, states, generator)
        rows.append(describe(states, vectors))
    return np.array(rows)


def table(kind: str, collapsed: bool, alpha: float = ALPHA, **wrong) -> GewekeTable:
    given = replace(emissions(kind), **wrong)
    with threadpool_limits(1):
        return compare_samples(marginal(kind), successive(kind, collapsed, given, alpha), NAMES)


@pytest.mark.parametrize("collapsed", [True, False], ids=["collapsed", "blocked"])
@pytest.mark.parametrize("kind", ["full", "diag", "tied"])
def test_samplers_leave_the_joint_alone(kind, collapsed):
    assert_geweke_passes(table(kind, collapsed))


@pytest.mark.parametrize("collapsed", [True, False], ids=["collapsed", "blocked"])
def test_planted_bugs_are_caught(collapsed):
    assert_geweke_catches(table("full", collapsed, alpha=20 * ALPHA))
    if not collapsed:  # whose drawn covariances the vectors follow
        assert_geweke_catches(table("full", collapsed, scale=np.array([6.0, 0.5])))
