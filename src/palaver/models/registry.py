"""Every model by name; adding one is adding a line here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from palaver import store
from palaver.errors import ParameterError, StoreError
from palaver.models.base import Model

if TYPE_CHECKING:
    from palaver.models.tagger import Tagger

#: Name on the command line and in stored folders -> (module, class).
MODELS = {
    "m4": ("palaver.models.m4", "M4"),
    "block-hmm": ("palaver.models.block_hmm", "BlockHMM"),
    "lda": ("palaver.models.lda", "LDA"),
    "gaussian-hmm": ("palaver.models.gaussian_hmm", "GaussianHMM"),
    "gaussian-mixture": ("palaver.models.gaussian_mixture", "GaussianMixture"),
    "markov-m3": ("palaver.models.markov_m3", "MarkovM3"),
    "online-lda": ("palaver.models.online_lda", "OnlineLDA"),
}
#: The same for taggers, which learn labels that people gave.
TAGGERS = {
    "hidden-backoff": ("palaver.models.hidden_backoff", "HiddenBackoffTagger"),
}


def model_class(name: str) -> type[Model]:
    """Return the class of a model by its name."""
    if name not in MODELS:
        raise ParameterError(f"there is no model {name!r}; known are {', '.join(MODELS)}")
    module, attribute = MODELS[name]
    found: type[Model] = getattr(import_module(module), attribute)
    return found


def tagger_class(name: str) -> type[Tagger]:
    """Return the class of a tagger by its name."""
    if name not in TAGGERS:
        raise ParameterError(f"there is no tagger {name!r}; known are {', '.join(TAGGERS)}")
    module, attribute = TAGGERS[name]
    found: type[Tagger] = getattr(import_module(module), attribute)
    return found


def load(folder: str | Path) -> Model:
    """Read a model that was saved with ``model.save(folder)`` or ``palaver fit``.

    Raises
    ------
    StoreError
        The folder holds no model, is damaged, or was written by a newer Palaver.
    """
    if not store.is_stored(folder) and store.is_stored(Path(folder) / "checkpoint"):
        raise StoreError(f"{folder}: the run is not finished; {_how_to_go_on(Path(folder))}")
    stored = store.load(folder, "model")
    name = stored.content.get("model")
    if name in TAGGERS:
        return tagger_class(str(name))._restore(stored)
    if name not in MODELS:
        raise StoreError(f"{folder}: holds a model {name!r} that this Palaver does not know")
    return model_class(str(name))._restore(stored)


def _how_to_go_on(folder: Path) -> str:
    """Say what finishes an interrupted run."""
    checkpoint = store.load(folder / "checkpoint", "checkpoint", mapped=True)
    if checkpoint.content["identity"].get("model") in TAGGERS:
        return "fit it again with the same data, parameters and folder"
    return f"go on with `palaver fit --resume {folder}`, or settle for what it has with --sweeps"
