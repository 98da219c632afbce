"""A stored folder: ``manifest.json`` and the arrays that it names.

Replacing the manifest commits a save. :func:`save` first writes the arrays to a new subfolder,
then replaces the manifest in one step, then removes arrays that are no longer needed. A kill at
any moment leaves a folder that loads in either its old or its new state.
"""

from __future__ import annotations

import json
import math
import os
import platform
import secrets
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.errors import DamagedStoreError, NewerStoreError, OlderStoreError, StoreError
from palaver.store.atomic import explained, replace_file, sync
from palaver.store.remote import local_folder

#: Raised whenever folders that were written before can no longer be read.
FORMAT = 2
MANIFEST, PREVIOUS = "manifest.json", "manifest.previous.json"
_LIBRARIES = ("palaver", "numpy", "numba", "polars", "scipy")


@dataclass(frozen=True)
class Stored:
    """The loaded content of a folder.

    Attributes
    ----------
    kind : str
        What the folder holds, such as ``"model"``.
    content : dict
        The JSON part.
    arrays : dict of str to array
    versions : dict of str to str
        Library versions at the time of saving.
    from_previous : bool
        Whether this is the previous generation, because the newest one is damaged.
    """

    kind: str
    content: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    versions: dict[str, str]
    from_previous: bool = False


def plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON part of a folder as it will be loaded: numpy numbers become Python's.

    Raises
    ------
    StoreError
        It cannot be saved as JSON.
    """
    found = {}
    for name, value in content.items():
        try:
            found[name] = json.loads(json.dumps(value, allow_nan=False, default=_plain_number))
        except (TypeError, ValueError) as error:
            raise StoreError(f"{name} cannot be saved as JSON ({error}): {value!r:.200}") from error
    return found


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r:.60} is a {type(value).__name__}")


def is_stored(folder: str | Path) -> bool:
    """Whether a folder has a manifest."""
    return (Path(folder) / MANIFEST).is_file()


def save(
    folder: str | Path,
    kind: str,
    content: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    keep_previous: bool = False,
) -> None:
    """Write a folder; a reader sees either all of it or none of it.

    Parameters
    ----------
    folder : path
        Created if missing; its previous content is replaced.
    kind : str
    content : mapping
        Anything that JSON can hold, and numpy numbers.
    arrays : mapping of str to array
        Any dtype except objects.
    keep_previous : bool
        Keep the previous generation, to fall back on if this one gets damaged.
    """
    folder = Path(folder)
    content = plain(content)
    generation = f"arrays-{secrets.token_hex(6)}"
    try:
        with explained(folder):
            _write_generation(folder, generation, kind, content, arrays, keep_previous)
    except StoreError:
        shutil.rmtree(folder / generation, ignore_errors=True)
        raise
    _remove_old(folder, keep_previous)


def _write_generation(
    folder: Path,
    generation: str,
    kind: str,
    content: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    keep_previous: bool,
) -> None:
    """Write the arrays to their own subfolder, then the manifest that names them."""
    target = folder / generation
    target.mkdir(parents=True)
    entries = {name: _write_array(target, name, array) for name, array in arrays.items()}
    sync(target)
    manifest = {
        "format": FORMAT,
        "kind": kind,
        "versions": versions(),
        "content": content,
        "generation": generation,
        "arrays": entries,
    }
    if keep_previous and (folder / MANIFEST).is_file():
        with replace_file(folder / PREVIOUS) as path:
            shutil.copyfile(folder / MANIFEST, path)
    with replace_file(folder / MANIFEST) as path:
        path.write_text(json.dumps(manifest, indent=1, allow_nan=False), encoding="utf-8")


def load(folder: str | Path, kind: str | None = None, *, mapped: bool = False) -> Stored:
    """Read a folder.

    Parameters
    ----------
    folder : path or URL
    kind : str, optional
        What the folder must hold.
    mapped : bool
        Map arrays from disk instead of keeping them in memory. They are read once, to compare
        their checksums. Writing to them changes nothing on disk.

    Raises
    ------
    StoreError, DamagedStoreError, NewerStoreError, OlderStoreError
    """
    folder = local_folder(folder)
    if not (folder / MANIFEST).is_file():
        raise StoreError(f"{folder}: not a folder written by Palaver (no {MANIFEST})")
    try:
        return _load_generation(folder, MANIFEST, kind, mapped)
    except DamagedStoreError as damage:
        if not (folder / PREVIOUS).is_file():
            raise DamagedStoreError(
                f"{damage}; restore the folder from a backup, or create it again"
            ) from damage
        stored = _load_generation(folder, PREVIOUS, kind, mapped)
        return Stored(stored.kind, stored.content, stored.arrays, stored.versions, True)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _write_array(folder: Path, name: str, array: NDArray[Any]) -> dict[str, Any]:
    """Write one array and return its manifest entry."""
    array = np.asarray(array, order="C")
    path = folder / f"{name}.npy"
    with path.open("wb") as stream:
        np.lib.format.write_array(stream, array, allow_pickle=False)
        stream.flush()
        os.fsync(stream.fileno())
    return {"bytes": path.stat().st_size, "crc32": _checksum(array)}


def _checksum(array: NDArray[Any]) -> int:
    return zlib.crc32(array.reshape(-1).view(np.uint8).data) if array.size else 0


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        found = manifest["format"]
        if not isinstance(found, int):
            raise TypeError("format is not a number")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedStoreError(f"{path}: damaged manifest ({error})") from error
    if found > FORMAT:
        raise NewerStoreError(
            f"{path.parent}: written in format {found}, this Palaver reads up to {FORMAT}; "
            "install a newer Palaver"
        )
    if found < FORMAT:
        raise OlderStoreError(
            f"{path.parent}: written by an older Palaver (format {found}, this one reads "
            f"{FORMAT}); fit or write it again, into a new folder"
        )
    return dict(manifest)


def _load_generation(folder: Path, name: str, kind: str | None, mapped: bool) -> Stored:
    manifest = _read_manifest(folder / name)
    try:
        generation, entries = str(manifest["generation"]), dict(manifest["arrays"])
        found, content = str(manifest["kind"]), dict(manifest["content"])
        library_versions = {str(k): str(v) for k, v in dict(manifest["versions"]).items()}
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedStoreError(f"{folder / name}: damaged manifest ({error!r})") from error
    if Path(generation).name != generation or any(Path(n).name != n for n in entries):
        raise DamagedStoreError(f"{folder / name}: names files outside its folder")
    if kind is not None and found != kind:
        raise StoreError(f"{folder}: holds a {found}, not a {kind}")
    arrays = {n: _read_array(folder / generation, n, e, mapped) for n, e in entries.items()}
    return Stored(found, content, arrays, library_versions)


def _read_array(folder: Path, name: str, entry: Any, mapped: bool) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    try:
        size, wanted = path.stat().st_size, entry["bytes"]
        if size != wanted:
            raise DamagedStoreError(f"{path}: has {size:,} bytes instead of {wanted:,}")
        if _size_by_header(path) != size:
            raise DamagedStoreError(f"{path}: its header does not match its size")
        array: NDArray[Any] = np.load(path, mmap_mode="c" if mapped else None, allow_pickle=False)
        if _checksum(array) != entry["crc32"]:
            raise DamagedStoreError(f"{path}: its content was altered")
    except _SIGNS_OF_DAMAGE as error:
        raise DamagedStoreError(f"{path}: is missing or damaged ({error})") from error
    return array


#: Errors that reading a damaged array can raise.
_SIGNS_OF_DAMAGE = (
    ArithmeticError, EOFError, FileNotFoundError, KeyError, MemoryError, SyntaxError, TokenError,
    TypeError, ValueError,
)  # fmt: skip


def _size_by_header(path: Path) -> int:
    """Return the size that an array's file should have, before anything is allocated."""
    with path.open("rb") as stream:
        form = np.lib.format
        if form.read_magic(stream) == (1, 0):
            shape, _, dtype = form.read_array_header_1_0(stream)
        else:
            shape, _, dtype = form.read_array_header_2_0(stream)
        return stream.tell() + math.prod(shape) * dtype.itemsize


def _remove_old(folder: Path, keep_previous: bool) -> None:
    """Remove arrays that no manifest names; a kill before this leaves only unused files behind."""
    named = set()
    for name in (MANIFEST, PREVIOUS):
        path = folder / name
        if name == PREVIOUS and not keep_previous:
            path.unlink(missing_ok=True)
        if path.is_file():
            try:
                named.add(str(_read_manifest(path).get("generation")))
            except StoreError:
                return
    for old in folder.glob("arrays-*"):
        if old.name not in named:
            shutil.rmtree(old, ignore_errors=True)
