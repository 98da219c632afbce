"""Files and folders that appear complete or not at all."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import platform
import re
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
_HOST = hashlib.blake2b(platform.node().encode(), digest_size=4).hexdigest()
_TEMPORARY = re.compile(rf"\.palaver-{_HOST}-(\d+)-[0-9a-f]{{16}}\.tmp")
_RENAME_TRIES = 10 if os.name == "nt" else 1  # virus scanners hold new files for a moment
_PAUSE_SECONDS = 0.05


@contextmanager
def replace_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name to write to; on success it becomes ``path`` in one step.

    Missing folders are created, links are followed, and the permissions of an existing file are
    kept. Leftovers of killed processes are removed.

    Raises
    ------
    StoreError
        The file cannot be written; whatever was there is untouched.
    """
    target = _real(path)
    with explained(path), _discarding(_sibling(target)) as temporary:
        target.parent.mkdir(parents=True, exist_ok=True)
        _discard_litter(target.parent)
        yield temporary
        if target.is_file():
            shutil.copymode(target, temporary)
        sync(temporary)
        _rename(temporary, target)
        sync(target.parent)


@contextmanager
def replace_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; on success it replaces ``path``.

    Linux and macOS exchange both folders in one step. Elsewhere the old one is moved aside first
    and removed afterwards; a kill in between leaves it beside ``path``, as ``.palaver-....old``.

    Raises
    ------
    StoreError
        The folder cannot be written; whatever was there is untouched.
    """
    target = _real(path)
    with explained(path), _discarding(_sibling(target)) as temporary:
        temporary.mkdir(parents=True)
        _discard_litter(target.parent)
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
        is_short = error.errno is None and "requested and" in str(error)  # numpy's words
        code = errno.ENOSPC if is_short else error.errno or 0
        reason = _ADVICE.get(code) or error.strerror or str(error)
        raise StoreError(f"{path}: cannot be written ({reason})") from error


def _real(path: str | Path) -> Path:
    """Follow links, so that a link's target is replaced rather than the link."""
    return Path(os.path.realpath(path))


def _sibling(path: Path) -> Path:
    """Name a temporary file next to ``path``: a rename is atomic only within one disk."""
    return path.with_name(f".palaver-{_HOST}-{os.getpid()}-{secrets.token_hex(8)}.tmp")


def _discard_litter(folder: Path) -> None:
    """Remove temporary files and folders of processes of this machine that have ended."""
    if os.name != "posix":
        return
    with suppress(OSError):
        for path in folder.glob(f".palaver-{_HOST}-*.tmp"):
            found = _TEMPORARY.fullmatch(path.name)
            if found and not _is_alive(int(found[1])):
                _discard(path)


def discard_litter(folder: Path) -> None:
    """Remove what processes that have ended left in a folder and in the folders in it."""
    _discard_litter(folder)
    with suppress(OSError):
        for inner in folder.iterdir():
            if inner.is_dir() and not inner.is_symlink():
                _discard_litter(inner)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # of another user
    return True


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
    if _exchange(new, old):
        _discard(new)  # which is the old one now
        return
    aside = _sibling(old).with_suffix(".old")
    _rename(old, aside)
    try:
        _rename(new, old)
    except BaseException:
        _rename(aside, old)
        raise
    _discard(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system cannot."""
    names = os.fsencode(one), os.fsencode(other)
    here, swap = -100, 2  # AT_FDCWD; RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
    with suppress(OSError, TypeError):  # TypeError: Windows has no such library
        library = ctypes.CDLL(None)
        if hasattr(library, "renameat2"):
            return bool(library.renameat2(here, names[0], here, names[1], swap) == 0)
        if hasattr(library, "renamex_np"):
            return bool(library.renamex_np(names[0], names[1], swap) == 0)
    return False


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
