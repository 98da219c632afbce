"""Words that must not be listed where texts are shown without names."""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from palaver.encoding.tokenizer import word_type

_SHORTEST_NAME = 3  # a word of a name that is hidden


def hidden_words(
    speakers: pl.Series, before: pl.Series, after: pl.Series, vocabulary: Iterable[str]
) -> frozenset[str]:
    """Return the words of speakers' names, and those that texts hold less often once anonymized.

    A word that was part of a name or number once stays hidden if it is elsewhere too. So are words
    of the vocabulary that are in no text: the model may have learned from others.

    Parameters
    ----------
    speakers : polars.Series of str
    before, after : polars.Series of list of str
        The words of the texts as they are, and as they are shown.
    vocabulary : iterable of str
        Words that a model knows.
    """
    counts = before.explode().drop_nulls().value_counts(name="n").join(
        after.explode().drop_nulls().value_counts(name="left"), on=before.name, how="left"
    )  # fmt: skip
    fewer = counts.filter(pl.col("left").fill_null(0) < pl.col("n"))[before.name]
    people = speakers.drop_nulls().unique().str.to_lowercase()
    named = [word for word in people.str.extract_all(r"\w+").explode().drop_nulls()
             if len(word) >= _SHORTEST_NAME and not word.isdigit()]  # fmt: skip
    there = {word_type(word) for word in after.explode().drop_nulls().unique()}
    found = {word_type(word) for word in (*fewer, *named, *people)}
    found |= set(vocabulary) - there
    return frozenset(word for word in found if any(letter.isalnum() for letter in word))


def tells(text: str, hidden: frozenset[str]) -> bool:
    """Whether a text has a word that is to be hidden."""
    words = re.findall(r"[\w'’-]+", text.lower()) if hidden else []
    return not hidden.isdisjoint([*words, *(word.strip("'’-") for word in words)])
