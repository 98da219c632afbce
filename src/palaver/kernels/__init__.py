"""Compiled loops: arrays in, arrays out; numpy and numba only."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def _has_room_for_cache() -> bool:
    """Whether numba can keep compiled code beside the source or in the user's home."""
    places = [Path(__file__).parent]
    with suppress(RuntimeError):  # no HOME, and the user is not in the list of users
        places.append(Path.home())
    return any(os.access(place, os.W_OK) for place in places)


if "NUMBA_CACHE_DIR" not in os.environ and not _has_room_for_cache():
    # numba would refuse to compile at all; a private folder, for what is cached is executed
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="palaver-")
