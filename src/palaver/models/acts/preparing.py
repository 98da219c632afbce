"""What a fit of acts decides before it searches: units, views, vectors, seeds, number of acts."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.encoding.utterances import VectorSource, sentence_vectors
from palaver.errors import CorpusError, ParameterError
from palaver.models.acts.units import Units, choose_unit, has_replies, units_of
from palaver.models.acts.vectors import UnitVectors, by_message, by_words, learn_view
from palaver.models.acts.views import VIEW_WEIGHTS, learn_views
from palaver.models.words import guided

if TYPE_CHECKING:
    from palaver.models.acts import Acts

#: Acts that the searches start with when the data decide, and acts at most.
FIRST_ACTS, MOST_ACTS = 12, 1000
#: Units per act that a small corpus must have.
_UNITS_PER_ACT = 20


def take_vectors(
    model: Acts, corpus: Corpus | Encoded, data: Encoded, vectors: VectorSource | None
) -> None:
    """Keep what vectors are made of; an encoder reads the texts now."""
    source = model.vectors if vectors is None else vectors
    model.encoder_, model._given, model._source = None, None, source
    if callable(source) or isinstance(source, np.ndarray):
        model.encoder_ = source if callable(source) else None
        texts = corpus if isinstance(corpus, Corpus) else None
        model._source = sentence_vectors(texts, source, data.n_messages)
        model._given = (data.fingerprint, model._source)


def prepare(model: Acts, data: Encoded) -> None:
    """Set the units, the views, and the number and names of the acts to search for."""
    model.unit_ = choose_unit(model.unit, data)
    model._units = units_of(data, model.unit_)
    model.n_classes = _n_acts(model, data)
    model.class_names_ = guided.class_names(model, data)
    seeds = [word for words in (model.seed_words or {}).values() for word in words]
    known = [word for word in seeds if word in data.vocabulary.index]
    model._views = learn_views(
        data, model._units, weights=model.view_weights, columns=_columns(model, data), seeds=known
    )
    model._vector_view, model._unit_vectors = None, None
    if model._source is not None and vector_weight(model):
        model._vector_view = learn_view(data, model._units, model._source)
        model._unit_vectors = vectors_of(model, data, model._units, data)
    model.transition_steps = "replies" if has_replies(data) else "messages"


def _n_acts(model: Acts, data: Encoded) -> int:
    """Return the number of acts to search for."""
    speaking = int((np.diff(model._units.offsets) > 0).sum())
    if model.n_acts == "auto":
        named = len(guided.class_names(model, data, MOST_ACTS))
        if model._labels is not None:
            return max(FIRST_ACTS, named)
        return max(int(np.clip(speaking // _UNITS_PER_ACT, 2, FIRST_ACTS)), named)
    n_acts = int(model.n_acts)
    if speaking < n_acts:
        warnings.warn(
            f"Acts: there are {n_acts} acts for {speaking} {model.unit_}s with words; some acts "
            "will stay empty", stacklevel=6,
        )  # fmt: skip
    return n_acts


def first_acts(acts: NDArray[np.integer]) -> NDArray[np.int16]:
    """Return acts to begin with, (n_units,); refuse what are no acts."""
    given = np.asarray(acts)
    if (
        given.ndim != 1
        or given.dtype.kind not in "iu"
        or (given.size and not -1 <= given.min() <= given.max() < MOST_ACTS)
    ):
        raise ParameterError(
            "Acts.begin_with: takes a flat array of whole numbers, an act or -1 for each unit; got "
            f"{given.dtype} of shape {given.shape}"
        )
    return given.astype(np.int16)


def check_first(model: Acts) -> None:
    """Refuse acts to begin with that are not those of the units."""
    first, n_units = model._first, model._units.n_units
    if first is not None and (len(first) != n_units or first.max(initial=-1) >= model.n_classes):
        raise ParameterError(
            f"Acts.begin_with: takes one act below {model.n_classes} for each of the {n_units:,} "
            f"{model.unit_}s; got {len(first):,}, the highest {int(first.max(initial=-1))}"
        )


def _columns(model: Acts, data: Encoded) -> list[str]:
    if model.columns == "auto":
        return [name for name in ("role",) if name in data.labels]
    missing = [name for name in model.columns if name not in data.labels]
    if missing:
        known = ", ".join(data.labels) or "none"
        raise CorpusError(f"Acts: there is no column {missing[0]!r}; columns of names: {known}")
    return list(model.columns)


def vector_weight(model: Acts) -> float:
    """Return the weight of the vector view."""
    return float({**VIEW_WEIGHTS, **(model.view_weights or {})}["vector"])


def vectors_of(
    model: Acts, corpus: Corpus | Encoded, units: Units, data: Encoded
) -> UnitVectors | None:
    """Return the vectors of units; None without the view, or if nothing can make them."""
    view = model._vector_view
    if view is None:
        return None
    if view.pooling is not None:
        return by_words(view, data, units)
    if model._given is not None and model._given[0] == data.fingerprint:
        return view.project(by_message(model._given[1], units))
    if model.encoder_ is not None and isinstance(corpus, Corpus):
        found = sentence_vectors(corpus, model.encoder_, data.n_messages)
        return view.project(by_message(found, units))
    warnings.warn(
        "Acts: these messages have no vectors, so they are read without that view; give a Corpus, "
        "and set encoder_ to what made the vectors", stacklevel=4,
    )  # fmt: skip
    return None
