"""Small tables as HTML, for notebooks; every word is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palaver.draw.svg import shorten, tag, words

_MAX = 90  # characters of a cell
_CELL = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"


def notebook_table(
    title: str,
    facts: Mapping[str, str],
    headers: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
) -> str:
    """Return a title, a line of facts and a table of a few rows."""
    line = " · ".join(f"{words(key)} <b>{words(value)}</b>" for key, value in facts.items())
    parts = [tag("b", words(title)), "<br>", line]
    if rows:
        head = [tag("th", words(header), style=_CELL) for header in headers]
        body = [
            tag("tr", *(tag("td", words(shorten(cell, _MAX)), style=_CELL) for cell in row))
            for row in rows
        ]
        parts.append(tag("table", tag("tr", *head), *body))
    return tag("div", *parts)
