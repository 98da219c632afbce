"""Every model by name, from the table in :mod:`palaver.names`; reading stored ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from palaver import store
from palaver.errors import DamagedStoreError, ParameterError, StoreError
from palaver.models.base.model import Model
from palaver.models.curated import load_curated
from palaver.names import NAMES

if TYPE_CHECKING:
    from palaver.models.taggers.contract import Tagger

#: Name on the command line and in stored folders -> (module, class).
MODELS = {line.command: (line.module, line.name) for line in NAMES if line.kind == "model"}
#: The same for taggers, which learn labels that people gave.
TAGGERS = {line.command: (line.module, line.name) for line in NAMES if line.kind == "tagger"}
#: The same for models that are there to be copied.
EXAMPLES = {line.command: (line.module, line.name) for line in NAMES if line.kind == "example"}


def model_class(name: str) -> type[Model]:
    """Return the class of a model by its name."""
    found: type[Model] = _class(name, MODELS | EXAMPLES, "model", MODELS)
    return found


def tagger_class(name: str) -> type[Tagger]:
    """Return the class of a tagger by its name."""
    found: type[Tagger] = _class(name, TAGGERS, "tagger", TAGGERS)
    return found


def _class(name: str, table: Mapping[str, tuple[str, str]], what: str, shown: Iterable[str]) -> Any:
    if name not in table:
        raise ParameterError(f"there is no {what} {name!r}; there are {', '.join(shown)}")
    module, attribute = table[name]
    return getattr(import_module(module), attribute)


def load(folder: str | Path) -> Model:
    """Read a model that was saved with ``model.save(folder)`` or ``palaver fit``.

    Names, merged classes and everything else in ``curation.json`` are applied; ``model.origin`` is
    the model as it was fitted.

    Raises
    ------
    StoreError
        The folder holds no model, is damaged, or was written by a newer Palaver.
    """
    if not store.is_stored(folder) and store.is_stored(Path(folder) / "checkpoint"):
        raise StoreError(f"{folder}: the run is not finished; {_how_to_go_on(Path(folder))}")
    stored = store.load(folder, "model")
    name = str(stored.content.get("model"))
    if name not in MODELS | TAGGERS | EXAMPLES:
        raise StoreError(f"{folder}: the model {name!r} is unknown to this version of Palaver")
    try:
        model = unpacked(stored)
    except _SIGNS_OF_DAMAGE as error:
        raise DamagedStoreError(
            f"{folder}: does not contain a complete model ({type(error).__name__}: {error})"
        ) from error
    return load_curated(model, folder)


def unpacked(stored: store.Stored) -> Model:
    """Return the model of what a folder holds, or what another model keeps of it.

    Raises
    ------
    ValueError, KeyError, ...
        Parts of it are missing or altered.
    """
    name = str(stored.content["model"])
    kind = tagger_class(name) if name in TAGGERS else model_class(name)
    _check_stored(stored)
    model = kind._restore(stored)
    model.check_params()
    _check_restored(model)
    return model


#: What a model's own code runs into when parts of it are missing or altered.
_SIGNS_OF_DAMAGE = (
    ArithmeticError, AttributeError, IndexError, KeyError, MemoryError, TypeError, ValueError,
)  # fmt: skip


def _check_stored(stored: store.Stored) -> None:
    """Check what loops and allocations depend on, before they begin."""
    content, arrays = stored.content, stored.arrays
    for name, array in arrays.items():
        if array.dtype.kind not in "iufb" or not array.dtype.isnative:
            raise ValueError(f"{name} holds {array.dtype}")
        # only a trace may lack numbers
        if (
            array.dtype.kind == "f"
            and "trace" not in name.split(".")
            and not np.isfinite(array).all()
        ):
            raise ValueError(f"{name} holds numbers that are not finite")
    best = f"chain.{content['best_chain']}."
    for name, array in arrays.items():
        own = arrays.get(best + name.removeprefix("draws."))
        if name.startswith("draws.") and own is not None and array.shape[1:] != own.shape:
            raise ValueError(f"{name} has the shape {array.shape}, but its mean {own.shape}")
    words = content["words"]
    if not isinstance(words, list) or len(words) != len(arrays["word_counts"]):
        raise ValueError("the words do not match their counts")
    if not all(isinstance(word, str) for word in words):
        raise ValueError("a word is not text")
    trace = {name: array for name, array in arrays.items() if name.startswith("trace.")}
    if not {"trace.chain", "trace.sweep", "trace.log_joint"} <= set(trace):
        raise ValueError("the trace is incomplete")
    if len({array.shape for array in trace.values()}) > 1:
        raise ValueError("the columns of the trace have different lengths")
    limits = {"n_chains": len(arrays), "best_chain": content["n_chains"] - 1,
              "n_sweeps": 2**62, "burn_in": 2**62, "seed": 2**128}  # fmt: skip
    for name, most in limits.items():
        value = content[name]
        if not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(f"{name} is {value!r}")
    if not isinstance(content["sampler"], str) or not isinstance(content["fingerprint"], str):
        raise ValueError("sampler or fingerprint is not text")


def _check_restored(model: Model) -> None:
    """Check what all models say, of which tables, pictures and pages are made."""
    shares, words = np.asarray(model.class_shares_), np.asarray(model.class_words_)
    if shares.ndim != 1 or words.shape != (len(shares), len(model.vocabulary_)):
        raise ValueError(f"{len(shares)} classes, but words of the shape {words.shape}")
    if not (np.isfinite(shares).all() and np.isfinite(words).all()):
        raise ValueError("shares or words of classes are not finite")
    if shares.min(initial=0) < 0 or words.min(initial=0) < 0 or abs(shares.sum() - 1) > 1e-6:
        raise ValueError("shares or words of classes are no probabilities")


def _how_to_go_on(folder: Path) -> str:
    """Say what finishes an interrupted run."""
    checkpoint = store.load(folder / "checkpoint", "checkpoint", mapped=True)
    if checkpoint.content["identity"].get("model") in TAGGERS:
        return "fit it again with the same data, parameters and folder"
    resume = shlex.join(["palaver", "fit", "--resume", str(folder)])
    least = _fewest_sweeps(checkpoint.content)
    return f"continue it with `{resume}`, or keep what it has with `{resume} --sweeps {least}`"


def sweeps_done(folder: str | Path) -> int:
    """Return how many sweeps the checkpoint of a run has, 0 where there is none."""
    place = Path(folder) / "checkpoint"
    if not store.is_stored(place):
        return 0
    return _sweeps(store.load(place, "checkpoint", mapped=True).content)


def _sweeps(content: Mapping[str, Any]) -> int:
    """Return the sweeps of a checkpoint, without the first ones that a model may need to start."""
    first = int(content["burn_in"]) if "start_sweeps" in content["identity"] else 0
    return max(int(content["sweep"]) - first, 0)


def _fewest_sweeps(content: Mapping[str, Any]) -> int:
    """Return how few sweeps in all a run may end with: those that are done, or up to a sample.

    Within the burn-in, a run that is cut short begins to keep samples after half of its sweeps.
    """
    done = _sweeps(content)
    if "start_sweeps" in content["identity"]:  # such models keep no samples
        return max(done, 1)
    if done <= content["burn_in"]:
        return max(2 * done, 2)
    return max(done, int(content["burn_in"]) + int(content["thin"]))
