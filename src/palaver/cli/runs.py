"""Run folders: settings and encoded data beside the checkpoint and the model.

::

    run/manifest.json, arrays-*   the fitted model (palaver.load)
    run/checkpoint/               the state of the chains, to go on from
    run/data/                     the encoded corpus, so that a run needs nothing else
    run/settings/                 model, parameters and where the data came from
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver import store
from palaver.errors import StoreError

#: Stands for the file of `palaver demo`.
SAMPLE = "built-in sample"

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.encode import Encoded
    from palaver.models import Model


def begin(
    folder: Path,
    model: Model,
    encoded: Encoded,
    source: str,
    reading: dict[str, Any] | None = None,
) -> Encoded:
    """Write what a run needs to be resumed by itself, and how its file was read.

    Returns the data as they were written, mapped from disk: what is in memory can be let go.
    """
    from palaver.encode import Encoded

    if store.is_stored(folder / "settings"):
        raise StoreError(
            f"{folder}: already holds a run; go on with `palaver fit --resume {folder}`, "
            "or choose another --out"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder}: is not empty; choose a new folder as --out")
    encoded.write(folder / "data")
    settings = {"model": model.name, "params": model.get_params(), "source": source}
    settings["reading"] = reading or {}
    store.save(folder / "settings", "run settings", settings, {})
    return Encoded.open(folder / "data")


def reopen(
    folder: Path, changes: dict[str, Any], n_classes: int | None = None
) -> tuple[Model, Encoded]:
    """Return the model, not yet fitted, and the data of a run."""
    from palaver.encode import Encoded
    from palaver.models import model_class

    if not store.is_stored(folder / "settings"):
        raise StoreError(f"{folder}: holds no run of `palaver fit`")
    settings = store.load(folder / "settings", "run settings").content
    kind = model_class(settings["model"])
    params = {**settings["params"], **changes, **kind.sized(n_classes)}
    return kind(**params), Encoded.open(folder / "data")


def corpus_of(
    folder: Path,
    file: Path | None,
    format: str | None = None,
    column: list[str] | None = None,
    chain: bool = False,
) -> Corpus:
    """Read ``file``, or the file that a run was fitted on in the way it was read then."""
    from palaver.cli.options import read_corpus
    from palaver.corpus.sample import sample

    reading: dict[str, Any] = {"format": format, "column": column, "chain": chain}
    if file is None:
        if not store.is_stored(folder / "settings"):
            raise StoreError(f"{folder}: does not know its data; give a FILE")
        settings = store.load(folder / "settings", "run settings").content
        if settings["source"] == SAMPLE:
            return sample()
        file = Path(settings["source"])
        if not file.exists():
            raise StoreError(f"{folder}: was fitted on {file}, which is gone; give a FILE")
        reading |= settings.get("reading", {})
    corpus = read_corpus(file, reading["format"], reading["column"])
    return corpus.chained() if reading["chain"] else corpus
