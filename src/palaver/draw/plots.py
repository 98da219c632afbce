"""Pictures of rankings and measurements: curves over ranks, and points sized by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.draw.palette import COLOURS
from palaver.draw.svg import Svg, tag, words

WIDTH, HEIGHT = 360.0, 250.0
_LEFT, _TOP, _BOTTOM = 46.0, 28.0, 36.0


def _text(text: str, x: float, y: float, anchor: str = "start", size: float = 11.0) -> str:
    return tag("text", words(text), x=x, y=y, text_anchor=anchor, font_size=size, fill="#333")


def _svg(
    panels: Sequence[str], label: str, names: Sequence[str] = (), below: Sequence[str] = ()
) -> Svg:
    """Put panels side by side, with a legend of the curves and lines of text below."""
    placed = [tag("g", panel, transform=f"translate({i * WIDTH:.0f} 0)")
              for i, panel in enumerate(panels)]  # fmt: skip
    x, y = _LEFT, HEIGHT + 14.0
    for name, colour in zip(names, COLOURS, strict=False):
        width = 7.0 * len(name) + 44
        if x > _LEFT and x + width > WIDTH * len(panels):
            x, y = _LEFT, y + 16
        placed.append(tag("line", x1=x, x2=x + 20, y1=y - 4, y2=y - 4, stroke=colour,
                          stroke_width=3.0))  # fmt: skip
        placed.append(_text(name, x + 26, y))
        x += width
    if not names:
        y = HEIGHT
    for line in below:
        y += 16
        placed.append(_text(line, _LEFT, y))
    height = y + 8 if names or below else HEIGHT
    return Svg(
        tag("svg", *placed, xmlns="http://www.w3.org/2000/svg", role="img", aria_label=label,
            viewBox=f"0 0 {WIDTH * len(panels):.0f} {height:.0f}",
            width=f"{WIDTH * len(panels):.0f}", font_family="system-ui, sans-serif",
            style="background:#fff")
    )  # fmt: skip


Lines = Mapping[str, NDArray[np.float64]]


def curves(panels: Mapping[str, Lines], axis: str, label: str) -> Svg:
    """Draw named curves over ranks 1, 2, ..., one panel per measure, starting from 0."""

    def ranked(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack((np.arange(1.0, len(values) + 1), values))

    drawn = {title: {name: ranked(values) for name, values in lines.items()}
             for title, lines in panels.items()}  # fmt: skip
    return _lined(drawn, axis, label, 0.0)


def traces(panels: Mapping[str, Lines], axis: str, label: str) -> Svg:
    """Draw named curves through points of shape (n_points, 2), one panel per measure."""
    return _lined(panels, axis, label, None)


def _lined(panels: Mapping[str, Lines], axis: str, label: str, low: float | None) -> Svg:
    """Draw panels of curves with the same names."""
    names = list(next(iter(panels.values())))
    drawn = [_panel(title, lines, axis, low) for title, lines in panels.items()]
    return _svg(drawn, label, names)


def _panel(title: str, lines: Lines, axis: str, low: float | None) -> str:
    """Draw curves through points; the axis starts at ``low``, or at the lowest point if None."""
    last = max(float(points[-1, 0]) for points in lines.values())
    highest = max(float(points[:, 1].max()) for points in lines.values())
    lowest = min(float(points[:, 1].min()) for points in lines.values()) if low is None else low
    step = _round_step((highest - lowest) / 4)
    bottom, top = float(step * np.floor(lowest / step)), float(step * np.ceil(highest / step))
    top = max(top, bottom + step)

    def x(place: float) -> float:
        return _LEFT + place / last * (WIDTH - _LEFT - 12)

    def y(value: float) -> float:
        return HEIGHT - _BOTTOM - (value - bottom) / (top - bottom) * (HEIGHT - _TOP - _BOTTOM)

    parts = [_text(title, _LEFT, 16.0, size=13.0)]
    for value in np.arange(bottom, top + step / 2, step):
        parts.append(tag("line", x1=_LEFT, x2=WIDTH - 12, y1=y(value), y2=y(value), stroke="#ddd"))
        parts.append(_text(f"{value:g}", _LEFT - 6, y(value) + 4, "end"))
    for place in np.arange(0, last + 1e-9, _round_step(last / 5)):
        parts.append(_text(f"{place:,g}", x(place), HEIGHT - 20, "middle"))
    parts.append(_text(axis, (WIDTH + _LEFT) / 2, HEIGHT - 5, "middle"))
    for number, points in enumerate(lines.values()):
        drawn = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in points.tolist())
        colour = COLOURS[number]
        parts.append(tag("polyline", points=drawn, fill="none", stroke=colour, stroke_width=2.0))
    return "".join(parts)


def _round_step(size: float) -> float:
    power = 10.0 ** np.floor(np.log10(max(size, 1e-9)))
    return float(power * min(m for m in (1, 2, 5, 10) if m * power >= size))


def weighted_points(
    points: NDArray[np.float64],
    panels: Mapping[str, tuple[NDArray[np.float64], Sequence[int]]],
    label: str,
    *,
    lines: NDArray[np.int64] | None = None,
    owners: NDArray[np.int64] | None = None,
    legend: Sequence[str] = (),
) -> Svg:
    """Draw the same points once per panel, sized by their weights, some of them numbered.

    Parameters
    ----------
    points : array of float64, shape (n_points, 2)
    panels : mapping
        Title to (weights of the points, numbers of the points to mark, in order).
    label : str
    lines : array of int64, shape (n_lines, 2), optional
        Pairs of points to join by thin lines.
    owners : array of int64, shape (n_points,), optional
        Which marked point each point belongs to, by its place in the order; gives the colours.
    legend : sequence of str
        Lines of text below.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (np.array([WIDTH, HEIGHT]) - (30, 60)) / np.maximum(high - low, 1e-9)
    places = (points - low) * scale * (1, -1) + (15, HEIGHT - 15)
    colours = [COLOURS[0] if owners is None else COLOURS[owners[i] % len(COLOURS)]
               for i in range(len(points))]  # fmt: skip
    joined = [
        tag("line", x1=places[a, 0], y1=places[a, 1], x2=places[b, 0], y2=places[b, 1],
            stroke="#999", stroke_opacity=0.25)
        for a, b in (() if lines is None else lines)
    ]  # fmt: skip
    drawn = []
    for title, (weights, marked) in panels.items():
        radii = 9 * np.sqrt(weights / max(weights.max(), np.finfo(float).tiny))
        parts = [_text(title, 12.0, 16.0, size=13.0), *joined]
        parts += [
            tag("circle", cx=x, cy=y, r=max(r, 0.6), fill=colour, fill_opacity=0.35)
            for (x, y), r, colour in zip(places, radii, colours, strict=True)
        ]
        for number, item in enumerate(marked, 1):
            x, y = places[item]
            parts.append(tag("circle", cx=x, cy=y, r=8.0, fill="#fff", stroke=COLOURS[5],
                             stroke_width=2.0))  # fmt: skip
            parts.append(_text(str(number), x, y + 4, "middle"))
        drawn.append("".join(parts))
    return _svg(drawn, label, below=legend)
