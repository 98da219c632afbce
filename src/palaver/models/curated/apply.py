"""Applying what was decided about a run: to a model in memory, and to a folder."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

from palaver import store
from palaver.curation import FILE, Curation, Step, read_curation, write_curation
from palaver.errors import PalaverWarning, ParameterError, StaleCurationError
from palaver.models.base.model import Model
from palaver.models.curated.divided import Division
from palaver.models.curated.model import CuratedModel
from palaver.store.remote import local_folder


def curation_of(model: Model) -> Curation:
    """Return what was decided about a model; empty if nothing was."""
    if model.curation_ is not None:
        return model.curation_
    return Curation.empty(model.run_id, len(model.class_shares_))


def apply_curation(model: Model, curation: Curation, folder: str | Path | None = None) -> Model:
    """Return a fitted model with the names and classes that people gave it.

    The model itself where its classes stay the same; a :class:`CuratedModel` where some were
    merged or divided.

    Parameters
    ----------
    model : Model
    curation : Curation
    folder : path, optional
        Where divisions are that the model does not have yet.
    """
    divisions = dict(getattr(model, "divisions_", {}))
    missing = [split for split in curation.splits if split.folder not in divisions]
    if missing and folder is None:
        raise ParameterError(f"class {missing[0].id} was divided; say in which folder the run is")
    divisions |= {
        split.folder: Division.load(local_folder(folder or "") / split.folder) for split in missing
    }
    origin = copy(model.origin)
    origin.curation_ = None
    if all(own.ids == (number,) for number, own in enumerate(curation.classes)):
        # after the last step was undone, its revision is what the next change has seen
        origin.curation_ = curation if curation.revision else None
        return origin
    if getattr(origin, "tags_", None) is not None:
        raise ParameterError(
            f"{type(origin).__name__}: the tags are labels that people gave; merge or divide "
            "them in the data, and train again"
        )
    return CuratedModel(origin, curation, divisions)


def merge_classes(model: Model, groups: Sequence[Sequence[int]]) -> Model:
    """Return a model with some classes merged; see :meth:`Model.merge`."""
    curation = curation_of(model)
    number = len(curation.classes)
    actions: list[dict[str, Any]] = []
    for group in groups:
        wrong = [k for k in group if isinstance(k, bool) or not 0 <= int(k) < number]
        if wrong:
            raise ParameterError(f"merge: there is no class {wrong[0]!r}; classes are 0 to "
                                 f"{number - 1}")  # fmt: skip
        leading = [curation.classes[int(k)].ids[0] for k in group]
        actions.append({"do": "merge", "classes": leading})
    named = [id for action in actions for id in action["classes"]]
    if len(set(named)) < len(named):
        raise ParameterError("merge: a class can be in one group only")
    return apply_curation(model, curation.after(Step(tuple(actions))))


def load_curated(model: Model, folder: str | Path) -> Model:
    """Apply ``curation.json`` of a folder, if there is one, to the model that is stored there."""
    place = local_folder(folder)
    if not (place / FILE).is_file():
        return model
    try:
        curation = read_curation(place, model.run_id, len(model.class_shares_))
    except StaleCurationError as error:
        warnings.warn(f"names and merged classes are ignored: {error}", PalaverWarning,
                      stacklevel=3)  # fmt: skip
        return model
    return apply_curation(model, curation, place)


def save_curated(model: Model, folder: str | Path) -> None:
    """Write a model and what was decided about it."""
    model.origin.save(folder)
    for name, division in getattr(model, "divisions_", {}).items():
        if not store.is_stored(Path(folder) / name):
            division.save(Path(folder) / name)
    write_curation(folder, curation_of(model))
