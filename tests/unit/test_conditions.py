"""Numbers, further parents and sentence boundaries in encoded corpora."""

import numpy as np
import polars as pl

import palaver as pv
from palaver.encoding import Encoded, Vocabulary, encode


def corpus(**columns):
    table = pl.DataFrame(
        {
            "conversation": ["x", "x", "x", "y"],
            "id": ["a", "b", "c", "a"],
            "reply_to": [None, "a", "b", None],
            "text": ["Hi there. Any help?", "no", "It works! Thanks. Bye", "e.g. this goes on."],
            **columns,
        }
    )
    return pv.Corpus.from_polars(table)


def test_other_parents_are_earlier_messages_of_the_conversation():
    others = pl.Series([["b"], [], ["a", "b", "zz", "a"], ["b"]], dtype=pl.List(pl.String))
    data = encode(corpus(other_parents=others), min_count=1)
    # c has a, but not b, which is already its parent, nor what is missing; for the first, none is
    # earlier, and y has no b
    assert data.other_parents.tolist() == [[2, 0]]
    assert encode(corpus(), min_count=1).other_parents.shape == (0, 2)


def test_numbers(tmp_path):
    data = encode(corpus(size=[1, None, 3, 4], good=[True, False, None, True]), min_count=1)
    np.testing.assert_array_equal(data.numbers["size"], [1, np.nan, 3, 4])
    np.testing.assert_array_equal(data.numbers["good"], [1, 0, np.nan, 1])
    data.write(tmp_path)
    again = Encoded.open(tmp_path)
    np.testing.assert_array_equal(again.numbers["size"], data.numbers["size"])
    assert list(again.numbers) == list(data.numbers)


def test_sentences():
    data = encode(corpus(), min_count=1, sentences=True)
    words = data.vocabulary.words
    pieces = [
        " ".join(words[w] for w in data.tokens[first:last])
        for first, last in zip(data.sentence_offsets[:-1], data.sentence_offsets[1:], strict=True)
    ]
    assert pieces == [
        "hi there .", "any help ?", "no", "it works !", "thanks .", "bye", "e . g . this goes on .",
    ]  # fmt: skip
    assert set(data.message_offsets) <= set(data.sentence_offsets)


def test_sentences_of_known_words_only():
    few = Vocabulary(["help", "thanks"], np.array([1, 1]))
    data = encode(corpus(), few, sentences=True)
    assert data.sentence_offsets.tolist() == [0, 1, 2]  # sentences without a known word are dropped
