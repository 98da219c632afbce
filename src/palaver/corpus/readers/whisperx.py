"""Transcripts by speech recognizers: WhisperX, Whisper, and pyannote-style lists of segments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.folders import members, peek, stem
from palaver.corpus.readers.records import as_list, as_word, stream_items
from palaver.corpus.readers.source import HEAD_BYTES, Source
from palaver.corpus.readers.turns import Segment, add_turns, seconds
from palaver.errors import FormatError

_SEGMENTS = re.compile(r'"segments"\s*:\s*\[')
_OPENING = re.compile(r'\A\s*\[|"segments"\s*:\s*\[')
_OBJECT = re.compile(r"\s*\{")
_FIRST_SEGMENT = re.compile(r'\s*\[\s*\{[^\]]*?"(?:start|end)"\s*:')
_START, _END = re.compile(r'"start"\s*:'), re.compile(r'"end"\s*:')
# Whisper puts the full text first, and a long one fills the head
_LONG_TEXT = re.compile(r'\s*\{\s*"text"\s*:\s*"')


def looks_like(source: Source) -> bool:
    """Whether a JSON file, or the first one in a folder, has timed segments."""
    if source.is_tree:
        names = source.names
        if not names or not all(name.lower().endswith(".json") for name in names):
            return False
        return _is_transcript(peek(source, names[0]))
    return _is_transcript(source.head_text) or (
        source.suffix == ".json"
        and len(source.head) == HEAD_BYTES
        and b"\n" not in source.head
        and _LONG_TEXT.match(source.head_text) is not None
    )


def _is_transcript(head: str) -> bool:
    head = head.removeprefix("\ufeff")
    if not _START.search(head) or not _END.search(head):
        return False
    if _OBJECT.match(head):
        return _SEGMENTS.search(head) is not None
    return _FIRST_SEGMENT.match(head) is not None


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read segments and join them into turns; a file is a conversation."""
    rows = Rows(notes)
    for member, name in members(source, lambda name: name.endswith(".json")):
        found = Notes()
        try:
            add_turns(rows, stem(name, ".json"), _segments(source, member, name, found))
        except FormatError:
            if member is None:
                raise
            found.add("bad_file", [name])
        notes.merge(found)
        if member is None and not rows and "truncated" in found.counts:
            raise FormatError(
                f"{source}: contains no list of segments with start, end and text; "
                "WhisperX and Whisper write one with --output_format json"
            )
    return rows.table()


def _segments(source: Source, member: str | None, name: str, notes: Notes) -> Iterator[Segment]:
    with source.open(member) as stream:
        for number, item in enumerate(stream_items(stream, notes, name, _OPENING), 1):
            place = f"{name} segment {number}"
            said = (item.get("text") or "") if isinstance(item, dict) else None
            if not isinstance(said, str):
                notes.add("bad_line", [place])
                continue
            start, end = seconds(item.get("start")), seconds(item.get("end"))
            for key, time in (("start", start), ("end", end)):
                if time is None and item.get(key) is not None:
                    notes.add("bad_time", [f"{place} {key}"])
            yield Segment(start, end, _speaker(item), said.strip(), place)


def _speaker(segment: dict[str, Any]) -> str | None:
    """Return the speaker of a segment, or else of its first word that has one."""
    for part in (segment, *as_list(segment.get("words"))):
        if isinstance(part, dict) and (speaker := as_word(part.get("speaker"))):
            return speaker
    return None


FORMAT = Format(
    "whisperx",
    "WhisperX, Whisper or pyannote-style JSON transcript",
    looks_like,
    read,
)
