"""Line charts: traces of chains, and shares along a thread or over time with a band."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.draw.palette import colour_class
from palaver.draw.svg import Svg, tag, words

_POINTS = 240  # of a trace; more would be indistinguishable
#: Size of a band chart, room for its axis on the left, above and below.
_WIDE, _HIGH, _LEFT, _ABOVE, _BELOW = 240.0, 92.0, 34.0, 8.0, 19.0


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
    quiet: Sequence[int] = (),
) -> Svg:
    """Draw shares at a few places, with intervals as a band and an axis on the left.

    Parameters
    ----------
    centre, low, high : array of float64, shape (n_places,)
        NaN where unknown.
    labels : sequence of str
        The first and the last are shown below.
    rank : int
        Rank of the class, for its colour.
    top : float
        The largest share to be drawn.
    label : str
        Description for screen readers.
    quiet : sequence of int
        Places with few messages, drawn hollow and with a dashed line.
    """
    parts = band_parts(centre, low, high, labels, top, quiet=quiet)
    return Svg(
        tag("svg", *parts, viewBox=f"0 0 {_WIDE:.0f} {_HIGH:.0f}", role="img",
            class_=f"band {colour_class(rank)}", aria_label=label)
    )  # fmt: skip


def band_parts(
    centre: NDArray[np.float64],
    low: NDArray[np.float64] | None,
    high: NDArray[np.float64] | None,
    labels: Sequence[str],
    top: float,
    *,
    quiet: Sequence[int] = (),
) -> list[str]:
    """Return the elements of :func:`band_chart`."""
    n, peak = len(centre), round_up(top)

    def point(i: int, value: float) -> tuple[float, float]:
        x = _LEFT + 5 + (_WIDE - _LEFT - 9) * (i / (n - 1) if n > 1 else 0.5)
        return x, _height(min(value / peak, 1.0))

    parts = _axis(peak)
    there = [i for i in range(n) if np.isfinite(centre[i])]
    if low is not None and high is not None:
        lower, upper = np.where(np.isnan(low), centre, low), np.where(np.isnan(high), centre, high)
        edge = [point(i, upper[i]) for i in there] + [point(i, lower[i]) for i in reversed(there)]
        if len(there) > 1:
            parts.append(tag("polygon", points=_points(edge), class_="fill", fill_opacity=0.25))
    busy = [i for i in there if i not in quiet]
    parts.append(tag("polyline", points=_points([point(i, centre[i]) for i in busy]),
                     class_="line", stroke_width=2.2))  # fmt: skip
    for i in (i for i in there if i in quiet):
        before = [j for j in there if j < i][-1:]
        ends = [point(j, centre[j]) for j in (*before, i)]
        parts.append(tag("polyline", points=_points(ends), class_="line", stroke_width=1.2,
                         stroke_dasharray="3 3"))  # fmt: skip
    for i in there:
        x, y = point(i, centre[i])
        said = tag("title", words(f"{labels[i]}: {_percent(centre[i])}"))
        drawn = {"class_": "line", "stroke_width": 1.4} if i in quiet else {"class_": "fill"}
        parts.append(tag("circle", said, cx=x, cy=y, r=2.4, **drawn))
    if n:
        parts.append(tag("text", words(labels[0]), x=_LEFT, y=_HIGH - 2, class_="tick"))
        parts.append(
            tag("text", words(labels[-1]), x=_WIDE, y=_HIGH - 2, class_="tick", text_anchor="end")
        )
    return parts


def _axis(peak: float) -> list[str]:
    """Return lines at nothing, half and the whole of an axis, with their shares."""
    parts = []
    for part in (0.0, 0.5, 1.0):
        y = _height(part)
        parts.append(tag("line", x1=_LEFT, x2=_WIDE, y1=y, y2=y, class_="axis",
                         stroke_dasharray="2 3" if part else None))  # fmt: skip
        parts.append(tag("text", words(_percent(part * peak)), x=_LEFT - 4, y=y + 4, class_="tick",
                         text_anchor="end"))  # fmt: skip
    return parts


def _height(part: float) -> float:
    """Return where a part of the axis is."""
    return _ABOVE + (_HIGH - _ABOVE - _BELOW) * (1 - part)


def round_up(share: float) -> float:
    """Return the next round number from which an axis and half of it can be read."""
    share = max(share, 0.001)
    power = 10.0 ** np.floor(np.log10(share))
    steps = (1, 2, 3, 4, 5, 6, 8, 10)
    return float(next(power * m for m in steps if power * m >= share * (1 - 1e-9)))


def _percent(share: float) -> str:
    """Format a share, small ones with a decimal, so that none appears as 0%."""
    if share == 0:
        return "0%"
    if share < 0.0005:
        return "<0.1%"
    percent = round(100 * share, 1)
    return f"{percent:.0f}%" if share >= 0.0995 or percent == round(percent) else f"{percent}%"


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
