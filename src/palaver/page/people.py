"""The section about people: who answers whom, central people, and whom nobody answers."""

from __future__ import annotations

from typing import Any

from palaver.corpus.describe import roles
from palaver.corpus.table import Corpus
from palaver.page.text import speaker_name
from palaver.questions.circle import circle_of

_SHOWN, _FORGOTTEN, _FEWEST = 12, 8, 3
_UNITS = ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def make_people(corpus: Corpus) -> dict[str, Any] | None:
    """Return what the section shows; None for fewer than three people, or if speakers are roles."""
    if roles(corpus) is not None or corpus.table["speaker"].drop_nulls().n_unique() < _FEWEST:
        return None
    circle = circle_of(corpus)
    if not circle.links.height or circle.people.height < _FEWEST:
        return None
    central = circle.central(_SHOWN)
    lost = circle.forgotten()
    return {
        "picture": circle.picture(),
        "recorded": circle.recorded,
        "people": [
            row | {"speaker": speaker_name(row["speaker"]), "waited": lasting(row["waited"]),
                   "responds": lasting(row["responds"])}
            for row in central.iter_rows(named=True)
        ],
        "timed": central["responds"].is_not_null().any(),
        "n_people": circle.people.height,
        "n_forgotten": lost.height,
        "forgotten": [speaker_name(speaker) for speaker in lost["speaker"].head(_FORGOTTEN)],
    }  # fmt: skip


def lasting(seconds: float | None) -> str:
    """Say how long something takes: ``3 hours``, ``1 day``.

    Examples
    --------
    >>> lasting(7300.0)
    '2 hours'
    """
    if seconds is None:
        return ""
    for size, unit in _UNITS:
        if seconds >= size or size == 1.0:
            count = round(seconds / size)
            return f"{count:,} {unit}{'' if count == 1 else 's'}"
    raise AssertionError  # the last unit takes everything
