"""The index on disk: where it is, what it was made from, and whether it is still right.

Apart from what makes it and what reads it, so that the workbench starts without the model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from palaver import store
from palaver.errors import StoreError

if TYPE_CHECKING:
    from palaver.curation import Curation

KIND, VERSION = "workbench", 5
FOLDER, ANONYMIZED = "explore", "anonymized"
NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Origin:
    """What an index was made from.

    Attributes
    ----------
    model : str
        Changes with every fit of the run.
    source : str
        The file, or what stands for one.
    stamp : str
        Size and time of the file; changes when it is written again.
    """

    model: str
    source: str
    stamp: str


def origin_of(run: Path, source: str, where: Sequence[str] = ()) -> Origin:
    """Return what an index of a run would be made from now: a file, or the part that matches.

    The stamp is empty if the file is gone or is not a local one.
    """
    digest = hashlib.blake2b((run / store.folder.MANIFEST).read_bytes(), digest_size=8)
    return Origin(digest.hexdigest(), " ".join([source, *where]), _stamp(Path(source)))


def _stamp(path: Path) -> str:
    """Return a name for the state of a file or folder, without reading it."""
    try:
        files = [path] if not path.is_dir() else sorted(path.rglob("*"))
        facts = [file.stat() for file in files]
    except OSError:
        return ""
    said = [(fact.st_size, fact.st_mtime_ns) for fact in facts]
    return hashlib.blake2b(repr(said).encode(), digest_size=8).hexdigest()


def place_of(run: Path, *, anonymize: bool) -> Path:
    """Return where the index of a run is."""
    return run / FOLDER / ANONYMIZED if anonymize else run / FOLDER


def shape_of(state: Curation) -> str:
    """Return a short name for everything that was decided but names and descriptions."""
    shape = [
        [(own.ids, own.hidden) for own in state.classes], state.order,
        [split.folder for split in state.splits],
        sorted((place, own.right, sorted(own.wrong)) for place, own in state.marks.items()),
    ]  # fmt: skip
    return hashlib.blake2b(repr(shape).encode(), digest_size=8).hexdigest()


def is_current(run: Path, origin: Origin, *, anonymize: bool) -> bool:
    """Whether a run has an index that was made from this model and file.

    A file that is gone does not matter: the index has its texts.
    """
    folder = place_of(run, anonymize=anonymize)
    if not store.is_stored(folder):
        return False
    try:
        content = json.loads((folder / store.folder.MANIFEST).read_text("utf-8"))["content"]
        made = Origin(**content["origin"])
        version = content["version"]
    except (ValueError, KeyError, TypeError, OSError, StoreError):
        return False
    same_file = made.source == origin.source and origin.stamp in ("", made.stamp)
    return version == VERSION and made.model == origin.model and same_file
