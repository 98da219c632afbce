"""The stemmer against NLTK's, on which published ROUGE figures are based."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

import palaver as pv
from palaver.encoding.stem import stem

ENDINGS = re.findall(
    "[a-z]+",
    "sses ies ss s eed ed ing ated bled ized hopped falling filing y ational tional enci anci izer "
    "bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti biliti "
    "fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment "
    "ent ion sion tion ou ism ate iti ous ive ize e ll ied",
)


def test_words_of_the_sample():
    words = {word for text in pv.sample().table["text"] for word in text.lower().split()}
    reference = PorterStemmer()
    assert [w for w in words if stem(w) != reference.stem(w)] == []


@given(st.text("abcdeilnorstuyz", min_size=0, max_size=7), st.sampled_from(ENDINGS))
def test_any_stem_with_any_ending(start, ending):
    assert stem(start + ending) == PorterStemmer().stem(start + ending)


@pytest.mark.parametrize("word", ["sky", "skies", "dying", "news", "innings", "proceed", "y", ""])
def test_irregular_and_short_words(word):
    assert stem(word) == PorterStemmer().stem(word)
