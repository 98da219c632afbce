"""Arrows of the act graph go around names and circles, and not on top of each other."""

import numpy as np
import pytest

from palaver.draw.layout import GraphLayout
from palaver.draw.routes import bends, control, label_boxes


def crossed(source, target, bend, layout, boxes):
    """Return the nodes whose name or circle a curve runs over, looked at point by point."""
    x0, y0, x1, y1 = layout.x[source], layout.y[source], layout.x[target], layout.y[target]
    cx, cy = control(x0, y0, x1, y1, bend)
    hit = set()
    for t in np.linspace(0, 1, 201):
        x = (1 - t) ** 2 * x0 + 2 * t * (1 - t) * cx + t**2 * x1
        y = (1 - t) ** 2 * y0 + 2 * t * (1 - t) * cy + t**2 * y1
        for k, (left, top, right, bottom) in enumerate(boxes):
            if left < x < right and top < y < bottom:
                hit.add(f"name {k}")
            if k not in (source, target) and np.hypot(x - layout.x[k], y - layout.y[k]) < 30:
                hit.add(f"circle {k}")
    return hit


@pytest.mark.parametrize(("between", "is_hindered"), [(40.0, False), (100.0, True), (150.0, True)])
def test_an_arrow_goes_around_what_stands_between_its_ends(between, is_hindered):
    """The usual curve runs over nothing, the name, or the circle of the node in the middle."""
    layout = GraphLayout(900, 500, np.array([100.0, 400, 700]), np.array([200, between, 200]),
                    np.full(3, 30.0))  # fmt: skip
    boxes = label_boxes(layout, [["one"], ["a longer name here"], ["three"]], ["w", "w", "w"])
    chosen = bends([(0, 2)], layout, boxes)[0]
    assert bool(crossed(0, 2, 1.0, layout, boxes)) == is_hindered
    assert not crossed(0, 2, chosen, layout, boxes)
    assert (chosen == 1.0) == (not is_hindered)


def test_arrows_there_and_back_and_without_hindrance_are_bent_as_usual():
    layout = GraphLayout(900, 500, np.array([100.0, 400]), np.array([250.0, 250]), np.full(2, 30.0))
    boxes = label_boxes(layout, [["one"], ["two"]], ["w", "w"])
    assert bends([(0, 1), (1, 0), (-1, 0), (1, 1)], layout, boxes)[1:] == [1.0, 1.0, 1.0]
    there, back = bends([(0, 1), (1, 0)], layout, boxes)
    assert control(100, 250, 400, 250, there) != control(400, 250, 100, 250, back)


def test_no_arrow_leaves_the_picture():
    """Nodes near all edges, and names in the way: the far bends would lead around them outside."""
    x = np.repeat([120.0, 340, 560, 780], 3)
    y = np.array([82.0, 252, 422, 156, 326, 496, 82, 252, 422, 156, 326, 496])
    layout = GraphLayout(900, 600, x, y, np.full(12, 35.0))
    boxes = label_boxes(layout, [["three words here"]] * 12, ["five characteristic words"] * 12)
    ends = [(a, b) for a in range(12) for b in range(12) if a != b]
    t = np.linspace(0, 1, 201)
    for (a, b), bend in zip(ends, bends(ends, layout, boxes), strict=True):
        cx, cy = control(x[a], y[a], x[b], y[b], bend)
        for first, middle, last, size in ((x[a], cx, x[b], 900), (y[a], cy, y[b], 600)):
            curve = (1 - t) ** 2 * first + 2 * t * (1 - t) * middle + t**2 * last
            assert curve.min() > 0, (a, b, bend)
            assert curve.max() < size, (a, b, bend)
