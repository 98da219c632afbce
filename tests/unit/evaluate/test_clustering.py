"""Clustering measures against scikit-learn, igraph and values worked out by hand."""

import itertools

import igraph
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import palaver as pv
from palaver import evaluate
from palaver.errors import ParameterError

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=60).map(
    lambda pairs: np.array(pairs).T
)
# Six items by hand: rows are classes, columns labels.
TABLE = np.array([[2, 0], [1, 1], [0, 2]])


@given(PAIRS)
def test_entropies_agree_with_scikit_learn(pairs):
    found, gold = pairs
    expected = metrics.homogeneity_completeness_v_measure(gold, found)
    ours = evaluate.homogeneity(found, gold), evaluate.completeness(found, gold)
    np.testing.assert_allclose((*ours, evaluate.v_measure(found, gold)), expected, atol=1e-9)
    for beta in (0.3, 2.0):
        np.testing.assert_allclose(
            evaluate.v_measure(found, gold, beta=beta),
            metrics.v_measure_score(gold, found, beta=beta),
            atol=1e-9,
        )
    mutual = metrics.mutual_info_score(gold, found) / np.log(2)
    np.testing.assert_allclose(evaluate.entropies(found, gold).mutual, mutual, atol=1e-9)


@given(PAIRS)
def test_variation_of_information_agrees_with_igraph_which_uses_nats(pairs):
    found, gold = pairs
    codes = [np.unique(labels, return_inverse=True)[1].tolist() for labels in (found, gold)]
    expected = igraph.compare_communities(*codes, method="vi") / np.log(2)
    ours = evaluate.variation_of_information(found, gold)
    np.testing.assert_allclose(ours, expected, atol=1e-9)
    np.testing.assert_allclose(evaluate.variation_of_information(gold, found), ours, atol=1e-12)
    if len(found) > 1:
        normalized = evaluate.variation_of_information(found, gold, normalized=True)
        np.testing.assert_allclose(normalized, ours / np.log2(len(found)), atol=1e-12)
        assert normalized <= 1 + 1e-12


def test_by_hand():
    # H(found) = log2 3, H(gold) = 1; the joint has two cells of 1/3 and two of 1/6.
    joint = 2 / 3 * np.log2(3) + 1 / 3 * np.log2(6)
    vi = 2 * joint - np.log2(3) - 1
    scores = evaluate.clustering_scores(TABLE)
    assert scores["vi"] == pytest.approx(vi)
    assert scores["vi_normalized"] == pytest.approx(vi / np.log2(6))
    mutual = np.log2(3) + 1 - joint
    even, whole = mutual, mutual / np.log2(3)
    assert scores["homogeneity"] == pytest.approx(even)
    assert scores["completeness"] == pytest.approx(whole)
    assert scores["v_measure"] == pytest.approx(2 * even * whole / (even + whole))
    assert scores["v_beta"] == pytest.approx(2.5 * even * whole / (1.5 * even + whole))
    assert scores["purity"] == pytest.approx(5 / 6)
    assert scores["collocation"] == pytest.approx(4 / 6)
    assert scores["f1"] == pytest.approx(2 * 20 / 36 / (9 / 6))
    assert scores["one_to_one"] == pytest.approx(4 / 6)
    assert (scores["items"], scores["classes"], scores["labels"]) == (6, 3, 2)


def test_greedy_is_not_always_the_best():
    table = np.array([[10, 9], [9, 0]])
    assert evaluate.one_to_one(table, method="greedy") == 10 / 28
    assert evaluate.one_to_one(table) == 18 / 28
    np.testing.assert_array_equal(evaluate.assignment(table, method="greedy"), [0, 1])
    np.testing.assert_array_equal(evaluate.assignment(table), [1, 0])
    np.testing.assert_array_equal(evaluate.assignment([[1], [5], [2]]), [-1, 0, -1])


@given(PAIRS)
def test_one_to_one_is_the_best_of_all_assignments(pairs):
    table = evaluate.contingency(*pairs)
    small, large = sorted(table.shape)
    wide = table if table.shape[0] == small else table.T
    best = max(
        sum(wide[i, j] for i, j in enumerate(columns))
        for columns in itertools.permutations(range(large), small)
    )
    assert evaluate.one_to_one(table) == pytest.approx(best / table.sum())
    assert evaluate.one_to_one(table, method="greedy") <= evaluate.one_to_one(table) + 1e-12
    assert evaluate.one_to_one(table) <= evaluate.purity(table) + 1e-12


def test_stacks_of_tables_and_weights():
    tables = np.stack([TABLE, TABLE[:, ::-1] * 3, np.ones((3, 2)), np.zeros((3, 2))])
    for measure in (
        evaluate.variation_of_information, evaluate.homogeneity, evaluate.completeness,
        evaluate.v_measure, evaluate.v_beta, evaluate.purity, evaluate.collocation,
        evaluate.f1, evaluate.one_to_one,
    ):  # fmt: skip
        values = measure(tables)
        assert values.shape == (4,)
        np.testing.assert_allclose(values[:3], [measure(table) for table in tables[:3]])
        assert values[0] == pytest.approx(values[1])
    found, gold = [0, 0, 1], ["a", "b", "b"]
    weighted = evaluate.contingency(found, gold, weights=[1, 2, 0.5])
    np.testing.assert_array_equal(weighted, [[1, 2], [0, 0.5]])
    assert evaluate.purity(found, gold, [1, 2, 0.5]) == pytest.approx(2.5 / 3.5)


def test_extremes():
    assert evaluate.variation_of_information([0, 1, 2], [2, 0, 1]) == 0
    assert evaluate.v_measure([0, 0], [1, 1]) == 1
    assert evaluate.variation_of_information([0, 1, 2, 3], [0, 0, 0, 0], normalized=True) == 1
    assert evaluate.v_measure([0, 1, 0, 1], [0, 0, 1, 1]) == 0
    assert evaluate.f1([0, 0, 0], ["a", "b", "c"]) == 0.5


def test_missing_labels_are_left_out_and_nonsense_is_refused():
    table = evaluate.contingency([0, 1, -1, 1, 2], ["a", None, "b", "b", "a"])
    np.testing.assert_array_equal(table, [[1, 0], [0, 1], [1, 0]])
    nulls = pl.Series([0, None, 1])
    np.testing.assert_array_equal(evaluate.contingency(nulls, [0, 0, 0]), [[1], [1]])
    assert evaluate.accuracy(["a", "b", "b"], ["a", "a", None]) == 0.5
    assert evaluate.accuracy([1, 2, 3], [1, 2, 4], weights=[1, 1, 2]) == 0.5
    for call, message in (
        (lambda: evaluate.purity([0, 1], [0]), "one label per item"),
        (lambda: evaluate.purity([0, 1]), "one table of counts"),
        (lambda: evaluate.purity([-1], [0]), "no item has both"),
        (lambda: evaluate.purity([[0]], [0]), "flat array"),
        (lambda: evaluate.one_to_one(TABLE, method="best"), "method must be"),
        (lambda: evaluate.v_measure(TABLE, beta=0), "beta must be"),
        (lambda: evaluate.accuracy([1], [-1]), "no item has a gold label"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


def test_tokens_of_messages_with_several_labels_count_once_for_each():
    classes = np.array([0, 1, 1, 2, -1, 0])
    offsets = [0, 2, 2, 5, 6]
    labels = [["ask", "thank"], ["ask"], ["thank", "thank", "ask"], None]
    tokens = evaluate.labelled_tokens(classes, offsets, labels)
    rows = sorted(
        (int(m), tokens.names[g], int(f))
        for f, g, m in zip(tokens.found, tokens.gold, tokens.message, strict=True)
    )
    first = [(0, act, k) for act in ("ask", "thank") for k in (0, 1)]
    third = [(2, act, k) for act in ("ask", "thank") for k in (1, 2, -1)]
    assert rows == sorted(first + third)
    table = evaluate.contingency(tokens.found, tokens.gold)
    np.testing.assert_array_equal(table, [[1, 1], [2, 2], [1, 1]])
    single = evaluate.labelled_tokens(classes, offsets, ["ask", None, "thank", "ask"])
    np.testing.assert_array_equal(single.gold, [0, 0, 1, 1, 1, 0])
    coded = evaluate.labelled_tokens(classes, offsets, np.array([0, -1, 1, 0]))
    np.testing.assert_array_equal(coded.gold, single.gold)
    series = evaluate.labelled_tokens(classes, offsets, pl.Series(labels))
    np.testing.assert_array_equal(series.gold, tokens.gold)
    with pytest.raises(ParameterError, match="need as many labels"):
        evaluate.labelled_tokens(classes, offsets, ["ask"])


def test_labels_and_lists_of_labels_may_be_mixed():
    # the example of docs/evaluation.md: the second message counts for both of its labels
    labels = ["question", ["answer", "thanks"], None]
    tokens = evaluate.labelled_tokens([0, 0, 1, 1, -1, 2], [0, 2, 5, 6], labels)
    assert tokens.names == ["answer", "question", "thanks"]
    np.testing.assert_array_equal(tokens.message, [0, 0, 1, 1, 1, 1, 1, 1])
    # given class 1, two labels are equally likely: one bit for four of the six rows
    assert evaluate.variation_of_information(tokens.found, tokens.gold) == pytest.approx(2 / 3)
    lists = [[label] if isinstance(label, str) else label for label in labels]
    for mixed in (
        lists,
        np.array(labels, object),
        pl.Series(labels, dtype=pl.Object),
        ["question", ("thanks", "answer", "thanks"), float("nan")],
        ["question", np.array(["answer", "thanks"]), []],
    ):
        pairs = evaluate.message_labels(mixed)
        assert sorted(zip(pairs.message, pairs.label, strict=True)) == [(0, 1), (1, 0), (1, 2)]
        assert (pairs.names, pairs.n_messages) == (tokens.names, 3)
    numbers = evaluate.message_labels([3, [1, -1], [], 1])
    np.testing.assert_array_equal(numbers.message, [0, 1, 3])
    np.testing.assert_array_equal(numbers.label, [1, 0, 0])


def test_counts_in_groups_add_up_to_the_table():
    generator = np.random.default_rng(5)
    found, gold, groups = (generator.integers(high, size=200) for high in (4, 3, 10))
    found[:20] = -1
    counts, shape = evaluate.grouped_contingency(found, gold, groups, 12)
    assert counts.shape == (12, 12)
    total = np.asarray(counts.sum(axis=0)).reshape(shape)
    np.testing.assert_array_equal(total, evaluate.contingency(found, gold))
    third = counts[[3]].toarray().reshape(shape)
    inside = groups == 3
    np.testing.assert_array_equal(third.sum(), (inside & (found >= 0)).sum())


def test_the_room_is_there_by_name():
    assert pv.evaluate is evaluate
    classes = evaluate.random_classes(1000, 4, random_state=1)
    np.testing.assert_array_equal(classes, evaluate.random_classes(1000, 4, random_state=1))
    np.testing.assert_allclose(np.bincount(classes) / 1000, 0.25, atol=0.06)
