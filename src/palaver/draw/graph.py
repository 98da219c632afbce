"""The act graph: classes as nodes, and what follows what as signed arrows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.draw.layout import GraphLayout, place, typical_places
from palaver.draw.palette import colour_class, letters
from palaver.draw.routes import bends, control, label_boxes
from palaver.draw.svg import Svg, shorten, tag, words

#: Steps of the slider: how many times as likely as usual an edge must be.
STEPS = (1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0)
#: Most edges per node, the strongest first, and the least traffic that an edge must carry.
_MORE, _LESS, _LEAST_TRAFFIC = 6, 3, 0.001
_LEAST_SHARE = 0.03
MAX_NODES = 30
_PLAIN = 10  # times as likely, from which on decimals say nothing
_WIDE, _NARROW = 24, 21  # characters per line of a name


@dataclass(frozen=True)
class Edge:
    """An arrow.

    Attributes
    ----------
    source : int
        Rank of the class, or -1 for the start of a thread.
    target : int
    effect : float
        How many times as likely as usual.
    probability : float
        Expected share of the target after the source.
    weight : float or None
        The model's own weight, if it has weights.
    replies : float or None
        Replies to the source that the arrow is based on; None if unknown, or for the start.
    """

    source: int
    target: int
    effect: float
    probability: float
    weight: float | None = None
    replies: float | None = None

    @property
    def usual(self) -> float:
        """Overall share of the target, to which ``probability`` is compared."""
        return self.probability / max(self.effect, 1e-9)


def least_share(n_classes: int) -> float:
    """Return the smallest share of a reply for a class to count as a typical response.

    "Five times as likely as usual" is misleading if it means two words in a hundred. With many
    classes, none of them large, it is half of an equal share.
    """
    return min(_LEAST_SHARE, 0.5 / max(n_classes, 1))


def find_edges(
    shares: NDArray[np.float64],
    following: NDArray[np.float64],
    effects: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
    answered: NDArray[np.float64] | None = None,
) -> list[Edge]:
    """Choose the arrows worth drawing, the strongest last so that they are on top.

    An arrow must differ from what is usual by the first of :data:`STEPS`, and if it raises a class,
    carry at least a thousandth of all traffic and :func:`least_share` of what follows.
    ``answered`` holds the number of replies to each class, shape (K,), if known; they measure
    the traffic.
    """
    enough = least_share(following.shape[1])
    parts = shares if answered is None else answered / max(answered.sum(), 1e-9)
    edges = []
    for source in range(len(shares) + 1):
        start = source == len(shares)
        traffic = following[source] * (1.0 if start else parts[source])
        raised = (effects[source] >= STEPS[0]) & (traffic >= _LEAST_TRAFFIC)
        raised &= following[source] >= enough
        lowered = effects[source] <= 1 / STEPS[0]
        order = np.argsort(-effects[source], kind="stable")
        chosen = [k for k in order if raised[k]][:_MORE]
        chosen += [] if start else [k for k in order[::-1] if lowered[k]][:_LESS]
        for target in chosen:
            weight = None if weights is None else float(weights[source, target])
            replies = None if start or answered is None else float(answered[source])
            edges.append(
                Edge(-1 if start else source, int(target), float(effects[source, target]),
                     float(following[source, target]), weight, replies)
            )  # fmt: skip
    return sorted(edges, key=lambda e: (e.effect > 1, abs(np.log(max(e.effect, 1e-9)))))


def first_step(edges: Sequence[Edge], n_nodes: int) -> int:
    """Return the slider's initial step: about as many arrows between classes as classes.

    Arrows below the second step are too weak to show at first.
    """
    between = (e for e in edges if e.effect > 1 and e.source not in (-1, e.target))
    raised = sorted((e.effect for e in between), reverse=True)
    wanted = min(len(raised), n_nodes)
    if not wanted or raised[0] < STEPS[1]:
        return 0
    return max(i for i, step in enumerate(STEPS) if step <= raised[wanted - 1] or i == 1)


def act_graph(
    shares: NDArray[np.float64],
    following: NDArray[np.float64],
    effects: NDArray[np.float64],
    names: Sequence[str],
    top_words: Sequence[str],
    edges: Sequence[Edge],
    *,
    tall: bool = False,
    least: float = STEPS[0],
    numbers: bool = False,
) -> Svg:
    """Draw the graph of classes in order of rank.

    Parameters
    ----------
    shares, following, effects
        See :class:`palaver.models.summary.ModelSummary`; shapes (K,), (K + 1, K), (K + 1, K).
    names, top_words : sequence of str
        What each class is called, and its characteristic words in one line.
    edges : sequence of Edge
        From :func:`find_edges`.
    tall : bool
        For narrow screens.
    least : float
        Edges weaker than this are drawn but hidden, and so are all that make a class less likely.
    numbers : bool
        Write on each arrow how many times as likely as usual the target is.
    """
    layout = place(shares, effects, typical_places(following), tall=tall)
    bent = [1.0] * len(edges)
    if not tall:
        lines = [wrap(name, _WIDE) for name in names[: len(shares)]]
        told = [shorten(words, _WIDE + 4) for words in top_words[: len(shares)]]
        boxes = label_boxes(layout, lines, told)
        bent = bends([(edge.source, edge.target) for edge in edges], layout, boxes)
    drawn = [_edge(edge, layout, least, bend) for edge, bend in zip(edges, bent, strict=True)]
    if numbers:
        drawn += [_number(edge, layout, bend) for edge, bend in zip(edges, bent, strict=True)
                  if edge.effect > 1 and edge.effect >= least]  # fmt: skip
    node = _node_in_column if tall else _node
    nodes = [node(k, layout, float(shares[k]), names[k], top_words[k]) for k in range(len(shares))]
    return Svg(
        tag(
            "svg",
            tag("g", *drawn, class_="edges"),
            tag("g", *nodes, class_="nodes"),
            viewBox=f"0 0 {layout.width:.0f} {layout.height:.0f}",
            class_="act-graph tall" if tall else "act-graph wide",
            role="group",
            aria_label="What follows what",
        )
    )


def _node(rank: int, layout: GraphLayout, share: float, name: str, top_words: str) -> str:
    """Draw a circle with its letter and share, and its name below."""
    x, y, size = layout.x[rank], layout.y[rank], _WIDE
    lines = wrap(name, size)
    below = y + layout.radius[rank] + 16
    letter = tag("text", words(letters(rank)), x=x, y=y - 5, class_="letter", font_size=17)
    letter += tag("text", f"{share:.0%}", x=x, y=y + 11, class_="letter", font_size=11)
    label = _label(rank, lines, x, below, size, shorten(top_words, size + 4))
    return _linked(rank, layout, share, name, label, letter)


def _node_in_column(rank: int, layout: GraphLayout, share: float, name: str, top_words: str) -> str:
    """Draw a circle with its letter, and its name and share to the right."""
    x, y, size = layout.x[rank], layout.y[rank], _NARROW
    lines = wrap(name, size)
    letter = tag("text", words(letters(rank)), x=x, y=y, class_="letter", font_size=15)
    said = shorten(f"{share:.0%} · {top_words}", size + 4)
    label = _label(rank, lines, x + 34, y + 5 - 8 * len(lines), size, said)
    return _linked(rank, layout, share, name, label, letter)


def _label(rank: int, lines: list[str], x: float, y: float, size: int, top_words: str) -> str:
    """Write a name above its characteristic words, on a halo that covers arrows.

    The halo is the same text with a thick outline, below all lines, so that it does not cut them.
    """
    parts = []
    for halo in (" halo", ""):
        hidden = "true" if halo else None
        lines_of = [tag("tspan", words(line), x=x, y=y + 16 * i) for i, line in enumerate(lines)]
        parts.append(
            tag("text", *lines_of, class_=f"name{halo}", data_label=rank, data_size=size,
                aria_hidden=hidden)
        )  # fmt: skip
        below = y + 16 * len(lines)
        parts.append(
            tag("text", words(top_words), x=x, y=below, class_=f"words{halo}", aria_hidden=hidden)
        )
    return "".join(parts)


def _linked(
    rank: int, layout: GraphLayout, share: float, name: str, label: str, letter: str
) -> str:
    """Draw a circle that links to the class, above the halo of its label and below its letter."""
    return tag(
        "g",
        label,
        tag("circle", cx=layout.x[rank], cy=layout.y[rank], r=layout.radius[rank]),
        letter,
        class_=f"node {colour_class(rank)}",
        data_node=rank,
        tabindex="0",
        role="link",
        aria_label=f"{letters(rank)}: {name}, {share:.0%}",
    )


def wrap(text: str, size: int) -> list[str]:
    """Split a name into at most two lines of about the given size, at a space if possible."""
    if len(text) <= size:
        return [text]
    at = text.rfind(" ", 0, size + 1)
    at = at if at > 0 else size
    return [text[:at], shorten(text[at:].strip(), size)]


def _edge(edge: Edge, layout: GraphLayout, least: float, bend: float) -> str:
    strength = max(edge.effect, 1 / max(edge.effect, 1e-9))
    width = 1.2 + (1.3 if edge.effect > 1 else 0.3) * min(np.log2(strength), 4.5)
    path, tip, angle = _path(edge, layout, 4 + 1.6 * width, bend)
    size = 5 + 1.5 * width
    hidden = strength < least or edge.effect < 1
    kind = "edge" + (" less" if edge.effect < 1 else "") + (" start" if edge.source < 0 else "")
    return tag(
        "g",
        tag("path", d=path, class_="hit", stroke_width=width + 12),
        tag("path", d=path, stroke_width=width),
        tag("polygon", points=_arrowhead(tip, angle, size, blunt=edge.effect < 1)),
        class_=kind + (" hidden" if hidden else ""),
        data_from=edge.source,
        data_to=edge.target,
        data_effect=edge.effect,
    )


def _number(edge: Edge, layout: GraphLayout, bend: float) -> str:
    """Write how many times as likely as usual in the middle of an arrow, on a halo."""
    path, _, _ = _path(edge, layout, 4.0, bend)
    points = [tuple(map(float, pair.split())) for pair in re.findall(r"[-\d.]+ [-\d.]+", path)]
    curve = np.array(points)
    start = curve[0]
    while len(curve) > 1:  # the middle, by de Casteljau
        curve = (curve[1:] + curve[:-1]) / 2
    x, y = start - (0, 9) if edge.source < 0 else curve[0]  # arrows from outside are short
    said = f"{edge.effect:.0f}×" if edge.effect >= _PLAIN else f"{edge.effect:.1f}×"
    parts = [tag("text", said, x=float(x), y=float(y) + 4, class_=kind)
             for kind in ("times halo", "times")]  # fmt: skip
    return tag("g", *parts, class_="number")


def _path(
    edge: Edge, layout: GraphLayout, gap: float, bend: float
) -> tuple[str, tuple[float, float], float]:
    """Return the curve of an edge, its tip, and the angle at which it arrives."""
    x1, y1, r1 = layout.x[edge.target], layout.y[edge.target], layout.radius[edge.target] + gap
    if edge.source < 0:  # from outside
        angle = np.pi / 4 if layout.is_column else np.pi / 6
        dx, dy = np.cos(angle), np.sin(angle)
        tip = (x1 - r1 * dx, y1 - r1 * dy)
        far = r1 + (20 if layout.is_column else 30)
        return f"M{x1 - far * dx:.1f} {y1 - far * dy:.1f}L{tip[0]:.1f} {tip[1]:.1f}", tip, angle
    if layout.is_column:
        return _arc(edge, layout, gap)
    if edge.source == edge.target:
        return _loop(x1, y1, r1)
    x0, y0, r0 = layout.x[edge.source], layout.y[edge.source], layout.radius[edge.source]
    cx, cy = control(x0, y0, x1, y1, bend)
    leave, arrive = np.arctan2(cy - y0, cx - x0), np.arctan2(y1 - cy, x1 - cx)
    sx, sy = x0 + (r0 + 2) * np.cos(leave), y0 + (r0 + 2) * np.sin(leave)
    tip = (x1 - r1 * np.cos(arrive), y1 - r1 * np.sin(arrive))
    return f"M{sx:.1f} {sy:.1f}Q{cx:.1f} {cy:.1f} {tip[0]:.1f} {tip[1]:.1f}", tip, float(arrive)


def _arc(edge: Edge, layout: GraphLayout, gap: float) -> tuple[str, tuple[float, float], float]:
    """Return an arc to the left of a column; downward arcs arrive above upward ones."""
    x, y0, y1 = layout.x[edge.target], layout.y[edge.source], layout.y[edge.target]
    down = 1.0 if y1 >= y0 else -1.0
    start = (x - layout.radius[edge.source] - 1, y0 + 5 * down)
    tip = (x - layout.radius[edge.target] - gap, y1 - 5 * down)
    if edge.source == edge.target:
        start, tip = (start[0] + 2, y0 - 8), (tip[0] + 1, y0 + 8)
    far = x - 40 - 100 * (1 - np.exp(-abs(y1 - y0) / 260))
    middle = f"{far:.1f} {start[1]:.1f} {far:.1f} {tip[1]:.1f}"
    return f"M{start[0]:.1f} {start[1]:.1f}C{middle} {tip[0]:.1f} {tip[1]:.1f}", tip, 0.0


def _loop(x: float, y: float, radius: float) -> tuple[str, tuple[float, float], float]:
    """Return a loop above a node that leads back to it."""
    out, back = np.radians(-118), np.radians(-62)
    inner = radius - 4
    sx, sy = x + inner * np.cos(out), y + inner * np.sin(out)
    tip = (x + radius * np.cos(back), y + radius * np.sin(back))
    up = y - radius - 34
    path = f"M{sx:.1f} {sy:.1f}C{x - 30:.1f} {up:.1f} {x + 34:.1f} {up:.1f} "
    angle = float(np.arctan2(tip[1] - up, tip[0] - (x + 34)))
    return f"{path}{tip[0]:.1f} {tip[1]:.1f}", tip, angle


def _arrowhead(tip: tuple[float, float], angle: float, size: float, *, blunt: bool) -> str:
    """Return the corners of an arrowhead, or of a bar for edges that make a class less likely."""
    forward, side = (0.2, 0.62) if blunt else (1.0, 0.5)
    corners = [(-forward, -side), (-forward, side)]
    corners += [(forward, side), (forward, -side)] if blunt else [(0.55, 0.0)]
    cos, sin = np.cos(angle), np.sin(angle)
    return " ".join(
        f"{tip[0] + size * (a * cos - b * sin):.1f},{tip[1] + size * (a * sin + b * cos):.1f}"
        for a, b in corners
    )
