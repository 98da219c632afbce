"""Gaussian emissions: factors, densities, marginals and both samplers against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.gaussian_reference import (
    KINDS,
    all_states,
    conditional,
    draw,
    log_chain,
    log_joint,
    log_predictive,
    log_vectors,
    normalize,
    random_emissions,
)
from support.geweke import batch_means_variance, bonferroni_threshold

from palaver.encoding import VectorShard
from palaver.kernels import gaussian
from palaver.kernels.cholesky import factorize, join, leave, squared_distance
from palaver.kernels.random import uniforms
from palaver.models.gaussian.engine import VectorEngine
from palaver.models.gaussian.kernels import collapsed as gaussian_collapsed
from palaver.models.states.emissions.gaussian import GaussianEmissions, log_rows
from palaver.parallel import Globals

OFFSETS = np.array([0, 3, 4, 8])


def data(seed, n=8, size=2):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(0, 1.5, (n, size)), rng.integers(0, 3, n).astype(np.int16)


# factors


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1), st.floats(-3, 3))
def test_factors_follow_vectors_that_join_and_leave(size, seed, magnitude):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size + 2))
    matrix = root @ root.T + np.eye(size) * 0.1
    vector = rng.normal(size=size) * 10**magnitude
    factor = factorize(matrix)
    join(factor, vector.copy())
    larger = matrix + np.outer(vector, vector)
    np.testing.assert_allclose(factor.T @ factor, larger, rtol=1e-9, atol=1e-12)
    assert (np.tril(factor, -1) == 0).all()
    square = squared_distance(factor, vector.copy())
    assert square == pytest.approx(vector @ np.linalg.solve(larger, vector), rel=1e-6)
    if leave(factor, vector.copy()):
        np.testing.assert_allclose(factor.T @ factor, matrix, rtol=1e-5, atol=1e-7)


def test_leaving_says_when_rounding_ate_the_matrix():
    factor = factorize(np.eye(3))
    join(factor, np.array([1e9, 1e9, 0.0]))
    assert not leave(factor, np.array([1e9, 1e9, 0.0]))
    assert not leave(factorize(np.eye(2)), np.array([2.0, 0.0]))


def test_factorise_mends_what_rounding_broke():
    broken = np.array([[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(broken)
    factor = factorize(broken)
    np.testing.assert_allclose(factor.T @ factor, broken, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        factorize(np.array([[1.0, 5.0], [5.0, 1.0]]))


# densities and marginals


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 3, 37])
def test_log_densities_are_scipys(kind, size):
    rng = np.random.default_rng(1)
    vectors, means = rng.normal(size=(1100, size)), rng.normal(size=(4, size))
    roots = rng.normal(size=(4, size, size + 3))
    covariances = roots @ roots.transpose(0, 2, 1)
    if kind == "diag":
        diagonals = np.einsum("kii->ki", covariances)
        factors, covariances = 1 / np.sqrt(diagonals), [np.diag(d) for d in diagonals]
        log_scales = np.log(factors).sum(axis=1)
    else:
        if kind == "tied":
            covariances = covariances[[0, 0, 0, 0]]
        factors = np.stack([np.linalg.inv(np.linalg.cholesky(c).T) for c in covariances])
        log_scales = np.log(np.einsum("kii->ki", factors)).sum(axis=1)
        factors = factors[0] if kind == "tied" else factors
    log_scales -= size / 2 * np.log(2 * np.pi)
    found = gaussian.log_densities(gaussian.KINDS[kind], vectors, means, factors, log_scales)
    for k in range(4):
        exact = stats.multivariate_normal.logpdf(vectors, means[k], covariances[k])
        np.testing.assert_allclose(found[:, k], exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_density_does_not_depend_on_the_others_to_the_last_bit(kind):
    rng = np.random.default_rng(6)
    prior = random_emissions(rng, kind, 100)
    vectors, states = rng.normal(size=(1300, 100)), rng.integers(0, 3, 1300).astype(np.int16)
    found = gaussian.statistics(prior.kind, vectors, states, np.array([0, 1300]), 3)
    parameters = prior.draw(found, rng)
    whole = prior.log_densities(vectors, parameters)
    for part in (slice(0, 1), slice(3, 700), slice(1000, 1300)):
        some = prior.log_densities(np.ascontiguousarray(vectors[part]), parameters)
        np.testing.assert_array_equal(some, whole[part])


def knowledge(prior, vectors, states, without, n_states=3):
    """What the collapsed sweep knows of each state when one vector is left out."""
    size = vectors.shape[1]
    shape = {"full": (n_states, size, size), "diag": (n_states, 1, size), "tied": (1, size, size)}
    counts, means = np.zeros(n_states, np.int64), np.empty((n_states, size))
    factors, scratch = np.zeros(shape[prior.covariance]), np.empty(size)
    gaussian_collapsed.rebuild(
        prior.kind, -1, without, vectors, states, prior.mean, prior.strength, prior.scale, counts,
        means, factors, scratch,
    )  # fmt: skip
    return counts, means, factors, scratch


def predictives(prior, vectors, states, i, known=None, n_states=3):
    counts, means, factors, scratch = known or knowledge(prior, vectors, states, i)
    n_others = len(vectors) - 1
    constants = np.array([
        gaussian_collapsed.predictive_constant(
            prior.kind, k, n_others, prior.strength, prior.dof, counts, factors
        )
        for k in range(n_states)
    ])  # fmt: skip
    return [
        gaussian_collapsed.log_predictive(
            prior.kind, vectors[i], k, n_others, prior.strength, prior.dof, counts, means, factors,
            constants, scratch,
        )
        for k in range(n_states)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 3])
def test_predictive_is_scipys_student_t(kind, size):
    for seed in range(10):
        rng, vectors, states = data(seed, size=size)
        prior = random_emissions(rng, kind, size)
        for i in range(len(vectors)):
            others = np.arange(len(vectors)) != i
            exact = [
                log_predictive(prior, vectors[i], vectors[others], states[others], k)
                for k in range(3)
            ]
            found = predictives(prior, vectors, states, i)
            np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_removing_and_adding_keeps_the_knowledge(kind):
    rng, vectors, states = data(3, n=40, size=4)
    prior = random_emissions(rng, kind, 4)
    known = knowledge(prior, vectors, states, -1)
    for i in rng.permutation(40):
        gaussian_collapsed.remove_vector(
            prior.kind, i, vectors, states, prior.mean, prior.strength, prior.scale, *known
        )
        fresh = knowledge(prior, vectors, states, i)
        for kept, built in zip(known[:3], fresh[:3], strict=True):
            np.testing.assert_allclose(kept, built, rtol=1e-8, atol=1e-9)
        gaussian_collapsed.add_vector(prior.kind, vectors[i], states[i], prior.strength, *known)


@pytest.mark.parametrize("kind", KINDS)
def test_log_marginal_is_the_chain_of_predictives(kind):
    for seed in range(10):
        rng, vectors, states = data(seed, size=3)
        prior = random_emissions(rng, kind, 3)
        found = gaussian.statistics(prior.kind, vectors, states, OFFSETS, 4)
        exact = log_vectors(prior, vectors, states)
        assert prior.log_marginal(found) == pytest.approx(exact, abs=1e-9)


# the collapsed sampler


@pytest.mark.parametrize("kind", KINDS)
def test_collapsed_conditional_is_the_enumerated_one(kind):
    """Every position of random states, with neighbours of the same state among them."""
    same = 0
    for seed in range(12):
        rng, vectors, states = data(seed)
        states = (states % 2).astype(np.int16)  # runs of one state are frequent
        prior, alpha = random_emissions(rng, kind, 2), rng.uniform(0.2, 2)
        for i in range(8):
            first, last = OFFSETS[np.searchsorted(OFFSETS, i, "right") - 1 :][:2]
            before = states[i - 1] if i > first else 2
            after = states[i + 1] if i < last - 1 else -1
            same += before == after
            counts = np.zeros((3, 2), np.int64)
            gaussian_collapsed.count_transitions(states, OFFSETS, counts)
            counts[before, states[i]] -= 1
            if after >= 0:
                counts[states[i], after] -= 1
            known = knowledge(prior, vectors, states, i, 2)
            logs = predictives(prior, vectors, states, i, known, 2)
            for k in range(2):
                logs[k] += gaussian_collapsed.log_transition(
                    k, before, after, alpha, counts, counts.sum(axis=1)
                )
            exact = conditional(prior, vectors, states, OFFSETS, alpha, 2, i)
            np.testing.assert_allclose(normalize(logs), exact, atol=1e-10)
    assert same > 10


def test_forgetting_the_edge_from_a_state_to_itself_is_far_off():
    """A planted bug, a common one in equation 4: [a = k] is left out of the denominator."""
    transitions = np.array([[2, 0], [1, 0], [1, 1]])
    right = [
        gaussian_collapsed.log_transition(k, 0, 1, 0.3, transitions, transitions.sum(axis=1))
        for k in range(2)
    ]
    states = np.array([0, 0, 0, 1, 0, 0, 1], np.int16)  # the fifth position is the one
    offsets = np.array([0, 3, 7])
    logs = []
    for k in range(2):
        states[5] = k
        logs.append(log_chain(states, offsets, 0.3, 2))
    np.testing.assert_allclose(normalize(right), normalize(logs), atol=1e-12)
    wrong = (
        (transitions[0] + 0.3) * (transitions[:2, 1] + 0.3) / (transitions[:2].sum(axis=1) + 0.6)
    )
    assert np.abs(wrong / wrong.sum() - normalize(logs)).max() > 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_collapsed_sweep_equals_its_enumerated_twin(kind):
    moved = 0
    for seed in range(6):
        rng, vectors, states = data(seed)
        prior, alpha = random_emissions(rng, kind, 2), rng.uniform(0.2, 2)
        twin, before = states.copy(), states.copy()
        key = np.array([seed, 5], np.uint64)
        gaussian_collapsed.collapsed_sweep(
            prior.kind, vectors, OFFSETS, 4, alpha, prior.mean, prior.strength, prior.dof,
            prior.scale, 1.0, key, states, 3,
        )  # fmt: skip
        for sequence in range(3):
            first, last = OFFSETS[sequence], OFFSETS[sequence + 1]
            draws = uniforms(key, 4 + sequence, last - first)
            for i, threshold in zip(range(first, last), draws, strict=True):
                weights = conditional(prior, vectors, twin, OFFSETS, alpha, 3, i)
                twin[i] = draw(weights, threshold)
        np.testing.assert_array_equal(states, twin)
        moved += (states != before).sum()
    assert moved > 10


# both samplers have the enumerated posterior


TINY = np.array([[0.4, 0.1], [0.9, -0.6], [-0.8, 0.5], [0.2, 0.3], [-1.0, -0.2]])
TINY_OFFSETS = np.array([0, 3, 5])
ALPHA = 0.6


def tiny_prior(kind, scale=1.0) -> GaussianEmissions:
    return GaussianEmissions(kind, np.array([0.1, 0.0]), 0.5, 3.0, np.array([0.5, 0.8]) * scale)


def run_engine(kind, collapsed, n_sweeps):
    """The number of the states of each sweep, through the engine as the loop calls it."""
    engine = VectorEngine(2, ALPHA, tiny_prior(kind), collapsed, np.zeros((0, 2)))
    shard = VectorShard(TINY, TINY_OFFSETS, 0, 0)
    shared = engine.start(np.random.default_rng(0))
    state = engine.open(shared, shard, np.zeros(2, np.uint64))
    generator = np.random.default_rng(8)
    codes = np.empty(n_sweeps, np.int64)
    for s in range(n_sweeps):
        found = engine.sweep(shared, shard, state, np.array([8, s], np.uint64))
        if not collapsed:  # which has no parameters to draw
            shared, _ = engine.update(shared, found, generator)
        codes[s] = int("".join(map(str, state["states"])), 2)
    return codes[1:]


@pytest.mark.parametrize("collapsed", [True, False], ids=["collapsed", "blocked"])
@pytest.mark.parametrize("kind", KINDS)
def test_long_run_has_the_enumerated_posterior(kind, collapsed):
    """Frequencies of all likely states, false alarms 1e-6 (Bonferroni, batch means)."""

    def posterior(prior, alpha):
        return normalize(
            [log_joint(prior, TINY, s, TINY_OFFSETS, alpha, 2) for s in all_states(5, 2)]
        )

    codes = run_engine(kind, collapsed, 40_000 if collapsed else 5_000)
    exact = posterior(tiny_prior(kind), ALPHA)
    likely = np.flatnonzero(exact > 0.004)
    assert len(likely) > 10
    indicators = (codes[:, None] == likely).astype(float)
    errors = np.sqrt(batch_means_variance(indicators, n_batches=100))
    z = (indicators.mean(axis=0) - exact[likely]) / errors
    assert np.abs(z).max() < bonferroni_threshold(len(likely))
    # and the run is long enough to tell a posterior that is off
    wrong = posterior(tiny_prior(kind, 5.0), ALPHA * 3)
    z = (indicators.mean(axis=0) - wrong[likely]) / errors
    assert np.abs(z).max() > bonferroni_threshold(len(likely))


def test_the_trace_shows_the_enumerated_joint():
    rng, vectors, states = data(5)
    for kind in KINDS:
        prior = random_emissions(rng, kind, 2)
        engine = VectorEngine(3, 0.7, prior, False, np.zeros((0, 2)))
        found = gaussian.statistics(prior.kind, vectors, states, OFFSETS, 3)
        _, info = engine.update(Globals("sweep"), found, rng)
        exact = log_joint(prior, vectors, states, OFFSETS, 0.7, 3)
        assert info["log_joint"] == pytest.approx(exact, abs=1e-9)
    assert log_rows(np.zeros((4, 3), np.int64), 0.7) == 0
