"""Where the pictures of results pages are kept; :mod:`palaver.draw.plots` draws them."""

from __future__ import annotations

from pathlib import Path

from palaver.draw.plots import curves, traces, weighted_points
from palaver.draw.svg import Svg

__all__ = ["curves", "keep", "traces", "weighted_points"]

#: Folder of the pictures, which is that of the pages.
FOLDER = Path(__file__).parents[2] / "docs" / "results"


def keep(picture: Svg, name: str) -> None:
    """Write a picture to the folder of the pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    picture.save(FOLDER / name)
