"""SVG as text: a function that escapes, and a type that notebooks display."""

from __future__ import annotations

from html import escape
from pathlib import Path

from palaver.draw.inline import with_plain_styles
from palaver.draw.palette import style_sheet
from palaver.errors import MissingExtraError


def tag(name: str, *children: str, **attributes: str | float | None) -> str:
    """Return an element; attributes are escaped, children are not: use :func:`words` for text.

    Underscores in attribute names become hyphens, a trailing one is dropped
    (``class_``), and attributes that are None are omitted.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            spelled = key.rstrip("_").replace("_", "-")
            parts.append(f'{spelled}="{escape(_plain(value), quote=True)}"')
    return f"<{' '.join(parts)}>{''.join(children)}</{name}>"


def words(text: str) -> str:
    """Return a text, escaped."""
    return escape(text, quote=False)


def shorten(text: str, size: int) -> str:
    """Truncate a text to a number of characters, with an ellipsis if something is cut."""
    return text if len(text) <= size else text[: size - 1].rstrip() + "…"


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.5g}"


class Svg(str):
    """The text of an SVG picture; notebooks display it as a picture."""

    __slots__ = ()

    def standalone(self) -> Svg:
        """Return the picture as a file needs it: plain colours and fonts, no style sheet."""
        head, close, rest = self.partition(">")
        head = head if "xmlns=" in head else head + ' xmlns="http://www.w3.org/2000/svg"'
        return Svg(with_plain_styles(f"{head}{close}{rest}", style_sheet() + _ALONE, _PAPER))

    def _repr_svg_(self) -> str:
        return str(self)

    def encoded(self, suffix: str) -> bytes:
        """Return the bytes of a file: SVG, or with ".png" and ".pdf" those (extra ``pictures``).

        Raises
        ------
        MissingExtraError
        """
        if suffix.lower() not in (".png", ".pdf"):
            return self.encode()
        try:
            import cairosvg
        except (ImportError, OSError) as error:  # OSError: the system lacks the library cairo
            raise MissingExtraError(
                f"{suffix} needs CairoSVG: pip install cairosvg (and the library cairo)"
            ) from error
        draw = cairosvg.svg2png if suffix.lower() == ".png" else cairosvg.svg2pdf
        return bytes(draw(bytestring=self.encode(), scale=2))

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file: SVG, or PNG and PDF by name (extra ``pictures``)."""
        path = Path(path)
        path.write_bytes(self.encoded(path.suffix))
        return path


_PAPER = "#ffffff"
_ALONE = """
svg{font-family:Helvetica,Arial,sans-serif;--ink:#1c1e21;--soft:#5b6169;--page:#ffffff;
--line:#c9ced6;--more:#1d5fa8;--less:#a33b20}
"""
