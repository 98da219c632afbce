"""GRASSHOPPER against direct inversion at every step, and what it must refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import grasshopper_reference as naive

import palaver as pv
from palaver.errors import InputError, ParameterError
from palaver.ranking import exact


def graph(kind, n, seed):
    draw = np.random.default_rng(seed)
    dense = draw.random((n, n))
    if kind == "undirected":
        return dense + dense.T
    if kind == "directed":
        return dense * (draw.random((n, n)) < 0.3)
    if kind == "weighted":
        return 10.0 ** draw.uniform(-6, 6, (n, n)) * (draw.random((n, n)) < 0.5)
    if kind == "disconnected":
        group = np.arange(n) % 3
        return (dense + dense.T) * (group[:, None] == group)
    if kind == "isolated":
        dense[:, ::4] = 0
        dense[::4] = 0
        return dense
    if kind == "self-edges":
        return np.diag(draw.random(n) * 5) + dense * (draw.random((n, n)) < 0.1)
    if kind == "symmetric":  # every item is like every other: ties everywhere
        return np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)
    raise ValueError(kind)


KINDS = ("undirected", "directed", "weighted", "disconnected", "isolated", "self-edges",
         "symmetric")  # fmt: skip


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.95, 0.9999])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_direct_inversion_at_every_step(kind, weight):
    for seed, n in enumerate((1, 2, 5, 17, 90)):
        W = graph(kind, n, seed)
        prior = None if seed % 2 else np.random.default_rng(seed).random(n) + 0.01
        order, scores = naive.rank(W, prior, weight)
        for given_graph in (W, sparse.csc_matrix(W)):
            ranking = pv.grasshopper(given_graph, prior, weight)
            np.testing.assert_array_equal(ranking.order, order)
            np.testing.assert_allclose(ranking.scores, scores, rtol=1e-8)


@pytest.mark.parametrize("escape", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("kind", KINDS)
def test_escape_equals_direct_inversion(kind, escape):
    W = graph(kind, 40, 3)
    prior = np.random.default_rng(4).random(40)
    order, scores = naive.rank(W, prior, 0.7, escape=escape)
    ranking = pv.grasshopper(W, prior, 0.7, escape=escape)
    np.testing.assert_array_equal(ranking.order, order)
    np.testing.assert_allclose(ranking.scores, scores, rtol=1e-8)


def test_escape_goes_from_grasshopper_to_the_stationary_distribution():
    W = graph("directed", 60, 5)
    by_rank = pv.rank(W, method="pagerank", weight=0.8).order
    assert not np.array_equal(pv.grasshopper(W, weight=0.8).order, by_rank)
    np.testing.assert_array_equal(pv.grasshopper(W, weight=0.8, escape=1).order, by_rank)
    np.testing.assert_array_equal(pv.grasshopper(W, weight=0.8, escape=1 - 1e-9).order, by_rank)


def test_many_steps_of_the_lemma_and_groups_that_hardly_touch():
    """Visits fall by twelve orders of magnitude once each group has its item."""
    n, groups = 300, 3
    draw = np.random.default_rng(6)
    kind = np.arange(n) % groups
    W = draw.random((n, n)) * (kind[:, None] == kind)
    W += 1e-12 * draw.random((n, n))
    for weight in (1.0, 1 - 1e-10):
        ranking = pv.grasshopper(W, weight=weight)
        assert set(kind[ranking.order[:3]]) == {0, 1, 2}
        P = naive.transitions(W, np.full(n, 1 / n), weight)
        for step in (3, 4, 70, 150, 298):
            ranked = ranking.order[:step].tolist()
            v = naive.visits(P, ranked)
            assert naive.lowest_of_the_best(v, list(v)) == ranking.order[step]
            np.testing.assert_allclose(ranking.scores[step], v[ranking.order[step]], rtol=1e-6)


def test_the_lemma_itself():
    """The kept factors multiply out to the inverse of what is left."""
    W = graph("directed", 150, 7)
    walk = pv.grasshopper(W, weight=0.9, top=1).walk
    P = walk.dense()
    for escape in (0.0, 0.3):
        ranked = [5]
        state = exact.Visits(walk, ranked, escape)
        for item in np.random.default_rng(8).permutation(np.delete(np.arange(150), 5))[:100]:
            ranked.append(int(item))
            state.absorb(int(item), ranked)
        expected = naive.visits_with_escape(P, ranked, escape)
        left = list(expected)
        np.testing.assert_allclose(
            state.totals[left] / len(left), list(expected.values()), rtol=1e-9
        )


def test_weight_zero_returns_the_order_of_the_prior():
    W = graph("weighted", 12, 9)
    prior = np.array([3, 1e-13, 2e-13, 0, 3, 1, 0, 5, 2, 2, 2, 4])
    ranking = pv.grasshopper(W, prior, weight=0)
    assert ranking.order.tolist() == [7, 11, 0, 4, 5 + 3, 9, 10, 5, 2, 1, 3, 6]
    order, scores = naive.rank(W, prior + 0.1, weight=0)
    even = pv.grasshopper(W, prior + 0.1, weight=0)
    np.testing.assert_array_equal(even.order, order)
    np.testing.assert_allclose(even.scores, scores)
    _, scores = naive.rank(W, prior + 0.1, weight=0, escape=0.4)
    np.testing.assert_allclose(pv.grasshopper(W, prior + 0.1, 0, escape=0.4).scores, scores)
    assert pv.grasshopper(W, weight=0).order.tolist() == list(range(12))
    assert pv.grasshopper(W, weight=0).tied.all()


def test_weight_one_needs_walks_that_meet():
    with pytest.raises(InputError, match=r"2 separate groups.*item 0, another item 2"):
        pv.grasshopper(np.kron(np.eye(2), np.ones((2, 2))), weight=1)
    two_traps = np.array([[0.0, 1, 1], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(InputError, match="2 separate groups"):
        pv.grasshopper(two_traps, weight=1)
    one_trap = np.array([[0.0, 1, 1], [0, 0, 1], [0, 0, 1]])
    assert pv.grasshopper(one_trap, weight=1).order[0] == 2
    # an item without edges jumps by the prior, and so joins the groups
    joined = np.kron(np.eye(2), np.ones((2, 2)))
    joined[0] = 0
    with pytest.raises(InputError, match="3 separate groups"):
        pv.grasshopper(np.kron(np.eye(3), np.ones((2, 2))), weight=1)
    order, _ = naive.rank(joined, weight=1 - 1e-12)
    assert pv.grasshopper(joined, weight=1).order[0] == order[0]


@pytest.mark.parametrize("link", [1e-17, 1e-30, 1e-98])
def test_groups_linked_more_weakly_than_rounding(link):
    W = np.kron(np.eye(2), np.ones((3, 3))) + np.diag(np.arange(6.0)) + link
    with pytest.raises(InputError, match="linked so weakly"):
        pv.grasshopper(W, weight=1)
    assert len(pv.grasshopper(W, weight=0.99)) == 6


@pytest.mark.parametrize("n", [2, 3, 8])
def test_periodic_walks_have_a_stationary_distribution(n):
    ring = np.roll(np.eye(n), 1, axis=1)
    ranking = pv.grasshopper(ring, weight=1)
    np.testing.assert_allclose(ranking.scores[0], 1 / n)
    assert ranking.order[0] == 0
    assert ranking.tied[0]
    star = np.zeros((n, n))
    star[0, 1:] = star[1:, 0] = 1
    ranking = pv.grasshopper(star, weight=1)
    np.testing.assert_allclose(ranking.scores[0], 1 / 2)
    order, scores = naive.rank(star, weight=1)
    np.testing.assert_array_equal(ranking.order, order)
    np.testing.assert_allclose(ranking.scores, scores)


def test_a_prior_with_zeros_is_never_jumped_to():
    W = np.zeros((4, 4))
    ranking = pv.grasshopper(W, [0, 0, 1, 0])
    assert ranking.order.tolist() == [2, 0, 1, 3]
    np.testing.assert_allclose(ranking.scores, [1, 1 / 3, 1 / 2, 1])


def test_a_prior_is_taken_in_proportion():
    W = graph("undirected", 9, 10)
    prior = np.arange(9.0)
    for factor in (1e-300, 1.0, 1e300):
        np.testing.assert_allclose(
            pv.grasshopper(W, prior * factor).scores, pv.grasshopper(W, prior / 36).scores
        )
    np.testing.assert_allclose(pv.grasshopper(W * 1e307).scores, pv.grasshopper(W).scores)


BAD_GRAPHS = {
    "not square": (np.ones((2, 3)), "square matrix"),
    "a vector": (np.ones(3), "square matrix"),
    "no items": (np.zeros((0, 0)), "no items"),
    "negative": (np.array([[1.0, -1], [0, 1]]), "from item 0 to item 1 has -1"),
    "not a number": (np.array([[1.0, 1], [np.nan, 1]]), "from item 1 to item 0 has nan"),
    "infinite": (sparse.csr_matrix([[1.0, 1], [1, np.inf]]), "from item 1 to item 1 has inf"),
    "words": ([["a", "b"], ["c", "d"]], "matrix of numbers"),
}


@pytest.mark.parametrize("case", BAD_GRAPHS)
def test_bad_graphs(case):
    bad, words = BAD_GRAPHS[case]
    with pytest.raises(InputError, match=words):
        pv.grasshopper(bad)


def test_bad_parameters():
    W = np.ones((3, 3))
    for prior, words in (([1, 2], "one number per item, 3"), ([1, -1, 1], "item 1 has -1"),
                         ([1, np.nan, 1], "item 1 has nan"), ([0, 0, 0], "zero for all"),
                         (["a", "b", "c"], "must be numbers")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            pv.grasshopper(W, prior)
    for name, bad in (("weight", 1.5), ("weight", np.nan), ("escape", -0.1), ("top", 0),
                      ("top", 2.5), ("top", True)):  # fmt: skip
        with pytest.raises(ParameterError, match=f"grasshopper: {name} must be"):
            pv.grasshopper(W, **{name: bad})
    assert len(pv.grasshopper(W, top=99)) == 3


def test_input_is_left_alone():
    W, prior = graph("directed", 20, 11), np.ones(20)
    for given_graph in (W, sparse.csr_matrix(W)):
        copy, before = given_graph.copy(), prior.copy()
        pv.grasshopper(given_graph, prior)
        assert abs(copy - given_graph).max() == 0
        np.testing.assert_array_equal(before, prior)


@pytest.mark.parametrize("kind", KINDS)
def test_absorbed_by_is_the_likeliest_end(kind, monkeypatch):
    W = graph(kind, 50, 12)
    prior = np.random.default_rng(13).random(50)
    ranking = pv.grasshopper(W, prior, 0.8, top=40)
    ends = [ranking.absorption(k) for k in (1, 2, 7, 40)]
    np.testing.assert_array_equal(ranking.absorbed_by, ends[-1])
    for k, found in zip((1, 2, 7, 40), ends, strict=True):
        chosen = ranking.order[:k]
        np.testing.assert_array_equal(found[chosen], chosen)
        items, probabilities = naive.absorption(W, chosen.tolist(), prior, 0.8)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        place = {item: column for column, item in enumerate(chosen)}
        reached = [probabilities[row, place[found[item]]] for row, item in enumerate(items)]
        np.testing.assert_allclose(reached, probabilities.max(axis=1), rtol=1e-6)
    monkeypatch.setattr("palaver.ranking.absorption._DENSE_ITEMS", 0)
    for k, found in zip((1, 2, 7, 40), ends, strict=True):
        np.testing.assert_array_equal(ranking.absorption(k), found)


def test_with_escape_a_chosen_item_is_still_its_own_end():
    W = np.array([[0, 1.0], [0.01, 1]])  # walks that escape from 0 stay at 1
    ranking = pv.grasshopper(W, weight=0.99, escape=0.9)
    assert ranking.absorbed_by.tolist() == [0, 1]


def three_groups(seed=0):
    """The toy of the paper's figure 1: 300 points in three groups of different density."""
    draw = np.random.default_rng(seed)
    centres = ((3.2, 5.0, 100, 0.5), (5.0, 4.0, 150, 0.35), (6.9, 5.2, 50, 0.55))
    points = np.vstack([draw.normal((x, y), s, (k, 2)) for x, y, k, s in centres])
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    return points, np.repeat([0, 1, 2], [100, 150, 50]), np.exp(-distances / 0.16)


def test_three_groups_of_figure_1():
    _, group, W = three_groups()
    ranking = pv.grasshopper(W, weight=1, top=10)
    assert len(set(group[ranking.order[:3]])) == 3
    by_centrality = pv.rank(W, method="pagerank", weight=1, top=10)
    assert len(set(group[by_centrality.order[:3]])) == 1
    ends = ranking.absorption(3)
    assert (group[ends] == group).mean() > 0.95


@given(st.integers(1, 8), st.integers(0, 10_000), st.floats(0.05, 0.99))
def test_any_small_graph(n, seed, weight):
    draw = np.random.default_rng(seed)
    W = draw.integers(0, 3, (n, n)) * (draw.random((n, n)) < 0.6)
    prior = draw.integers(0, 4, n) + (draw.random() < 0.5)
    prior[draw.integers(n)] += 1
    order, scores = naive.rank(W, prior, weight)
    ranking = pv.grasshopper(W, prior, weight)
    np.testing.assert_array_equal(ranking.order, order)
    np.testing.assert_allclose(ranking.scores, scores, rtol=1e-7)
