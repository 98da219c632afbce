"""Charts of a model for notebooks and files: shares of groups, shares over time, words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.draw.lines import band_parts
from palaver.draw.palette import colour_class, letters
from palaver.draw.svg import Svg, shorten, tag, words

_NAME, _ROW, _WIDTH = 150.0, 26.0, 760.0
_PANEL, _TALL = 250.0, 120.0
_COLUMNS = 3
_LONGEST = 24  # characters of a label
_LETTER_FITS = 0.045  # share from which on a letter has room
_WORD_WIDTH, _WORD_ROW = 230.0, 18.0


def shares_chart(
    groups: Sequence[str], shares: NDArray[np.float64], names: Sequence[str], *, label: str
) -> Svg:
    """Draw a bar per group that is divided among the classes.

    Parameters
    ----------
    groups : sequence of str
    shares : array of float64, shape (n_groups, n_classes)
        Rows sum to one; classes in order of their letters.
    names : sequence of str
        Of the classes.
    label : str
        Description for screen readers.
    """
    parts = [part for row, group in enumerate(groups) for part in _bar(row, group, shares[row])]
    drawn, height = _legend(names, _ROW * len(groups) + 22)
    parts += drawn
    return _chart(parts, _WIDTH, height, label)


def _bar(row: int, group: str, shares: NDArray[np.float64]) -> list[str]:
    y, room = _ROW * row + 6, _WIDTH - _NAME - 10
    parts = [tag("text", words(shorten(group, _LONGEST)), x=_NAME - 8, y=y + 15, class_="tick",
                 text_anchor="end")]  # fmt: skip
    left = _NAME
    for rank, share in enumerate(np.nan_to_num(shares).tolist()):
        said = words(f"{group}, {letters(rank)}: {share:.0%}")
        piece = [tag("rect", tag("title", said), x=left, y=y, width=max(room * share - 1, 0),
                     height=_ROW - 5, class_="fill")]  # fmt: skip
        if share >= _LETTER_FITS:
            piece.append(tag("text", letters(rank), x=left + room * share / 2, y=y + 15,
                             class_="on", text_anchor="middle", font_weight="700"))  # fmt: skip
        parts.append(tag("g", *piece, class_=colour_class(rank)))
        left += room * share
    return parts


def _legend(names: Sequence[str], top: float) -> tuple[list[str], float]:
    """Return squares with letters and names, in lines from ``top`` on, and where they end."""
    parts, x, y = [], _NAME, top
    for rank, name in enumerate(names):
        said = f"{letters(rank)} {shorten(name, 40)}".strip()
        width = 7.2 * len(said) + 30
        if x > _NAME and x + width > _WIDTH:
            x, y = _NAME, y + 18
        square = tag("rect", x=x, y=y - 10, width=12.0, height=12.0, class_="fill")
        parts.append(tag("g", square, class_=colour_class(rank)))
        parts.append(tag("text", words(said), x=x + 17, y=y, class_="tick"))
        x += width
    return parts, y + 10


def time_chart(
    labels: Sequence[str],
    shares: NDArray[np.float64],
    names: Sequence[str],
    *,
    quiet: Sequence[int] = (),
    label: str,
) -> Svg:
    """Draw a small curve per class with its band, all to one scale.

    Parameters
    ----------
    labels : sequence of str
        Periods, in order.
    shares : array of float64, shape (n_periods, n_classes, 3)
        Share, lower and upper limit; limits may be NaN.
    names : sequence of str
        Of the classes, in order of their letters.
    quiet : sequence of int
        Periods with few messages, drawn hollow.
    label : str
        Description for screen readers.
    """
    top = float(np.nanmax(shares)) if shares.size else 1.0
    parts = []
    for rank, name in enumerate(names):
        x, y = _PANEL * (rank % _COLUMNS), _TALL * (rank // _COLUMNS)
        said = f"{letters(rank)} {shorten(name, 30)}".strip()
        curve = band_parts(shares[:, rank, 0], shares[:, rank, 1], shares[:, rank, 2], labels, top,
                           quiet=quiet)  # fmt: skip
        title = tag("text", words(said), x=4.0, y=16.0, class_="title", font_weight="600",
                    font_size=12.0)  # fmt: skip
        moved = tag("g", *curve, transform="translate(0 20)")
        parts.append(tag("g", title, moved, class_=colour_class(rank),
                         transform=f"translate({x:.0f} {y:.0f})"))  # fmt: skip
    rows = (len(names) + _COLUMNS - 1) // _COLUMNS
    return _chart(parts, _PANEL * min(_COLUMNS, max(len(names), 1)), _TALL * max(rows, 1), label)


def words_chart(classes: Sequence[tuple[str, Sequence[tuple[str, float]]]], *, label: str) -> Svg:
    """Draw the words of each class as bars, longest first, all to one scale.

    Parameters
    ----------
    classes : sequence of (str, sequence of (str, float))
        Title, and words with what makes them characteristic.
    label : str
        Description for screen readers.
    """
    most = max((value for _, own in classes for _, value in own), default=1.0) or 1.0
    longest = max((len(own) for _, own in classes), default=0)
    height = 30 + _WORD_ROW * longest + 10
    parts = []
    for rank, (title, own) in enumerate(classes):
        x, y = _WORD_WIDTH * (rank % 4), height * (rank // 4)
        drawn = [tag("text", words(shorten(title, 34)), x=4.0, y=16.0, class_="title",
                     font_weight="600", font_size=12.0)]  # fmt: skip
        for row, (word, value) in enumerate(own):
            middle = 30 + _WORD_ROW * row
            drawn.append(tag("text", words(shorten(word, 14)), x=92.0, y=middle + 11,
                             class_="tick", text_anchor="end"))  # fmt: skip
            said = tag("title", words(f"{word}: {value:.3f} bits"))
            drawn.append(tag("rect", said, x=97.0, y=middle, width=max(125 * value / most, 1),
                             height=_WORD_ROW - 5, class_="fill"))  # fmt: skip
        parts.append(tag("g", *drawn, class_=colour_class(rank),
                         transform=f"translate({x:.0f} {y:.0f})"))  # fmt: skip
    rows = (len(classes) + 3) // 4
    return _chart(parts, _WORD_WIDTH * min(4, max(len(classes), 1)), height * max(rows, 1), label)


def _chart(parts: Sequence[str], width: float, height: float, label: str) -> Svg:
    return Svg(
        tag("svg", *parts, viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}",
            class_="chart", role="img", aria_label=label)
    ).standalone()  # fmt: skip
