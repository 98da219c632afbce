"""Labels that people gave, partial tags or a dictionary, as the tags that positions admit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.errors import CorpusError, ParameterError
from palaver.models.states.tags import Tags

#: A column's name, lists of tags (None is free), or a dictionary from words to their tags.
Labels = str | Sequence[Any] | Mapping[str, str | Collection[str]]

_WHO = "InfiniteHMM"


def tags_of(labels: Labels, data: Encoded, corpus: Corpus | None, unit: str) -> Tags:
    """Return which tags the labels admit for each position of the data."""
    if isinstance(labels, Mapping):
        if unit != "word":
            raise ParameterError(
                f"{_WHO}: labels= is a dictionary of words, but with unit='message' "
                "messages have states; give one label per message"
            )
        return _of_dictionary(labels, data)
    given = _flat(labels, data, corpus, unit)
    names = sorted({tag for tag in given if tag is not None})
    if not names:
        raise CorpusError(f"{_WHO}: all labels are missing; give at least one tag")
    index = {name: number for number, name in enumerate(names, 1)}
    groups = np.array([0 if tag is None else index[tag] for tag in given], np.int32)
    sets = np.vstack((np.ones((1, len(names)), bool), np.eye(len(names), dtype=bool)))
    return Tags(groups, sets, tuple(names))


def _flat(labels: Any, data: Encoded, corpus: Corpus | None, unit: str) -> list[str | None]:
    """Return one tag, or None, for each position."""
    if isinstance(labels, str):
        if corpus is None or labels not in corpus.table.columns:
            raise ParameterError(f"{_WHO}: the corpus has no column {labels!r} of labels")
        labels = corpus.table[labels].to_list()
    if isinstance(labels, pl.Series | np.ndarray):
        labels = labels.tolist() if isinstance(labels, np.ndarray) else labels.to_list()
    if unit == "message":
        if len(labels) != data.n_messages:
            raise ParameterError(f"{_WHO}: {len(labels):,} labels for {data.n_messages:,} messages")
        return [_one(tag) for tag in labels]
    lengths = np.diff(data.message_offsets)
    flat: list[str | None] = []
    if len(labels) != len(lengths):
        raise ParameterError(f"{_WHO}: {len(labels):,} lists of labels for {len(lengths):,} "
                             "sentences")  # fmt: skip
    for number, (tags, length) in enumerate(zip(labels, lengths, strict=True)):
        tags = [None] * length if tags is None else list(tags)
        if len(tags) != length:
            raise ParameterError(
                f"{_WHO}: sentence {number} has {length} words but {len(tags)} labels"
            )
        flat.extend(_one(tag) for tag in tags)
    return flat


def _one(tag: Any) -> str | None:
    if tag is not None and not isinstance(tag, str):
        raise ParameterError(f"{_WHO}: a label must be a string or None, got {tag!r}")
    return tag


def _of_dictionary(words: Mapping[str, str | Collection[str]], data: Encoded) -> Tags:
    """Return the tags that a dictionary admits for each word of the data."""
    known = {
        word: frozenset([tags] if isinstance(tags, str) else tags)
        for word, tags in words.items()
        if word in data.vocabulary.index
    }
    names = sorted(set().union(*known.values()))
    if not names:
        raise CorpusError(f"{_WHO}: no word of the dictionary occurs in the sentences")
    empty = [word for word, tags in known.items() if not tags]
    if empty:
        raise ParameterError(
            f"{_WHO}: the dictionary has no tag for {empty[0]!r}; leave the word out"
        )
    kinds = [frozenset(names), *sorted(set(known.values()) - {frozenset(names)}, key=sorted)]
    number = {kind: i for i, kind in enumerate(kinds)}
    of_words = np.zeros(len(data.vocabulary), np.int32)
    for word, tags in known.items():
        of_words[data.vocabulary.index[word]] = number[tags]
    sets = np.array([[name in kind for name in names] for kind in kinds])
    return Tags(of_words[data.tokens], sets, tuple(names))
