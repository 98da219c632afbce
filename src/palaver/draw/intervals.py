"""Dots with whiskers: estimates and how far they may be off, a panel per question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.draw.palette import colour_class
from palaver.draw.svg import Svg, shorten, tag, words

_ROW, _HEAD, _FOOT, _LEFT, _WIDTH = 22.0, 30.0, 30.0, 190.0, 560.0
_LONGEST = 28  # characters of a label

#: How many times as far the widest panel must reach for a panel to get a scale of its own.
MUCH_SMALLER = 20

Panel = tuple[str, Sequence[str], NDArray[np.float64]]


def interval_chart(panels: Sequence[Panel], *, label: str) -> Svg:
    """Draw differences in percentage points, with a line at none.

    All panels are to one scale but those on which nothing would be seen, such as slopes per day.

    Parameters
    ----------
    panels : sequence of (str, sequence of str, array of float64)
        Title, one label per row, and (n_rows, 3) estimates, lower and upper limits.
    label : str
        Description for screen readers.
    """
    own = [1.05 * float(np.abs(values).max(initial=0.0)) for _, _, values in panels]
    common = max(own, default=0.0) or 0.01
    top, parts = 0.0, []
    for (title, labels, values), largest in zip(panels, own, strict=True):
        reach = largest if 0 < largest < common / MUCH_SMALLER else common
        parts.append(tag("g", *_panel(title, labels, values, reach),
                         transform=f"translate(0 {top:.0f})"))  # fmt: skip
        top += _HEAD + _ROW * len(values) + _FOOT
    return Svg(
        tag("svg", *parts, viewBox=f"0 0 {_WIDTH:.0f} {max(top, 1):.0f}", class_="intervals",
            role="img", aria_label=label)
    )  # fmt: skip


def _points(share: float, decimals: int = 1) -> str:
    """Return a difference in percentage points; small ones with one digit that says something."""
    points = 100 * share
    small = 0 < abs(points) < 10.0**-decimals
    return f"{points:+.1g}" if small else f"{points:+.{decimals}f}"


def _panel(
    title: str, labels: Sequence[str], values: NDArray[np.float64], reach: float
) -> list[str]:
    """Return a title, a line at nothing, and a dot with its whisker per row."""

    def across(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 20) * (value + reach) / (2 * reach)

    bottom = _HEAD + _ROW * len(values)
    parts = [
        tag("text", words(shorten(title, 70)), x=8.0, y=18.0, class_="title", font_weight="600"),
        tag("line", x1=across(0), x2=across(0), y1=_HEAD - 6, y2=bottom, class_="axis"),
    ]
    for row, (called, (middle, low, high)) in enumerate(zip(labels, values, strict=True)):
        y = _HEAD + _ROW * (row + 0.5)
        sure = low > 0 or high < 0
        parts += [
            tag("text", words(shorten(called, _LONGEST)), x=_LEFT - 10, y=y + 4, class_="tick",
                text_anchor="end"),
            tag("g",
                tag("title", words(f"{called}: {_points(middle)} points ({_points(low)} to "
                                   f"{_points(high)})")),
                tag("line", x1=across(low), x2=across(high), y1=y, y2=y, class_="line",
                    stroke_width=2.0),
                tag("circle", cx=across(middle), cy=y, r=4.5 if sure else 3.0, class_="fill"),
                class_=colour_class(row), opacity=None if sure else 0.55),
        ]  # fmt: skip
    for value in (-reach, 0.0, reach):
        anchor = "middle" if not value else "start" if value < 0 else "end"
        said = "no difference" if not value else f"{_points(value, 0)} points"
        parts.append(tag("text", said, x=across(value), y=bottom + 14, class_="tick",
                         text_anchor=anchor))  # fmt: skip
    return parts
