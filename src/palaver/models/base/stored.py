"""How a fitted model is kept: a folder of arrays and a manifest."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import store
from palaver.encoding import Vocabulary

if TYPE_CHECKING:
    from palaver.models.base.model import Model

#: What a model adds to its folder: values that JSON can hold, and arrays.
Extras = tuple[dict[str, Any], dict[str, NDArray[Any]]]
AnyModel = TypeVar("AnyModel", bound="Model")

#: No number that a model learns comes near this.
LARGEST = 1e100
_PLAIN = ("seed", "n_sweeps", "burn_in", "sampler", "fingerprint", "best_chain")


def save_model(model: Model, folder: str | Path) -> None:
    """Write a fitted model to a folder."""
    store.save(folder, "model", *packed(model))


def packed(model: Model) -> Extras:
    """Return what is kept of a fitted model: values that JSON can hold, and arrays."""
    more, extra_arrays = model._extras()
    arrays: dict[str, NDArray[Any]] = {"word_counts": model.vocabulary_.counts}
    for i, chain in enumerate(model.chains_):
        arrays |= {f"chain.{i}.{name}": array for name, array in chain.items()}
    arrays |= {f"draws.{name}": array for name, array in model.draws_.items()}
    arrays |= {f"trace.{name}": model.trace_[name].to_numpy() for name in model.trace_.columns}
    arrays |= {f"extra.{name}": array for name, array in extra_arrays.items()}
    content = {
        "model": model.name,
        "params": {**model.get_params(), "random_state": model.seed_},
        "n_chains": len(model.chains_),
        "words": model.vocabulary_.words,
        "extra": more,
        **{name: getattr(model, f"{name}_") for name in _PLAIN},
    }
    return content, arrays


def restore_model(kind: type[AnyModel], stored: store.Stored) -> AnyModel:
    """Load a model that :func:`save_model` wrote."""
    content, arrays = stored.content, stored.arrays
    for name, array in arrays.items():
        _check_numbers(name, array, short=kind.has_short_numbers)
    model = kind(**_params_of(kind, content["params"]))
    model.vocabulary_ = Vocabulary(content["words"], arrays["word_counts"])
    for name in _PLAIN:
        setattr(model, f"{name}_", content[name])
    model.chains_ = [named(arrays, f"chain.{i}.") for i in range(content["n_chains"])]
    model.draws_ = named(arrays, "draws.")
    model.trace_ = pl.DataFrame(named(arrays, "trace."))
    model._set_extras(content["extra"], named(arrays, "extra."))
    model._set_estimates()
    return model


def _check_numbers(name: str, array: NDArray[Any], *, short: bool) -> None:
    """Raise ValueError for numbers so large that sums or squares of them are none, or too short.

    Most kernels take real numbers of 64 bits only; those of some models also ``short`` ones, of 32.
    """
    known = (np.float64, np.float32) if short else (np.float64,)
    if array.dtype.kind == "f" and array.dtype not in known:
        raise ValueError(f"{name} holds {array.dtype}")
    if array.dtype.kind == "f" and array.size:
        usual = np.isfinite(array)
        low, high = (float(f(array, where=usual, initial=0.0)) for f in (np.min, np.max))
        if max(-low, high) > LARGEST:
            raise ValueError(f"{name} has values from {low} to {high}")


def _params_of(kind: type[Model], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored parameters as they were given: JSON has no tuples."""
    defaults = inspect.signature(kind).parameters
    return {
        name: tuple(value) if isinstance(defaults[name].default, tuple) else value
        for name, value in stored.items()
    }


def named(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names have a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
