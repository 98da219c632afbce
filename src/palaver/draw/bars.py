"""Stacked bars of class shares, as HTML with style classes ``w1`` to ``w100`` for widths.

Widths are not written as styles, because a strict content security policy forbids that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from palaver.draw.palette import colour_class, letters
from palaver.draw.svg import tag, words

_LETTER_FITS = 4  # percent


def percents(shares: ArrayLike) -> list[int]:
    """Round shares to whole percents that sum to 100, by the largest remainders."""
    exact = 100 * np.asarray(shares, float)
    total = exact.sum()
    if total <= 0:
        return [0] * len(exact)
    exact = exact * (100 / total)
    floors = np.floor(exact).astype(int)
    missing = 100 - int(floors.sum())
    for k in np.argsort(-(exact - floors), kind="stable")[:missing]:
        floors[k] += 1
    return [int(n) for n in floors]


def stacked_bar(shares: ArrayLike, names: Sequence[str] | None = None) -> str:
    """Return a bar of classes in order of rank, each with its letter if it fits."""
    pieces, said = [], []
    for rank, percent in enumerate(percents(shares)):
        if not percent:
            continue
        letter = letters(rank)
        called = f"{letter} {names[rank]}: {percent}%" if names else f"{letter}: {percent}%"
        said.append(called)
        inside = words(letter) if percent >= _LETTER_FITS else ""
        style = f"{colour_class(rank)} w{percent}"
        pieces.append(tag("span", inside, class_=style, title=called, data_rank=str(rank)))
    label = ", ".join(said[:6]) or "no words"
    return tag("span", *pieces, class_="bar", role="img", aria_label=label)


def width_rules() -> str:
    """Return the style rules for widths, and for the shades ``h1`` to ``h10`` of cells."""
    widths = [f".w{i}{{width:{i}%}}" for i in range(1, 101)]
    mixed = "background:color-mix(in srgb,var(--more) {}%,transparent)"
    shades = [f".h{i}{{{mixed.format(5 * i)}}}" for i in range(1, 11)]
    return "".join(widths + shades)
