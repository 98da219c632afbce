"""The solver for large sparse graphs against inversion, and the bounds it rests on."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from support import grasshopper_reference as naive

import palaver as pv
from palaver.errors import InputError
from palaver.ranking.flow import Flow
from palaver.ranking.kernels import walks
from palaver.ranking.walk import make_walk


def graph(kind, n, seed):
    draw = np.random.default_rng(seed)
    W = draw.random((n, n)) * (draw.random((n, n)) < min(1, 6 / n))
    if kind == "undirected":
        return W + W.T
    if kind == "disconnected":
        group = np.arange(n) % 3
        return W * (group[:, None] == group)
    if kind == "isolated":
        W[:, ::4] = 0
        W[::4] = 0
    if kind == "self-edges":
        return W + np.diag(draw.random(n) * 5)
    if kind == "star":
        W[:] = 0
        W[0, 1:] = W[1:, 0] = draw.integers(1, 3, n - 1)
    return W


KINDS = ("directed", "undirected", "disconnected", "isolated", "self-edges", "star")


def assert_same(W, prior, weight, escape, top=None):
    exact = pv.grasshopper(W, prior, weight, top, escape, solver="exact")
    found = pv.grasshopper(sparse.csr_matrix(W), prior, weight, top, escape, solver="iterative")
    np.testing.assert_array_equal(found.order, exact.order)
    np.testing.assert_array_equal(found.tied, exact.tied)
    assert np.all(np.abs(found.scores - exact.scores) <= found.errors + 1e-9 * exact.scores)
    assert np.all(found.errors <= 1.01e-3 * found.scores)


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_inversion(kind, weight):
    for n in (1, 2, 7, 35):
        uneven = np.random.default_rng(n).random(n) ** 4
        for prior in (None, uneven, np.where(np.arange(n) % 3, uneven, 0) + (n < 3)):
            for escape in (0.0, 0.4):
                assert_same(graph(kind, n, n), prior, weight, escape)


@pytest.mark.parametrize("kind", KINDS)
def test_weight_one(kind):
    compared = 0
    for n in (2, 7, 40):
        for seed in range(3):
            W = graph(kind, n, seed)
            try:
                pv.grasshopper(W, weight=1, solver="exact")
            except InputError as error:
                with pytest.raises(InputError, match=str(error)[:40]):
                    pv.grasshopper(W, weight=1, solver="iterative")
                continue
            compared += 1
            prior = np.random.default_rng(seed).random(n) + 0.1
            assert_same(W, prior, 1.0, 0.0)
            assert_same(W, prior, 1.0, 0.3)
    assert compared or kind == "disconnected"


def test_a_ring_is_all_ties():
    ring = sparse.csr_matrix(np.roll(np.eye(50), 1, axis=1))
    for weight in (0.6, 1.0):
        ranking = pv.grasshopper(ring, weight=weight, top=1, solver="iterative")
        assert ranking.order.tolist() == [0]
        assert ranking.tied.all()
        assert_same(ring.toarray(), None, weight, 0.0, top=2)


@pytest.mark.parametrize("weight", [0.9999, 1.0])
def test_a_chain_mixes_slowly(weight):
    """Krylov solvers crawl along a chain of 600 items; the factorization does not."""
    links = np.random.default_rng(1).random(599) + 0.5
    chain = sparse.diags([links, links], [1, -1]).tocsr()
    exact = pv.grasshopper(chain, weight=weight, top=8, solver="exact")
    found = pv.grasshopper(chain, weight=weight, top=8, solver="iterative")
    np.testing.assert_array_equal(found.order, exact.order)
    assert not found.tied.any()
    np.testing.assert_allclose(found.scores, exact.scores, rtol=1e-3)


def test_near_ties_are_resolved():
    """Items that differ by a billionth are told apart, those by a quadrillionth are tied."""
    W = np.zeros((40, 40))
    W[:20, 20:] = np.eye(20)
    prior = np.ones(40)
    prior[7] += 1e-8
    ranking = pv.grasshopper(W, prior, 0.5, top=2, solver="iterative")
    assert ranking.order[0] == 27
    assert not ranking.tied[0]
    prior[7] = 1 + 1e-15
    ranking = pv.grasshopper(W, prior, 0.5, top=1, solver="iterative")
    assert ranking.order[0] == 20
    assert ranking.tied[0]


def test_a_graph_of_thousands():
    draw = np.random.default_rng(0)
    n, m = 1500, 10_000
    W = sparse.csr_matrix(
        (draw.random(m), (draw.integers(0, n, m), (n * draw.random(m) ** 2).astype(int))),
        shape=(n, n),
    )
    exact = pv.grasshopper(W, weight=0.9, top=40, solver="exact")
    tracemalloc.start()
    found = pv.grasshopper(W, weight=0.9, top=40)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(found.order, exact.order)
    assert peak < n * n  # bytes: an eighth of a dense matrix
    assert found.errors.any()
    many = pv.grasshopper(W, weight=0.9, top=n // 5)  # inversion pays where many are asked for
    assert not many.errors.any()


def test_bounds_hold_at_every_stage():
    W = graph("directed", 80, 5)
    prior = np.random.default_rng(6).random(80)
    walk = make_walk(W, prior, 0.9)
    M = 0.9 * walk.steps.toarray()
    flow = Flow(walk.steps * 0.9, np.column_stack((np.ones(80), walk.prior)), 0.2)
    D, start = np.ones(80), np.ones(80)
    touched = 0
    for item in (4, 17, 33, 60):
        for limit in (0.5, 0.1, 1e-2, 1e-6):
            flow.settle(limit, limit / 80)
            y, z = np.linalg.solve(
                (np.eye(80) - D[:, None] * M).T, np.column_stack((start, walk.prior))
            ).T
            for i in range(80):
                (y_low, y_high), (z_low, z_high) = flow.limits(i)
                assert y_low - 1e-12 <= y[i] <= y_high + 1e-12
                assert z_low - 1e-14 <= z[i] <= z_high + 1e-14
                touched += y_high > y_low
            assert np.abs(flow.visits[:, 0] - y).max() <= limit * y.max() * 2
        flow.absorb(item)
        D[item], start[item] = 0.2, 0.0
    assert touched > 500  # the bounds were put to the test


def test_pushes_equal_their_definition():
    draw = np.random.default_rng(7)
    W = graph("self-edges", 30, 8)
    moves = 0.8 * make_walk(W, None, 0.5).steps
    dense = moves.toarray()
    passes = draw.choice([0.0, 0.3, 1.0], 30)
    is_open = draw.random(30) < 0.8
    starts = draw.random((30, 2))
    visits, residuals = np.zeros((30, 2)), starts.copy()
    arrays = (moves.indptr.astype(np.int64), moves.indices.astype(np.int32), moves.data,
              moves.diagonal(), passes, is_open)  # fmt: skip
    alone = np.zeros(30), starts[:, 0].copy()
    for step in range(60):
        limits = np.array([10.0**-step, 10.0**-step])
        walks.push_two_visits(*arrays, limits, limits / 2, step % 2 == 0, visits, residuals)
        expected = starts + dense.T @ (passes[:, None] * visits) - visits
        np.testing.assert_allclose(residuals, expected, atol=1e-13)
        walks.push_visits(*arrays, limits[0], limits[0] / 2, step % 2 == 0, *alone)
    solution = np.linalg.solve((np.eye(30) - passes[:, None] * dense).T, starts)
    np.testing.assert_allclose(visits, solution, rtol=1e-10)
    np.testing.assert_allclose(alone[0], solution[:, 0], rtol=1e-10)


def test_best_two_and_extent():
    visits = np.array([[1.0, 4], [3, 0], [2, 2], [9, 9]])
    mask = np.array([True, True, True, False])
    assert walks.best_two(visits, np.array([1.0, 0.0]), mask) == (1, 3.0, 2.0)
    assert walks.best_two(visits, np.array([0.0, 1.0]), mask) == (0, 4.0, 2.0)
    assert walks.best_two(visits, np.array([1.0, 1.0]), ~mask)[0] == 3
    assert walks.best_two(visits, np.array([1.0, 1.0]), np.zeros(4, bool))[0] == -1
    extent = walks.residual_extent(
        np.array([0.5, -0.2, -0.3, 0.1, 0.2]), np.array([1, 1, 0, 1, 0], bool)
    )
    np.testing.assert_allclose(extent, [[0.5, 0.2], [0.2, 0.3]])


def test_kernels_compile_once():
    assert len(walks.push_visits.signatures) == 1
    assert len(walks.push_two_visits.signatures) == 1


def test_reference_agrees_on_a_small_graph():
    W = graph("directed", 12, 9)
    order, scores = naive.rank(W, None, 0.7)
    found = pv.grasshopper(W, weight=0.7, solver="iterative")
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_allclose(found.scores, scores, rtol=2e-3)
