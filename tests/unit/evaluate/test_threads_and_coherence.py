"""Thread accuracy with its baselines, and coherence."""

import itertools

import numpy as np
import pytest

from palaver import evaluate
from palaver.errors import ParameterError

# Two conversations: 0 <- 1, 1 <- 2, 0 <- 3; 4 <- 5; and an empty one between them.
PARENTS = np.array([-1, 0, 1, 0, -1, 4])
OFFSETS = np.array([0, 4, 4, 6])


def test_thread_accuracy_and_baselines_by_hand():
    np.testing.assert_array_equal(evaluate.previous_parents(OFFSETS), [-1, 0, 1, 2, -1, 4])
    np.testing.assert_array_equal(evaluate.first_parents(OFFSETS), [-1, 0, 0, 0, -1, 4])
    np.testing.assert_array_equal(evaluate.previous_parents([0, 2, 2]), [-1, 0])
    baselines = evaluate.thread_baselines(PARENTS, OFFSETS)
    assert baselines == {
        "random": pytest.approx(2 / 6),
        "previous": pytest.approx(5 / 6),
        "first": pytest.approx(5 / 6),
    }
    assert evaluate.thread_accuracy([-2, 0, 1, 3, 4, 4], PARENTS) == pytest.approx(4 / 6)
    right = evaluate.right_parents([-1, 0, 1, 2, -1, -1], PARENTS, OFFSETS)
    np.testing.assert_array_equal(right, [[3, 4], [0, 0], [1, 2]])


@pytest.mark.parametrize("order", [None, "time"])
def test_random_accuracy_is_the_enumerated_expectation(order):
    candidates = []
    for start, stop in itertools.pairwise(OFFSETS):
        for message in range(start, stop):
            end = message if order else stop
            candidates.append([-1, *(m for m in range(start, end) if m != message)])
    draws = itertools.product(*candidates)
    exact = np.mean([evaluate.thread_accuracy(draw, PARENTS) for draw in draws])
    assert evaluate.random_parents_accuracy(OFFSETS, order) == pytest.approx(exact)


def test_threads_refuse_nonsense():
    for call, message in (
        (lambda: evaluate.thread_accuracy([0], [0, 1]), "a parent for each message"),
        (lambda: evaluate.thread_baselines([0], [0, 2]), "end at 2"),
        (lambda: evaluate.random_parents_accuracy([0, 2], "size"), "order must be"),
        (lambda: evaluate.random_parents_accuracy([0]), "no messages"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


DOCUMENTS = [[0, 1, 1], [0, 1], [2, 0], [], [2, 3]]
TOKENS = np.concatenate([np.array(d, int) for d in DOCUMENTS])
DOCUMENT_OFFSETS = np.cumsum([0, *map(len, DOCUMENTS)])


def naive_npmi(v, w):
    full = [set(d) for d in DOCUMENTS if d]
    share = [sum(1 for d in full if need <= d) / len(full) for need in ({v}, {w}, {v, w})]
    if share[2] == 0:
        return -1.0
    return np.log(share[2] / (share[0] * share[1])) / -np.log(share[2])


def test_npmi_by_hand_and_against_a_naive_twin():
    counts, n_documents = evaluate.word_pairs_together(TOKENS, DOCUMENT_OFFSETS, [0, 1, 2, 3])
    assert n_documents == 4
    np.testing.assert_array_equal(counts[0], [3, 2, 1, 0])
    values = evaluate.npmi_pairs(counts, n_documents)
    for v, w in itertools.combinations(range(4), 2):
        assert values[v, w] == pytest.approx(naive_npmi(v, w))
    # 0 and 1 meet in two of four documents: log(.5 / (.75 * .5)) / log 2
    assert values[0, 1] == pytest.approx(np.log(4 / 3) / np.log(2))
    classes = evaluate.npmi(TOKENS, DOCUMENT_OFFSETS, [[0, 1, 2], [3, 2, 9]])
    expected = np.mean([naive_npmi(0, 1), naive_npmi(0, 2), naive_npmi(1, 2)])
    np.testing.assert_allclose(classes, [expected, naive_npmi(3, 2)])  # 9 never occurs


def test_npmi_at_its_limits():
    tokens, offsets = np.array([0, 1, 0, 1, 2]), [0, 2, 4, 5]
    assert evaluate.npmi(tokens, offsets, [[0, 1]])[0] == pytest.approx(1)
    assert evaluate.npmi(tokens, offsets, [[0, 2]])[0] == -1
    assert evaluate.npmi([0, 1, 1, 0], [0, 2, 4], [[0, 1]])[0] == 0  # in every document
    assert np.isnan(evaluate.npmi(tokens, offsets, [[0, 7], [1, 1]])[0])
    assert np.isnan(evaluate.npmi(tokens, offsets, [[0]])[0])  # no pairs
    with pytest.raises(ParameterError, match="no words"):
        evaluate.npmi([], [0, 0], [[0, 1]])
    with pytest.raises(ParameterError, match="a row for each class"):
        evaluate.npmi(tokens, offsets, [0, 1])
