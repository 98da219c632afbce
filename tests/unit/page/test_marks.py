"""Coloured stretches cover exactly the words that have the class."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from support.pages import mark_texts
from support.words import tokenize

from palaver.encoding.tokenizer import split_words
from palaver.page.marks import pack

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def unpack(text):
    numbers, number, shift = [], 0, 0
    for character in text:
        digit = DIGITS.index(character)
        number += (digit & 31) << shift
        shift += 5
        if digit < 32:
            numbers.append(number)
            number = shift = 0
    return numbers


def stretches(text, runs):
    """Cut a text as the script does, in UTF-16 units."""
    units = text.encode("utf-16-le")
    numbers, at, found = unpack(runs), 0, []
    for gap, length, rank in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        at += gap
        found.append((units[2 * at : 2 * (at + length)].decode("utf-16-le"), rank))
        at += length
    return found


def mark_one(text, ranks, known, limit=10_000):
    return mark_texts([text], ranks, [len(ranks)], known, limit)


@given(st.lists(st.integers(0, 10**9)))
def test_packed_numbers_come_back(numbers):
    assert unpack(pack(numbers)) == numbers


def test_stretches_cover_words_of_a_class_and_skip_background_and_unknown():
    text = "Thanks a lot, Ann!  It works."
    words = tokenize(text)
    assert words == ["thanks", "a", "lot", ",", "ann", "!", "it", "works", "."]
    known = set(words) - {"ann"}
    marks = mark_one(text, [0, 0, 0, -1, 2, 1, 1, -1], known)
    found = stretches(text, marks.runs[0])
    assert found == [("Thanks a lot", 0), ("!", 2), ("It works", 1)]
    assert marks.ranks.tolist() == [0, 0, 0, -1, -2, 2, 1, 1, -1]


def test_places_hold_for_wide_characters_and_for_letters_that_grow_when_lowered():
    text = "İstanbul 👩‍👧 𝒳 thanks İİ ok"
    words = split_words(pl.Series([text]))[0].to_list()
    marks = mark_one(text, list(range(len(words))), words)
    found = stretches(text, marks.runs[0])
    assert [piece for piece, _ in found] == ["İstanbul", "👩‍👧", "𝒳", "thanks", "İİ", "ok"]


@given(st.text(max_size=60))
def test_every_word_of_any_text_is_found_where_it_stands(text):
    words = tokenize(text)
    marks = mark_one(text, list(range(len(words))), words)
    found = stretches(text, marks.runs[0])
    assert len(found) == len(words)
    for (piece, _), word in zip(found, split_words(pl.Series([text]))[0], strict=True):
        assert piece.lower().casefold() == word.casefold()


def test_what_is_not_shown_is_not_marked_and_other_splits_are_left_alone():
    marks = mark_one("thanks a lot", [0, 1, 0], ["thanks", "a", "lot"], limit=8)
    assert stretches("thanks a lot", marks.runs[0]) == [("thanks", 0), ("a", 1)]
    other = mark_one("thanks a lot", [0], ["thanks", "a", "lot"])
    assert other.runs == [""]
    assert (other.ranks == -2).all()


def test_lines_begin_sentences():
    marks = mark_one("one two\n- three\nfour", [0] * 5, ["one", "two", "-", "three", "four"])
    assert marks.breaks.tolist() == [True, False, True, False, True]


def test_wrapped_lines_go_on_and_paragraphs_do_not():
    full = "word " * 11
    for gap, breaks in (("\n", False), ("\n\n", True), ("\n \n", True)):
        words = [*full.split(), "next"]
        marks = mark_one(full.strip() + gap + "Next", [0] * 12, words)
        assert marks.breaks.tolist() == [True, *[False] * 10, breaks]
    short = ["word"] * 7
    for begins, breaks in (("next", False), ("Next", True)):
        marks = mark_one(" ".join(short) + "\n" + begins, [0] * 8, [*short, "next"])
        assert marks.breaks[-1] == breaks


def test_words_keep_their_class_where_others_were_replaced():
    texts = pl.Series(["@ann thanks ann, it works", "it works"])
    shown = pl.Series(["@p1 thanks ann, it works", "it works"])
    known = {"@", "ann", "thanks", "it", "works"}
    ranks = np.array([0, 1, 2, 3, 0, 1, 2, 3], np.int16)  # @ ann thanks ann it works | it works
    plain = mark_texts(texts, ranks, [6, 2], known)
    marks = mark_texts(texts, ranks, [6, 2], known, shown=shown)
    assert marks.words == plain.words
    assert marks.runs[1] == plain.runs[1]
    # @ is of 0, p1 of none, thanks of 2, ann of 3, it of 0, works of 1
    assert marks.runs[0] == pack([0, 1, 0, 3, 6, 2, 1, 3, 3, 2, 2, 0, 1, 5, 1])
