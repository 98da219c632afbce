"""Timed segments of a transcript, joined into turns by the same rule for all formats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from palaver.corpus.readers.base import Rows

#: Consecutive segments of a speaker form one message if the gap is below this many seconds.
MAX_GAP = 1.0


class Segment(NamedTuple):
    """A stretch of speech; times are in seconds from the start of the recording."""

    start: float | None
    end: float | None
    speaker: str | None
    text: str
    place: str | int


def seconds(value: Any) -> float | None:
    """Return a number or numeric string as seconds; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def add_turns(rows: Rows, conversation: str, segments: Iterable[Segment]) -> None:
    """Add the turns of one recording to ``rows``."""
    for number, turn in enumerate(joined(segments), 1):
        rows.add(
            conversation=conversation,
            id=str(number),
            reply_to=None,
            speaker=turn.speaker,
            time=turn.start,
            text=turn.text,
            end=turn.end,
            place=turn.place,
        )


def joined(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Join consecutive segments of a speaker with gaps below :data:`MAX_GAP`.

    Segments without a speaker stay separate, as they may come from different people.
    """
    waiting: list[Segment] = []
    for segment in segments:
        if waiting and not _continues(waiting[-1], segment):
            yield _turn(waiting)
            waiting = []
        waiting.append(segment)
    if waiting:
        yield _turn(waiting)


def _continues(before: Segment, segment: Segment) -> bool:
    if segment.speaker is None or segment.speaker != before.speaker:
        return False
    if before.end is None or segment.start is None:
        return False
    return segment.start - before.end < MAX_GAP


def _turn(segments: list[Segment]) -> Segment:
    first = segments[0]
    if len(segments) == 1:
        return first
    text = " ".join(segment.text for segment in segments if segment.text)
    return first._replace(end=segments[-1].end, text=text)
