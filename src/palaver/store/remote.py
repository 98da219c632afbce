"""Folders behind a URL (``s3://``, ``gs://``, ``https://``...), through fsspec (extra ``ray``).

A folder is copied once to a cache on this machine and mapped from there; other machines that are
given the URL do the same.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from palaver.errors import MissingExtraError, StoreError
from palaver.store.atomic import explained, replace_folder

_URL = "url.txt"


def is_url(place: str | Path) -> bool:
    """Whether a place is a URL rather than a path on this machine."""
    return "://" in str(place)


def local_folder(place: str | Path) -> Path:
    """Return a folder as a local path; a folder behind a URL is fetched if needed.

    Raises
    ------
    StoreError
        The folder cannot be read.
    """
    if not is_url(place):
        return Path(place)
    url = str(place).rstrip("/")
    folder = _cache() / hashlib.blake2b(url.encode(), digest_size=12).hexdigest()
    _check_own(folder.parent)
    if not (folder / _URL).exists():
        _fetch(url, folder)
    return folder


def source_of(path: str | Path) -> tuple[str | None, str]:
    """Return the URL of the folder that a cached file was fetched with, and its path there.

    None and the path itself for other files. Other machines keep their caches elsewhere.
    """
    path, cache = Path(path), _cache()
    if cache not in path.parents:
        return None, str(path)
    folder = cache / path.relative_to(cache).parts[0]
    return (folder / _URL).read_text(encoding="utf-8"), path.relative_to(folder).as_posix()


def _cache() -> Path:
    return Path(tempfile.gettempdir()).resolve() / f"palaver-{getpass.getuser()}"


def _check_own(cache: Path) -> None:
    """Create the cache; refuse one that another user could have filled.

    Raises
    ------
    StoreError
    """
    with explained(cache):
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name != "posix":
        return
    facts = cache.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o022:
        raise StoreError(
            f"{cache}: belongs to another user, or others may write to it; remove it, or set "
            "TMPDIR to a folder of your own"
        )


def _fetch(url: str, folder: Path) -> None:
    """Copy the folder behind a URL to a local one, which appears complete or not at all."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtraError("URLs need fsspec: pip install fsspec") from error
    with replace_folder(folder) as target:
        try:
            files, root = url_to_fs(url)
            files.get(root.rstrip("/") + "/", str(target), recursive=True)
        except (OSError, ValueError, ImportError) as error:
            raise StoreError(f"{url}: cannot be read ({error!r})") from error
        (target / _URL).write_text(url, encoding="utf-8")
