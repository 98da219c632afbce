"""Guided classes: words and labels that say what some classes should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.encode import Encoded
from palaver.errors import CorpusError, ParameterError
from palaver.params import Limit, either, nothing, real, such


def is_words(value: Any) -> bool:
    """Whether a value is a list of strings."""
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_seeds(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and is_words(words) for name, words in value.items()
    )


SEED_LIMITS: dict[str, Limit] = {
    "seed_words": either(such("a dict of lists of words", _is_seeds), nothing()),
    "seed_weight": real(above=0),
}


def class_names(
    seed_words: Mapping[str, Sequence[str]] | None, labels: str | None, data: Encoded, n: int
) -> list[str]:
    """Return the names of the first classes: those of the seeds, then those of the labels."""
    names = list(seed_words or {})
    if labels is not None:
        if labels not in data.labels:
            known = ", ".join(data.labels) or "none"
            raise CorpusError(f"there is no column {labels!r} of labels; known: {known}")
        coded = data.labels[labels]
        used = {coded.names[code] for code in np.unique(coded.codes[coded.codes >= 0])}
        names += sorted(used - set(names))
    if len(names) > n:
        raise ParameterError(
            f"{len(names)} classes have names ({', '.join(names[:8])} ...), and n_classes is {n}"
        )
    return names


def seed_counts(
    seed_words: Mapping[str, Sequence[str]], weight: float, data: Encoded, n_columns: int
) -> NDArray[np.int32]:
    """Return the counts that seed words add to the prior, (n_words, n_columns).

    A seed counts ``weight`` times as often as it occurs in the corpus, at least once.
    """
    seeds = np.zeros((len(data.vocabulary), n_columns), np.int32)
    missing = []
    for column, (_, words) in enumerate(seed_words.items()):
        for word in words:
            number = data.vocabulary.index.get(word)
            if number is None:
                missing.append(word)
            else:
                count = weight * float(data.vocabulary.counts[number])
                seeds[number, column] += max(round(count), 1)
    if missing and not seeds.any():
        raise ParameterError(f"no seed word is in the vocabulary: {', '.join(missing[:10])}")
    return seeds
