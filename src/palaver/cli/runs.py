"""Run folders: settings and encoded data beside the checkpoint and the model.

::

    run/manifest.json, arrays-*   the fitted model (palaver.load)
    run/checkpoint/               the state of the chains, to go on from
    run/data/                     the encoded corpus, so that a run needs nothing else
    run/settings/                 model, parameters and where the data came from
    run/names.json                names of the classes, once `palaver report --names` got some
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver import store
from palaver.errors import InputError, StoreError

#: Stands for the file of `palaver demo`.
SAMPLE = "built-in sample"
_NAMES = "names.json"

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.encode import Encoded
    from palaver.models import Model, ModelSummary


def begin(
    folder: Path,
    model: Model,
    encoded: Encoded,
    source: str,
    reading: dict[str, Any] | None = None,
    words: dict[str, Any] | None = None,
) -> Encoded:
    """Write what a run needs to be resumed by itself, how its file was read and words chosen.

    Returns the data as they were written, mapped from disk: what is in memory can be let go.
    """
    from palaver.encode import Encoded

    if store.is_stored(folder / "settings"):
        raise StoreError(
            f"{folder}: already holds a run; go on with `palaver fit --resume {folder}`, "
            "or choose another --out"
        )
    check_new(folder)
    encoded.write(folder / "data")
    write_settings(folder, model, source, reading or {}, words=words or {})
    return Encoded.open(folder / "data")


def check_new(folder: Path) -> None:
    """Refuse a place for a new run where something is already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder}: is not empty; choose a new folder as --out")


def write_settings(
    folder: Path, model: Model, source: str, reading: dict[str, Any], **more: Any
) -> None:
    """Write what was fitted and with which parameters, to which file, and how it was read."""
    settings = {"model": model.name, "params": model.get_params(), "source": source}
    store.save(folder / "settings", "run settings", {**settings, "reading": reading, **more}, {})


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
    """Read ``file``, or the file that a run was fitted on in the way it was read then.

    What was fitted with --chain reads other files so, too: else a model of talk would take
    every message of theirs for a start.
    """
    from palaver.cli.options import read_corpus
    from palaver.corpus.sample import sample

    reading: dict[str, Any] = {"format": format, "column": column, "chain": chain}
    known = store.is_stored(folder / "settings")
    settings = store.load(folder / "settings", "run settings").content if known else {}
    fitted = settings.get("reading", {})
    reading["chain"] = chain or fitted.get("chain", False)
    if file is None:
        if not known:
            raise StoreError(f"{folder}: does not know its data; give a FILE")
        if settings["source"] == SAMPLE:
            return sample()
        file = Path(settings["source"])
        if not file.exists():
            raise StoreError(f"{folder}: was fitted on {file}, which is gone; give a FILE")
        reading |= fitted
    return read_corpus(file, reading["format"], reading["column"], chain=reading["chain"])


def names_of(folder: Path, summary: ModelSummary) -> dict[int, str]:
    """Return the names that the classes of a run were given, by number; {} if none were.

    A run that went on since then may have other classes: its names are left out, with a word.
    """
    kept = folder / _NAMES
    if not kept.exists():
        return {}
    from palaver.cli.output import errors
    from palaver.page.names import read_names

    try:
        return read_names(kept, summary)
    except InputError as error:
        errors.print(f"Names are left out: {error}", style="yellow", soft_wrap=True, markup=False)
        return {}


def keep_names(folder: Path, given: Path, summary: ModelSummary) -> bool:
    """Keep names in the folder of a run for the other verbs; False where that is not allowed."""
    from palaver.page.names import read_names, run_id

    names = read_names(given, summary)
    content = {
        "palaver": "names",
        "run": run_id(summary),
        "names": {str(number): name for number, name in sorted(names.items())},
    }
    try:
        (folder / _NAMES).write_text(json.dumps(content, indent=1, ensure_ascii=False), "utf-8")
    except OSError:
        return False
    return True
