"""Line charts: traces of chains, and shares along a thread or over time with a band."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.draw.palette import colour_class
from palaver.draw.svg import Svg, tag, words

_POINTS = 240  # of a trace; more would be indistinguishable


def trace_chart(
    chains: Sequence[NDArray[np.float64]],
    burn_in: int,
    best: int,
    what: str = "log joint",
    *,
    narrow: bool = False,
) -> Svg:
    """Draw one line per chain, with sweeps from left to right and the burn-in shaded.

    Parameters
    ----------
    chains : sequence of array of float64, shape (n_sweeps,)
    burn_in : int
    best : int
        The chain used for the model, drawn thick.
    what : str
        What is drawn, for the label.
    narrow : bool
        For narrow screens.
    """
    width, height, left, bottom = (360.0 if narrow else 640.0), 220.0, 84.0, 24.0
    longest = max((len(chain) for chain in chains), default=0)
    values = np.concatenate(
        [chain[min(len(chain) // 20, 50) :] for chain in chains] or [np.zeros(1)]
    )
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    span = max(high - low, 1e-9)

    def point(sweep: float, value: float) -> tuple[float, float]:
        x = left + (width - left - 8) * sweep / max(longest - 1, 1)
        y = 8 + (height - bottom - 16) * (1 - (value - low) / span)
        return x, min(max(y, 2.0), height - bottom)

    parts = [
        tag("rect", x=left, y=0.0, width=max(point(burn_in, low)[0] - left, 0),
            height=height - bottom, class_="burn-in"),
        tag("line", x1=left, x2=width, y1=height - bottom, y2=height - bottom, class_="axis"),
    ]  # fmt: skip
    for value in (low, high):
        parts.append(tag("text", f"{value:,.0f}", x=left - 6, y=point(0, value)[1] + 4,
                         class_="tick", text_anchor="end"))  # fmt: skip
    parts.append(tag("text", words(f"sweep 1 to {longest:,}"), x=left, y=height - 6, class_="tick"))
    for number, chain in enumerate(chains):
        kept = np.unique(np.linspace(0, len(chain) - 1, min(_POINTS, len(chain))).round())
        points = [point(i, chain[int(i)]) for i in kept if np.isfinite(chain[int(i)])]
        parts.append(
            tag("polyline", points=_points(points), class_=f"line {colour_class(number)}",
                stroke_width=2.6 if number == best else 1.3)
        )  # fmt: skip
    return Svg(
        tag("svg", *parts, viewBox=f"0 0 {width:.0f} {height:.0f}", role="img",
            class_="trace narrow" if narrow else "trace wide",
            aria_label=f"{what} of {len(chains)} chains over {longest} sweeps")
    )  # fmt: skip


def band_chart(
    centre: NDArray[np.float64],
    low: NDArray[np.float64] | None,
    high: NDArray[np.float64] | None,
    labels: Sequence[str],
    rank: int,
    top: float,
    *,
    label: str,
) -> Svg:
    """Draw shares at a few places, with intervals as a band.

    Parameters
    ----------
    centre, low, high : array of float64, shape (n_places,)
        NaN where unknown.
    labels : sequence of str
        The first and the last are shown below.
    rank : int
        Rank of the class, for its colour.
    top : float
        The share at the top edge.
    label : str
        Description for screen readers.
    """
    width, height, above, bottom = 240.0, 86.0, 14.0, 16.0
    n = len(centre)

    def point(i: int, value: float) -> tuple[float, float]:
        x = 4 + (width - 8) * (i / (n - 1) if n > 1 else 0.5)
        room = height - above - bottom - 6
        return x, above + 2 + room * (1 - min(value / max(top, 1e-9), 1.0))

    there = [i for i in range(n) if np.isfinite(centre[i])]
    parts = [tag("line", x1=0.0, x2=width, y1=height - bottom - 3, y2=height - bottom - 3,
                 class_="axis")]  # fmt: skip
    if low is not None and high is not None and len(there) > 1:
        edge = [point(i, high[i]) for i in there] + [point(i, low[i]) for i in reversed(there)]
        parts.append(tag("polygon", points=_points(edge), class_="fill", fill_opacity=0.25))
    line = [point(i, centre[i]) for i in there]
    parts.append(tag("polyline", points=_points(line), class_="line", stroke_width=2.2))
    parts += [tag("circle", cx=x, cy=y, r=2.4, class_="fill") for x, y in line]
    if n:
        parts.append(tag("text", words(labels[0]), x=0.0, y=height - 2, class_="tick"))
        parts.append(
            tag("text", words(labels[-1]), x=width, y=height - 2, class_="tick", text_anchor="end")
        )
        parts.append(
            tag("text", _percent(np.nanmax(centre)) if there else "", x=width, y=9.0,
                class_="tick", text_anchor="end")
        )  # fmt: skip
    return Svg(
        tag("svg", *parts, viewBox=f"0 0 {width:.0f} {height:.0f}", role="img",
            class_=f"band {colour_class(rank)}", aria_label=label)
    )  # fmt: skip


def _percent(share: float) -> str:
    """Format a share, small ones with a decimal, so that none appears as 0%."""
    if share >= 0.0995 or share == 0:
        return f"{share:.0%}"
    return f"{share:.1%}" if share >= 0.001 else words("<0.1%")


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
