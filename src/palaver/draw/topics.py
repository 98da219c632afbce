"""A map of topics: circles sized by their share, similar ones close together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.draw.palette import colour_class, letters
from palaver.draw.svg import Svg, tag, words

_WIDTH, _HEIGHT, _EDGE = 720.0, 420.0, 46.0
_LARGEST, _SMALLEST = 40.0, 9.0


def topic_map(places: NDArray[np.float64], shares: Sequence[float], names: Sequence[str]) -> Svg:
    """Draw topics; each circle leads to its card.

    Parameters
    ----------
    places : array of float64, shape (n_topics, 2)
    shares : sequence of float
    names : sequence of str
    """
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([_WIDTH, _HEIGHT]) - 2 * _EDGE
    at = _EDGE + (places - low) / np.maximum(high - low, 1e-9) * room
    most = max([*shares, 1e-9])
    parts = []
    for rank in np.argsort([-share for share in shares], kind="stable").tolist():
        radius = max(_LARGEST * np.sqrt(shares[rank] / most), _SMALLEST)
        x, y = at[rank]
        said = f"{letters(rank)} {names[rank]}: {shares[rank]:.0%}"
        circle = tag("circle", tag("title", words(said)), cx=x, cy=y, r=radius)
        letter = tag("text", letters(rank), x=x, y=y, class_="letter")
        parts.append(tag("a", circle, letter, class_=f"node {colour_class(rank)}",
                         href=f"#act-{letters(rank)}", aria_label=said))  # fmt: skip
    return Svg(
        tag("svg", *parts, viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}", class_="topic-map",
            role="img", aria_label="Map of topics, similar ones close together")
    )  # fmt: skip
