"""Files and folders that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from palaver.errors import StoreError

_ADVICE = {
    errno.ENOSPC: "the disk is full; make room and try again",
    errno.EACCES: "writing there is not allowed; choose another folder",
    errno.EPERM: "writing there is not allowed; choose another folder",
    errno.EROFS: "the disk is read-only; choose another folder",
    errno.EISDIR: "a folder of that name exists; choose another name",
    errno.ENOTDIR: "part of the path is a file; choose another folder",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}
_RENAME_TRIES = 10 if os.name == "nt" else 1  # virus scanners hold new files for a moment
_PAUSE_SECONDS = 0.05


@contextmanager
def replace_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name to write to; on success it becomes ``path`` in one step.

    Missing folders are created, links are followed, and the permissions of an existing file are
    kept.

    Raises
    ------
    StoreError
        The file cannot be written; whatever was there is untouched.
    """
    target = _real(path)
    with explained(path), _discarding(_sibling(target)) as temporary:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if target.is_file():
            shutil.copymode(target, temporary)
        sync(temporary)
        _rename(temporary, target)
        sync(target.parent)


@contextmanager
def replace_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; on success it replaces ``path``.

    Not every platform can replace a folder in one step, so the old one is moved aside first and
    removed afterwards; a kill in between leaves it under its temporary name.

    Raises
    ------
    StoreError
        The folder cannot be written; whatever was there is untouched.
    """
    target = _real(path)
    with explained(path), _discarding(_sibling(target)) as temporary:
        temporary.mkdir(parents=True)
        yield temporary
        for file in temporary.rglob("*"):
            sync(file)
        sync(temporary)
        _swap(temporary, target)
        sync(target.parent)


def sync(path: Path) -> None:
    """Flush a file, or a folder's entries where the platform supports it, to disk."""
    if path.is_dir() and os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # some network disks cannot
            raise
    finally:
        os.close(descriptor)


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """Turn system errors into messages that say why ``path`` cannot be written and what to do."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        reason = _ADVICE.get(error.errno or 0) or error.strerror or str(error)
        raise StoreError(f"{path}: cannot be written ({reason})") from error


def _real(path: str | Path) -> Path:
    """Follow links, so that a link's target is replaced rather than the link."""
    return Path(os.path.realpath(path))


def _sibling(path: Path) -> Path:
    """Name a temporary file next to ``path``: a rename is atomic only within one disk."""
    return path.with_name(f".palaver-{secrets.token_hex(8)}.tmp")


@contextmanager
def _discarding(temporary: Path) -> Iterator[Path]:
    """Remove whatever is left of a temporary file or folder at the end."""
    try:
        yield temporary
    finally:
        _discard(temporary)


def _swap(new: Path, old: Path) -> None:
    """Replace one folder by another; put the old one back if that fails."""
    if not old.exists():
        _rename(new, old)
        return
    aside = _sibling(old)
    _rename(old, aside)
    try:
        _rename(new, old)
    except BaseException:
        _rename(aside, old)
        raise
    _discard(aside)


def _rename(source: Path, target: Path) -> None:
    """Rename, with retries on Windows, where a file that is being read cannot be moved."""
    for tries_left in reversed(range(_RENAME_TRIES)):
        try:
            os.replace(source, target)
        except PermissionError:
            if not tries_left:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _discard(path: Path) -> None:
    """Remove a file or folder if it exists; failing to do so is not worth an error."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)
