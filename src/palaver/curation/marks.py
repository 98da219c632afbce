"""What a mark says about the shares of a message."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from palaver.curation.state import Mark


def places_of(mark: Mark, places: Callable[[int], list[int]]) -> tuple[list[int], list[int]]:
    """Return the places of the classes that a mark says are right, and wrong."""
    right = [] if mark.right is None else places(mark.right)
    return right, sorted({place for id in mark.wrong for place in places(id)})


def correct(own: NDArray[np.floating], right: list[int], wrong: list[int]) -> None:
    """Let a person's word count in the shares of one message, in place.

    Of several classes that are right, the parts of one that was divided later, each keeps its part.
    """
    if right:
        rest = own[right].sum()
        parts = own[right] / rest if rest > 0 else 1.0 / len(right)
        own[:] = 0.0
        own[right] = parts
        return
    rest = np.delete(own, wrong).sum()
    if rest > 0:
        own[wrong] = 0.0
        own /= rest
