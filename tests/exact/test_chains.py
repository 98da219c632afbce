"""Filtering, sampling and smoothing chains against the enumeration of all paths."""

from itertools import product

import numpy as np
import pytest
from support.gaussian_reference import draw

from palaver.kernels.chains import (
    chain_posteriors,
    count_transitions,
    draw_state,
    filter_chain,
    sample_chain,
    sample_chains,
    start_states,
)
from palaver.kernels.random import open_stream, uniforms


def problem(seed, length=5, n_states=3):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 2, (length, n_states)), rng.dirichlet(np.ones(n_states), n_states + 1)


def paths(logs, rows):
    """All paths with their log joint."""
    length, n_states = logs.shape
    every = list(product(range(n_states), repeat=length))
    joint = []
    for path in every:
        total = np.log(rows[n_states, path[0]]) + logs[0, path[0]]
        for t in range(1, length):
            total += np.log(rows[path[t - 1], path[t]]) + logs[t, path[t]]
        joint.append(total)
    return np.array(every), np.array(joint)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("length", [1, 2, 5])
def test_filter_and_posteriors_are_the_enumerated_ones(seed, length):
    logs, rows = problem(seed, length)
    every, joint = paths(logs, rows)
    evidence = np.logaddexp.reduce(joint)
    beliefs = np.empty_like(logs)
    assert filter_chain(logs, rows, beliefs) == pytest.approx(evidence, abs=1e-12)
    shares = np.exp(joint - evidence)
    exact = [[shares[every[:, t] == k].sum() for k in range(3)] for t in range(length)]
    np.testing.assert_allclose(beliefs[-1], exact[-1], atol=1e-12)
    posteriors = np.empty_like(logs)
    scores = chain_posteriors(logs, np.array([0, length]), rows, posteriors)
    np.testing.assert_allclose(posteriors, exact, atol=1e-12)
    assert scores[0] == pytest.approx(evidence, abs=1e-12)


def test_backward_draws_have_the_enumerated_conditionals():
    """Fed the same uniform numbers, the kernel and the enumeration draw the same path."""
    moved = set()
    for seed in range(40):
        logs, rows = problem(seed)
        every, joint = paths(logs, rows)
        key = np.array([seed, 1], np.uint64)
        states = np.empty(5, np.int16)
        stream = np.empty(4, np.uint64)
        open_stream(key, 7, stream)
        beliefs = np.empty_like(logs)
        filter_chain(logs, rows, beliefs)
        sample_chain(beliefs, rows, stream, states)
        left = np.ones(len(every), bool)
        for t, threshold in zip(range(4, -1, -1), uniforms(key, 7, 5), strict=True):
            weights = [np.exp(joint[left & (every[:, t] == k)]).sum() for k in range(3)]
            k = draw(weights, threshold)
            assert states[t] == k
            left &= every[:, t] == k
        moved.add(tuple(states))
    assert len(moved) > 15


def test_sequences_do_not_depend_on_each_other():
    logs, rows = problem(1, 9)
    key = np.array([3, 4], np.uint64)
    offsets = np.array([0, 2, 2, 6, 9])
    together, alone = np.empty(9, np.int16), np.empty(9, np.int16)
    total = sample_chains(logs, offsets, 10, rows, key, together)
    parts = 0.0
    for sequence in range(4):
        part = slice(offsets[sequence], offsets[sequence + 1])
        n = part.stop - part.start
        parts += sample_chains(logs[part], np.array([0, n]), 10 + sequence, rows, key, alone[part])
    np.testing.assert_array_equal(together, alone)
    assert total == pytest.approx(parts)


def test_a_state_that_cannot_be_is_never_drawn_and_nothing_underflows():
    rows = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    logs = np.full((60, 3), -np.inf)
    logs[:, 2] = -1e5  # only state 2 can emit, and nothing leads there
    states, posteriors = np.empty(60, np.int16), np.empty((60, 3))
    offsets, key = np.array([0, 60]), np.zeros(2, np.uint64)
    assert np.isfinite(sample_chains(logs, offsets, 0, rows, key, states))
    assert (states == 2).all()
    chain_posteriors(logs, offsets, rows, posteriors)
    np.testing.assert_allclose(posteriors, [[0, 0, 1]] * 60)


def test_long_sequences_stay_finite():
    rng = np.random.default_rng(2)
    logs, rows = rng.normal(0, 500, (5000, 20)), rng.dirichlet(np.full(20, 0.05), 21)
    posteriors = np.empty_like(logs)
    chain_posteriors(logs, np.array([0, 5000]), rows, posteriors)
    np.testing.assert_allclose(posteriors.sum(axis=1), 1, atol=1e-9)


def test_counts_and_first_states():
    states = np.array([0, 1, 1, 2, 2], np.int16)
    counts = np.zeros((4, 3), np.int64)
    count_transitions(states, np.array([0, 3, 3, 5]), counts)
    np.testing.assert_array_equal(counts, [[0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]])
    first = np.empty(4000, np.int16)
    start_states(np.array([0, 4000]), 0, 4, np.ones(2, np.uint64), first)
    assert np.abs(np.bincount(first) - 1000).max() < 150


def test_draw_state_skips_zero_weights():
    assert draw_state(np.array([0.0, 0.0, 2.0, 0.0]), 0.0) == 2
    assert draw_state(np.array([0.0, 1.0, 0.0]), 1 - 2**-53) == 1
    assert draw_state(np.array([0.25, 0.25, 0.5]), 0.5) == 2
