"""What the page is made from: templates, style sheets and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from palaver.draw.bars import width_rules
from palaver.draw.palette import colour_class, letters, style_sheet

_HERE = Path(__file__).parent


def environment() -> Environment:
    """Return the templates, which escape what they are given."""
    found = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "percent": percent,
        "number": lambda value: f"{value:,}",
        "counted": counted,
        "times": times,
        "picture": Markup,  # from palaver.draw, which escapes
    }
    found.globals |= {"letters": letters, "colour": colour_class}
    return found


def percent(share: float) -> str:
    """Write a share in whole percents; what is not nothing never becomes 0%."""
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def counted(value: int, noun: str) -> str:
    """Write a number with its noun: ``1 message``, ``2,000 replies``."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{value:,} {noun if value == 1 else plural}"


def times(effect: float) -> str:
    """Write how many times as likely: ``3.9``, or ``1/5.0`` where it is less."""
    if effect < 1:
        return f"1/{times(1 / max(effect, 1e-9))}"
    return f"{effect:.1f}" if effect < 9.95 else f"{effect:.0f}"


def style_of(files: Sequence[str]) -> str:
    """Return the style sheet: colours of classes, widths of bars, then files of static/."""
    own = "".join((_HERE / "static" / file).read_text(encoding="utf-8") for file in files)
    return style_sheet() + width_rules() + own


def script_of(files: Sequence[str]) -> str:
    """Return files of static/ as one script."""
    parts = [(_HERE / "static" / file).read_text(encoding="utf-8") for file in files]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
