"""Labels of words, as lists with one label for each token."""

import numpy as np
import polars as pl

from palaver.evaluate import labelled_tokens


def test_word_labels_are_compared_word_by_word():
    labels = pl.Series([["D", "N", "V"], ["D", "N"]])
    rows = labelled_tokens([0, 1, 2, 0, 1], [0, 3, 5], labels)
    assert rows.gold.tolist() == [0, 1, 2, 0, 1]
    assert rows.message.tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_array_equal(rows.found, [0, 1, 2, 0, 1])


def test_lists_of_other_lengths_label_the_message():
    rows = labelled_tokens([0, 1, 2, 0], [0, 3, 4], pl.Series([["D", "N"], ["D"]]))
    assert len(rows.gold) == 7
