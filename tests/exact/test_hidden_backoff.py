"""Hidden states and chains of tags against all paths there are."""

import itertools

import numpy as np
import pytest

from palaver import rng
from palaver.kernels.random import uniforms
from palaver.models.taggers.hidden_backoff.kernels import states as kernels
from palaver.models.taggers.hidden_backoff.layout import make_layout
from palaver.models.taggers.kernels import tag_chains

OFFSETS = np.array([0, 4, 4, 5, 10])
TAGS = np.array([0, 1, 2, 1], np.int32)
CONVERSATIONS = np.array([0, 2, 4])
N_TYPES = 6


@pytest.fixture(params=["forward", "fork"])
def problem(request):
    generator = np.random.default_rng(4)
    layout = make_layout({"a": 3, "b": 2}, ["a", "b", "c"], [], request.param, False)
    start_allowed, moves_allowed = layout.allowed()
    start, moves = layout.parameters(
        start_allowed * generator.uniform(0.1, 1, layout.n_units),
        moves_allowed * generator.uniform(0.1, 1, (layout.n_units, layout.most)),
    )
    types = generator.integers(0, N_TYPES, OFFSETS[-1]).astype(np.int32)
    emissions = generator.uniform(0.05, 1, (N_TYPES, layout.most))
    return layout, start, moves, types, emissions


def paths(problem, sentence):
    """Yield every path of states of a sentence with its probability."""
    layout, start, moves, types, emissions = problem
    tag = TAGS[sentence]
    low, size = layout.units[tag], layout.n_states[tag]
    tokens = types[OFFSETS[sentence] : OFFSETS[sentence + 1]]
    for path in itertools.product(range(size), repeat=len(tokens)):
        probability = start[low + path[0]] if path else 1.0
        for before, after in itertools.pairwise(path):
            probability *= moves[low + before, after]
        for state, token in zip(path, tokens, strict=True):
            probability *= emissions[token, state]
        yield path, probability


def common(problem):
    layout, start, moves, types, emissions = problem
    return types, OFFSETS, TAGS, emissions, layout.units, start, moves


def test_expected_counts_equal_enumeration(problem):
    layout, start, moves, _, _ = problem
    starts, steps = np.zeros_like(start), np.zeros_like(moves)
    logs = kernels.expect_states(*common(problem), starts, steps)
    expected_starts, expected_steps, expected_logs = np.zeros_like(start), np.zeros_like(moves), 0.0
    for sentence in (0, 2, 3):
        low = layout.units[TAGS[sentence]]
        whole = sum(p for _, p in paths(problem, sentence))
        expected_logs += np.log(whole)
        for path, p in paths(problem, sentence):
            expected_starts[low + path[0]] += p / whole
            for before, after in itertools.pairwise(path):
                expected_steps[low + before, after] += p / whole
    np.testing.assert_allclose(logs, expected_logs, rtol=1e-12)
    np.testing.assert_allclose(starts, expected_starts, atol=1e-12)
    np.testing.assert_allclose(steps, expected_steps, atol=1e-12)


def test_best_states_equal_enumeration(problem):
    states = np.full(OFFSETS[-1], -1, np.int8)
    with np.errstate(divide="ignore"):
        logs = kernels.align_states(*common(problem), states)
    total = 0.0
    for sentence in (0, 2, 3):
        best, p = max(paths(problem, sentence), key=lambda pair: pair[1])
        assert tuple(states[OFFSETS[sentence] : OFFSETS[sentence + 1]]) == best
        total += np.log(p)
    np.testing.assert_allclose(logs, total, rtol=1e-12)


def test_drawn_states_equal_the_naive_twin_and_the_posterior(problem):
    _, start, moves, types, emissions = problem
    n_draws = 4000
    drawn = np.zeros((n_draws, OFFSETS[-1]), np.int8)
    for i in range(n_draws):
        key = rng.key(7, "test", 0, i)
        kernels.sample_states(*common(problem), CONVERSATIONS, 5, key, drawn[i])
    for sentence in (0, 2, 3):
        whole = sum(p for _, p in paths(problem, sentence))
        mine = drawn[:, OFFSETS[sentence] : OFFSETS[sentence + 1]]
        for path, p in paths(problem, sentence):
            share, expected = (mine == path).all(axis=1).mean(), p / whole
            # five standard errors: a false alarm in 2 million
            assert abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / n_draws) + 1e-12
    # the first conversation of the last draw again, from the same uniforms
    draws = iter(uniforms(rng.key(7, "test", 0, n_draws - 1), 5, 4))
    alpha = np.zeros((4, 3))
    for i, token in enumerate(types[:4]):
        before = start[:3] if i == 0 else alpha[i - 1] @ moves[:3]
        alpha[i] = before * emissions[token]
        alpha[i] /= alpha[i].sum()
    state = None
    for i in range(3, -1, -1):
        weights = alpha[i] if state is None else alpha[i] * moves[:3, state]
        state = int(np.searchsorted(np.cumsum(weights), next(draws) * weights.sum(), side="right"))
        assert drawn[-1, i] == state


@pytest.mark.parametrize("use_max", [True, False])
def test_scores_of_all_tags_equal_enumeration(problem, use_max):
    layout, start, moves, types, _ = problem
    emissions = np.random.default_rng(8).uniform(0.01, 1, (N_TYPES, layout.n_units))
    scores = np.empty((4, 3))
    kernels.score_sentences(types, OFFSETS, emissions, layout.units, start, moves, use_max, scores)
    for sentence in range(4):
        for tag in range(3):
            low, size = layout.units[tag], layout.n_states[tag]
            tokens = types[OFFSETS[sentence] : OFFSETS[sentence + 1]]
            values = []
            for path in itertools.product(range(size), repeat=len(tokens)):
                p = start[low + path[0]] if path else 1.0
                for before, after in itertools.pairwise(path):
                    p *= moves[low + before, after]
                for state, token in zip(path, tokens, strict=True):
                    p *= emissions[token, low + state]
                values.append(p)
            expected = np.log(max(values) if use_max else sum(values))
            np.testing.assert_allclose(scores[sentence, tag], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("use_max", [True, False])
def test_scores_of_long_sentences_do_not_vanish(problem, use_max):
    layout, start, moves, _, _ = problem
    emissions = np.random.default_rng(8).uniform(1e-9, 1e-8, (N_TYPES, layout.n_units))
    types = np.arange(500, dtype=np.int32) % N_TYPES
    scores = np.empty((1, 3))
    offsets = np.array([0, 500])
    kernels.score_sentences(types, offsets, emissions, layout.units, start, moves, use_max, scores)
    combine = np.maximum.reduce if use_max else np.logaddexp.reduce
    with np.errstate(divide="ignore"):
        for tag in range(3):
            own = slice(layout.units[tag], layout.units[tag + 1])
            steps = np.log(moves[own, : layout.n_states[tag]])
            best = np.log(start[own]) + np.log(emissions[types[0], own])
            for token in types[1:]:
                best = combine(best[:, None] + steps, axis=0) + np.log(emissions[token, own])
            assert scores[0, tag] == pytest.approx(combine(best), rel=1e-12)


@pytest.mark.parametrize("order", [2, 3])
def test_tags_of_conversations_equal_enumeration(order):
    generator = np.random.default_rng(order)
    n_tags, n_kinds = 3, 2
    conversations = np.array([0, 5, 5, 9])
    scores = generator.normal(0, 2, (9, n_tags))
    kinds = generator.integers(0, n_kinds, 9).astype(np.int8)
    n_histories = (n_tags + 1) ** (order - 1)
    moves = np.log(generator.dirichlet(np.ones(n_tags), (n_kinds, n_histories)))
    tags = np.full(9, -1, np.int32)
    tag_chains.best_tags(scores, kinds, conversations, moves, tags)
    posteriors = np.full((9, n_tags), np.nan)
    logs = tag_chains.tag_posteriors(scores, kinds, conversations, moves, posteriors)
    expected_logs = 0.0
    for first, last in ((0, 5), (5, 9)):
        found = {}
        for path in itertools.product(range(n_tags), repeat=last - first):
            total, padded = 0.0, (n_tags, n_tags, *path)
            for i, k in enumerate(range(first, last)):
                history = padded[i + 1] if order == 2 else padded[i] * (n_tags + 1) + padded[i + 1]
                total += moves[kinds[k], history, path[i]] + scores[k, path[i]]
            found[path] = total
        assert tuple(tags[first:last]) == max(found, key=found.get)
        weights = np.exp(list(found.values()))
        expected_logs += np.log(weights.sum())
        for i, k in enumerate(range(first, last)):
            for tag in range(n_tags):
                share = (
                    sum(w for path, w in zip(found, weights, strict=True) if path[i] == tag)
                    / weights.sum()
                )
                np.testing.assert_allclose(posteriors[k, tag], share, rtol=1e-9)
    np.testing.assert_allclose(logs, expected_logs, rtol=1e-12)


def test_skipped_histories_are_not_on_the_best_path():
    """With eight tags and scores that differ widely, most histories are skipped."""
    generator = np.random.default_rng(5)
    n_tags, n = 8, 400
    n_symbols = n_tags + 1
    scores = generator.normal(0, 4, (n, n_tags))
    kinds = generator.integers(0, 2, n).astype(np.int8)
    moves = np.log(generator.dirichlet(np.full(n_tags, 0.5), (2, n_symbols**2)) + 1e-6)
    tags = np.full(n, -1, np.int32)
    tag_chains.best_tags(scores, kinds, np.array([0, n]), moves, tags)
    values = np.full((n_symbols, n_symbols), -np.inf)  # last tag but one, last tag
    values[n_tags, n_tags] = 0.0
    origins = []
    for k in range(n):
        table = moves[kinds[k]].reshape(n_symbols, n_symbols, n_tags)
        paths = values[:, :, None] + table + scores[k]
        origins.append(paths.argmax(axis=0))
        values = np.full((n_symbols, n_symbols), -np.inf)
        values[:, :n_tags] = paths.max(axis=0)
    before, last = np.unravel_index(values.argmax(), values.shape)
    for k in range(n - 1, -1, -1):
        assert tags[k] == last
        before, last = origins[k][before, last], before
