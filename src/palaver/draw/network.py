"""A network of people: circles on a ring, and arrows whose width says how often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palaver.draw.svg import Svg, shorten, tag, words

_SIZE, _ROOM, _RING = 640.0, 150.0, 200.0
_LONGEST = 20  # characters of a name


def network(
    names: Sequence[str], sizes: Sequence[float], links: Sequence[tuple[int, int, int]]
) -> Svg:
    """Draw people around a ring.

    Parameters
    ----------
    names : sequence of str
    sizes : sequence of float
        They decide the areas of the circles.
    links : sequence of (int, int, int)
        From whom, to whom, and how often.
    """
    n = len(names)
    turn = 2 * np.pi * np.arange(n) / max(n, 1) - np.pi / 2
    width, height = _SIZE + _ROOM, _SIZE - 2 * _ROOM + 220
    x, y = width / 2 + _RING * np.cos(turn), height / 2 + _RING * np.sin(turn)
    most = max([*sizes, 1e-9])
    radius = [6 + 14 * np.sqrt(max(size, 0) / most) for size in sizes]
    often = max([number for _, _, number in links], default=1)
    parts = [
        _link(
            (x[a], y[a], radius[a]),
            (x[b], y[b], radius[b]),
            number,
            number / often,
            (names[a], names[b]),
        )
        for a, b, number in sorted(links, key=lambda link: link[2])
    ]
    for i, name in enumerate(names):
        side = np.cos(turn[i])
        anchor = "middle" if abs(side) < 0.2 else "start" if side > 0 else "end"
        gap = radius[i] + 7
        tx = x[i] + gap * side * 1.1
        ty = y[i] + gap * np.sin(turn[i]) * 1.25 + 4
        parts.append(tag("circle", cx=x[i], cy=y[i], r=radius[i], class_="fill c0"))
        parts.append(
            tag("text", words(shorten(name, _LONGEST)), x=tx, y=ty, class_="person",
                text_anchor=anchor, data_name=name)
        )  # fmt: skip
    return Svg(
        tag("svg", *parts, viewBox=f"0 0 {width:.0f} {height:.0f}", role="img", class_="network",
            aria_label=f"Who answers whom among {n} people")
    )  # fmt: skip


def _link(
    one: tuple[float, float, float],
    other: tuple[float, float, float],
    number: int,
    share: float,
    names: tuple[str, str],
) -> str:
    """Draw an arrow that bends to the left, so that both directions can be seen."""
    (x0, y0, r0), (x1, y1, r1) = one, other
    dx, dy = x1 - x0, y1 - y0
    length = max(float(np.hypot(dx, dy)), 1e-9)
    cx, cy = (x0 + x1) / 2 + 0.14 * dy, (y0 + y1) / 2 - 0.14 * dx
    leave, arrive = np.arctan2(cy - y0, cx - x0), np.arctan2(y1 - cy, x1 - cx)
    width = 0.8 + 4.2 * share
    head = 5 + 1.2 * width
    sx, sy = x0 + (r0 + 1) * np.cos(leave), y0 + (r0 + 1) * np.sin(leave)
    tx, ty = x1 - (r1 + head) * np.cos(arrive), y1 - (r1 + head) * np.sin(arrive)
    side = (head / 2 * np.sin(arrive), -head / 2 * np.cos(arrive))
    corners = [(tx + side[0], ty + side[1]), (tx - side[0], ty - side[1]),
               (tx + head * np.cos(arrive), ty + head * np.sin(arrive))]  # fmt: skip
    label = tag("title", words(f"{names[0]} answers {names[1]}: {number:,}"))
    path = f"M{sx:.1f} {sy:.1f}Q{cx:.1f} {cy:.1f} {tx:.1f} {ty:.1f}"
    opacity = min(0.25 + 0.6 * share + 40 / max(length, 1) * 0.1, 0.85)
    return tag(
        "g",
        label,
        tag("path", d=path, stroke_width=width),
        tag("polygon", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)),
        class_="link",
        opacity=opacity,
        data_from=names[0],
        data_to=names[1],
    )
