"""Run folders: settings, encoded data, checkpoint and model.

::

    run/manifest.json, arrays-*   the fitted model (palaver.load)
    run/checkpoint/               the state of the chains, to continue from
    run/data/                     the encoded corpus, so that a run needs nothing else
    run/messages/                 which messages it learned from, as hashes of ids and texts
    run/settings/                 model, parameters and where the data came from
    run/labels.parquet            known classes, if `palaver fit --labels` was used
    run/first-acts.npy            acts that a new fit with what was curated begins with
    run/curation.json             names, merged classes and what else people decided
"""

from __future__ import annotations

import contextlib
import getpass
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from palaver import store
from palaver.errors import DamagedStoreError, StoreError
from palaver.store.atomic import replace_file
from palaver.store.fingerprint import message_keys

#: Source of a run of `palaver demo`.
SAMPLE = "built-in sample"
_LABELS, _FIRST = "labels.parquet", "first-acts.npy"
#: What a run begins with, and what a stored folder consists of.
_BEGUN = ("data", "messages", "settings")
_MESSAGES = "messages of a run"
#: Parameters that say nothing about what is learned.
_OF_THE_MACHINE = ("n_jobs", "max_seconds")
_STORED = re.compile(r"manifest\.json|arrays-[0-9a-f]{12}|\.palaver-.*\.tmp")

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from palaver.corpus.table import Corpus
    from palaver.encoding import Encoded
    from palaver.models import Model, ModelSummary


def begin(
    folder: Path,
    model: Model,
    encoded: Encoded,
    source: str,
    reading: dict[str, Any] | None = None,
    words: dict[str, Any] | None = None,
    labels: pl.Series | None = None,
    corpus: Corpus | None = None,
    first_acts: NDArray[np.int16] | None = None,
) -> Encoded:
    """Write all that is needed to resume a run: data, labels, parameters, how its file was read.

    With a corpus, the run also knows later which messages it has learned from.

    Returns the data mapped from disk, so that the copy in memory can be freed.
    """
    from palaver.cli.labels import write_labels
    from palaver.encoding import Encoded

    check_new(folder)  # again: reading takes minutes, and another run may have started here
    with store.locked(folder):
        check_new(folder)
        _remove_start(folder)
        encoded.write(folder / "data")
        if labels is not None:
            write_labels(folder, labels)
        if first_acts is not None:
            with replace_file(folder / _FIRST) as path, path.open("wb") as stream:
                np.save(stream, first_acts)
        if corpus is not None:
            arrays = {"keys": np.unique(_keys(corpus))}
            store.save(folder / "messages", _MESSAGES, {}, arrays)
        write_settings(folder, model, source, reading or {}, words=words or {})
        return Encoded.open(folder / "data")


def begun(
    folder: Path,
    model: Model,
    encoded: Encoded,
    source: str,
    reading: dict[str, Any],
    words: dict[str, Any],
) -> Encoded | None:
    """Return the data of a run that was begun alike: the same model, file and reading.

    None if the folder holds another run, or none.
    """
    from palaver.encoding import Encoded

    settings = settings_of(folder)
    if not settings:
        return None
    told = {"model": model.name, "params": model.get_params(), "source": source,
            "reading": reading, "words": words}  # fmt: skip
    now = store.plain(told)
    for one in (now, settings):
        params = dict(one.get("params") or {})
        one["params"] = {k: v for k, v in params.items() if k not in _OF_THE_MACHINE}
    data = Encoded.open(folder / "data") if now == settings else None
    return data if data is not None and data.fingerprint == encoded.fingerprint else None


def _keys(corpus: Corpus) -> NDArray[np.uint64]:
    return message_keys(corpus.table["id"], corpus.table["text"])


def count_new(folder: Path, corpus: Corpus) -> int | None:
    """Return how many messages of a corpus a run has not learned from; None if it cannot tell."""
    if not store.is_stored(folder / "messages"):
        return None
    learned = store.load(folder / "messages", _MESSAGES).arrays.get("keys")
    return None if learned is None else int((~np.isin(_keys(corpus), learned)).sum())


def withdraw(folder: Path) -> None:
    """Remove what :func:`begin` wrote for a run that the model then refused to fit."""
    if store.is_stored(folder / "checkpoint") or store.is_stored(folder):
        return
    _remove_start(folder)
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    (folder / "lock").unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _remove_start(folder: Path) -> None:
    """Remove what :func:`begin` wrote."""
    for name in _BEGUN:
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in (_LABELS, _FIRST):
        (folder / name).unlink(missing_ok=True)


def is_unfinished_start(folder: Path) -> bool:
    """Whether a folder holds nothing but what a killed :func:`begin` left."""
    ours = {"lock", _LABELS, _FIRST, *_BEGUN}
    for path in folder.iterdir():
        if path.is_symlink() or (path.name not in ours and not _STORED.fullmatch(path.name)):
            return False
        if path.name in _BEGUN and not (
            path.is_dir() and all(_STORED.fullmatch(part.name) for part in path.iterdir())
        ):
            return False
    return True


def check_new(folder: Path) -> None:
    """Refuse a folder for a new run that contains more than the start of a run that was killed."""
    if store.is_stored(folder / "settings"):
        raise StoreError(
            f"{folder}: already holds a run; continue it with `palaver fit --resume {folder}`, "
            "or choose another --out"
        )
    if folder.exists() and (not folder.is_dir() or not is_unfinished_start(folder)):
        raise StoreError(f"{folder}: is not empty; choose a new folder for --out")


def write_settings(
    folder: Path, model: Model, source: str, reading: dict[str, Any], **more: Any
) -> None:
    """Write which model is fitted with which parameters to which file, and how it was read."""
    settings = {"model": model.name, "params": model.get_params(), "source": source}
    store.save(folder / "settings", "run settings", {**settings, "reading": reading, **more}, {})


def reopen(folder: Path) -> tuple[Model, Encoded, pl.Series | None]:
    """Return the model of a run as it was before the fit, its data and its known classes."""
    from palaver.cli.labels import read_labels
    from palaver.encoding import Encoded
    from palaver.models import model_class

    settings = settings_of(folder)
    if not settings:
        raise StoreError(f"{folder}: holds no run written by `palaver fit`")
    try:
        model = model_class(settings["model"])(**settings["params"])
    except (KeyError, TypeError) as error:
        raise DamagedStoreError(
            f"{folder / 'settings'}: does not say which model to continue ({error!r}); fit again, "
            "into a new folder"
        ) from error
    _begin_with(model, folder / _FIRST)
    return model, Encoded.open(folder / "data"), read_labels(folder)


def _begin_with(model: Model, path: Path) -> None:
    """Let a model of acts begin with those that are stored, if there are any."""
    from palaver.models.acts import Acts

    if not path.exists() or not isinstance(model, Acts):
        return
    try:
        model.begin_with(np.load(path))
    except (ValueError, OSError, EOFError) as error:
        raise DamagedStoreError(f"{path}: cannot be read ({error}); fit the run again") from error


def corpus_of(
    folder: Path,
    file: Path | None,
    format: str | None = None,
    column: list[str] | None = None,
    chain: bool = False,
    where: list[str] | None = None,
) -> Corpus:
    """Read ``file``, or the file that a run was fitted on, with the run's own reading options.

    Options that are given override those of the run. Other files are read with the run's columns
    as far as they have them, with its format if the file extension is the same, and with its
    --chain: otherwise a model of talk would take each of their messages for a start. So are its
    --where, as far as the file has the columns, and its --anonymize.
    """
    from palaver.cli.options import prepared, read_corpus
    from palaver.corpus.filter import column_of
    from palaver.corpus.sample import sample
    from palaver.errors import ColumnError

    settings = settings_of(folder)
    fitted = settings.get("reading", {})
    chain = chain or fitted.get("chain", False)
    hide = bool(fitted.get("anonymize"))
    if file is None and settings.get("source") == SAMPLE:
        return prepared(sample(), chain=chain, where=where, anonymize=hide)
    path = source_of(folder) if file is None else file
    if format is None and path.suffix == Path(settings.get("source", "")).suffix:
        format = fitted.get("format")
    remembered = _without(fitted.get("column") or [], column or [])
    try:
        corpus = read_corpus(path, format, [*remembered, *(column or [])])
    except ColumnError as error:
        known = [pair for pair in remembered if pair.partition("=")[2].strip() in error.columns]
        if len(known) == len(remembered):
            raise
        corpus = read_corpus(path, format, [*known, *(column or [])])
    kept = fitted.get("where") or []
    if file is not None:  # what another file lacks cannot be asked of it
        kept = [text for text in kept if column_of(text) in corpus.table.columns]
    if file is None and "file" in fitted:  # the run keeps its messages, but has them from there
        corpus = replace(corpus, source=fitted["file"])
    return prepared(
        corpus, chain=chain, where=[*kept, *(where or [])], anonymize=hide,
        documents=bool(fitted.get("documents")),
    )  # fmt: skip


def settings_of(folder: Path) -> dict[str, Any]:
    """Return the settings of a run; {} for a folder that holds a model but no run."""
    if not store.is_stored(folder / "settings"):
        return {}
    return dict(store.load(folder / "settings", "run settings").content)


def source_of(folder: Path) -> Path:
    """Return the file that a run was fitted on; a run on the sample has none."""
    settings = settings_of(folder)
    if not settings:
        raise StoreError(f"{folder}: does not say which file it was fitted on; give a FILE")
    file = Path(settings["source"])
    if not file.exists() and (folder / file.name).exists():
        return folder / file.name  # kept with the run, which was moved
    if not file.exists():
        raise StoreError(f"{folder}: was fitted on {file}, which no longer exists; give a FILE")
    return file


def _without(remembered: list[str], given: list[str]) -> list[str]:
    """Return the remembered columns OURS=THEIRS that the given ones do not override."""
    taken = {part.strip() for pair in given for part in pair.split("=", 1)}
    return [pair for pair in remembered
            if not taken & {part.strip() for part in pair.split("=", 1)}]  # fmt: skip


def names_of(folder: Path, summary: ModelSummary) -> dict[int, str]:
    """Return the names that people gave to the classes of a run, by number."""
    return {number: summary.class_names[number] for number in summary.named}


def keep_names(folder: Path, given: Path, model: Model) -> bool:
    """Save names in a run's curation for the other verbs; False if it cannot be written."""
    from palaver.curation import change
    from palaver.models.curated import curation_of
    from palaver.page.names import read_names

    state = curation_of(model)
    actions = [
        {"do": "name", "class": state.classes[number].ids[0], "name": name}
        for number, name in sorted(read_names(given, model.summary()).items())
    ]
    try:
        change(folder, state, *actions, by=who())
    except OSError:
        return False
    return True


def who() -> str:
    """Return the name of the person at the keyboard, as the system knows it; "" if it does not."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
