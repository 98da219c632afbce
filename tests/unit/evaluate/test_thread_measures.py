"""Measures of rebuilt threads on examples worked out by hand."""

import math

import numpy as np
import pytest

from palaver.errors import ParameterError
from palaver.evaluate import conversation_scores, exact_match, link_scores, reliability


def test_link_scores_by_hand():
    # found: 4 links, gold: 3 links, in common 2 (messages 1 and 3)
    found, gold = [-1, 0, 0, 2, 3], [-1, 0, 1, 2, -1]
    scores = link_scores(found, gold)
    assert scores == pytest.approx({"precision": 2 / 4, "recall": 2 / 3, "f1": 4 / 7})
    assert link_scores([-1], [-1]) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    with pytest.raises(ParameterError, match="a parent for each message"):
        link_scores([-1, 0], [-1])


def test_exact_match_by_hand():
    # conversations of two and more: found {0,1}, {2,3,4}; gold {0,1}, {2,3}; one is the same
    found, gold = [0, 0, 1, 1, 1, 2], [5, 5, 6, 6, 7, 8]
    scores = exact_match(found, gold)
    assert scores == pytest.approx({"precision": 1 / 2, "recall": 1 / 2, "f1": 1 / 2})


def test_conversation_scores_by_hand():
    found, gold = [0, 0, 0, 0], [0, 0, 1, 1]
    scores = conversation_scores(found, gold)
    assert scores["vi"] == pytest.approx(1.0)  # one bit is missing
    assert scores["scaled_vi"] == pytest.approx(1 - 1 / 2)  # of log2 4
    assert scores["one_to_one"] == pytest.approx(0.5)
    assert scores["exact_f1"] == 0.0
    same = conversation_scores([3, 3, 9], [1, 1, 0])
    assert same == pytest.approx({"vi": 0, "scaled_vi": 1, "one_to_one": 1, "exact_f1": 1})


def test_variation_of_information_of_random_conversations():
    dice = np.random.default_rng(0)
    found, gold = dice.integers(0, 4, 60), dice.integers(0, 5, 60)
    expected = 0.0
    for a in range(4):
        for b in range(5):
            joint = np.mean((found == a) & (gold == b))
            if joint:
                expected -= joint * math.log2(joint / np.mean(found == a))
                expected -= joint * math.log2(joint / np.mean(gold == b))
    assert conversation_scores(found, gold)["vi"] == pytest.approx(expected)


def test_reliability_by_hand():
    error, bins = reliability([0.95, 0.91, 0.55, 0.1], [True, False, True, False])
    assert error == pytest.approx((2 * abs(0.93 - 0.5) + abs(0.55 - 1) + abs(0.1 - 0)) / 4)
    assert bins[-1] == pytest.approx([2, 0.93, 0.5])
    assert bins[5] == pytest.approx([1, 0.55, 1])
