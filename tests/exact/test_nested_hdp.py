"""The nested HDP's kernels and engine against enumeration and the paper's updates written out."""

import itertools

import numpy as np
import pytest
from scipy.special import betaln, psi
from support.markov_m3_reference import dirichlet_bound, log_expectation
from support.nested_hdp_reference import (
    Document,
    above,
    chosen,
    descending,
    kl_of_beta,
    log_evidence,
    stick_logs,
)

import palaver as pv
from palaver import rng
from palaver.encoding.documents import cut_documents, documents_of
from palaver.models.documents.nested_hdp import tree as trees
from palaver.models.documents.nested_hdp.kernels import choose
from palaver.models.documents.nested_hdp.kernels import subtree as kernels
from palaver.models.documents.nested_hdp.kernels import sweep as sweeps

#: Two topics on the first level; below them two and one; below those two, one and one.
PARENTS = np.array([-1, -1, 0, 0, 1, 2, 2, 3, 4])
PRIORS = kernels.Priors(0.8, 0.4, 0.9)


def case(seed, n_words=7, n_documents=4):
    """Random topics, uses and documents."""
    generator = np.random.default_rng(seed)
    topics = generator.gamma(0.4, 3.0, (n_words, len(PARENTS))) + 0.05
    uses = generator.integers(0, 9, len(PARENTS)).astype(float)
    counts = generator.poisson(1.0, (n_documents, n_words)).astype(float)
    counts[:, 0] += 0.5  # counts need not be whole
    counts[1] = 0
    return topics, uses, documents_of(counts)


def random_subtree(generator):
    """A topic and some others, with all above them, parents first."""
    picked = generator.choice(len(PARENTS), 4, replace=False)
    found = sorted({k for one in picked for k in above(PARENTS, one)})
    return found if generator.random() < 0.7 else [0]


class Sweep:
    """Room for a sweep over a case, with a random start."""

    def __init__(self, seed, most=9, **shape):
        self.topics, self.uses, self.documents = case(seed, **shape)
        n = self.documents.n_documents
        generator = np.random.default_rng(seed + 100)
        self.nodes, self.lengths = np.zeros((n, most), np.int32), np.zeros(n, np.int32)
        self.node_counts = np.zeros((n, most))
        for d in range(n):
            own = random_subtree(generator)
            self.lengths[d] = len(own)
            self.nodes[d, : len(own)] = own
            self.node_counts[d, : len(own)] = generator.gamma(1.0, 2.0, len(own))
        self.log_choices = trees.log_choices(PARENTS, self.uses, 3.0)
        self.log_beta = log_expectation(self.topics.T)

    def run(self, mode=sweeps.KEEP, n_iterations=1, least_words=0.5):
        n_words, n_topics = self.topics.shape
        self.bounds = np.zeros(self.documents.n_documents)
        self.word_topics, self.used = np.zeros_like(self.topics), np.zeros(n_topics)
        self.terms = np.zeros(sweeps.N_SUMS)
        logs = np.zeros((n_words, 16))
        logs[:, :n_topics] = self.log_beta.T
        self.weights = np.exp(logs - logs[:, :n_topics].max(axis=1)[:, None])
        sweeps.sweep_documents(
            self.documents.offsets, self.documents.words, self.documents.counts, logs,
            self.weights, PARENTS, trees.has_children(PARENTS), self.log_choices, PRIORS, mode,
            n_iterations, -1.0, least_words, self.nodes, self.lengths, self.node_counts,
            self.bounds, self.word_topics, self.used, self.terms,
        )  # fmt: skip
        return self

    def own(self, d):
        part = slice(self.documents.offsets[d], self.documents.offsets[d + 1])
        return self.documents.words[part], self.documents.counts[part]

    def twin(self, d):
        own = slice(self.lengths[d])
        return Document(self.nodes[d, own], self.node_counts[d, own], PARENTS.tolist(),
                        self.log_choices, PRIORS)  # fmt: skip


@pytest.mark.parametrize("n_iterations", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_sweep_equals_the_updates_written_out(seed, n_iterations):
    sweep = Sweep(seed)
    word_topics, used = np.zeros_like(sweep.topics), np.zeros(len(PARENTS))
    terms, bounds, moved = np.zeros(4), np.zeros(4), []
    for d in (0, 2, 3):
        words, counts = sweep.own(d)
        twin = sweep.twin(d)
        now = twin.allocate(words, counts, sweep.log_beta)
        for _ in range(n_iterations - 1):
            twin = Document(twin.nodes, now, PARENTS.tolist(), sweep.log_choices, PRIORS)
            now = twin.allocate(words, counts, sweep.log_beta)
        moved.append(now)
        terms += twin.terms()
        bounds[d] = twin.terms().sum()
        used[twin.nodes] += 1
        for at, w in enumerate(words):
            word_topics[w, twin.nodes] += counts[at] * twin.q[at]
    sweep.run(n_iterations=n_iterations)
    for d, now in zip((0, 2, 3), moved, strict=True):
        np.testing.assert_allclose(sweep.node_counts[d, : len(now)], now, rtol=1e-10)
    np.testing.assert_allclose(sweep.bounds, bounds, rtol=1e-11)
    np.testing.assert_allclose(sweep.word_topics, word_topics, atol=1e-11)
    np.testing.assert_array_equal(sweep.used, used)
    np.testing.assert_allclose(sweep.terms[:4], terms, rtol=1e-10)  # every term for itself
    assert sweep.terms[sweeps.N_STICKS] == used.sum()


@pytest.mark.parametrize("seed", range(6))
def test_bound_rises_in_every_iteration_and_the_better_start_is_kept(seed):
    sweep = Sweep(seed, n_words=12)
    before = np.full(4, -np.inf)
    for mode in [sweeps.KEEP] * 5 + [sweeps.BETTER, sweeps.KEEP, sweeps.BETTER, sweeps.KEEP]:
        sweep.run(mode)
        assert (sweep.bounds >= before - 1e-10 * np.abs(before)).all()
        before = sweep.bounds
    kept, fresh, both = (Sweep(seed, n_words=12).run(mode, 3)
                         for mode in (sweeps.KEEP, sweeps.FRESH, sweeps.BETTER))  # fmt: skip
    np.testing.assert_array_equal(both.bounds, np.maximum(kept.bounds, fresh.bounds))
    assert (kept.bounds > fresh.bounds).any() or (fresh.bounds > kept.bounds).any()


@pytest.mark.parametrize("most", [1, 2, 4, 9])
@pytest.mark.parametrize("seed", range(8))
def test_topics_are_chosen_as_if_all_were_looked_at_every_time(seed, most):
    sweep = Sweep(seed, n_words=12).run(sweeps.KEEP)
    words, counts = sweep.own(2)
    rows = np.ascontiguousarray(sweep.weights[:, : len(PARENTS)].T)
    tree = kernels.make_subtree(len(PARENTS), most, len(words))
    n = choose.choose_subtree(
        tree, np.ascontiguousarray(rows[:, words]).ravel(), counts, PARENTS,
        trees.has_children(PARENTS), sweep.log_choices, PRIORS,
    )  # fmt: skip
    expected = chosen(words, counts, rows, PARENTS, sweep.log_choices, PRIORS, most, choose.FLOOR)
    assert tree.nodes[:n].tolist() == expected
    assert all(PARENTS[k] < 0 or PARENTS[k] in expected[:at] for at, k in enumerate(expected))


def test_a_fresh_start_drops_topics_without_words_but_never_all():
    all_kept = Sweep(3, n_documents=30).run(sweeps.FRESH, 20, least_words=0.0)
    some = Sweep(3, n_documents=30).run(sweeps.FRESH, 20, least_words=0.5)
    one = Sweep(3, n_documents=30).run(sweeps.FRESH, 20, least_words=1e9)
    assert all_kept.lengths.sum() > some.lengths.sum() > one.lengths.sum()
    has_words = np.diff(one.documents.offsets) > 0
    assert (one.lengths[has_words] == 1).all()
    assert (PARENTS[one.nodes[has_words, 0]] == -1).all()
    assert one.word_topics.sum() == pytest.approx(one.documents.counts.sum())


def test_documents_do_not_depend_on_each_other():
    together = Sweep(5).run(sweeps.FRESH, 6)
    alone = Sweep(5)
    alone.documents = alone.documents.part(3, 4)
    for name in ("nodes", "lengths", "node_counts"):
        setattr(alone, name, getattr(alone, name)[3:])
    alone.run(sweeps.FRESH, 6)
    assert alone.bounds[0] == together.bounds[3]
    np.testing.assert_array_equal(alone.node_counts[0], together.node_counts[3])


@pytest.mark.parametrize("seed", range(4))
def test_shares_are_what_all_paths_are_expected_to_be_and_sum_to_one(seed):
    sweep = Sweep(seed)
    chances = trees.choices(PARENTS, sweep.uses, 3.0)
    shares = np.zeros((4, len(PARENTS)))
    sweeps.find_shares(PARENTS, trees.has_children(PARENTS), chances, PRIORS, sweep.nodes,
                       sweep.lengths, sweep.node_counts, shares)  # fmt: skip
    for d in range(4):
        np.testing.assert_allclose(shares[d], sweep.twin(d).shares(chances), rtol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)


def test_whole_trees_are_given_to_documents():
    sweep = Sweep(2).run(sweeps.WHOLE, 50)
    has_words = np.diff(sweep.documents.offsets) > 0
    assert (sweep.lengths[has_words] == len(PARENTS)).all()
    again = Sweep(2)
    again.nodes, again.lengths = sweep.nodes.copy(), sweep.lengths.copy()
    again.node_counts = sweep.node_counts.copy()
    again.run(sweeps.KEEP)
    assert (again.bounds >= sweep.bounds - 1e-9).all()


@pytest.mark.parametrize("seed", range(3))
def test_sticks_of_the_tree(seed):
    _, uses, _ = case(seed)
    uses[2] = uses[3]  # equal ones stay in order
    alpha, logs, bound, left = 2.5, np.zeros(len(PARENTS)), 0.0, 0.0
    for parent in {-1, *PARENTS.tolist()}:
        own = np.flatnonzero(parent == PARENTS).tolist()
        found, betas = stick_logs(descending(own, uses), uses, alpha)
        for k in own:
            logs[k] = found[k]
            a, b = betas[k]
            bound -= kl_of_beta(a, b, 1, alpha)
            left += psi(b) - psi(a + b)
    np.testing.assert_allclose(trees.log_choices(PARENTS, uses, alpha), logs, rtol=1e-12)
    assert trees.stick_bound(PARENTS, uses, alpha) == pytest.approx((bound, left), rel=1e-12)
    chances = trees.choices(PARENTS, uses, alpha)
    for parent in {-1, *PARENTS.tolist()}:
        assert chances[parent == PARENTS].sum() == pytest.approx(1.0)


def test_no_order_of_siblings_has_a_higher_bound():
    generator = np.random.default_rng(3)
    for prior in (0.3, 1.0, 5.0):
        counts = generator.gamma(0.7, 5.0, 5)

        def evidence(order, counts=counts, prior=prior):
            return sum(betaln(1 + counts[k], prior + counts[list(order[at + 1 :])].sum())
                       for at, k in enumerate(order))  # fmt: skip

        best = max(itertools.permutations(range(5)), key=evidence)
        assert list(best) == np.argsort(-counts).tolist()


def test_trees_have_the_shape_that_is_asked_for():
    assert trees.level_sizes(1, 3, 4) == [1]
    assert trees.level_sizes(3, 3, 4) == [1, 2]
    assert trees.level_sizes(21, 3, 4) == [1, 4, 16]
    assert trees.level_sizes(100, 3, 4) == [5, 20, 75]
    assert trees.level_sizes(9, 1, 4) == [9]
    assert trees.level_sizes(2, 2, 1000) == [1, 1]
    for n in range(1, 60):
        assert sum(trees.level_sizes(n, 3, 3)) == n


def test_topics_are_put_below_what_they_are_like():
    general = np.eye(2).repeat(6, axis=0).T  # two subjects of six words
    special = np.kron(np.eye(6), np.ones(2))  # three pairs of words in each
    topics = (np.vstack((special, general)).T * 10 + 0.01)[:, [3, 6, 0, 5, 7, 1, 2, 4]]
    sizes = [2, 6]
    order = trees.arrange(topics, sizes)
    assert set(order[:2].tolist()) == {1, 4}
    placed = topics[:, order]
    parents = trees.nearest_parents(placed, sizes)
    assert parents[:2].tolist() == [-1, -1]
    for k in range(2, 8):
        assert (placed[:, parents[k]] > 1)[placed[:, k] > 1].all()


@pytest.mark.parametrize("documents", [[[0, 1, 0], [2, 1]], [[0, 0, 1, 2]], [[0], [1, 1], [2]]])
def test_bound_is_below_the_log_evidence(documents):
    evidence = log_evidence(documents, 3, 0.5, 2.0, 0.8, 0.6, 1.1)
    counts = np.array([np.bincount(d, minlength=3) for d in documents], float)
    for seed in range(3):
        model = pv.NestedHDP(
            3, n_levels=2, branching=2, tree_concentration=2.0, document_concentration=0.8,
            stop_prior=0.6, descend_prior=1.1, word_prior=0.5, n_sweeps=60, tolerance=0,
            least_words=0.0, random_state=seed,
        ).fit(counts)  # fmt: skip
        assert model.parents_.tolist() == [-1, 0, 0]
        assert model.elbo_ < evidence
        assert model.elbo_ > evidence - 6.0  # and not by chance far below


def engine_case(seed=0, **params):
    """An engine, its shards and documents of a small planted corpus."""
    generator = np.random.default_rng(seed)
    topics = generator.dirichlet(np.full(30, 0.1), 4)
    shares = generator.dirichlet(np.full(4, 0.3), 40)
    counts = np.array([generator.multinomial(25, share @ topics) for share in shares], float)
    model = pv.NestedHDP(
        **{
            "n_topics": 9,
            "branching": 2,
            "start_sweeps": 0,
            "tree_concentration": "learn",
            "document_concentration": "learn",
            **params,
        }
    )
    documents = documents_of(counts)
    return model, documents, model._make_engine(30), cut_documents(documents, 100)


def whole_bound(arrays, statistics, old):
    """The bound for any globals, with the documents' q as it was under the globals ``old``."""
    counts, uses = statistics["word_topics"], statistics["uses"]

    def of_words(a):
        return np.sum(counts * log_expectation(a["topics"].T).T)

    def of_tree(a):
        alpha = float(a["tree_concentration"])
        chances = np.sum(uses * trees.log_choices(a["parents"], a["uses"], alpha))
        return chances + trees.stick_bound(a["parents"], a["uses"], alpha)[0]

    total = statistics["terms"][: sweeps.N_TERMS].sum() - of_words(old) + of_words(arrays)
    chances = np.sum(uses * trees.log_choices(
        old["parents"], old["uses"], float(old["tree_concentration"])))  # fmt: skip
    total += of_tree(arrays) - chances
    beta, before = float(arrays["document_concentration"]), float(old["document_concentration"])
    log_left, n_sticks = statistics["terms"][[sweeps.LOG_LEFT, sweeps.N_STICKS]]
    total += n_sticks * (np.log(beta) - np.log(before)) + (beta - before) * log_left
    return total + dirichlet_bound(arrays["topics"].T, float(arrays["beta"]))


@pytest.mark.parametrize("max_visits", [None, 3])
def test_bound_never_falls_in_any_step_and_is_what_the_trace_says(max_visits):
    _, documents, engine, shards = engine_case(max_visits=max_visits)
    shared = engine.start(rng.generator(0, "start", 0))
    key = np.zeros(2, np.uint64)
    states = [engine.open(shared, shard, key) for shard in shards]
    assert len(shards) > 2
    before, phases = -np.inf, []
    for _ in range(12):
        merged = None
        phases.append(shared.phase)
        for shard, state in zip(shards, states, strict=True):
            found = engine.sweep(shared, shard, state, key)
            engine.check(shared, shard, state)
            merged = found if merged is None else engine.merge(merged, found)
        kept = {name: np.copy(value) for name, value in merged.items()}
        assert kept["word_topics"].sum() == pytest.approx(documents.n_tokens)
        old = shared.arrays
        after_documents = whole_bound(old, kept, old)
        shared, info = engine.update(shared, merged, rng.generator(0, "update", 0))
        assert info["log_joint"] == pytest.approx(after_documents, rel=1e-10)
        new = shared.arrays
        learned = ("beta", "tree_concentration", "document_concentration")
        after_topics = whole_bound({**new, **{name: old[name] for name in learned}}, kept, old)
        after_all = whole_bound(new, kept, old)
        rounding = 1e-10 * abs(after_all)
        assert after_documents >= before - rounding
        assert after_topics >= after_documents - rounding
        assert after_all >= after_topics - rounding
        before = after_all
    assert set(phases) == {"fresh", "keep", "better"}
    assert float(shared.arrays["document_concentration"]) != 1.0
    assert float(shared.arrays["tree_concentration"]) != 5.0


def test_a_stream_with_all_documents_and_rate_one_is_a_batch_step():
    model, documents, *_ = engine_case()
    model.set_params(n_sweeps=1).fit(documents)
    step = engine_case()[0].partial_fit(documents, total_documents=40, rate=1.0)
    for name, array in model.chains_[0].items():
        np.testing.assert_array_equal(step.chains_[0][name], array)


def test_bound_of_a_fit_never_falls():
    model, documents, *_ = engine_case(n_sweeps=15, start_sweeps=10, tolerance=0.0)
    model.fit(documents)
    bound = model.trace_["log_joint"].to_numpy()
    assert (np.diff(bound) >= -1e-10 * np.abs(bound[1:])).all()
    terms = model.trace_.select("words", "choices", "sticks", "switches", "tree", "topics")
    np.testing.assert_allclose(terms.sum_horizontal(), bound, rtol=1e-12)
