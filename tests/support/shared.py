"""Data sets that may lie next to the repository, in ``../shared/data``; tests skip without them.

The environment variable ``PALAVER_DATA`` names another folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_DATA = Path(os.environ.get("PALAVER_DATA") or Path(__file__).parents[3] / "shared" / "data")


def shared_data(name: str) -> Path:
    """Return the path of a shared file; skip the test, saying why, if it is missing."""
    path = _DATA / name
    if not path.exists():
        pytest.skip(f"needs ../shared/data/{name}, which is not part of the repository")
    return path
