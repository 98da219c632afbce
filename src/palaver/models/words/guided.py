"""Guided classes: words and labels that say what some classes should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.encode import Encoded, Shard
from palaver.errors import CorpusError, ParameterError
from palaver.models.base.stored import Extras
from palaver.models.words.engine import ThreadEngine
from palaver.models.words.model import ThreadModel
from palaver.params import Limit, either, nothing, real, satisfies, text


def is_words(value: Any) -> bool:
    """Whether a value is a list of strings."""
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_seeds(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and is_words(words) for name, words in value.items()
    )


#: Parameters of models whose classes can be guided.
GUIDED_LIMITS: dict[str, Limit] = {
    "seed_words": either(satisfies("a dict of lists of words", _is_seeds), nothing()),
    "seed_weight": real(above=0),
    "labels": either(text(), nothing()),
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


def fixed_classes(labels: str | None, names: Sequence[str], data: Encoded) -> NDArray[np.int16]:
    """Return the known class of each message, -1 where it has no label."""
    fixed = np.full(data.n_messages, -1, np.int16)
    if labels is not None:
        coded = data.labels[labels]
        number = np.array([names.index(n) if n in names else -1 for n in coded.names] + [-1])
        fixed[:] = number[coded.codes]
    return fixed


class GuidedModel(ThreadModel):
    """A thread model of which seed words and labels may name the first classes.

    Attributes
    ----------
    class_names_ : list of str
        Names of the first classes.
    """

    n_classes: int
    seed_words: Mapping[str, Sequence[str]] | None
    seed_weight: float
    labels: str | None
    class_names_: list[str]

    def _engine(self, data: Encoded) -> ThreadEngine:
        self.class_names_ = class_names(self.seed_words, self.labels, data, self.n_classes)
        engine = super()._engine(data)
        if self.seed_words:
            engine.seeds = seed_counts(
                self.seed_words, float(self.seed_weight), data, engine.n_columns
            )
        return engine

    def _reads(self, data: Encoded) -> dict[str, Sequence[Any]]:
        found = super()._reads(data)
        if self.labels is not None:
            fixed = fixed_classes(self.labels, self.class_names_, data)
            found["labels"] = (self.class_names_, fixed)
        return found

    def _facts(self) -> dict[str, Any]:
        return {"class_names": self.class_names_} if self.class_names_ else {}

    def _extras(self) -> Extras:
        return {"class_names": self.class_names_}, {}

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.class_names_ = [str(name) for name in content["class_names"]]


@dataclass(frozen=True, eq=False)
class LabelledShard(Shard):
    """A shard in which some messages have known classes.

    Attributes
    ----------
    fixed_classes : array of int16, shape (n_messages,)
        -1 where they are to be found.
    """

    fixed_classes: NDArray[np.int16]


def known_classes(shard: Shard) -> NDArray[np.int16]:
    """Return the known classes, nothing where there are none."""
    return shard.fixed_classes if isinstance(shard, LabelledShard) else np.empty(0, np.int16)
