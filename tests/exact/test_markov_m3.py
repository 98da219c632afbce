"""Markov M3's kernels and engine against enumeration and the paper's updates written out."""

import numpy as np
import pytest
from scipy.special import psi
from support.compiled import called
from support.markov_m3_reference import (
    Document,
    dirichlet_bound,
    log_evidence,
    log_expectation,
    marginals,
)

import palaver as pv
from palaver import rng
from palaver.encoding.documents import cut_documents, documents_of
from palaver.kernels.special import (
    digamma,
    dirichlet_sums,
    log_expectations,
    scaled_exponentials,
)
from palaver.models.documents.engine import learn_prior, prior_term
from palaver.models.documents.markov_m3.kernels import sweep as sweeps
from palaver.models.documents.markov_m3.kernels import walk as kernels
from palaver.models.documents.markov_m3.kernels.paths import viterbi

SIZES = [(1, 1), (1, 3), (2, 2), (3, 2), (4, 3), (5, 2), (3, 5)]


def test_digamma():
    x = np.concatenate((np.geomspace(1e-4, 1e9, 400), np.linspace(0.5, 12, 100)))
    np.testing.assert_allclose([digamma(v) for v in x], psi(x), rtol=1e-13, atol=1e-13)


def test_dirichlet_expectations_and_sums():
    columns = np.random.default_rng(1).gamma(0.5, 2.0, (7, 3)) + 1e-3
    out = np.empty((7, 8))
    log_expectations(columns, columns.sum(axis=0), out)
    assert not out[:, 3:].any()
    peaks, weights = np.empty(7), np.empty_like(out)
    scaled_exponentials(out, 3, weights, peaks)
    assert not weights[:, 3:].any()
    out = out[:, :3]
    np.testing.assert_allclose(out, log_expectation(columns.T).T, rtol=1e-12)
    np.testing.assert_array_equal(peaks, out.max(axis=1))
    np.testing.assert_allclose(weights[:, :3], np.exp(out - peaks[:, None]), rtol=1e-14)
    sums = dirichlet_sums(columns, columns.sum(axis=0))
    np.testing.assert_allclose(sums[0], out.sum(axis=0), rtol=1e-12)


def random_walk(n_positions, n_states, seed):
    """Space for a walk with random scores and step expectations."""
    generator = np.random.default_rng(seed)
    scores = -generator.gamma(1.0, 8.0, (n_positions, n_states))
    log_start = log_expectation(generator.gamma(0.3, 1.0, n_states) + 0.02)
    log_transitions = log_expectation(generator.gamma(0.3, 1.0, (n_states, n_states)) + 0.02)
    room = kernels.make_room(n_positions, n_states, 1)
    rows_of(room, kernels.START, 1)[0, :n_states] = np.exp(log_start)
    set_steps(room, log_transitions)
    rows = rows_of(room, kernels.SCORES, n_positions)
    rows[:, :n_states] = scores
    rows[:, n_states:] = scores[:, :1]
    return room, scores, log_start, log_transitions


def rows_of(room, place, n_rows):
    """A matrix in a room; its rows are as long as topics padded to whole blocks."""
    stride = room.at[kernels.STRIDE]
    first = room.at[place]
    return room.space[first : first + n_rows * stride].reshape(n_rows, stride)


def set_steps(room, log_transitions):
    """Set the steps of a walk."""
    n_states = len(log_transitions)
    rows_of(room, kernels.FORTH, n_states)[:, :n_states] = np.exp(log_transitions)
    rows_of(room, kernels.BACK, n_states)[:, :n_states] = np.exp(log_transitions.T)


@pytest.mark.parametrize(("n_positions", "n_states"), SIZES)
def test_forward_backward_against_all_walks(n_positions, n_states):
    room, *arguments = random_walk(n_positions, n_states, n_positions * 10 + n_states)
    expected, single, pairs, _, _ = marginals(*arguments)
    assert called(kernels.forward_backward)(*room[:2], n_states, n_positions) == pytest.approx(
        expected, rel=1e-12
    )
    found = rows_of(room, kernels.PROBABILITIES, n_positions)
    np.testing.assert_allclose(found[:, :n_states], single, atol=1e-12)
    assert not found[:, n_states:].any()
    counts = np.zeros((n_states + 1, n_states))
    called(sweeps.add_statistics)(
        *room[:2], 0, 0, np.zeros(0, np.int32), np.arange(n_states, dtype=np.int32), n_states,
        n_positions, np.zeros((1, n_states)), counts,
    )  # fmt: skip
    np.testing.assert_allclose(counts[:-1], pairs, atol=1e-12)
    np.testing.assert_allclose(counts[-1], single[0], atol=1e-12)


def test_forward_backward_where_numbers_get_extreme():
    room, scores, log_start, log_transitions = random_walk(4, 3, 5)
    scores[:] = [[-900, -1, -2000], [-3000, -5000, 0], [-1, -700, -9000], [0, -1e6, -1]]
    rows_of(room, kernels.SCORES, 4)[:, :3] = scores
    rows_of(room, kernels.SCORES, 4)[:, 3:] = scores[:, :1]
    log_transitions[:] = np.where(np.eye(3) > 0, -0.01, -260.0)
    set_steps(room, log_transitions)
    expected, single, *_ = marginals(scores, log_start, log_transitions)
    assert called(kernels.forward_backward)(*room[:2], 3, 4) == pytest.approx(expected, rel=1e-12)
    found = rows_of(room, kernels.PROBABILITIES, 4)[:, :3]
    np.testing.assert_allclose(found, single, atol=1e-9)


@pytest.mark.parametrize(("n_positions", "n_states"), SIZES)
def test_viterbi_against_all_walks(n_positions, n_states):
    _, *arguments = random_walk(n_positions, n_states, n_positions + n_states)
    path = np.empty(n_positions, np.int32)
    viterbi(*arguments, path)
    assert tuple(path) == marginals(*arguments)[3]


class Case:
    """Random globals and documents, and room for a sweep."""

    def __init__(self, seed, n_topics=4, n_positions=3, n_visits=4, n_words=6, n_documents=3):
        generator = np.random.default_rng(seed)
        self.topics = generator.gamma(0.5, 3.0, (n_words, n_topics)) + 0.05
        self.start = generator.gamma(1.0, 2.0, n_topics) + 0.05
        self.transitions = generator.gamma(1.0, 2.0, (n_topics, n_topics)) + 0.05
        self.gamma = 1.7
        sizes = generator.integers(1, n_words + 1, n_documents)
        self.offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self.words = np.concatenate(
            [np.sort(generator.permutation(n_words)[:size]) for size in sizes]
        ).astype(np.int32)
        self.counts = generator.integers(1, 4, len(self.words)).astype(float)
        self.counts[0] = 0.5  # counts need not be whole
        self.visits = np.array(
            [generator.permutation(n_topics)[:n_visits] for _ in sizes], np.int32
        )
        self.probabilities = generator.dirichlet(np.ones(n_visits), (n_documents, n_positions))
        self.log_weights = np.log(generator.dirichlet(np.ones(n_positions), n_documents))
        self.lengths = generator.integers(1, n_positions + 1, n_documents).astype(np.int32)
        self.lengths[0] = n_positions

    def sweep(self, mode="keep", n_iterations=1):
        n_words, n_topics = self.topics.shape
        self.position_counts = np.zeros_like(self.log_weights)
        self.bounds = np.zeros(len(self.offsets) - 1)
        self.word_topics = np.zeros((n_words, n_topics))
        pairs = np.zeros((n_topics + 1, n_topics))
        self.starts, self.pairs = pairs[-1], pairs[:-1]
        self.terms = np.zeros(kernels.N_SUMS)
        logs = np.zeros((n_words, 8))
        logs[:, :n_topics] = log_expectation(self.topics.T).T
        weights = np.exp(logs) * (np.arange(8) < n_topics)
        steps = np.vstack((log_expectation(self.transitions), log_expectation(self.start)))
        given = (self.offsets, self.words, self.counts, logs, weights, np.exp(steps), self.gamma, 5,
                 n_iterations, -1.0, 0.5)  # fmt: skip
        n_positions, n_visits = self.probabilities.shape[1:]
        found = (
            *kernels.make_room(n_positions, n_visits, n_words, n_topics), self.visits, self.lengths,
            self.probabilities, self.log_weights, self.position_counts, self.bounds,
            self.word_topics, pairs, self.terms,
        )  # fmt: skip
        if mode == "fresh":
            sweeps.sweep_fresh(*given, *found)
        else:
            sweeps.sweep_again(*given, mode == "better", *found)

    def twin(self, d):
        """The document in plain Python, on the topics that it visits."""
        own, visits = slice(self.offsets[d], self.offsets[d + 1]), self.visits[d]
        return Document(
            self.words[own], self.counts[own], log_expectation(self.topics.T)[visits],
            log_expectation(self.start)[visits],
            log_expectation(self.transitions)[np.ix_(visits, visits)], self.gamma,
            self.log_weights.shape[1],
        )  # fmt: skip


@pytest.mark.parametrize("n_visits", [1, 2, 4])
@pytest.mark.parametrize("n_iterations", [1, 3])
def test_sweep_equals_the_updates_written_out(n_visits, n_iterations):
    case = Case(seed=n_visits, n_visits=n_visits)
    twins = []
    for d in range(3):
        twin = case.twin(d)
        used = slice(case.lengths[d])
        single, log_weights = case.probabilities[d, used], case.log_weights[d, used]
        for _ in range(n_iterations):
            twin.iterate(single, log_weights)
            single, log_weights = twin.single, twin.log_weights
        twins.append(twin)
    case.sweep(n_iterations=n_iterations)
    word_topics, pairs = np.zeros_like(case.word_topics), np.zeros_like(case.pairs)
    terms = np.zeros(4)
    for d, twin in enumerate(twins):
        visits = case.visits[d]
        used = case.lengths[d]
        np.testing.assert_allclose(case.probabilities[d, :used], twin.single, atol=1e-11)
        np.testing.assert_allclose(case.log_weights[d, :used], twin.log_weights, rtol=1e-11)
        np.testing.assert_allclose(case.position_counts[d, :used], twin.position_counts, atol=1e-11)
        assert not case.position_counts[d, used:].any()
        assert case.bounds[d] == pytest.approx(twin.terms().sum(), rel=1e-11)
        word_topics[:, visits] += twin.word_topics(len(word_topics))
        pairs[np.ix_(visits, visits)] += twin.pairs
        terms += twin.terms()
    np.testing.assert_allclose(case.word_topics, word_topics, atol=1e-11)
    np.testing.assert_allclose(case.pairs, pairs, atol=1e-11)
    np.testing.assert_allclose(case.terms[:4], terms, rtol=1e-10)  # every term for itself
    left = sum(sum(twin.log_left) for twin in twins)
    assert case.terms[kernels.LOG_LEFT] == pytest.approx(left, rel=1e-11)
    assert case.terms[kernels.N_STICKS] == sum(len(twin.log_left) for twin in twins)


@pytest.mark.parametrize("seed", range(5))
def test_bound_rises_in_every_iteration_and_the_better_start_is_kept(seed):
    case = Case(seed, n_topics=6, n_positions=5, n_visits=3 + seed % 4, n_words=12)
    case.visits = np.sort(case.visits)
    before = np.full(3, -np.inf)
    for mode in ["keep"] * 5 + ["better", "keep", "better"]:
        case.sweep(mode)
        assert (case.bounds >= before - 1e-10 * np.abs(case.bounds)).all()
        before = case.bounds
    fresh = Case(seed, n_topics=6, n_positions=5, n_visits=3 + seed % 4, n_words=12)
    fresh.sweep("fresh", 3)
    both = Case(seed, n_topics=6, n_positions=5, n_visits=3 + seed % 4, n_words=12)
    both.sweep("better", 3)
    kept = Case(seed, n_topics=6, n_positions=5, n_visits=3 + seed % 4, n_words=12)
    kept.sweep("keep", 3)
    better = np.maximum(fresh.bounds, kept.bounds)
    assert (both.bounds >= better - 1e-10 * np.abs(better)).all()


def test_a_fresh_start_leaves_positions_that_no_words_want_to_the_prior():
    case = Case(1, n_topics=6, n_positions=5, n_visits=6, n_words=12, n_documents=20)
    case.sweep("fresh", 30)
    assert set(case.lengths.tolist()) > {1, 2}  # documents differ
    used = np.arange(5) < case.lengths[:, None]
    more_than_one = used & (case.lengths[:, None] > 1)
    assert (case.position_counts[more_than_one] > 0.01).all()
    assert not case.position_counts[~used].any()
    assert not case.probabilities[~used].any()
    sizes = np.add.reduceat(case.counts, case.offsets[:-1])
    np.testing.assert_allclose(case.position_counts.sum(axis=1), sizes)
    assert case.word_topics.sum() == pytest.approx(case.counts.sum())
    assert case.pairs.sum() == pytest.approx((case.lengths - 1).sum())


def test_expected_shares_follow_the_walk_to_its_end():
    engine = engine_case()[2]
    generator = np.random.default_rng(8)
    shared = engine.start(rng.generator(0, "start", 0))
    shared.arrays["transitions"][:] = generator.gamma(1.0, 1.0, (5, 5))
    theta = shared.arrays["transitions"] / shared.arrays["transitions"].sum(axis=1)[:, None]
    single = generator.dirichlet(np.ones(3), 2)
    state = {
        "visits": np.array([[4, 0, 2]], np.int32),
        "lengths": np.array([2], np.int32),
        "probabilities": np.concatenate((single, np.zeros((2, 3))))[None],
        "position_counts": np.array([[5.0, 3.0, 0.0, 0.0]]),
    }
    walk = np.zeros((4, 5))
    walk[:2, [4, 0, 2]] = single
    walk[2] = walk[1] @ theta
    walk[3] = walk[2] @ theta
    broken = np.array([6 / 10, 4 / 5, 1 / 2, 1.0])  # gamma is 1
    weights = broken * np.array([1.0, 0.4, 0.4 * 0.2, 0.4 * 0.2 * 0.5])
    np.testing.assert_allclose(engine.shares(shared, state)[0], weights @ walk, rtol=1e-12)


def test_documents_do_not_depend_on_each_other():
    case, alone = Case(3, n_documents=4), Case(3, n_documents=4)
    case.sweep("fresh", 6)
    last = slice(alone.offsets[3], alone.offsets[4])
    alone.words, alone.counts = alone.words[last], alone.counts[last]
    alone.offsets = alone.offsets[3:] - alone.offsets[3]
    for name in ("visits", "lengths", "probabilities", "log_weights"):
        setattr(alone, name, getattr(alone, name)[3:].copy())
    alone.sweep("fresh", 6)
    np.testing.assert_array_equal(alone.probabilities[0], case.probabilities[3])
    assert alone.bounds[0] == case.bounds[3]


def counts_of(documents, n_words):
    return np.array([np.bincount(d, minlength=n_words) for d in documents], float)


@pytest.mark.parametrize(
    ("documents", "n_topics", "truncation"),
    [([[0, 1, 0], [2, 1]], 2, 2), ([[0, 0, 1, 2]], 3, 2), ([[0], [1, 1], [2]], 2, 2)],
)
def test_bound_is_below_the_log_evidence(documents, n_topics, truncation):
    evidence = log_evidence(documents, n_topics, truncation, 3, 1.0, 0.5, 0.8)
    for seed in range(3):
        model = pv.MarkovM3(
            n_topics, truncation, position_concentration=0.8, step_concentration=1.0,
            word_prior=0.5, n_sweeps=60, tolerance=0, random_state=seed,
        ).fit(counts_of(documents, 3))  # fmt: skip
        assert model.elbo_ < evidence
        assert model.elbo_ > evidence - 5.0  # and not by chance far below


def engine_case(seed=0, **params):
    """An engine, its shards and documents of a small planted corpus."""
    generator = np.random.default_rng(seed)
    topics = generator.dirichlet(np.full(30, 0.1), 4)
    shares = generator.dirichlet(np.full(4, 0.3), 40)
    counts = np.array([generator.multinomial(25, share @ topics) for share in shares], float)
    model = pv.MarkovM3(
        **{
            "n_topics": 5,
            "truncation": 4,
            "position_concentration": "learn",
            "start_sweeps": 0,
            **params,
        }
    )
    documents = documents_of(counts)
    return model, documents, model._make_engine(30), cut_documents(documents, 100)


def whole_bound(engine, arrays, statistics, old):
    """The bound for any globals, with the documents' q as it was under the globals ``old``."""
    expected = log_expectation
    words, walk, allocation, sticks = statistics["terms"][:4]
    starts, pairs = statistics["starts"], statistics["pairs"]

    def steps(a):
        return np.sum(starts * expected(a["start"])) + np.sum(pairs * expected(a["transitions"]))

    counts = statistics["word_topics"]
    assert np.sum(counts * expected(old["topics"].T).T) == pytest.approx(words, rel=1e-10)
    log_left, n_sticks = statistics["terms"][[kernels.LOG_LEFT, kernels.N_STICKS]]
    gamma, before = float(arrays["gamma"]), float(old["gamma"])
    total = np.sum(counts * expected(arrays["topics"].T).T)
    total += walk - steps(old) + steps(arrays) + allocation + sticks
    total += n_sticks * (np.log(gamma) - np.log(before))
    total += (gamma - before) * log_left
    total += dirichlet_bound(arrays["topics"].T, float(arrays["beta"]))
    prior = float(arrays["alpha"]) / engine.n_topics
    return (
        total
        + dirichlet_bound(arrays["transitions"], prior)
        + dirichlet_bound(arrays["start"], prior)
    )


@pytest.mark.parametrize("max_visits", [None, 3])
def test_bound_never_falls_in_any_step_and_is_what_the_trace_says(max_visits):
    _, documents, engine, shards = engine_case(max_visits=max_visits)
    shared = engine.start(rng.generator(0, "start", 0))
    key = np.zeros(2, np.uint64)
    states = [engine.open(shared, shard, key) for shard in shards]
    assert len(shards) > 2
    before = -np.inf
    for _ in range(12):
        merged = None
        for shard, state in zip(shards, states, strict=True):
            found = engine.sweep(shared, shard, state, key)
            merged = found if merged is None else engine.merge(merged, found)
        kept = {name: np.copy(value) for name, value in merged.items()}
        assert kept["word_topics"].sum() == pytest.approx(documents.n_tokens)
        old = shared.arrays
        after_documents = whole_bound(engine, old, kept, old)
        shared, info = engine.update(shared, merged, rng.generator(0, "update", 0))
        assert info["log_joint"] == pytest.approx(after_documents, rel=1e-10)
        new = shared.arrays
        fixed = {name: old[name] for name in ("alpha", "beta", "gamma")}
        after_topics = whole_bound(engine, {**new, **fixed}, kept, old)
        after_all = whole_bound(engine, new, kept, old)
        rounding = 1e-10 * abs(after_all)
        assert after_documents >= before - rounding
        assert after_topics >= after_documents - rounding
        assert after_all >= after_topics - rounding
        before = after_all
    assert float(shared.arrays["gamma"]) != 1.0


def test_learned_prior_is_the_best():
    generator = np.random.default_rng(2)
    log_sums = log_expectation(generator.gamma(0.3, 5.0, (6, 9)) + 0.05).sum(axis=1)
    best = learn_prior(1.0, 9, log_sums)
    value = prior_term(best, 9, log_sums)
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert prior_term(best * factor, 9, log_sums) < value
    assert learn_prior(best, 9, log_sums) == pytest.approx(best, rel=1e-9)


def test_a_stream_with_all_documents_and_rate_one_is_a_batch_step():
    model, documents, *_ = engine_case()
    model.set_params(n_sweeps=1).fit(documents)
    step = engine_case()[0].partial_fit(documents, total_documents=40, rate=1.0)
    for name, array in model.chains_[0].items():
        np.testing.assert_array_equal(step.chains_[0][name], array)
