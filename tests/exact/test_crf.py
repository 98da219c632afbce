"""The conditional random field against enumeration, finite differences and scikit-learn."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from palaver.models.taggers import descent
from palaver.models.taggers.crf.engine import CRFEngine, split
from palaver.models.taggers.kernels import linear_chain as chain
from palaver.models.taggers.linear import MessageShard, sizes

N_TAGS, N_KINDS = 3, 2
CONVERSATIONS = np.array([0, 4, 4, 9, 10])
#: All known; some known; none known.
TAGS = np.array([0, 2, 1, 1, 0, -1, 2, -1, -1, -1], np.int32)


def random_problem(seed):
    generator = np.random.default_rng(seed)
    scores = generator.normal(0, 2, (10, N_TAGS))
    moves = generator.normal(0, 1, (N_KINDS, N_TAGS + 1, N_TAGS))
    return scores, generator.integers(0, N_KINDS, 10).astype(np.int8), moves


def paths(scores, kinds, moves, first, last):
    """Yield every path of tags through a conversation with its score."""
    for path in itertools.product(range(N_TAGS), repeat=last - first):
        before, total = N_TAGS, 0.0
        for k, tag in zip(range(first, last), path, strict=True):
            total += scores[k, tag] + moves[kinds[k], before, tag]
            before = tag
        yield path, total


def minus_log_likelihood(scores, kinds, moves):
    """By enumeration, of the known tags of the conversations that have any."""
    total = 0.0
    for first, last in itertools.pairwise(CONVERSATIONS):
        known = TAGS[first:last]
        if not (known >= 0).any():
            continue
        every = list(paths(scores, kinds, moves, first, last))
        fits = [s for path, s in every
                if all(k in (-1, t) for k, t in zip(known, path, strict=True))]  # fmt: skip
        total += np.log(np.exp([s for _, s in every]).sum()) - np.log(np.exp(fits).sum())
    return total


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_of_known_tags_equals_enumeration(seed):
    scores, kinds, moves = random_problem(seed)
    residuals, counts = np.empty_like(scores), np.empty_like(moves)
    value = chain.residuals_of(scores, kinds, CONVERSATIONS, moves, TAGS, residuals, counts)
    assert value == pytest.approx(minus_log_likelihood(scores, kinds, moves), rel=1e-12)
    assert not residuals[9].any(), "a conversation without known tags says nothing"


@pytest.mark.parametrize("seed", range(2))
def test_gradients_equal_finite_differences(seed):
    scores, kinds, moves = random_problem(seed)
    residuals, counts = np.empty_like(scores), np.empty_like(moves)
    chain.residuals_of(scores, kinds, CONVERSATIONS, moves, TAGS, residuals, counts)
    step = 1e-6
    for array, gradient in ((scores, residuals), (moves, counts)):
        for place in np.ndindex(array.shape):
            kept, values = array[place], []
            for sign in (1, -1):
                array[place] = kept + sign * step
                values.append(minus_log_likelihood(scores, kinds, moves))
            array[place] = kept
            assert gradient[place] == pytest.approx((values[0] - values[1]) / 2 / step, abs=1e-7)


def test_posteriors_equal_enumeration():
    scores, kinds, moves = random_problem(5)
    shares = np.empty_like(scores)
    logs = chain.posteriors_of(scores, kinds, CONVERSATIONS, moves, shares)
    expected_logs = 0.0
    for first, last in itertools.pairwise(CONVERSATIONS):
        if first == last:
            continue
        expected = np.zeros((last - first, N_TAGS))
        for path, score in paths(scores, kinds, moves, first, last):
            expected[np.arange(last - first), path] += np.exp(score)
        expected_logs += np.log(expected[0].sum())
        np.testing.assert_allclose(shares[first:last], expected / expected.sum(1, keepdims=True),
                                   rtol=1e-12)  # fmt: skip
    assert logs == pytest.approx(expected_logs, rel=1e-12)


def test_extreme_scores_stay_finite():
    scores, kinds, moves = random_problem(1)
    residuals, counts = np.empty_like(scores), np.empty_like(moves)
    value = chain.residuals_of(1e4 * scores, kinds, CONVERSATIONS, moves, TAGS, residuals, counts)
    assert np.isfinite(value)
    assert np.isfinite(residuals).all()


def test_scores_and_gradients_are_products_with_the_table():
    generator = np.random.default_rng(2)
    table = sparse.random_array((10, 6), density=0.4, format="csr", rng=generator)
    weights, residuals = generator.normal(size=(6, 3)), generator.normal(size=(10, 3))
    scores, gradient = np.empty((10, 3)), np.ones((6, 3))
    chain.score(table.indptr, table.indices, table.data, weights, scores)
    np.testing.assert_allclose(scores, table @ weights, rtol=1e-12)
    chain.add_gradient(table.indptr, table.indices, table.data, residuals, gradient)
    np.testing.assert_allclose(gradient, 1 + table.T @ residuals, rtol=1e-12)


@pytest.mark.parametrize("n_tags", [3, 4, 5, 8, 15, 16, 17, 32, 42, 65, 66, 81])
def test_vector_instructions_give_the_products_with_the_table(n_tags):
    """For all numbers of vectors in a row, those that overlap included; rows may be empty."""
    generator = np.random.default_rng(n_tags)
    table = sparse.random_array((40, 9), density=0.3, format="csr", rng=generator, dtype=np.float32)
    rows = table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data
    weights = generator.normal(size=(9, n_tags)).astype(np.float32)
    scores = np.full((41, n_tags), np.nan, np.float32)
    chain.score(*rows, weights, scores[:40])
    np.testing.assert_allclose(scores[:40], table @ weights, atol=1e-5)
    assert np.isnan(scores[40]).all(), "nothing is written behind the last row"
    gradient = np.ones((10, n_tags), np.float32)
    chain.add_gradient(*rows, scores[:40], gradient[:9])
    np.testing.assert_allclose(gradient[:9], 1 + table.T @ scores[:40], atol=2e-5)
    assert (gradient[9] == 1).all()


def test_gradients_that_cannot_be_overwritten_are_left_alone():
    rules = descent.Rules(penalty=2.0, max_iter=5, tolerance=0.0)
    gradient = np.arange(3, dtype=np.float32)
    gradient.flags.writeable = False
    state = rules.begin(np.ones(3, np.float32))
    found, _ = rules.take(state, 1.0, gradient)
    np.testing.assert_array_equal(gradient, [0, 1, 2])
    np.testing.assert_array_equal(found["gradient"], [2, 3, 4])
    assert float(found["value"]) == 4.0
    writeable, _ = rules.take(state, 1.0, gradient.copy())
    np.testing.assert_array_equal(writeable["gradient"], found["gradient"])


def run_descent(function, n, n_evaluations):
    state = descent.start(n)
    for _ in range(n_evaluations):
        state, _, _ = descent.advance(state, *function(state["trial"]))
    return state


def test_descent_finds_what_scipys_finds():
    generator = np.random.default_rng(4)
    table = generator.normal(size=(40, 8))
    signs = np.sign(table[:, 0] + generator.normal(size=40))

    def function(x):
        margins = signs * (table @ x)
        slope = -signs / (1 + np.exp(margins))
        return np.logaddexp(0, -margins).sum() + 0.05 * x @ x, table.T @ slope + 0.1 * x

    found = run_descent(function, 8, 60)
    twin = minimize(function, np.zeros(8), jac=True, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found["point"], twin.x, atol=1e-5)
    assert float(found["value"]) == pytest.approx(twin.fun, rel=1e-10)


def test_a_guess_of_the_curvature_leads_to_the_same_point_sooner():
    """Features of very different sizes: the guess is the curvature itself, on its diagonal."""
    generator = np.random.default_rng(8)
    widths = np.logspace(0, 2, 30)
    table = generator.normal(size=(200, 30)) * widths
    target = generator.normal(size=200)

    def function(x):
        rest = table @ x - target
        return rest @ rest / 2 + x @ x / 2, table.T @ rest + x

    exact = np.linalg.solve(table.T @ table + np.eye(30), table.T @ target)
    state = descent.start(30)
    state["inverse"] = 1 / ((table**2).sum(axis=0) + 1)
    for _ in range(40):
        state, _, _ = descent.advance(state, *function(state["trial"]))
    np.testing.assert_allclose(state["point"] * widths, exact * widths, atol=1e-6)
    plain = run_descent(function, 30, 40)
    assert np.abs((plain["point"] - exact) * widths).max() > 1e-3


def test_the_guess_is_between_curvature_and_penalty():
    squares, shares = np.array([0.0, 8.0]), np.array([0.5, 0.5])
    found = descent.inverse_curvature(squares, shares, 2.0)
    np.testing.assert_allclose(found, [1 / 2, 1 / 2, 1 / np.sqrt(2 * 4), 1 / np.sqrt(2 * 4)])


def test_sizes_are_those_of_labelled_messages():
    table = sparse.csr_array(np.array([[1.0, 0, 2], [3, 0, 0], [0, 1, 1]], np.float32))
    tags = np.array([1, -1, 1], np.int32)
    shard = MessageShard(
        table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data,
        np.ones(3, np.int8), tags, np.array([0, 3]),
    )  # fmt: skip
    found = sizes(shard, 3, 2)
    assert found["squares"].tolist() == [1, 1, 5]
    assert found["tags"].tolist() == [0, 2]


def test_descent_never_rises():
    def function(x):  # narrow and curved
        value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        return value, np.array([-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2),
                                200 * (x[1] - x[0] ** 2)])  # fmt: skip

    state, values = descent.start(2), []
    for _ in range(150):
        state, _, _ = descent.advance(state, *function(state["trial"]))
        values.append(float(state["value"]))
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(state["point"], 1, atol=1e-2)


def test_messages_by_themselves_are_scikit_learns_regression():
    """In conversations of one message, moves from the start are intercepts."""
    generator = np.random.default_rng(6)
    table = sparse.random_array((60, 5), density=0.6, format="csr", rng=generator)
    tags = generator.integers(0, 3, 60).astype(np.int32)
    shard = MessageShard(
        table.indptr.astype(np.int64), table.indices.astype(np.int32),
        table.data.astype(np.float32), np.ones(60, np.int8), tags, np.arange(61),
    )  # fmt: skip
    engine = CRFEngine(5, 3, descent.Rules(penalty=0.7, max_iter=200, tolerance=1e-12))
    shared = engine.start(generator)
    key = np.zeros(2, np.uint64)
    while shared.phase != "done":
        shared, _ = engine.update(shared, engine.sweep(shared, shard, {}, key), generator)
    weights, moves = split(shared.arrays["point"], 5, 3)
    whole = sparse.hstack((table.astype(np.float32), np.ones((60, 1))), "csr")
    twin = LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-10, max_iter=1000)
    twin.fit(whole, tags)
    np.testing.assert_allclose(np.vstack((weights, moves[1, 3])).T, twin.coef_, atol=2e-4)
    assert not moves[0].any()
    assert not moves[1, :3].any()
