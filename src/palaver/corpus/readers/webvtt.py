"""Subtitles: WebVTT (.vtt) and SubRip (.srt), with speakers by voice tags or name prefixes."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.folders import stem, texts
from palaver.corpus.readers.source import Source
from palaver.corpus.readers.turns import MAX_GAP, Segment, add_turns

_SUFFIXES = (".vtt", ".srt")
_CLOCK = r"(?:(\d{1,6}):)?([0-5]?\d):([0-5]?\d)[.,](\d{1,3})"
_TIMING = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}(?:\s|$)")
_BROKEN_TIMING = re.compile(r"\s*[\d:.,]+\s*-->")
_SRT_START = re.compile(rf"\s*\d+[ \t]*\n\s*{_CLOCK}\s*-->")
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,200})?[ \t]+([^<>]{0,200})>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<\d[\d:.]*>|</>|\{\\[^{}]*\}")
_KARAOKE = re.compile(r"<\d[\d:.]*>")
# a name of one to four words before a colon; also "[SPEAKER_00]:", ">> JOHN:", "- John:"
_PREFIX = re.compile(
    r"(?:>>\s*|-\s*)?"
    r"(?:\[([^\[\]]{1,60})\]|([^\W\d_a-z][\w.'’()-]*(?:[ ][\w.'’()&-]+){0,3}))"
    r":(?:\s+|$)(.*)"
)


class _Cue(NamedTuple):
    start: float
    end: float
    lines: list[str]
    place: str


def looks_like(source: Source) -> bool:
    """Whether the file starts like WebVTT or SubRip, or a folder contains such files."""
    if source.is_tree:
        return any(name.lower().endswith(_SUFFIXES) for name in source.names)
    head = source.head_text.lstrip("\ufeff \t\r\n")
    if source.suffix in _SUFFIXES or re.match(r"WEBVTT(?:\s|$)", head):
        return True
    return _SRT_START.match(head.replace("\r\n", "\n")) is not None


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read cues and join them into turns; a file is a conversation."""
    rows = Rows(notes)
    for name, text in texts(source, notes, lambda name: name.endswith(_SUFFIXES)):
        cues = _cues(text, name, notes)
        if _KARAOKE.search(text):
            cues = _unrolled(cues, notes)
        speakers = None if _VOICE.search(text) else _names(text)
        add_turns(rows, stem(name, *_SUFFIXES), _segments(cues, speakers))
    return rows.table()


def _cues(text: str, name: str, notes: Notes) -> Iterator[_Cue]:
    """Yield the cues; header, NOTE, STYLE and REGION blocks have no timing line."""
    lines = text.split("\n")
    # a blank line ends a WebVTT cue; in SubRip only the next cue reliably does
    is_vtt = text.lstrip().startswith("WEBVTT")
    cue: _Cue | None = None
    for number, line in enumerate(lines):
        timing = _TIMING.match(line) if "-->" in line else None
        if timing:
            if cue is not None:
                yield cue
            clocks = timing.groups()
            place = f"{name} line {number + 1}"
            cue = _Cue(_seconds(clocks[:4]), _seconds(clocks[4:]), [], place)
        elif "-->" in line and (cue is None or _BROKEN_TIMING.match(line)):
            notes.add("bad_line", [f"{name} line {number + 1}"])
            if cue is not None:  # what follows is not part of it
                yield cue
            cue = None
        elif cue is not None:
            if is_vtt and not line:
                yield cue
                cue = None
            elif not _is_number(lines, number):
                cue.lines.append(line)
    if cue is not None:
        yield cue


def _is_number(lines: list[str], number: int) -> bool:
    """Whether a line is only the number of the next cue."""
    digits = lines[number].strip().isdigit()
    return digits and number + 1 < len(lines) and "-->" in lines[number + 1]


def _seconds(clock: tuple[str | None, ...]) -> float:
    hours, minutes, whole, fraction = (part or "0" for part in clock)
    thousandths = int(fraction.ljust(3, "0"))
    return (int(hours) * 3600 + int(minutes) * 60 + int(whole)) + thousandths / 1000


def _unrolled(cues: Iterator[_Cue], notes: Notes) -> Iterator[_Cue]:
    """Drop lines that repeat the previous line, as rolling captions do."""
    last = ""
    for cue in cues:
        fresh = []
        for line in cue.lines:
            plain = _plain(line)
            if plain and plain == last:
                notes.add("repeated_line", [cue.place])
            elif plain:
                fresh.append(line)
                last = plain
        if fresh:
            yield cue._replace(lines=fresh)


def _names(text: str) -> set[str]:
    """Return the prefixes that name speakers.

    A lecture may contain "Question: why?" once, so if few lines have a prefix, only
    repeated ones count.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    found = Counter(named[0] for named in map(_prefix, map(_plain, lines)) if named)
    common = 3 * found.total() >= sum("-->" in line for line in lines)
    return {name for name, count in found.items() if common or count > 1}


def _prefix(line: str) -> tuple[str, str] | None:
    """Split a line into a name and the words."""
    found = _PREFIX.match(line)
    return (found[1] or found[2], found[3]) if found else None


def _segments(cues: Iterator[_Cue], names: set[str] | None) -> Iterator[Segment]:
    """Split cues at changes of speaker: by voice tags, or by prefixes if there are names."""
    speaker, end = None, 0.0
    for cue in cues:
        if cue.start - end >= MAX_GAP:
            speaker = None  # a caption without a name only continues one that directly precedes it
        said = _by_voice(cue) if names is None else _by_prefix(cue, names, speaker)
        for speaker, text in said:
            yield Segment(cue.start, cue.end, speaker, text, cue.place)
        end = cue.end


def _by_voice(cue: _Cue) -> list[tuple[str | None, str]]:
    before, *voices = _VOICE.split("\n".join(cue.lines))
    said: list[tuple[str | None, str]] = [(None, _plain(before))] if _plain(before) else []
    for name, text in zip(voices[::2], voices[1::2], strict=True):
        said.append((_plain(name) or None, _plain(text)))
    return said or [(None, "")]


def _by_prefix(cue: _Cue, names: set[str], speaker: str | None) -> list[tuple[str | None, str]]:
    said: list[tuple[str | None, list[str]]] = []
    for line in map(_plain, cue.lines):
        named = _prefix(line)
        if named and named[0] in names:
            said.append((named[0], [named[1]]))
        elif said:
            said[-1][1].append(line)
        else:
            said.append((speaker, [line]))
    return [(name, " ".join(filter(None, parts))) for name, parts in said] or [(speaker, "")]


def _plain(text: str) -> str:
    """Return text without tags, with entities resolved and whitespace collapsed."""
    return " ".join(html.unescape(_TAG.sub("", text)).split())


FORMAT = Format("webvtt", "WebVTT or SubRip subtitles", looks_like, read)
