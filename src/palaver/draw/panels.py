"""Panels: several measures side by side at the same places, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palaver.draw.palette import colour_class
from palaver.draw.svg import Svg, tag, words

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 250.0, 210.0, 52.0, 34.0, 40.0


@dataclass(frozen=True, eq=False)
class Panel:
    """A measure to draw.

    Attributes
    ----------
    title : str
    values : array-like of float, shape (n_places,)
        NaN or None where unknown.
    low, high : array-like of float, shape (n_places,), optional
    """

    title: str
    values: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None


def panel_chart(
    panels: Sequence[Panel], places: Sequence[float], *, axis: str, marked: float | None = None
) -> Svg:
    """Draw panels from left to right, with places on their horizontal axes.

    Parameters
    ----------
    panels : sequence of Panel
    places : sequence of float
        Numbers along the axis, drawn to scale.
    axis : str
        Label of the axis.
    marked : float, optional
        A place to highlight in every panel.
    """
    parts = [
        tag("g", *_panel(panel, np.asarray(places, float), axis, marked),
            class_=colour_class(rank), transform=f"translate({rank * _WIDTH:.0f} 0)")
        for rank, panel in enumerate(panels)
    ]  # fmt: skip
    titles = ", ".join(panel.title for panel in panels)
    return Svg(
        tag("svg", *parts, viewBox=f"0 0 {_WIDTH * len(panels):.0f} {_HEIGHT:.0f}",
            class_="panels", role="img", aria_label=f"{titles} by {axis}")
    )  # fmt: skip


def _numbers(values: ArrayLike | None, size: int) -> NDArray[np.float64]:
    return np.full(size, np.nan) if values is None else np.array(values, dtype=float)


def _panel(panel: Panel, places: NDArray[np.float64], axis: str, marked: float | None) -> list[str]:
    centre, low, high = (
        _numbers(values, len(places)) for values in (panel.values, panel.low, panel.high)
    )
    x, y, ticks = _scales(places, np.concatenate([centre, low, high]))
    floor = _HEIGHT - _BOTTOM
    parts = [tag("text", words(panel.title), x=_LEFT, y=16.0, class_="tick", font_weight="bold")]
    for value in ticks:
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - 8, y1=y(value), y2=y(value), class_="axis"))
        parts.append(tag("text", _short(value), x=_LEFT - 6, y=y(value) + 4, class_="tick",
                         text_anchor="end"))  # fmt: skip
    for place in places:
        parts.append(tag("text", _short(place), x=x(place), y=floor + 16, class_="tick",
                         text_anchor="middle"))  # fmt: skip
    parts.append(tag("text", words(axis), x=(_LEFT + _WIDTH - 8) / 2, y=floor + 32, class_="tick",
                     text_anchor="middle"))  # fmt: skip
    there = [i for i in range(len(places)) if np.isfinite(centre[i])]
    points = " ".join(f"{x(places[i]):.1f},{y(centre[i]):.1f}" for i in there)
    parts.append(tag("polyline", points=points, class_="line", stroke_width=2.0))
    for i in there:
        if np.isfinite(low[i]) and np.isfinite(high[i]):
            parts.append(tag("line", x1=x(places[i]), x2=x(places[i]), y1=y(low[i]), y2=y(high[i]),
                             class_="line", stroke_width=1.4))  # fmt: skip
        label = f"{_short(places[i])} {axis}: {centre[i]:.4g}"
        parts.append(tag("circle", tag("title", words(label)), cx=x(places[i]), cy=y(centre[i]),
                         r=6.0 if places[i] == marked else 3.2, class_="fill"))  # fmt: skip
    return parts


def _scales(
    places: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[Callable[[float], float], Callable[[float], float], tuple[float, float, float]]:
    """Return functions that map places and values to coordinates, and the ticks of the values."""
    known = values[np.isfinite(values)]
    least, most = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if most - least < 1e-9 * max(abs(most), 1e-9):
        least, most = least - 0.5, most + 0.5
    first, last = float(places.min()), float(places.max())
    span = max(last - first, 1e-9)
    wide, tall = _WIDTH - 8 - _LEFT - 28, _HEIGHT - _TOP - _BOTTOM

    def x(place: float) -> float:
        return _LEFT + 14 + wide * ((place - first) / span if last > first else 0.5)

    def y(value: float) -> float:
        return _TOP + tall * (1 - (value - least) / (most - least))

    return x, y, (least, (least + most) / 2, most)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.2g}"
