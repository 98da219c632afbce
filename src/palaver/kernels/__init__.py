"""Compiled loops: arrays in, arrays out; numpy and numba only."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def _has_room_for_cache() -> bool:
    """Whether numba can cache compiled code next to the source or in the user's home."""
    places = [Path(__file__).parent]
    with suppress(RuntimeError):  # no HOME, and the user is not in the user database
        places.append(Path.home())
    return any(os.access(place, os.W_OK) for place in places)


if "NUMBA_CACHE_DIR" not in os.environ and not _has_room_for_cache():
    # numba would refuse to compile; the folder is private, because what is cached gets executed
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="palaver-")
