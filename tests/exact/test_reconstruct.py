"""Latent parents against the enumeration of all forests."""

import dataclasses
import itertools
import math

import numpy as np
import polars as pl
import pytest
from scipy.special import gammaln, logsumexp
from support import block_hmm_reference, m4_reference
from support.forests import make_forest
from support.planted import plant

import palaver as pv
from palaver import rng
from palaver.encoding import encode
from palaver.errors import ParameterError
from palaver.fit.fold import fold_in
from palaver.kernels.forests import open_parents
from palaver.models.block_hmm.kernels.parents import draw_parents_block
from palaver.models.m4.kernels import parents as kernels
from palaver.models.m4.kernels.pairs import NO_PAIRS, Pairs, pair_scores
from palaver.models.views.reconstruct import Rebuilding, best_parents, order_of
from palaver.threads.transitions import unlinked

N_SWEEPS = 20_000


def all_forests(n, ranks=None):
    """Every assignment of parents without a cycle; with ranks, parents have smaller ones."""
    for parents in itertools.product(range(-1, n), repeat=n):
        if ranks is not None:
            if all(p < 0 or ranks[p] < ranks[b] for b, p in enumerate(parents)):
                yield parents
            continue
        if all(reaches_start(parents, b) for b in range(n)):
            yield parents


def reaches_start(parents, b):
    for _ in parents:
        if parents[b] < 0:
            return True
        b = parents[b]
    return parents[b] < 0


def test_there_are_as_many_forests_as_cayley_says():
    assert [sum(1 for _ in all_forests(n)) for n in (1, 2, 3, 4)] == [1, 3, 16, 125]


def naive_logs(counts, weights, normalized=True):
    """log pi of what each message gives its replies, and of the start, (n + 1, K)."""
    n_classes = weights.shape[1]
    features = np.zeros((len(counts) + 1, n_classes + 2))
    features[:-1, :n_classes] = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    features[-1, n_classes] = 1
    features[:, n_classes + 1] = 1
    scores = features @ weights
    return scores - logsumexp(scores, axis=1, keepdims=True) * normalized


def test_scores_of_parents_are_equation_five():
    generator = np.random.default_rng(1)
    weights = generator.normal(0, 2, (5, 3))
    classes = generator.integers(0, 4, 12).astype(np.int16)  # 3 is the background
    offsets = np.array([0, 0, 5, 9, 12])
    counts, logs = np.empty((4, 3)), np.empty((3, 5))
    kernels.reply_logs(offsets, 0, 4, classes, weights, counts, logs, np.empty(5))
    own = [classes[offsets[b] : offsets[b + 1]] for b in range(4)]
    np.testing.assert_array_equal(counts, [[(o == k).sum() for k in range(3)] for o in own])
    expected = naive_logs(counts, weights)
    np.testing.assert_allclose(logs.T, expected, atol=1e-12)
    scores = np.empty(5)
    kernels.parent_scores(counts[2], logs, 3, np.array([4, 0, 3]), 1 / 0.3, scores)
    naive = [(counts[2] * expected[a]).sum() / 0.3 for a in (4, 0, 3)]
    np.testing.assert_allclose(scores[:3], naive, atol=1e-10)


def frequencies(draw, forests):
    """Share of the sweeps that end in each forest; `draw` moves parents by one sweep."""
    places = {forest: i for i, forest in enumerate(forests)}
    counts = np.zeros(len(forests))
    parents = np.full(len(forests[0]), -1, np.int32)
    for sweep in range(N_SWEEPS):
        draw(parents, rng.key(3, "test", 0, sweep))
        counts[places[tuple(parents.tolist())]] += 1  # a cycle would be a KeyError
    return counts / N_SWEEPS


def assert_near(found, exact):
    """Within what draws that depend a little on each other may differ."""
    errors = np.sqrt(exact * (1 - exact) / N_SWEEPS)
    assert (np.abs(found - exact) < 8 * errors + 1e-3).all()
    assert np.abs(found - exact).sum() < 0.06


ORDERS = [None, [2, 0, 3, 1]]


def log_units(counts, weights, log_shares, is_dirichlet):
    """Log probability of a message's classes given logs of what its parent gives replies."""
    if not is_dirichlet:
        return (counts * log_shares).sum()
    n = counts.sum()
    rises = gammaln(weights + counts) - gammaln(weights)
    return rises.sum() - gammaln(weights.sum() + n) + gammaln(weights.sum())


@pytest.mark.parametrize("ranks", ORDERS)
@pytest.mark.parametrize(("most", "is_dirichlet"), [(512, False), (3, False), (512, True)])
def test_parents_of_m4_are_drawn_from_their_distribution(ranks, most, is_dirichlet):
    generator = np.random.default_rng(2)
    weights = generator.normal(0, 1.5, (4, 2))
    classes = np.array([0, 1, 1, 0, 0, 1, 2], np.int16)
    offsets = np.array([0, 1, 3, 5, 7])
    counts = np.array([[1, 0], [0, 2], [2, 0], [0, 1.0]])
    temperature = 0.8
    logs = naive_logs(counts, weights)
    shares = naive_logs(counts, weights, normalized=False)
    forests = list(all_forests(4, ranks))
    exact = [
        sum(log_units(counts[b], np.exp(shares[p]), logs[p], is_dirichlet) for b, p in enumerate(f))
        for f in forests
    ]
    exact = np.exp(np.array(exact) / temperature - logsumexp(np.array(exact) / temperature))
    given = np.array(ranks if ranks else range(4))

    def draw(parents, key):
        kernels.draw_parents_m4(
            offsets, np.array([0, 4]), 0, classes, weights, temperature, ranks is not None, given,
            most, key, parents, is_dirichlet, NO_PAIRS,
        )  # fmt: skip

    assert_near(frequencies(draw, forests), exact)


@pytest.mark.parametrize("is_dirichlet", [False, True])
def test_parents_are_drawn_by_features_that_depend_on_both(is_dirichlet):
    generator = np.random.default_rng(4)
    weights = generator.normal(0, 1.5, (7, 2))  # classes, start, bias, speaker, gap, other
    classes = np.array([0, 1, 1, 0, 0, 1, 2], np.int16)
    offsets = np.array([0, 1, 3, 5, 7])
    counts = np.array([[1, 0], [0, 2], [2, 0], [0, 1.0]])
    speakers, times = np.array([3, 4, 3, -1], np.int32), np.array([0.0, 60.0, np.nan, 9e9])
    other = generator.random(4)

    def log_message(b, p):
        same = p >= 0 and speakers[b] >= 0 and speakers[b] == speakers[p]
        seconds = times[b] - times[p] if p >= 0 else 0.0
        seconds = max(seconds, 0.0) if np.isfinite(seconds) else 0.0
        gap = min(math.log1p(seconds) / math.log1p(30 * 86_400), 1.0)
        shares = counts[p] / max(counts[p].sum(), 1) if p >= 0 else np.zeros(2)
        scores = np.array([*shares, p < 0, 1.0, same, gap, other[b]]) @ weights
        return log_units(counts[b], np.exp(scores), scores - logsumexp(scores), is_dirichlet)

    forests = list(all_forests(4))
    exact = np.array([sum(log_message(b, p) for b, p in enumerate(f)) for f in forests]) / 0.8
    own = weights[3] + other[:, None] * weights[6]
    pairs = Pairs(True, own, speakers, times, weights[4].copy(), weights[5].copy())

    def draw(parents, key):
        kernels.draw_parents_m4(
            offsets, np.array([0, 4]), 0, classes, weights, 0.8, False, np.arange(4), 512, key,
            parents, is_dirichlet, pairs,
        )  # fmt: skip

    assert_near(frequencies(draw, forests), np.exp(exact - logsumexp(exact)))


def test_features_of_found_parents_are_those_of_given_ones():
    table = pv.sample(30).table
    minutes = pl.int_range(pl.len(), dtype=pl.Int64) * 60_000_000
    corpus = pv.Corpus.from_polars(table.with_columns(time=minutes.cast(pl.Datetime("us"))))
    features = ["position", "time_gap", "topic", "same_speaker"]
    model = pv.M4(n_classes=2, n_sweeps=2, features=features).fit(corpus)
    data = model._encode(corpus)
    for given, found in zip(model.cut(data), model._unlinked(data), strict=True):
        linked = found.linked()
        np.testing.assert_array_equal(
            linked.designs[linked.base_index], given.designs[given.base_index]
        )
        pairs = found.pairs(model.transitions_)
        b = int(np.flatnonzero(given.parents >= 0)[0])
        scores = np.empty(1)
        counts, parts = np.array([1.0, 0.0]), np.zeros((2, given.n_messages + 1))
        pair_scores(
            b, 0, given.n_messages, counts, parts, pairs, False, 1,
            np.array([given.parents[b]]), 1.0, scores,
        )  # fmt: skip
        expected = given.designs[given.base_index[b]] @ model.transitions_[2:]
        np.testing.assert_allclose(scores[0], expected[0] - logsumexp(expected), atol=1e-12)
    # what is found does not depend on the replies that are given
    bare = model.reconstruct(unlinked(corpus), n_sweeps=4, n_restarts=1)
    assert model.reconstruct(corpus, n_sweeps=4, n_restarts=1).equals(bare)


@pytest.mark.parametrize("ranks", ORDERS)
def test_parents_of_the_block_hmm_are_drawn_from_their_distribution(ranks):
    rows = np.random.default_rng(3).dirichlet([0.6, 0.6], 3)
    classes = np.array([0, 1, 1, 0], np.int16)
    temperature = 0.7
    forests = list(all_forests(4, ranks))
    exact = np.array(
        [
            math.prod(rows[classes[p] if p >= 0 else 2, classes[b]] for b, p in enumerate(f))
            for f in forests
        ]
    ) ** (1 / temperature)
    given = np.array(ranks if ranks else range(4))

    def draw(parents, key):
        draw_parents_block(
            np.array([0, 4]), 0, classes, rows, temperature, ranks is not None, given, key, parents
        )

    assert_near(frequencies(draw, forests), exact / exact.sum())


@pytest.mark.parametrize("ranks", ORDERS)
def test_first_parents_are_a_forest_of_every_kind(ranks):
    given = np.array(ranks if ranks else range(4))
    forests = set(all_forests(4, ranks))
    seen = set()
    for run in range(3000):
        parents = np.empty(4, np.int32)
        key = rng.key(1, "test", 0, run)
        open_parents(np.array([0, 4]), 0, ranks is not None, given, key, parents)
        seen.add(tuple(parents.tolist()))
    assert seen == forests


# classes and parents together, at temperature one


def m4_log_evidence(forest, model):
    given = m4_reference.Model(
        weights=model.transitions_, omega=1.0, switch=1, switch_prior=np.ones(2),
        word_weights=model.chains_[0]["class_words"], class_probability=model.class_probability_,
    )  # fmt: skip
    assignments = m4_reference.all_assignments(forest, given)
    return logsumexp([m4_reference.log_joint(forest, classes, given) for classes in assignments])


def block_log_evidence(forest, model):
    given = block_hmm_reference.Parameters(
        model.transitions_, model.chains_[0]["class_words"], model.class_probability_, 1,
        np.ones(2),
    )  # fmt: skip
    return logsumexp(
        [
            block_hmm_reference.log_likelihood(forest, classes, background, given)
            for classes in block_hmm_reference.all_classes(forest, 4)
            for background in block_hmm_reference.all_switches(forest, 1)
        ]
    )


@pytest.mark.parametrize(
    ("name", "evidence"), [("m4", m4_log_evidence), ("block-hmm", block_log_evidence)]
)
def test_classes_and_parents_are_drawn_from_their_posterior(name, evidence):
    model = plant(name, np.random.default_rng(2))
    model.seed_ = 0
    forest = make_forest([[3, 11], [7], [20]], [-1, -1, -1], n_words=60)
    forests = list(all_forests(3))
    logs = np.array(
        [
            evidence(dataclasses.replace(forest, parents=np.array(f, np.int32)), model)
            for f in forests
        ]
    )
    exact = np.exp(logs - logsumexp(logs))
    words = pl.Series([["w3", "w11"], ["w7"], ["w20"]])
    table = pl.DataFrame({"conversation": ["a"] * 3, "id": ["1", "2", "3"], "text": [""] * 3})
    corpus = pv.Corpus.from_polars(table.with_columns(tokens=words))
    encoded = encode(corpus, model.vocabulary_)
    engine, frozen = model._frozen()
    counts = dict.fromkeys(forests, 0)

    def visit(shard, state):
        counts[tuple(state["parents"].tolist())] += 1

    fold_in(
        Rebuilding(engine, order_of(corpus, None), cooling=1.0), frozen, model.cut(encoded),
        visit, seed=0, n_sweeps=N_SWEEPS, burn_in=0,
    )  # fmt: skip
    assert_near(np.array(list(counts.values())) / N_SWEEPS, exact)
    assert exact.max() > 2 * exact.min()


# the table


@pytest.fixture(scope="module")
def threads():
    return plant("m4", np.random.default_rng(2)).simulate((12, 6, 8), random_state=1)


@pytest.mark.parametrize("name", ["m4", "block-hmm"])
@pytest.mark.parametrize("order", [None, "time", "corpus"])
def test_the_table(name, order, threads):
    model = plant(name, np.random.default_rng(2))
    model.seed_ = 0
    options = {"n_sweeps": 20, "n_restarts": 2}
    table = model.reconstruct(threads, order, **options)
    rows = table["parent_row"].to_numpy()
    assert (rows < 0).tolist() == table["parent"].is_null().to_list()
    there = threads.table["id"].gather(rows[rows >= 0])
    assert there.to_list() == table["parent"].drop_nulls().to_list()
    homes = threads.table["conversation"]
    assert homes.gather(rows[rows >= 0]).to_list() == homes.filter(pl.Series(rows >= 0)).to_list()
    assert table.columns == ["conversation", "id", "parent", "parent_row"]
    assert table["id"].to_list() == threads.table["id"].to_list()
    rows = {name: row for row, name in enumerate(table["id"])}
    conversation = dict(zip(threads.table["id"], threads.table["conversation"], strict=True))
    parents = [-1 if p is None else rows[p] for p in table["parent"]]
    assert -1 in parents
    assert all(reaches_start(parents, b) for b in range(len(parents)))
    for own, parent in zip(table["id"], table["parent"], strict=True):
        assert parent is None or conversation[own] == conversation[parent]
        assert parent is None or order is None or rows[parent] < rows[own]
    hidden = dataclasses.replace(threads, parents=np.full(threads.n_messages, -1, np.int32))
    assert model.reconstruct(hidden, order, **options).equals(table)  # replies are not looked at
    model.set_params(n_jobs=3)
    assert model.reconstruct(threads, order, **options).equals(table)


def test_order_by_time():
    table = pl.DataFrame(
        {
            "conversation": ["a", "a", "a", "b", "b"],
            "id": list("12345"),
            "text": ["x"] * 5,
            "time": [30, 10, 10, 5, None],
        }
    )
    corpus = pv.Corpus.from_polars(table)
    assert order_of(corpus, "time").ranks.tolist() == [2, 0, 1, 0, 1]
    assert order_of(corpus, "corpus").ranks.tolist() == [0, 1, 2, 0, 1]
    assert not order_of(corpus, None).is_given


def test_the_best_restart_of_each_conversation_counts():
    parents = np.array([[-1, 0, -1, 2], [-1, -1, -1, -1]], np.int32)
    scores = np.array([[-1.0, -9.0], [-2.0, -3.0]])
    assert best_parents(parents, scores, np.array([0, 2, 4])).tolist() == [-1, 0, -1, -1]


def test_unusual_use(threads):
    model = plant("m4", np.random.default_rng(2))
    model.seed_ = 0
    with pytest.raises(ParameterError, match="order must be"):
        model.reconstruct(threads, "size")
    with pytest.raises(ParameterError, match="takes a Corpus"):
        model.reconstruct(encode(threads, model.vocabulary_))
    assert not hasattr(pv.LDA, "reconstruct")
    empty = pv.Corpus.from_polars(threads.table.head(0))
    assert model.reconstruct(empty).height == 0


def test_a_long_conversation_takes_linear_time():
    model = plant("m4", np.random.default_rng(2))
    model.seed_ = 0
    corpus = model.simulate((1, 3000, 4), random_state=1)
    table = model.reconstruct(corpus, n_sweeps=3, n_restarts=1)
    rows = {name: row for row, name in enumerate(table["id"])}
    parents = [-1 if p is None else rows[p] for p in table["parent"]]
    depths = np.zeros(len(parents), int)
    for b in range(len(parents)):
        at = b
        while parents[at] >= 0:
            at = parents[at]
            depths[b] += 1
            assert depths[b] <= len(parents)
