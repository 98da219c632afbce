"""Guided classes: seed words and labels that say what the first classes should be.

Functions of a model that has ``seed_words`` and takes ``labels`` in its ``fit``: M4, the block HMM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.encoding import Encoded, Shard
from palaver.errors import CorpusError, ParameterError
from palaver.params import Limit, either, nothing, real, satisfies

#: The name of a column, or one label per message, None where it is not known.
Labels = str | Sequence[str | None]


def is_words(value: Any) -> bool:
    """Whether a value is a list of strings."""
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_seeds(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and is_words(words) for name, words in value.items()
    )


#: Parameters of models whose classes can be guided.
GUIDED_LIMITS: dict[str, Limit] = {
    "seed_words": either(satisfies("a dict from names to lists of words", _is_seeds), nothing()),
    "seed_weight": real(above=0),
}


class Guided(Protocol):
    """A model whose first classes may be named.

    Attributes
    ----------
    label_ : str or None
        The name of the column of labels that it was fitted with, if there was one.
    class_names_ : list of str
        Names of the first classes: those of the seeds, then those of the labels.
    """

    n_classes: int
    seed_words: Mapping[str, Sequence[str]] | None
    seed_weight: float
    label_: str | None
    class_names_: list[str]
    _labels: Labels | None


def take_labels(model: Guided, labels: Any) -> None:
    """Keep the labels of a fit; refuse what cannot be labels."""
    name = None
    if isinstance(labels, pl.Series):
        name, labels = labels.name or None, labels.to_list()
    elif isinstance(labels, np.ndarray):
        labels = labels.tolist()
    who = f"{type(model).__name__}.fit: labels must be the name of a column or a list"
    if not isinstance(labels, str | list | tuple | None):
        raise ParameterError(f"{who} with one label per message, got {labels!r}")
    for label in labels if isinstance(labels, list | tuple) else ():
        if label is not None and not isinstance(label, str):
            raise ParameterError(f"{who} of strings, None where unknown, got {label!r} in it")
    model._labels = labels
    model.label_ = labels if isinstance(labels, str) else name


def _label_codes(model: Guided, data: Encoded) -> tuple[list[str], NDArray[Any]]:
    """Return the names of labels, and the number of each message's, -1 for none."""
    labels = model._labels
    if labels is None:
        return [], np.full(data.n_messages, -1)
    if isinstance(labels, str):
        if labels not in data.labels:
            known = ", ".join(data.labels) or "none"
            raise CorpusError(
                f"there is no column {labels!r} of labels; columns of labels: {known}"
            )
        coded = data.labels[labels]
        return list(coded.names), coded.codes
    if len(labels) != data.n_messages:
        raise ParameterError(
            f"{type(model).__name__}.fit: there are {len(labels):,} labels for "
            f"{data.n_messages:,} messages; give one per message, None where unknown"
        )
    names = sorted({label for label in labels if label is not None})
    number = {name: code for code, name in enumerate(names)}
    codes = [-1 if label is None else number[label] for label in labels]
    return names, np.array(codes, np.int64)


def class_names(model: Guided, data: Encoded, most: int | None = None) -> list[str]:
    """Return the names of the first classes: those of the seeds, then those of the labels.

    Parameters
    ----------
    model : Guided
    data : Encoded
    most : int, optional
        Names to allow; by default as many as the model has classes.
    """
    most = model.n_classes if most is None else most
    seeded = list(model.seed_words or {})
    names, codes = _label_codes(model, data)
    used = {names[code] for code in np.unique(codes[codes >= 0])}
    found = seeded + sorted(used - set(seeded))
    if len(found) > most:
        raise ParameterError(
            f"{len(found)} classes have names ({', '.join(found[:8])} ...), but n_classes is "
            f"{most}; raise it, or name fewer classes"
        )
    return found


def seed_counts(model: Guided, data: Encoded, n_columns: int) -> NDArray[np.int32] | None:
    """Return the counts that seed words add to the prior, (n_words, n_columns), or None.

    A seed word counts ``seed_weight`` times as often as it occurs in the corpus, at least once.
    """
    if not model.seed_words:
        return None
    seeds = np.zeros((len(data.vocabulary), n_columns), np.int32)
    missing = []
    for column, words in enumerate(model.seed_words.values()):
        for word in words:
            number = data.vocabulary.index.get(word)
            if number is None:
                missing.append(word)
            else:
                count = float(model.seed_weight) * float(data.vocabulary.counts[number])
                seeds[number, column] += max(round(count), 1)
    if missing and not seeds.any():
        raise ParameterError(
            f"no seed word is in the vocabulary: {', '.join(missing[:10])}; give words that "
            "occur in the corpus, as it spells them"
        )
    return seeds


def fixed_classes(model: Guided, data: Encoded) -> NDArray[np.int16]:
    """Return the known class of each message, -1 where it has no label, (n_messages,)."""
    names, codes = _label_codes(model, data)
    place = {name: number for number, name in enumerate(model.class_names_)}
    numbers = np.array([place.get(name, -1) for name in names] + [-1], np.int16)
    return np.asarray(numbers[codes])


def reads(model: Guided, data: Encoded) -> dict[str, Sequence[Any]]:
    """Return what a fit reads of the labels.

    Also without labels: a run that was made with them must not be continued without.
    """
    return {"labels": (model.class_names_, fixed_classes(model, data))}


def facts(model: Guided) -> dict[str, Any]:
    """Return what a summary says of the names."""
    found: dict[str, Any] = {"class_names": model.class_names_} if model.class_names_ else {}
    return found if model.label_ is None else {**found, "label": model.label_}


def extras(model: Guided) -> dict[str, Any]:
    """Return what a stored model keeps of its names."""
    return {"class_names": model.class_names_, "label": model.label_}


def set_extras(model: Guided, content: Mapping[str, Any]) -> None:
    """Take back what :func:`extras` gave."""
    model.class_names_ = [str(name) for name in content["class_names"]]
    model.label_ = None if content["label"] is None else str(content["label"])


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
    """Return the known classes of a shard; an empty array if it has none."""
    return shard.fixed_classes if isinstance(shard, LabelledShard) else np.empty(0, np.int16)
