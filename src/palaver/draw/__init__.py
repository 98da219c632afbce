"""Small pictures as SVG and tables as HTML, for notebooks and the page.

Everything here takes plain numbers and words, escapes every word, and draws the same picture
each time. Colours are classes (``c0``, ``c1``...) of a style sheet, so that a page can be light
or dark; :meth:`Svg.standalone` brings the style along.
"""

from palaver.draw.svg import Svg, tag

__all__ = ["Svg", "tag"]
