"""ROUGE against the rouge-score package."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

import palaver as pv
from palaver.errors import InputError
from palaver.evaluate.rouge import mean_rouge, rouge_scores

NAMES = ("rouge1", "rouge2", "rougeL")


def assert_equal(summary, reference):
    for stemmed in (False, True):
        theirs = RougeScorer(list(NAMES), use_stemmer=stemmed).score(reference, summary)
        ours = rouge_scores(summary, reference, stemmed=stemmed)
        for name in NAMES:
            expected = (theirs[name].precision, theirs[name].recall, theirs[name].fmeasure)
            found = (ours[name].precision, ours[name].recall, ours[name].f)
            assert found == pytest.approx(expected, abs=1e-12), (name, stemmed, summary, reference)


def test_messages_of_the_sample():
    texts = pv.sample(30).table["text"].to_list()
    for summary, reference in pairwise(texts):
        assert_equal(summary, reference)


@pytest.mark.parametrize(
    ("summary", "reference"),
    [
        ("", ""), ("a", ""), ("", "b"), ("?!", "a b"), ("a", "a"), ("a b", "b a"),
        ("the cat_sat on 2.5 mats", "The CATS sat, on 2 mats!"), ("naïve café", "naive cafe"),
        ("running runs ran", "run runner runs"), ("a a a b", "a b b b a"),
    ],
)  # fmt: skip
def test_cases(summary, reference):
    assert_equal(summary, reference)


@given(st.text("ab c.", max_size=30), st.text("ab c.", max_size=30))
def test_any_texts(summary, reference):
    assert_equal(summary, reference)


def test_several_references_are_averaged():
    one, two = rouge_scores("a b c", "a b")["rouge1"], rouge_scores("a b c", "c d e f")["rouge1"]
    mean = mean_rouge("a b c", ["a b", "c d e f"])["rouge1"]
    assert mean.recall == (one.recall + two.recall) / 2
    assert mean.f == (one.f + two.f) / 2
    with pytest.raises(InputError, match="no references"):
        mean_rouge("a", [])
