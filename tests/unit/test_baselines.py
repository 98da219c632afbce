"""Baseline rankings."""

import networkx
import numpy as np
import pytest

import palaver as pv
from palaver.errors import InputError, ParameterError
from palaver.ranking.baselines import METHODS


def graph(n=40, seed=0):
    draw = np.random.default_rng(seed)
    return draw.random((n, n)) * (draw.random((n, n)) < 0.2)


def test_pagerank_equals_networkx():
    W = graph()
    W[7] = 0  # no edge leaves it
    prior = np.random.default_rng(1).random(40)
    ours = pv.rank(W, method="pagerank", prior=prior)
    weights = dict(enumerate(prior / prior.sum()))
    theirs = networkx.pagerank(
        networkx.from_numpy_array(W, create_using=networkx.DiGraph), 0.85, weights,
        max_iter=1000, tol=1e-13, dangling=weights,
    )  # fmt: skip
    np.testing.assert_allclose(ours.scores, [theirs[item] for item in ours.order], rtol=1e-7)
    assert np.all(np.diff(ours.scores) <= 0)


@pytest.mark.parametrize("weight", [0.3, 0.85, 1.0])
def test_large_graphs_have_the_same_stationary_distribution(weight, monkeypatch):
    W, prior = graph(), np.random.default_rng(1).random(40)
    W[7] = 0
    small = pv.rank(W, method="pagerank", prior=prior, weight=weight)
    even = pv.rank(W, method="pagerank", weight=weight)
    monkeypatch.setattr("palaver.ranking.grasshopper._SMALL", 0)
    large = pv.rank(W, method="pagerank", prior=prior, weight=weight)
    np.testing.assert_array_equal(large.order, small.order)
    np.testing.assert_allclose(large.scores, small.scores, rtol=1e-8)
    again = pv.rank(W, method="pagerank", weight=weight)
    np.testing.assert_allclose(again.scores, even.scores, rtol=1e-8)


def test_lexrank_passes_over_what_is_similar():
    similar = np.array([[1, 0.9, 0.2, 0.2], [0.9, 1, 0.2, 0.2], [0.2, 0.2, 1, 0.1],
                        [0.2, 0.2, 0.1, 1]])  # fmt: skip
    assert set(pv.rank(similar, method="pagerank", top=2).order) == {0, 1}
    assert pv.rank(similar, method="lexrank").order.tolist() == [0, 2, 3, 1]
    assert pv.rank(similar, method="lexrank", threshold=0.95).order.tolist()[:2] == [0, 1]
    linked = (similar > 0.1).astype(float)
    apart = pv.rank(linked, method="lexrank", similarity=similar)
    assert apart.order.tolist() == [0, 2, 3, 1]


def test_mmr_by_hand():
    W = np.array([[0, 4, 2.0], [4, 0, 1], [2, 1, 0]])
    ranking = pv.rank(W, method="mmr", weight=0.5)
    assert ranking.order.tolist() == [0, 2, 1]
    np.testing.assert_allclose(ranking.scores, [0.5, 0.25 - 0.25, 5 / 12 - 0.5])
    by_prior = pv.rank(W, method="mmr", prior=[1, 2, 3], weight=1)
    assert by_prior.order.tolist() == [2, 1, 0]


def test_degree_and_random():
    W = np.array([[0, 0, 5.0], [1, 0, 1], [0, 0, 0]])
    assert pv.rank(W, method="degree").order.tolist() == [2, 0, 1]
    orders = {tuple(pv.rank(graph(), method="random", random_state=s).order) for s in range(5)}
    assert len(orders) == 5
    assert sorted(next(iter(orders))) == list(range(40))
    again = pv.rank(graph(), method="random", random_state=3, top=5)
    np.testing.assert_array_equal(
        again.order, pv.rank(graph(), method="random", random_state=3).order[:5]
    )


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_same_manners(method):
    W = graph()
    ranking = pv.rank(W, method=method, weight=0.7, top=6)
    assert ranking.method == method
    assert ranking.order.shape == ranking.scores.shape == ranking.tied.shape == (6,)
    assert len(set(ranking.order.tolist())) == 6
    assert set(ranking.absorbed_by) <= set(ranking.order)
    assert ranking.to_polars().columns == ["rank", "item", "score", "tied"]
    assert repr(ranking).startswith(f"Ranking({method}, 6 of 40: ")
    assert pv.rank(np.zeros((3, 3)), method=method).order.shape == (3,)
    assert pv.rank(np.ones((1, 1)), method=method).order.tolist() == [0]
    with pytest.raises(InputError, match="square"):
        pv.rank(np.ones((2, 3)), method=method)
    with pytest.raises(ParameterError, match=r"weight must be a number >= 0 and <= 1"):
        pv.rank(W, method=method, weight=2)


def test_unknown_method():
    with pytest.raises(ParameterError, match="rank: method must be one of 'grasshopper'"):
        pv.rank(np.ones((2, 2)), method="best")


def test_ties_go_to_the_lowest_number_and_are_marked():
    W = np.zeros((5, 5))
    W[0, [3, 1]] = W[4, 2] = 1
    ranking = pv.rank(W, method="degree")
    assert ranking.order.tolist() == [1, 2, 3, 0, 4]
    assert ranking.tied.tolist() == [True] * 5
    W[0, 2] = 2
    assert pv.rank(W, method="degree").tied.tolist() == [False, True, True, True, True]
