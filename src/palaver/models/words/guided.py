"""Guided classes: seed words and labels that say what the first classes should be.

Functions of a model that has ``seed_words`` and takes ``labels`` in its ``fit``: M4, the block HMM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from palaver.encode import Encoded, Shard
from palaver.errors import CorpusError, ParameterError
from palaver.models.base.stored import Extras
from palaver.params import Limit, check, either, nothing, real, satisfies, text


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
}


class Guided(Protocol):
    """A model whose first classes may be named.

    Attributes
    ----------
    label_ : str or None
        The column of labels it was fitted with.
    class_names_ : list of str
        Names of the first classes: those of the seeds, then those of the labels.
    """

    n_classes: int
    seed_words: Mapping[str, Sequence[str]] | None
    seed_weight: float
    label_: str | None
    class_names_: list[str]


def check_labels(owner: str, labels: str | None) -> None:
    """Refuse labels that are not the name of a column."""
    check(f"{owner}.fit", {"labels": either(text(), nothing())}, {"labels": labels})


def class_names(model: Guided, data: Encoded) -> list[str]:
    """Return the names of the first classes: those of the seeds, then those of the labels."""
    names = list(model.seed_words or {})
    if model.label_ is not None:
        if model.label_ not in data.labels:
            known = ", ".join(data.labels) or "none"
            raise CorpusError(
                f"there is no column {model.label_!r} of labels; columns of labels: {known}"
            )
        coded = data.labels[model.label_]
        used = {coded.names[code] for code in np.unique(coded.codes[coded.codes >= 0])}
        names += sorted(used - set(names))
    if len(names) > model.n_classes:
        raise ParameterError(
            f"{len(names)} classes have names ({', '.join(names[:8])} ...), but n_classes is "
            f"{model.n_classes}; raise it, or name fewer classes"
        )
    return names


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
    fixed = np.full(data.n_messages, -1, np.int16)
    if model.label_ is not None:
        names, coded = model.class_names_, data.labels[model.label_]
        number = np.array([names.index(n) if n in names else -1 for n in coded.names] + [-1])
        fixed[:] = number[coded.codes]
    return fixed


def reads(model: Guided, data: Encoded) -> dict[str, Sequence[Any]]:
    """Return what a fit reads of the labels.

    Also without labels: a run that was made with them must not be continued without.
    """
    return {"labels": (model.class_names_, fixed_classes(model, data))}


def facts(model: Guided) -> dict[str, Any]:
    """Return what a summary says of the names."""
    found: dict[str, Any] = {"class_names": model.class_names_} if model.class_names_ else {}
    return found if model.label_ is None else {**found, "label": model.label_}


def extras(model: Guided) -> Extras:
    """Return what a stored model keeps of its names."""
    return {"class_names": model.class_names_, "label": model.label_}, {}


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
