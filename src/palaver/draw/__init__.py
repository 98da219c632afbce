"""Small pictures as SVG and tables as HTML, for notebooks and the page.

Everything here takes plain numbers and words, escapes every word, and is deterministic.
Colours are classes (``c0``, ``c1``...) of a style sheet, so that a page can be light
or dark; :meth:`Svg.standalone` includes the style.
"""

from palaver.draw.svg import Svg, tag

__all__ = ["Svg", "tag"]
