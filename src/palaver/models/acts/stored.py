"""How a fitted model of acts is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from palaver.models.acts.seeds import Seeds
from palaver.models.acts.vectors import load_view, store_view
from palaver.models.acts.views import Views
from palaver.models.base.stored import Extras
from palaver.models.words import guided
from palaver.parallel.restored import Expected, check_arrays

if TYPE_CHECKING:
    from palaver.models.acts import Acts

_ANSWER = "answer."


def store_views(views: Views) -> Extras:
    """Return views as values for JSON and arrays."""
    content = {"views": views.names, "features": views.features, "columns": views.columns}
    arrays = {f"table.{view}": table for view, table in views.tables.items()}
    return content, {**arrays, "view_starts": views.starts, "view_weights": views.weights}


def load_views(content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Views:
    """Take back what :func:`store_views` gave."""
    return Views(
        [str(name) for name in content["views"]],
        arrays["view_starts"],
        [str(name) for name in content["features"]],
        arrays["view_weights"],
        {name.removeprefix("table."): a for name, a in arrays.items() if name.startswith("table.")},
        {str(name): [str(v) for v in values] for name, values in content["columns"].items()},
    )


def _check_views(views: Views, n_words: int) -> None:
    """Raise ValueError unless tables lead to features of their views: loops index with them.

    The last entry of a table is for unknown words.
    """
    sizes = np.diff(views.starts)
    bounds = Expected((len(views.names) + 1,), np.int64, 0, views.n_features + 1)
    check_arrays({"view_starts": views.starts}, {"view_starts": bounds})
    if views.starts[0] or views.starts[-1] != views.n_features or sizes.min(initial=1) < 1:
        raise ValueError(f"view_starts is {views.starts.tolist()}")
    for view, size in zip(views.names, sizes, strict=True):
        if view in views.tables:
            table = views.tables[view]
            wanted = Expected((n_words + 1,), table.dtype, -1, int(size))
            check_arrays({f"table.{view}": table}, {f"table.{view}": wanted})
            if table.dtype.kind not in "iu":
                raise ValueError(f"table.{view} holds {table.dtype}")


def extras(model: Acts) -> Extras:
    """Return what a stored model needs beyond its searches; an encoder is not kept."""
    content, arrays = store_views(model._views)
    content |= guided.extras(model)
    content |= {"unit": model.unit_, "steps": model.transition_steps,
                "act_names": model.act_names_, "proposed": model.names_are_proposed_,
                "beginnings": model.beginnings_}  # fmt: skip
    arrays |= {f"{_ANSWER}{name}": array for name, array in model._answer.items()}
    arrays |= store_view(model._vector_view)
    arrays |= {"shares": model._shares, "agreement": model.agreement_,
               "class_words": model.class_words_,
               "states": model._states, "word_totals": model._words_of_acts}  # fmt: skip
    if model._seeds is not None:
        arrays |= {"seed_features": model._seeds.features, "seed_units": model._seeds.units}
    return content, arrays


def _load_seeds(arrays: Mapping[str, NDArray[Any]], n_features: int, n_states: int) -> Seeds | None:
    if "seed_features" not in arrays:
        return None
    found = {name: arrays[name] for name in ("seed_features", "seed_units")}
    wanted = {"seed_features": Expected((n_features, n_states)),
              "seed_units": Expected((n_states,))}  # fmt: skip
    check_arrays(found, wanted)
    return Seeds(found["seed_features"], found["seed_units"])


def _check_acts(arrays: Mapping[str, NDArray[Any]], n_acts: int) -> None:
    """Raise ValueError unless there are shares, and an agreement with each search, of all acts."""
    n_searches = max(arrays["agreement"].size // max(n_acts, 1), 1)
    wanted = {"agreement": Expected((n_acts, n_searches), least=0, most=1),
              "shares": Expected((n_acts,), least=0, most=1)}  # fmt: skip
    check_arrays(arrays, wanted)


def set_extras(model: Acts, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Take back what :func:`extras` gave."""
    guided.set_extras(model, content)
    model._views, model._vector_view = load_views(content, arrays), load_view(arrays)
    _check_views(model._views, arrays["class_words"].shape[1])
    model.unit_, model.transition_steps = str(content["unit"]), str(content["steps"])
    model.act_names_ = [str(name) for name in content["act_names"]]
    model.names_are_proposed_ = [bool(flag) for flag in content["proposed"]]
    model.beginnings_ = [[str(b) for b in own] for own in content["beginnings"]]
    model._answer = {
        name.removeprefix(_ANSWER): array
        for name, array in arrays.items()
        if name.startswith(_ANSWER)
    }
    counts = Expected((model._views.n_features, len(arrays["states"])), least=0)
    check_arrays(model._answer, {"feature_counts": counts})
    _check_acts(arrays, len(model.act_names_))
    model._shares, model.agreement_ = arrays["shares"], arrays["agreement"]
    model.class_words_ = arrays["class_words"]
    model._seeds = _load_seeds(arrays, model._views.n_features, len(arrays["states"]))
    model._states = arrays["states"]
    model._words_of_acts = arrays.get("word_totals", model._shares)
