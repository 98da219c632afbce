"""Classes of a model that has seen no labels, as features of a tagger.

A model of acts learns from all messages how people talk; a tagger that sees its classes needs
fewer labels. The model is kept with the tagger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.errors import ParameterError
from palaver.models.base.model import Model
from palaver.models.base.stored import Extras, named, packed
from palaver.store import Stored

_PREFIX = "classes."


def checked_classes(model: Any, labels: str) -> Model | None:
    """Return the model as it was fitted, if it may lend its classes to a tagger.

    Raises
    ------
    ParameterError
        It is no fitted model, or it has seen labels: on the messages that it was fitted to, a
        tagger would trust its classes too much.
    """
    if model is None:
        return None
    if not isinstance(model, Model):
        raise ParameterError(f"classes: expected a fitted model, got {type(model).__name__}")
    model._check_fitted()
    seen = getattr(model, "label_", None)
    if seen is not None:
        raise ParameterError(
            f"classes: the model was fitted with the labels {seen!r}; classes that are features "
            f"of {labels!r} must be fitted without labels"
        )
    return model.origin


def shares_of_classes(model: Model, corpus: Corpus | Encoded) -> NDArray[np.float64]:
    """Return the shares of a model's classes in each message, (n_messages, n_classes)."""
    if not isinstance(corpus, Corpus):
        raise ParameterError("classes are found in texts: give a Corpus, not an Encoded")
    return np.asarray(model.transform(corpus), np.float64)


def names_of_classes(model: Model) -> list[str]:
    """Return how a model's classes are called, their numbers where they have no name."""
    names = model._class_names()
    return [names.get(number, str(number)) for number in range(len(model.class_shares_))]


def with_classes(extras: Extras, model: Model | None) -> Extras:
    """Add a model to what a tagger keeps."""
    if model is None:
        return extras
    content, arrays = packed(model)
    own, own_arrays = extras
    prefixed = {_PREFIX + name: array for name, array in arrays.items()}
    return {**own, "classes": content}, {**own_arrays, **prefixed}


def kept_classes(content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Model | None:
    """Return the model that :func:`with_classes` added."""
    from palaver.models.registry import unpacked

    if "classes" not in content:
        return None
    return unpacked(Stored("model", content["classes"], named(arrays, _PREFIX), {}))
