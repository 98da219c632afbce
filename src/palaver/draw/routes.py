"""Routing the arrows of an act graph so that they cross few names and circles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.draw.layout import GraphLayout

#: Widths of a character of a name and of a characteristic word, in the sizes of the style sheet.
_NAME, _WORD = 7.8, 6.3
_LINE = 16.0
#: Bends to try, relative to the usual one; the first is used if nothing is in its way.
_BENDS = (1.0, -1.0, 0.4, -0.4, 1.8, -1.8, 2.8, -2.8)
_POINTS = 40  # of a curve that are checked
_CIRCLE, _TAKEN, _FAR = 3.0, 12.0, 0.4  # costs relative to a point on a name
_OUTSIDE = 10_000.0  # more than anything that a curve inside the picture can cost
_MARGIN = 8.0


def label_boxes(
    layout: GraphLayout, names: Sequence[Sequence[str]], top_words: Sequence[str]
) -> NDArray[np.float64]:
    """Return approximate boxes of the labels below nodes: left, top, right, bottom, (n, 4).

    Parameters
    ----------
    layout : GraphLayout
    names : sequence of sequence of str
        Lines of each name.
    top_words : sequence of str
    """
    boxes = np.empty((len(names), 4))
    for k, (lines, words) in enumerate(zip(names, top_words, strict=True)):
        wide = max([_WORD * len(words), *(_NAME * len(line) for line in lines)]) / 2
        top = layout.y[k] + layout.radius[k] + 4
        boxes[k] = layout.x[k] - wide, top, layout.x[k] + wide, top + _LINE * (len(lines) + 1)
    return boxes


def bends(
    ends: Sequence[tuple[int, int]], layout: GraphLayout, boxes: NDArray[np.float64]
) -> list[float]:
    """Choose how far each arrow bends, relative to the usual bend.

    Parameters
    ----------
    ends : sequence of (int, int)
        Source and target of each arrow, the most important last. Arrows from outside or
        back to the same node are not bent.
    layout : GraphLayout
    boxes : array of float64, shape (n_nodes, 4)
        From :func:`label_boxes`.
    """
    chosen = [1.0] * len(ends)
    taken: set[tuple[int, int, bool]] = set()
    for i in range(len(ends) - 1, -1, -1):
        source, target = ends[i]
        if source < 0 or source == target:
            continue
        costs = [_cost(source, target, bend, layout, boxes, taken) for bend in _BENDS]
        chosen[i] = _BENDS[int(np.argmin(costs))]
        taken.add(_lane(source, target, chosen[i]))
    return chosen


def _lane(source: int, target: int, bend: float) -> tuple[int, int, bool]:
    """Return the side of the line between two nodes on which an arrow runs."""
    return min(source, target), max(source, target), (bend > 0) == (source < target)


def _cost(
    source: int,
    target: int,
    bend: float,
    layout: GraphLayout,
    boxes: NDArray[np.float64],
    taken: set[tuple[int, int, bool]],
) -> float:
    """Return the cost of what a curve crosses: names, circles, and lanes already taken."""
    x, y = _points(source, target, bend, layout)
    left, top, right, bottom = boxes.T[:, :, None]
    cost = float(((x > left) & (x < right) & (y > top) & (y < bottom)).sum())
    away = np.hypot(x - layout.x[:, None], y - layout.y[:, None]) < layout.radius[:, None] + 5
    away[[source, target]] = False
    cost += _CIRCLE * float(away.sum())
    cost += _OUTSIDE * float(_leaves(x, layout.width) or _leaves(y, layout.height))
    cost += _TAKEN * (_lane(source, target, bend) in taken)
    return cost + _FAR * abs(abs(bend) - 1)


def _leaves(values: NDArray[np.float64], size: float) -> bool:
    """Whether a curve comes too close to the edges of the picture."""
    return bool(((values < _MARGIN) | (values > size - _MARGIN)).any())


def _points(
    source: int, target: int, bend: float, layout: GraphLayout
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x0, y0, x1, y1 = layout.x[source], layout.y[source], layout.x[target], layout.y[target]
    cx, cy = control(x0, y0, x1, y1, bend)
    t = np.linspace(0.02, 0.98, _POINTS)
    along = ((1 - t) ** 2, 2 * t * (1 - t), t**2)
    x = along[0] * x0 + along[1] * cx + along[2] * x1
    y = along[0] * y0 + along[1] * cy + along[2] * y1
    outside = np.hypot(x - x0, y - y0) > layout.radius[source]
    outside &= np.hypot(x - x1, y - y1) > layout.radius[target]
    return x[outside], y[outside]


def control(x0: float, y0: float, x1: float, y1: float, bend: float) -> tuple[float, float]:
    """Return the control point of an arrow's curve."""
    dx, dy = x1 - x0, y1 - y0
    distance = max(float(np.hypot(dx, dy)), 1e-9)
    aside = bend * (0.14 * distance + 14)
    return (x0 + x1) / 2 + aside * dy / distance, (y0 + y1) / 2 - aside * dx / distance
