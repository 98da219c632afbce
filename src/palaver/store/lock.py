"""One writer per folder: a lock that the operating system releases when its process dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from palaver.errors import LockedStoreError
from palaver.store.atomic import discard_litter, explained

if sys.platform == "win32":
    import msvcrt

    def _acquire(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Hold the exclusive right to write to a folder; what killed writers left there is removed.

    Raises
    ------
    LockedStoreError
        Another process, or another part of this one, holds the lock.
    """
    path = Path(folder) / "lock"
    with explained(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _acquire(descriptor)
        except OSError as error:
            raise LockedStoreError(
                f"{folder}: another process is writing to it; wait for it, or choose another folder"
            ) from error
        discard_litter(Path(folder))
        yield
    finally:
        os.close(descriptor)
