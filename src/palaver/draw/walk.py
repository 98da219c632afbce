"""A document's walk over classes: circles in walking order, sized by weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palaver.draw.palette import colour_class, letters
from palaver.draw.svg import Svg, tag, words

_RADIUS, _SMALLEST = 26.0, 7.0  # radius of a position with all words, and smallest radius
_GAP = 30.0  # space for the arrow between two positions
_LETTER_FITS = 9.0


def walk_chart(ranks: Sequence[int], weights: Sequence[float], names: Sequence[str]) -> Svg:
    """Draw a walk from left to right.

    Parameters
    ----------
    ranks : sequence of int
        Class at each position, by rank.
    weights : sequence of float
        Share of each position in the document.
    names : sequence of str
        Names of all classes, for the label.
    """
    radii = [max(_RADIUS * float(np.sqrt(weight)), _SMALLEST) for weight in weights]
    middle, x = _RADIUS + 2, 2.0
    parts = []
    for number, (rank, weight, radius) in enumerate(zip(ranks, weights, radii, strict=True)):
        if number:
            parts.append(_arrow(x + 3, x + _GAP - 4, middle))
            x += _GAP
        x += radius
        inside = [tag("circle", cx=x, cy=middle, r=radius)]
        if radius >= _LETTER_FITS:
            inside.append(tag("text", words(letters(rank)), x=x, y=middle + 4, class_="letter",
                              font_size=12))  # fmt: skip
        inside.append(tag("text", f"{weight:.0%}", x=x, y=2 * middle + 12, class_="tick",
                          text_anchor="middle", font_size=11))  # fmt: skip
        parts.append(tag("g", *inside, class_=f"stop {colour_class(rank)}"))
        x += radius
    said = ", then ".join(f"{letters(rank)} {names[rank]} {weight:.0%}" for rank, weight in
                          zip(ranks, weights, strict=True))  # fmt: skip
    width, height = x + 18, 2 * middle + 18
    return Svg(
        tag("svg", *parts, viewBox=f"-14 0 {width + 14:.0f} {height:.0f}", class_="walk",
            width=f"{width + 14:.0f}", height=f"{height:.0f}", role="img", aria_label=said)
    )  # fmt: skip


def _arrow(start: float, end: float, y: float) -> str:
    """Draw an arrow to the right."""
    corners = f"{end},{y} {end - 7},{y - 4} {end - 7},{y + 4}"
    return tag("g", tag("line", x1=start, x2=end - 6, y1=y, y2=y, stroke_width=1.6),
               tag("polygon", points=corners), class_="step")  # fmt: skip
