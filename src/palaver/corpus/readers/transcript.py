"""Transcripts of meetings as people get them: Teams, Meet, Zoom and others, as text or .docx.

Each file is a conversation. A message starts with one of

* ``Ann Miller   0:03`` or ``[Ann Miller] 10:02:15``, with the words on the lines below;
* ``0:0:1.5 --> 0:0:4.2`` or ``0:00:01.500,0:00:04.200``, with the name in the next line;
* ``[00:03] Ann: words`` or ``00:00:03 Ann: words``;
* ``10:02:15 From Ann to Everyone: words``, as in Zoom's chat;
* ``Ann Miller: words`` between times on lines of their own, as Meet writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.folders import file_name, stem
from palaver.corpus.readers.safe_xml import xml_events
from palaver.corpus.readers.source import Source
from palaver.corpus.readers.turns import Segment, add_turns
from palaver.errors import FormatError

_SUFFIXES = (".txt", ".docx", ".sbv", ".md", "")
_CLOCK = r"(?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?"
_NAME = r"[^\W\d_][^\n\t|:<>\[\]]{0,60}?"
_FORMS = {
    "zoom": re.compile(
        rf"(?P<clock>{_CLOCK})\s+From\s+(?P<name>{_NAME})(?:\s+to\s+(?P<to>[^:\n]{{1,80}}?))?"
        r"\s*:[ \t]*(?P<text>.*)"
    ),
    "said": re.compile(
        rf"[\[(]?(?P<clock>{_CLOCK})[\])]?[ \t]+(?:-[ \t]+)?(?P<name>{_NAME})[ \t]?:(?:[ \t]+|$)"
        r"(?P<text>.*)"
    ),
    "head": re.compile(
        rf"(?:\[(?P<in>[^\[\]\n]{{1,60}})\]|(?P<name>{_NAME}))(?:[ \t]*[|–—-][ \t]*|[ \t]+)"
        rf"[\[(]?(?P<clock>{_CLOCK})[\])]?[ \t]*$"
    ),
    "timed": re.compile(
        r"(?P<clock>\d{1,3}:\d+:\d+\.\d+)[ \t]*(?:-->|,)[ \t]*(?P<end>\d{1,3}:\d+:\d+\.\d+)[ \t]*$"
    ),
}  # fmt: skip
_MEET = re.compile(rf"(?P<name>{_NAME}):[ \t]+(?P<text>\S.*)")
_ALONE = re.compile(rf"[\[(]?(?P<clock>{_CLOCK})[\])]?[ \t]*$")
_TITLE = re.compile(
    r"\W*(?:transcript|transkript|transcription|transcripción|transcrição)\W*$", re.I
)
_NOTICE = re.compile(
    r".{1,80} (?:started|stopped) transcription$|(?:meeting|transcription) ended\b.*", re.IGNORECASE
)
_LOOKED_AT = 200  # lines


class _Start(NamedTuple):
    """The start of a message; times in seconds."""

    start: float | None
    end: float | None
    speaker: str | None
    text: str
    to: str | None
    place: str


def looks_like(source: Source) -> bool:
    """Whether lines of the file, or paragraphs of a document, start messages in one form."""
    if source.is_archive and "word/document.xml" in source.names:
        try:
            return _form(_document(source)[:_LOOKED_AT]) is not None
        except FormatError:
            return False
    if source.is_tree or source.suffix not in _SUFFIXES:
        return False
    lines = source.head_text.lstrip("\ufeff").replace("\r\n", "\n").split("\n")
    return _form(lines[:_LOOKED_AT]) is not None


def _form(lines: list[str]) -> str | None:
    """Return the form in which at least two messages start, and no line breaks the pattern."""
    found = {name: sum(map(bool, map(form.match, lines))) for name, form in _FORMS.items()}
    best = max(found, key=lambda name: found[name])
    n_lines = sum(bool(line.strip()) for line in lines)
    if found[best] >= 2 and 6 * found[best] >= n_lines:
        return best
    times = sum(map(bool, map(_ALONE.match, lines)))
    talk = sum(map(bool, map(_MEET.match, lines)))
    has_title = any(map(_TITLE.match, lines))
    return "meet" if talk >= 2 and times and (has_title or 3 * talk >= n_lines) else None


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the transcript."""
    if source.is_archive:
        lines = _document(source)
    else:
        lines = source.read_text(notes).removeprefix("\ufeff").split("\n")
    form = _form(lines)
    if form is None:
        raise FormatError(
            f"{source}: no lines like “Ann Miller   0:03”, “[00:03] Ann: …” or "
            "“00:00:03 From Ann …”"
        )
    rows = Rows(notes)
    segments = [
        Segment(one.start, one.end, one.speaker, one.text.strip(), one.place)
        for one in _messages(lines, form, notes)
    ]
    add_turns(rows, stem(file_name(source), ".docx", ".txt", ".sbv"), segments)
    return rows.table()


def _messages(lines: list[str], form: str, notes: Notes) -> Iterator[_Start]:
    """Yield the messages; lines before the first are a title."""
    waiting: _Start | None = None
    clock: float | None = None
    more: list[str] = []
    for number, line in enumerate(lines, 1):
        alone = _ALONE.match(line) if form == "meet" else None
        found = _MEET.match(line) if form == "meet" else _FORMS[form].match(line)
        if alone is not None:
            clock = _seconds(alone["clock"])
        elif _NOTICE.match(line):
            notes.add("system_message", [f"line {number}"])
        elif found is not None and not (form == "meet" and waiting is None and _is_title(line)):
            if waiting is not None:
                yield _whole(waiting, more, form)
            waiting, more = _start(found, clock, f"line {number}"), []
        elif waiting is not None and line.strip():
            more.append(line.strip())
    if waiting is not None:
        yield _whole(waiting, more, form)


def _is_title(line: str) -> bool:
    return line.lower().startswith(("attendees:", "invited:", "attachments:"))


def _start(found: re.Match[str], clock: float | None, place: str) -> _Start:
    parts = found.groupdict()
    given = parts.get("clock")
    name = parts.get("name") or parts.get("in")
    end = parts.get("end")
    return _Start(
        clock if given is None else _seconds(given), None if end is None else _seconds(end),
        None if name is None else name.strip(), parts.get("text") or "", parts.get("to"), place,
    )  # fmt: skip


def _whole(start: _Start, more: list[str], form: str) -> _Start:
    """Return a message with the lines that continue it; the first may be the name."""
    if form == "timed" and more:
        named = _MEET.match(more[0])
        if named is not None:
            return start._replace(speaker=named["name"], text=" ".join([named["text"], *more[1:]]))
        if len(more) > 1:
            return start._replace(speaker=more[0], text=" ".join(more[1:]))
    return start._replace(text=" ".join(filter(None, [start.text, *more])))


def _seconds(clock: str) -> float:
    total = 0.0
    for part in clock.replace(",", ".").split(":"):
        total = 60 * total + float(part)
    return total


def _document(source: Source) -> list[str]:
    """Return the lines of a .docx file."""
    lines, parts = [], list[str]()
    with source.open("word/document.xml") as stream:
        for tag, attributes, text in xml_events(stream, str(source)):
            kind = tag.rpartition(":")[2]
            if attributes is None and kind == "t":
                parts.append(text)
            elif attributes is not None and kind == "tab":
                parts.append("\t")
            elif kind in ("br", "cr", "p") and (attributes is None) == (kind == "p"):
                lines.append("".join(parts))
                parts = []
    return [*lines, "".join(parts)]


FORMAT = Format(
    "transcript", "transcripts of meetings: Teams, Meet, Zoom (.txt, .docx)", looks_like, read
)
