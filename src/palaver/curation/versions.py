"""Versions of a run: a new fit beside the old one, taken or left.

::

    run/refit/         the new fit, a run of its own
    run/versions/1/    what the first fit that was replaced consisted of

Taking is a list of moves that is written down first; a kill in between is finished by whoever
looks next.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from palaver import store
from palaver.curation.file import FILE
from palaver.errors import InputError
from palaver.store.atomic import replace_file

REFIT, VERSIONS, _PLAN = "refit", "versions", "taking.json"
#: What a run consists of, apart from the index and from versions.
_OWN = re.compile(
    r"manifest\.json|arrays-[0-9a-f]{12}|data|messages|settings|checkpoint|splits"
    r"|labels\.parquet|first-acts\.npy|curation\.json|coding\.json"
)


def take(run: Path) -> Path:
    """Put the new fit in the place of the old one; return where the old one is now.

    Raises
    ------
    InputError
        There is no new fit.
    """
    place = run / REFIT
    if not store.is_stored(place):
        raise InputError(f"{run}: has no new fit to take")
    (run / VERSIONS).mkdir(exist_ok=True)
    taken = [int(path.name) for path in (run / VERSIONS).iterdir() if path.name.isdecimal()]
    number = max(taken, default=0) + 1
    plan = {"to": number, "old": _parts(run), "new": _parts(place)}
    with store.locked(run):
        with replace_file(run / _PLAN) as path:
            path.write_text(json.dumps(plan), encoding="utf-8")
        finish(run)
    return run / VERSIONS / str(number)


def finish(run: Path) -> None:
    """Finish taking a new fit, if that was begun."""
    if not (run / _PLAN).is_file():
        return
    plan = json.loads((run / _PLAN).read_text(encoding="utf-8"))
    before, place = run / VERSIONS / str(plan["to"]), run / REFIT
    before.mkdir(parents=True, exist_ok=True)
    for name in plan["old"]:
        if (run / name).exists() and not (before / name).exists():
            (run / name).replace(before / name)
    for name in plan["new"]:
        if (place / name).exists():
            (place / name).replace(run / name)
    (run / _PLAN).unlink()
    shutil.rmtree(place, ignore_errors=True)


def leave(run: Path) -> None:
    """Remove the new fit."""
    shutil.rmtree(run / REFIT, ignore_errors=True)


def _parts(folder: Path) -> list[str]:
    names = sorted(path.name for path in folder.iterdir() if _OWN.fullmatch(path.name))
    return [*[name for name in names if name != FILE], *[name for name in names if name == FILE]]
