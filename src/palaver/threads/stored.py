"""What a rebuilder learned, as content and arrays of a folder, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from palaver import store
from palaver.errors import StoreError
from palaver.models.registry import load as load_model
from palaver.threads.kernels.features import FEATURES
from palaver.threads.kernels.second import STRUCTURE
from palaver.threads.leanings import Leanings
from palaver.threads.likeness import Portrait
from palaver.threads.places import Defaults
from palaver.threads.ranker import Ranker

if TYPE_CHECKING:
    from palaver.threads.rebuilder import ThreadRebuilder

KIND = "thread rebuilder"
Rebuilder = TypeVar("Rebuilder", bound="ThreadRebuilder")
_PARTS = ("weights", "inner", "outer")  # of a ranker


def save_rebuilder(rebuilder: ThreadRebuilder, folder: str | Path) -> None:
    """Write a rebuilder, and its model if it has one, to a folder."""
    params = rebuilder.get_params()
    model = params.pop("model")
    content: dict[str, Any] = {"params": params, "has_model": model is not None}
    arrays: dict[str, NDArray[Any]] = {}
    if rebuilder.defaults_ is not None:
        content["defaults"] = rebuilder.defaults_.to_json()
    else:
        content |= {"features": list(FEATURES), "temperature": rebuilder.temperature_,
                    "tick": rebuilder.tick_}  # fmt: skip
        arrays |= {name: getattr(rebuilder.ranker_, name) for name in _PARTS}
        if rebuilder.second_ is not None:
            content["structure"] = list(STRUCTURE)
            arrays |= {f"second_{name}": getattr(rebuilder.second_, name) for name in _PARTS}
    if rebuilder.portrait_ is not None:
        content["portrait_messages"] = rebuilder.portrait_.n_messages
        arrays |= {"portrait_means": rebuilder.portrait_.means,
                   "portrait_variances": rebuilder.portrait_.variances}  # fmt: skip
    if rebuilder.leanings_ is not None:
        content["words"] = rebuilder.leanings_.words
        arrays["odds"] = rebuilder.leanings_.odds
    if model is not None:
        model.save(Path(folder) / "model")
    store.save(folder, KIND, content, arrays)


def load_rebuilder(cls: type[Rebuilder], folder: str | Path) -> Rebuilder:
    """Return the rebuilder that :func:`save_rebuilder` wrote."""
    stored = store.load(folder, KIND)
    content, arrays = stored.content, stored.arrays
    model = load_model(Path(folder) / "model") if content["has_model"] else None
    rebuilder = cls(model, **content["params"])
    if "defaults" in content:
        rebuilder.defaults_ = Defaults.from_json(content["defaults"])
        return rebuilder
    seen = (content["features"], content.get("structure", list(STRUCTURE)))
    if seen != (list(FEATURES), list(STRUCTURE)):
        raise StoreError(
            f"{folder}: was trained with features that this version of Palaver does not have; "
            "train it again"
        )
    if "inner" in arrays:
        rebuilder.ranker_ = Ranker(*(arrays[name] for name in _PARTS))
    else:  # saved before there were hidden units
        rebuilder.ranker_ = Ranker.linear(arrays["weights"])
    if "structure" in content:
        rebuilder.second_ = Ranker(*(arrays[f"second_{name}"] for name in _PARTS))
    rebuilder.temperature_ = content["temperature"]
    rebuilder.tick_ = content.get("tick", 0.0)
    if "portrait_messages" in content:
        rebuilder.portrait_ = Portrait(
            arrays["portrait_means"], arrays["portrait_variances"], content["portrait_messages"]
        )
    if "words" in content:
        rebuilder.leanings_ = Leanings(content["words"], arrays["odds"])
    return rebuilder
