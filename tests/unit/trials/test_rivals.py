"""Rivals that need no model: what they find, and what they do with poor input."""

import numpy as np
import polars as pl
import pytest

from palaver import evaluate
from palaver.errors import ParameterError
from palaver.trials.rivals import (
    has_question,
    kmeans_tfidf,
    kmeans_vectors,
    one_class,
    rival_classes,
    texts_of,
)

ASKED = ["how do i print this ?", "why does it not print ?", "how do i scan ?", "why is it slow ?"]
THANKED = ["thanks a lot , it works", "thanks , that works", "it works now , thanks", "many thanks"]


def test_question_marks_of_many_scripts():
    texts = ["What?", None, "no", "هل تعمل؟", "本当？", "", "why?!", "γιατί\u037e", "a; b"]
    np.testing.assert_array_equal(has_question(texts), [1, 0, 0, 1, 1, 0, 1, 1, 0])
    np.testing.assert_array_equal(has_question(pl.Series(texts)), has_question(texts))
    np.testing.assert_array_equal(one_class(3), [0, 0, 0])


@pytest.mark.parametrize("kmeans", [kmeans_tfidf, kmeans_vectors])
def test_clusters_are_found_and_new_texts_join_them(kmeans):
    found = kmeans(ASKED * 5 + THANKED * 5, 2, 3)
    assert evaluate.v_measure(found, [0] * 20 + [1] * 20) == pytest.approx(1)
    new = kmeans(ASKED * 5 + THANKED * 5, 2, 3, new=["how do i print ?", "thanks , it works"])
    np.testing.assert_array_equal(new, found[[0, 20]])
    np.testing.assert_array_equal(kmeans(ASKED * 5 + THANKED * 5, 2, 3), found)


def test_the_ends_count_only_if_asked():
    # the same words, so the same mean: only their order differs
    texts = ["so it is", "it is so"] * 30
    assert len(np.unique(kmeans_vectors(texts, 2, ends=False))) == 1
    assert evaluate.v_measure(kmeans_vectors(texts, 2), [0, 1] * 30) == pytest.approx(1)


@pytest.mark.parametrize("kmeans", [kmeans_tfidf, kmeans_vectors])
def test_poor_input(kmeans):
    assert len(kmeans([], 3)) == 0
    np.testing.assert_array_equal(kmeans(["", None], 3), [0, 0])
    np.testing.assert_array_equal(kmeans(["a"], 3), [0])
    assert len(np.unique(kmeans(["a b", "", None, "a b", "x ?"], 5))) == 3
    np.testing.assert_array_equal(kmeans(["", ""], 2, new=["a", "b", "c"]), [0, 0, 0])
    with pytest.raises(ParameterError, match="n_classes"):
        kmeans(["a"], 0)


def test_all_rivals_have_a_class_for_each_text():
    found = rival_classes(ASKED, [2, 3], new=THANKED[:3])
    assert [(name, k) for name, k, _ in found] == [
        ("k-means of tf-idf", 2), ("k-means of tf-idf", 3), ("has a ?", 2), ("one class", 1),
        ("random", 2), ("random", 3),
    ]  # fmt: skip
    assert all(len(classes) == 3 for _, _, classes in found)


def test_words_stand_in_for_texts_where_there_are_none():
    from palaver.corpus.table import Corpus

    table = pl.DataFrame({"text": ["", ""], "tokens": [["a", "b"], ["c"]]})
    assert texts_of(Corpus.from_polars(table)).to_list() == ["a b", "c"]
