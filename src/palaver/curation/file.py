"""``curation.json`` in the folder of a run: read, changed by one writer at a time, undone.

The file holds the log, from which everything follows, and what it amounts to, for readers. It is
replaced in one step under the run's lock. Whoever changes it says which revision was seen; if
somebody else was faster, nothing is written.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from palaver import store
from palaver.curation.state import Action, Curation, Said, Step, clean_text, replay
from palaver.errors import (
    DamagedStoreError,
    InputError,
    LockedStoreError,
    NewerStoreError,
    StaleCurationError,
)
from palaver.store.atomic import replace_file

FILE = "curation.json"
#: Raised whenever files that were written before can no longer be read.
VERSION = 1
_MAX_WHO = 80
_PATIENCE_SECONDS, _PAUSE_SECONDS = 10.0, 0.02


def read_curation(folder: str | Path, run: str, n_classes: int) -> Curation:
    """Return what was decided about a run; empty where nothing was.

    Parameters
    ----------
    folder : path
        The run's.
    run : str
        Id of the fitted model, see ``ModelSummary.run_id``.
    n_classes : int
        Of the fitted model.

    Raises
    ------
    DamagedStoreError, NewerStoreError
        The file cannot be understood.
    StaleCurationError
        It is about another fit.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        return Curation.empty(run, n_classes)
    content = _load(path)
    if content["run"] != run:
        raise StaleCurationError(
            f"{path}: is about another fit of this run, whose classes were others; move it away, "
            "then name the classes of this fit with `palaver name`"
        )
    return _state(path, content, n_classes)


def change(
    folder: str | Path,
    state: Curation,
    *actions: Action,
    by: str = "",
    revision: int | None = None,
) -> Curation:
    """Do something, as one step, and write it; a step that changes nothing is left out.

    Parameters
    ----------
    folder : path
        The run's.
    state : Curation
        What the writer has seen.
    *actions : dict
        For example ``{"do": "name", "class": 3, "name": "asks for help"}``; docs/curation.md has
        all of them. Classes are ids.
    by : str
        Who.
    revision : int, optional
        What the writer has seen, if not ``state.revision``.

    Returns
    -------
    Curation
        The new state.

    Raises
    ------
    StaleCurationError
        Somebody else has changed the file since; nothing was written.
    ParameterError
        An action is not possible; nothing was written.
    """
    step = Step(tuple(dict(action) for action in actions), clean_text(by, _MAX_WHO), _now())
    with _writing(folder, state, revision) as seen:
        after = seen.after(step)
        if after.decided == seen.decided:
            return seen
        _write(Path(folder) / FILE, after)
    return after


def undo(folder: str | Path, state: Curation) -> Curation:
    """Take back the last step; see :func:`change`."""
    with _writing(folder, state, None) as seen:
        if not seen.steps:
            raise InputError("there is nothing to undo")
        *kept, last = seen.steps
        after = replace(
            replay(seen.run, seen.n_classes, kept),
            undone=(*seen.undone, last), revision=seen.revision + 1,
        )  # fmt: skip
        _write(Path(folder) / FILE, after)
    return after


def redo(folder: str | Path, state: Curation) -> Curation:
    """Do again what was undone last; see :func:`change`."""
    with _writing(folder, state, None) as seen:
        if not seen.undone:
            raise InputError("there is nothing to redo")
        *rest, last = seen.undone
        after = replace(seen.after(last), undone=tuple(rest))
        _write(Path(folder) / FILE, after)
    return after


def write_curation(folder: str | Path, state: Curation) -> None:
    """Write a state to the folder of a model that was saved there.

    Raises
    ------
    StaleCurationError
        The folder has decisions about this model that the state does not have.
    """
    with _locked(folder):
        path = Path(folder) / FILE
        if path.is_file() and _load(path)["run"] == state.run:
            there = _state(path, _load(path), state.n_classes)
            if there.steps != state.steps[: len(there.steps)]:
                raise StaleCurationError(
                    f"{path}: has other decisions about this model; save it to another folder"
                )
        if state.steps:
            _write(path, state)


def replace_curation(folder: str | Path, state: Curation) -> None:
    """Write what is decided about a new fit; what was decided about another is kept beside it.

    As ``curation-<run>.json``, by the id of that fit.
    """
    with _locked(folder):
        path = Path(folder) / FILE
        if path.is_file() and (before := _load(path)["run"]) != state.run:
            name = "".join(letter for letter in before if letter.isalnum())[:16]
            path.replace(path.with_name(f"curation-{name}.json"))
        if state.steps:
            _write(path, state)


@contextmanager
def _writing(folder: str | Path, state: Curation, revision: int | None) -> Iterator[Curation]:
    """Hold the run's lock, and check that nobody has written since."""
    seen = state.revision if revision is None else revision
    with _locked(folder):
        now = read_curation(folder, state.run, state.n_classes)
        if now.revision != seen:
            raise StaleCurationError(
                f"{Path(folder) / FILE}: was changed by somebody else (revision {now.revision}, "
                f"you have seen {seen}); look at it again, then repeat the change"
            )
        yield now


@contextmanager
def _locked(folder: str | Path) -> Iterator[None]:
    """Hold the run's lock; others hold it for a moment only, unless they are fitting."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            lock = store.locked(folder)
            lock.__enter__()
            break
        except LockedStoreError:
            if time.monotonic() > end:
                raise
            time.sleep(_PAUSE_SECONDS)
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _load(path: Path) -> dict[str, Any]:
    """Return the content of the file, checked as far as its outline goes."""
    advice = "restore it from a backup, or delete it to begin again"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("palaver") != "curation":
            raise ValueError("it is no curation of Palaver")
        version = content["version"]
        if isinstance(version, int) and version > VERSION:
            raise NewerStoreError(
                f"{path}: written in version {version}, this Palaver reads up to {VERSION}; "
                "install a newer Palaver"
            )
        if version != VERSION or not isinstance(content["run"], str):
            raise ValueError("version or run is wrong")
        if not isinstance(content["revision"], int) or content["revision"] < 0:
            raise ValueError("the revision is no number")
    except (ValueError, KeyError, TypeError, RecursionError, OSError) as error:
        if isinstance(error, NewerStoreError):
            raise
        raise DamagedStoreError(f"{path}: is damaged ({error}); {advice}") from error
    return content


def _state(path: Path, content: Mapping[str, Any], n_classes: int) -> Curation:
    try:
        if content.get("n_classes") != n_classes:
            raise ValueError(f"it is about {content.get('n_classes')!r} classes, not {n_classes}")
        if not isinstance(content["log"], list):
            raise ValueError("there is no log")
        steps = [_step(entry) for entry in content["log"]]
        undone = tuple(_step(entry) for entry in content.get("undone", []))
        state = replay(content["run"], n_classes, steps)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedStoreError(
            f"{path}: its log does not make sense ({error}); restore it from a backup, or delete "
            "it to begin again"
        ) from error
    return replace(state, undone=undone, revision=content["revision"])


def _step(entry: Mapping[str, Any]) -> Step:
    actions = entry["actions"]
    if not isinstance(actions, list) or not all(isinstance(one, dict) for one in actions):
        raise ValueError("a step has no actions")
    by, at = (clean_text(entry.get(name, ""), _MAX_WHO) for name in ("by", "at"))
    return Step(tuple(actions), by, at)


def _write(path: Path, state: Curation) -> None:
    text = json.dumps(as_json(state), indent=1, ensure_ascii=False)
    with replace_file(path) as target:
        target.write_bytes(text.encode("utf-8", "replace"))


def as_json(state: Curation) -> dict[str, Any]:
    """Return the content of the file: what was decided, then the log that it follows from."""
    return {
        "palaver": "curation",
        "version": VERSION,
        "run": state.run,
        "n_classes": state.n_classes,
        "revision": state.revision,
        "about": "'classes' and 'messages' show what 'log' amounts to; only the log is read",
        "classes": [
            {
                "number": number,
                "ids": list(own.ids),
                "name": _said(own.name),
                "description": _said(own.description),
                "hidden": own.hidden,
                "seeds": list(own.seeds),
            }
            for number, own in enumerate(state.classes)
        ],
        "order": list(state.order),
        "splits": [{"id": s.id, "parts": list(s.parts), "folder": s.folder} for s in state.splits],
        "messages": [
            {"id": id, "key": key, "right": own.right, "wrong": sorted(own.wrong)}
            for (key, id), own in state.marks.items()
        ],
        "log": [_entry(step) for step in state.steps],
        "undone": [_entry(step) for step in state.undone],
    }


def _said(said: Said | None) -> dict[str, Any] | None:
    if said is None:
        return None
    return {"text": said.text, "by": said.by, "at": said.at, "proposed": said.proposed}


def _entry(step: Step) -> dict[str, Any]:
    return {"by": step.by, "at": step.at, "actions": list(step.actions)}
