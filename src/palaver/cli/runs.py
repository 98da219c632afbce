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

    check_new(folder)
    encoded.write(folder / "data")
    write_settings(folder, model, source, reading or {}, words=words or {})
    return Encoded.open(folder / "data")


def check_new(folder: Path) -> None:
    """Refuse a place for a new run where something is already."""
    if store.is_stored(folder / "settings"):
        raise StoreError(
            f"{folder}: already holds a run; go on with `palaver fit --resume {folder}`, "
            "or choose another --out"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder}: is not empty; choose a new folder as --out")


def write_settings(
    folder: Path, model: Model, source: str, reading: dict[str, Any], **more: Any
) -> None:
    """Write what was fitted and with which parameters, to which file, and how it was read."""
    settings = {"model": model.name, "params": model.get_params(), "source": source}
    store.save(folder / "settings", "run settings", {**settings, "reading": reading, **more}, {})


def kind_of(folder: Path) -> type[Model]:
    """Return which model a run is of."""
    from palaver.models import model_class

    settings = settings_of(folder)
    if not settings:
        raise StoreError(f"{folder}: holds no run of `palaver fit`")
    return model_class(settings["model"])


def reopen(folder: Path, changes: dict[str, Any]) -> tuple[Model, Encoded]:
    """Return the model, not yet fitted, and the data of a run."""
    from palaver.encode import Encoded

    kind = kind_of(folder)
    params = {**settings_of(folder)["params"], **changes}
    return kind(**params), Encoded.open(folder / "data")


def corpus_of(
    folder: Path,
    file: Path | None,
    format: str | None = None,
    column: list[str] | None = None,
    chain: bool = False,
) -> Corpus:
    """Read ``file``, or the file that a run was fitted on, in the way that was read then.

    What is given goes before what the run remembers. Other files are read with its columns as
    far as they have them, with its format if their names end alike, and with its --chain: else
    a model of talk would take every message of theirs for a start.
    """
    from palaver.cli.options import read_corpus
    from palaver.corpus.sample import sample
    from palaver.errors import ColumnError

    settings = settings_of(folder)
    fitted = settings.get("reading", {})
    chain = chain or fitted.get("chain", False)
    if file is None and settings.get("source") == SAMPLE:
        return sample().chained() if chain else sample()
    path = source_of(folder) if file is None else file
    if format is None and path.suffix == Path(settings.get("source", "")).suffix:
        format = fitted.get("format")
    remembered = _without(fitted.get("column") or [], column or [])
    try:
        return read_corpus(path, format, [*remembered, *(column or [])], chain=chain)
    except ColumnError as error:
        known = [pair for pair in remembered if pair.partition("=")[2].strip() in error.columns]
        if len(known) == len(remembered):
            raise
        return read_corpus(path, format, [*known, *(column or [])], chain=chain)


def settings_of(folder: Path) -> dict[str, Any]:
    """Return what was fitted to what, and how it was read; {} for a model that is no run."""
    if not store.is_stored(folder / "settings"):
        return {}
    return dict(store.load(folder / "settings", "run settings").content)


def source_of(folder: Path) -> Path:
    """Return the file that a run was fitted on; the run of the sample has none."""
    settings = settings_of(folder)
    if not settings:
        raise StoreError(f"{folder}: does not know its data; give a FILE")
    file = Path(settings["source"])
    if not file.exists():
        raise StoreError(f"{folder}: was fitted on {file}, which is gone; give a FILE")
    return file


def _without(remembered: list[str], given: list[str]) -> list[str]:
    """Return the columns OURS=THEIRS that say nothing about what was given."""
    taken = {part.strip() for pair in given for part in pair.split("=", 1)}
    return [pair for pair in remembered
            if not taken & {part.strip() for part in pair.split("=", 1)}]  # fmt: skip


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
        errors.print(f"Names are left out: {error}", style="yellow", soft_wrap=True)
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
