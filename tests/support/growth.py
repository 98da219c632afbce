"""How the time of work grows with its input, so that quadratic code turns a test red."""

from __future__ import annotations

import time
from collections.abc import Callable

_LARGER = 4
_TRIES = 4
#: Linear work stays below this ratio, quadratic work is far above it.
_MOST = 7


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Fail if work takes more than seven times as long on four times the input.

    Linear work takes four times as long at most, and less where it has fixed costs; quadratic
    work sixteen times. Processor time is taken, the best of several runs, and again if that fails:
    other programs on the machine do not count.

    Parameters
    ----------
    work : function of a size
    size : int
        Large enough for quadratic work to outweigh fixed costs.
    """
    work(size)  # imports, caches
    ratios = []
    while len(ratios) < _TRIES and not any(ratio < _MOST for ratio in ratios):
        small, large = (_seconds(work, each) for each in (size, _LARGER * size))
        ratios.append(large / small)
    assert ratios[-1] < _MOST, f"{min(ratios):.1f} times as long on {_LARGER} times the input"


def _seconds(work: Callable[[int], object], size: int) -> float:
    return min(_once(work, size) for _ in range(_TRIES))


def _once(work: Callable[[int], object], size: int) -> float:
    start = time.process_time()
    work(size)
    return time.process_time() - start
