"""Beam filtering and sampling against enumeration of all paths, and sticks that all agree on."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from palaver.kernels.random import open_stream, uniforms
from palaver.models.states.kernels import beam, beam_trees, levels, sticks

NO_GROUPS, ALL = np.zeros(0, np.int64), np.ones((1, 64), np.uint8)


def problem(seed, length=5, n_states=4, n_extra=1):
    """Rows, emissions in two parts, symbols, and slices under some path."""
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.full(n_states, 0.5), n_states + 1)
    emissions = generator.random((3, n_states))
    symbols = generator.integers(0, 3, length)
    path, source = [], n_states
    for _ in range(length):
        source = generator.choice(n_states, p=rows[source])
        path.append(source)
    sources = [n_states, *path[:-1]]
    slices = generator.random(length) * rows[sources, path]
    known = emissions[:, : n_states - n_extra].copy()
    return rows, known, emissions[:, n_states - n_extra :].copy(), symbols, slices


FLOOR = 1e-36


def run_filter(rows, known, extra, symbols, slices, groups=NO_GROUPS, allowed=ALL, sliced=True):
    length, n_states = len(symbols), rows.shape[1]
    active, masses = np.empty((length + 1, n_states), np.int16), np.empty((length + 1, n_states))
    sizes, table = np.empty(length + 1, np.int64), beam.padded(rows)
    assert beam.filter_states(
        symbols, slices, sliced, table, *beam.list_states(known, FLOOR), known, extra, False,
        groups, allowed, np.empty(table.shape[1]), active, masses, sizes,
    )  # fmt: skip
    return active, masses, sizes


def paths(rows, known, extra, symbols, slices, groups=NO_GROUPS, allowed=ALL, sliced=True):
    """Every possible path with its weight: emissions alone under slices, which are uniform."""
    emissions = np.hstack((known, extra))
    n_states = rows.shape[1]
    found = {}
    for path in product(range(n_states), repeat=len(symbols)):
        steps = rows[[n_states, *path[:-1]], list(path)]
        admitted = not sliced or (steps >= slices).all()
        if len(groups):
            admitted &= all(allowed[g, k] for g, k in zip(groups, path, strict=True))
        if admitted:
            found[path] = np.prod([emissions[w, k] for w, k in zip(symbols, path, strict=True)])
            found[path] *= 1 if sliced else np.prod(steps)
    total = sum(found.values())
    return {path: weight / total for path, weight in found.items()}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_states", [1, 4, 9])
@pytest.mark.parametrize("sliced", [True, False])
def test_filter_is_the_enumeration(seed, n_states, sliced):
    length = 5 if n_states < 9 else 4
    given = problem(seed, length, n_states, min(n_states - 1, 1))
    active, masses, sizes = run_filter(*given, sliced=sliced)
    for t in range(length):
        prefix = (*given[:3], given[3][: t + 1], given[4][: t + 1])
        exact = np.zeros(n_states)
        for path, probability in paths(*prefix, sliced=sliced).items():
            exact[path[-1]] += probability
        found = np.zeros(n_states)
        here = slice(sizes[t + 1])
        found[active[t + 1, here]] = masses[t + 1, here]
        np.testing.assert_allclose(found, exact, atol=1e-10)


def test_lists_name_the_states_above_the_floor():
    emissions = np.array([[0.5, 0.0, 1.0], [0.0, 0.0, 0.0], [0.2, 0.3, 0.0]])
    limits, states, values = beam.list_states(emissions, 0.1)
    assert limits.tolist() == [0, 2, 2, 4]
    assert states.tolist() == [0, 2, 0, 1]
    assert values.tolist() == [0.5, 1.0, 0.2, 0.3]


def test_names_of_states_do_not_matter():
    rows, known, extra, symbols, slices = problem(1, n_extra=0)
    order = np.array([2, 0, 3, 1])
    renamed = rows[np.append(order, 4)][:, order]
    plain, other = (
        run_filter(r, e, extra, symbols, slices)
        for r, e in ((rows, known), (renamed, known[:, order]))
    )
    for t in range(1, len(symbols) + 1):
        first, second = np.zeros(4), np.zeros(4)
        first[plain[0][t, : plain[2][t]]] = plain[1][t, : plain[2][t]]
        second[order[other[0][t, : other[2][t]]]] = other[1][t, : other[2][t]]
        np.testing.assert_allclose(second, first, rtol=1e-12)


@pytest.mark.parametrize("sliced", [True, False])
@pytest.mark.parametrize("with_groups", [False, True])
def test_samples_have_the_probabilities_of_paths(with_groups, sliced):
    given = problem(3)
    rows, slices = given[0], given[4]
    groups, allowed = NO_GROUPS, ALL
    if with_groups:
        best = max(paths(*given), key=paths(*given).get)
        groups, allowed = np.array([0, 1, 0, 0, 0]), np.ones((2, 4), np.uint8)
        allowed[1, (best[1] + 1) % 4] = 0
    exact = paths(*given, groups, allowed, sliced)
    active, masses, sizes = run_filter(*given, groups, allowed, sliced)
    columns, counts = rows.T.copy(), dict.fromkeys(exact, 0)
    stream, states, scratch = np.empty(4, np.uint64), np.empty(5, np.int16), np.empty(4)
    n = 4000
    for draw in range(n):
        open_stream(np.array([1, 2], np.uint64), draw, stream)
        beam.sample_states(active, masses, sizes, slices, sliced, columns, scratch, stream, states)
        counts[tuple(states.tolist())] += 1  # a KeyError is a path that is not possible
    p = np.array([exact[path] for path in exact])
    found = np.array([counts[path] for path in exact])
    rare = n * p < 20  # together: one by one their counts are not normal
    if rare.any():
        p, found = (np.append(v[~rare], v[rare].sum()) for v in (p, found))
    z = (found - n * p) / np.sqrt(n * p * (1 - p) + 1e-9)
    assert len(p) > 3
    assert np.abs(z).max() < 5.5  # false alarms under 1e-5


def twin_sweep(symbols, offsets, rows, emissions, slices, key):
    """The beam sampler, dense and slow, from the same uniforms."""
    states = np.empty(len(symbols), int)
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        beliefs = []
        for t in range(first, last):
            if t == first:
                reach = (rows[-1] >= slices[t]).astype(float)
            else:
                reach = beliefs[-1] @ (rows[:-1] >= slices[t])
            belief = reach * emissions[symbols[t]]
            beliefs.append(belief / belief.sum())
        draws = uniforms(key, s, last - first)
        for i, t in enumerate(range(last - 1, first - 1, -1)):
            weights = beliefs[t - first].copy()
            if t < last - 1:
                weights *= rows[:-1, states[t + 1]] >= slices[t + 1]
            cumulative = np.cumsum(weights)
            states[t] = np.searchsorted(cumulative, draws[i] * cumulative[-1], side="right")
    return states


@pytest.mark.parametrize("sharp", [False, True])
@pytest.mark.parametrize("n_states", [2, 12, 40])
def test_sweep_is_its_naive_twin(n_states, sharp):
    generator = np.random.default_rng(n_states)
    rows = generator.dirichlet(np.full(n_states, 0.3), n_states + 1)
    emissions = generator.random((7, n_states))
    if sharp:  # most words next to impossible in most states, which are left out
        emissions *= np.where(generator.random((7, n_states)) < 0.7, 1e-37, 1.0)
    offsets = np.array([0, 6, 6, 7, 30])
    symbols = generator.integers(0, 7, 30)
    states = generator.integers(0, n_states, 30).astype(np.int16)
    rows = np.maximum(rows, 1e-3)  # so that any state may follow any
    key, slices = np.array([5, 6], np.uint64), np.empty(30)
    smallest = beam.draw_slices(states, offsets, 0, rows, key, slices)
    assert smallest == slices.min() > 0
    before = states.copy()
    beam.resample_states(
        symbols, offsets, 0, slices, True, rows, *beam.list_states(emissions, FLOOR), emissions,
        np.zeros((7, 0)), NO_GROUPS, ALL, key, states,
    )  # fmt: skip
    np.testing.assert_array_equal(
        states, twin_sweep(symbols, offsets, rows, emissions, slices, key)
    )
    assert (states != before).any()


@pytest.mark.parametrize("least", [1e-30, 1e-40])
def test_impossible_looking_paths_stay_possible(least):
    """The one path that the slices leave underflows, or is not listed: it is found all the same."""
    rows = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    emissions = np.array([[1.0, least], [least, 1.0]])
    offsets, symbols = np.array([0, 40]), np.zeros(40, np.int64)
    slices = np.full(40, 0.4)
    allowed, groups = np.array([[1, 1], [0, 1]], np.uint8), np.zeros(40, np.int64)
    groups[-1] = 1
    rows[0, 1] = 0.1  # nothing leads from the likely state to the last one
    states = np.zeros(40, np.int16)
    beam.resample_states(
        symbols, offsets, 0, slices, True, rows, *beam.list_states(emissions, FLOOR), emissions,
        np.zeros((2, 0)), groups, allowed, np.array([1, 1], np.uint64), states,
    )  # fmt: skip
    assert (states == 1).all()


def table(n_states=2, room=40, seed=0):
    generator = np.random.default_rng(seed)
    betas, rows = np.zeros(room + 1), np.zeros((room + 1, room + 1))
    places = [*range(n_states), room]
    betas[places] = generator.dirichlet(np.ones(n_states + 1))
    rows[np.ix_(places, places)] = generator.dirichlet(np.ones(n_states + 1), n_states + 1)
    reached = np.zeros(room + 1, bool)
    reached[places] = True
    return betas, rows, reached


def test_everybody_breaks_the_same_sticks():
    """However far a shard extends, the states are the same, and rows stay distributions."""
    key = np.array([3, 4], np.uint64)
    few, many = table(room=20), table(room=40)
    n_few, enough = sticks.break_sticks(*few[:2], 2, 0.8, 2.0, 0.1, key, 0.05, 0, few[2])
    assert enough
    n_many, _ = sticks.break_sticks(*many[:2], 2, 0.8, 2.0, 0.1, key, 1e-3, 12, many[2])
    assert n_many > n_few
    np.testing.assert_array_equal(few[0][:n_few], many[0][:n_few])
    np.testing.assert_array_equal(few[1][:n_few, :n_few], many[1][:n_few, :n_few])
    for betas, rows, n in ((*few[:2], n_few), (*many[:2], n_many)):
        assert betas.sum() == pytest.approx(1, abs=1e-12)
        used = [*range(n), len(rows) - 1]
        np.testing.assert_allclose(rows[used].sum(axis=1), 1, atol=1e-12)


def test_rests_that_matter_are_below_the_smallest_slice():
    for seed in range(20):
        betas, rows, reached = table(room=400, seed=seed)
        key = np.array([seed, 4], np.uint64)
        n, enough = sticks.break_sticks(betas, rows, 2, 0.8, 3.0, 0.0, key, 1e-3, 0, reached)
        assert enough
        assert rows[reached, -1].max() < 1e-3
        lost = ~reached[:n]
        assert (rows[reached][:, :n][:, lost] < 1e-3).all()  # what is not reached cannot be


def test_sticks_have_their_expected_sizes():
    """E[beta_new / rest] = (1 - d) / (1 + gamma + l d - d); E[row share] = beta_new / rest."""
    gamma, discount, n = 2.0, 0.2, 4000
    shares = np.empty((n, 3))
    for i in range(n):
        betas, rows, _ = table(room=4)
        rest, before = betas[-1], rows[0, -1]
        sticks.break_stick(betas, rows, 2, 0.7, gamma, discount, np.array([i, 9], np.uint64))
        expected = betas[2] / rest
        shares[i] = expected, rows[0, 2] / before - expected, rows[2, 0] - betas[0]
    exact = np.array([(1 - discount) / (1 - discount + gamma + 3 * discount), 0.0, 0.0])
    z = (shares.mean(axis=0) - exact) / (shares.std(axis=0) / np.sqrt(n))
    assert np.abs(z).max() < 5.5


def test_tables_have_their_expected_number():
    counts, weights = np.array([[7, 1, 0], [3, 0, 2]]), np.array([0.5, 0.2, 1.5])
    draws = np.array(
        [sticks.draw_tables(counts, weights, np.array([i, 1], np.uint64)) for i in range(4000)]
    )
    exact = [
        sum(a / (a + i) for row in counts for i in range(row[k])) for k, a in enumerate(weights)
    ]
    z = (draws.mean(axis=0) - exact) / np.maximum(draws.std(axis=0) / np.sqrt(4000), 1e-12)
    assert np.abs(z).max() < 5.5
    assert (draws[:, 1] == 1).all()


def test_words_of_a_level_have_the_dirichlet_multinomial():
    counts = np.array([[3, 0, 700], [0, 0, 2], [1, 0, 1], [1, 0, 600]], np.int32)
    for k in range(3):  # some columns at a time
        first = 2 * (k // 2)
        values, occurrences, offsets = levels.count_shapes(counts, first, first + 2)
        part = slice(offsets[k - first], offsets[k - first + 1])
        logs = [
            np.log((eta + np.arange(n)[:, None]) if n else np.ones((1, 1))).sum()
            for eta in (0.3,)
            for n in counts[:, k]
        ]
        total = np.log(4 * 0.3 + np.arange(counts[:, k].sum())).sum()
        found = levels.log_words(values[part], occurrences[part], 0.3, 4)
        assert found == pytest.approx(sum(logs) - total, abs=1e-9)


def test_trees_without_slices_are_enumerated():
    generator = np.random.default_rng(0)
    rows = generator.dirichlet(np.ones(3), 4)
    logs = generator.normal(0, 1.5, (5, 3))
    parents = np.array([-1, 0, 0, 2, -1], np.int32)
    offsets = np.array([0, 4, 5])
    exact, total = np.zeros((5, 3)), 0.0
    for path in product(range(3), repeat=5):
        sources = [path[p] if p >= 0 else 3 for p in parents]
        weight = np.exp(sum(logs[b, k] for b, k in enumerate(path)))
        weight *= np.prod([rows[j, k] for j, k in zip(sources, path, strict=True)])
        total += weight
        exact[np.arange(5), path] += weight
    found = np.empty((5, 3))
    likelihoods = beam_trees.tree_posteriors(logs, parents, offsets, rows, found)
    np.testing.assert_allclose(found, exact / total, atol=1e-10)
    assert likelihoods.sum() == pytest.approx(np.log(total), abs=1e-10)
    draws, n = np.zeros((5, 3)), 4000
    slices = np.zeros(5)
    keys = generator.integers(2**64, size=(n, 2), dtype=np.uint64)
    for i in range(n):
        states = np.zeros(5, np.int16)
        beam_trees.beam_trees(
            logs.copy(), parents, offsets, 0, slices, False, rows, NO_GROUPS, ALL,
            keys[i], states,
        )  # fmt: skip
        draws[np.arange(5), states] += 1 / n
    assert (np.abs(draws - found) < 5.5 * np.sqrt(found * (1 - found) / n) + 1e-9).all()


def test_trees_with_slices_have_the_possible_paths():
    generator = np.random.default_rng(2)
    rows = generator.dirichlet(np.ones(3), 4)
    logs = generator.normal(0, 1.0, (4, 3))
    parents, offsets = np.array([-1, 0, 0, 2], np.int32), np.array([0, 4])
    start = np.zeros(4, np.int16)
    slices = np.empty(4)
    beam_trees.draw_tree_slices(
        start, parents, offsets, 0, rows, np.array([3, 3], np.uint64), slices
    )
    exact = {}
    for path in product(range(3), repeat=4):
        sources = [path[p] if p >= 0 else 3 for p in parents]
        if all(rows[j, k] >= u for j, k, u in zip(sources, path, slices, strict=True)):
            exact[path] = np.exp(sum(logs[b, k] for b, k in enumerate(path)))
    total, n = sum(exact.values()), 4000
    keys = generator.integers(2**64, size=(n, 2), dtype=np.uint64)
    counts = dict.fromkeys(exact, 0)
    for i in range(n):
        states = start.copy()
        beam_trees.beam_trees(
            logs.copy(), parents, offsets, 0, slices, True, rows, NO_GROUPS, ALL,
            keys[i], states,
        )  # fmt: skip
        counts[tuple(states.tolist())] += 1
    assert len(exact) > 3
    for path, weight in exact.items():
        p = weight / total
        assert abs(counts[path] / n - p) < 5.5 * np.sqrt(p * (1 - p) / n) + 1e-9
