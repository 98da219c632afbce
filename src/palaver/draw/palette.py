"""Colours of classes, safe for colour-blind people, and their letters.

The first seven are from Okabe & Ito (2008, "Color universal design"), without black. Five
more, and the order, were chosen so that neighbours differ clearly and all twelve differ, even for
eyes that lack one kind of cone; a test verifies this. Beyond twelve classes come darker, then
lighter shades of them, with dashed edges; letters always distinguish classes.
"""

from __future__ import annotations

COLOURS = (
    "#0072b2", "#e69f00", "#56b4e9", "#d55e00", "#009e73", "#f0e442", "#cc79a7", "#6a5acd",
    "#994f00", "#332288", "#999933", "#882255",
)  # fmt: skip


def _mixed(colour: str, other: int, part: float) -> str:
    """Return a colour mixed with black (0) or white (255)."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round((1 - part) * c + part * other):02x}" for c in channels)


#: The colours, then darker and lighter ones, for up to 36 classes.
SHADES = (*COLOURS, *(_mixed(c, 0, 0.4) for c in COLOURS), *(_mixed(c, 255, 0.5) for c in COLOURS))


def letters(rank: int) -> str:
    """Return the letters for the class of a given rank: A, B, ... Z, AA, AB, ..."""
    name = ""
    rank += 1
    while rank:
        rank, rest = divmod(rank - 1, 26)
        name = chr(65 + rest) + name
    return name


def colour_class(rank: int) -> str:
    """Return the style classes for the colour of a rank."""
    again = " again" if rank >= len(COLOURS) else ""
    return f"c{rank % len(SHADES)}{again}"


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb`` (WCAG 2)."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (WCAG 2): 4.5 is enough for text, 3 for shapes."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(colour: str) -> str:
    """Return black or white, whichever is more readable on a colour."""
    return max("#000000", "#ffffff", key=lambda ink: contrast(ink, colour))


def style_sheet() -> str:
    """Return the style rules for the colours of classes."""
    rules = [f".c{i}{{--c:{colour};--on:{ink_on(colour)}}}" for i, colour in enumerate(SHADES)]
    return "".join(rules) + _SHAPES


_SHAPES = """
.fill{fill:var(--c)}.line{stroke:var(--c);fill:none}
.node circle{fill:var(--c);stroke:var(--ink);stroke-opacity:.55;stroke-width:1.25}
.node.again circle{stroke-dasharray:4 3}
.node .letter{fill:var(--on);font-weight:700;text-anchor:middle;dominant-baseline:central}
.node .name,.node .words{text-anchor:middle}
.node .halo{stroke:var(--page);stroke-width:12px;stroke-linejoin:round}
.node .name{fill:var(--ink);font-weight:600;font-size:14px}
.node .words{fill:var(--soft);font-size:12px}
.tall .node .name,.tall .node .words{text-anchor:start}
.edge path{fill:none;stroke:var(--more);stroke-opacity:.62}
.edge.less path{stroke:var(--less);stroke-dasharray:5 4}
.edge polygon{fill:var(--more)}.edge.less polygon{fill:var(--less)}
.edge .hit{stroke:transparent;stroke-opacity:0;stroke-dasharray:none}
.number .halo{stroke:var(--page);stroke-width:5px;stroke-linejoin:round}
.number .times{fill:var(--ink);font-size:12px;font-weight:600;text-anchor:middle}
.walk .stop circle{fill:var(--c)}.walk .step line{stroke:var(--soft)}
.walk .stop .letter{fill:var(--on);font-weight:700;text-anchor:middle}
.walk .step polygon{fill:var(--soft)}
.network .person{fill:var(--ink);font-size:13px}
.link path{fill:none;stroke:var(--more)}.link polygon{fill:var(--more)}
.on{fill:var(--on);font-size:11px}.title{fill:var(--ink)}
.axis{stroke:var(--line);stroke-width:1}.tick{fill:var(--soft);font-size:11px}
.hidden{display:none}
"""
