"""IRC logs, with reply links as annotated for disentanglement (.ascii.txt, .annotation.txt)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.folders import sibling, stem, texts
from palaver.corpus.readers.linked import Linked
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_LOG, _LINKS = ".ascii.txt", ".annotation.txt"
_CLOCK = r"\[?(\d{1,2}:\d{2}(?::\d{2})?)\]?"
# "[03:19] <nick> words", or "[03:19]  * nick does" for actions
_MESSAGE = re.compile(rf"{_CLOCK}\s+(?:<[ @+%&~]?([^<>\s]+)>|\*\s+(\S+))(?:\s(.*)|$)")
_SYSTEM = re.compile(rf"(?:{_CLOCK}\s+)?(?:===|\*\*\*|---|-!-|-->|<--)(?:\s|$)")
_LINK = re.compile(r"\s*(\d{1,9})\s+(\d{1,9})(?:\s|$)")


def looks_like(source: Source) -> bool:
    """Whether there are .ascii.txt files, or nearly all of the first lines look like a log."""
    if source.is_tree:
        return any(name.lower().endswith(_LOG) for name in source.names)
    lines = [line for line in source.head_text.split("\n")[:50] if line.strip()]
    messages = sum(_MESSAGE.match(line) is not None for line in lines)
    others = sum(_SYSTEM.match(line) is not None for line in lines)
    return messages > 0 and messages + others >= 0.9 * len(lines)


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read logs; linked lines form conversations, and a log without links is one conversation."""
    rows = Rows(notes)
    for name, text in texts(source, notes, lambda name: name.endswith(_LOG)):
        base = stem(name, _LOG)
        lines = text.split("\n")
        links = _read_links(source, base, len(lines), notes)
        if links:
            _add_threads(rows, lines, links, base, name, notes)
        else:
            for number, time, speaker, words in _messages(lines, name, notes):
                _add(rows, base, base, number, time, speaker, words, name)
    table = rows.table()
    others = [name for name in table.columns if name == "other_parents"]
    return table.with_columns(pl.col(others).cast(pl.List(pl.String)))


def _read_links(source: Source, base: str, n_lines: int, notes: Notes) -> list[tuple[int, int]]:
    """Return pairs of an earlier and a later line, counted from 0; equal for a start."""
    name = base + _LINKS
    try:
        if source.is_tree:
            text = source.read_text(notes, name) if name in source.names else ""
        else:
            file = sibling(source, name)
            text = file.read_text(notes) if file is not None else ""
    except FormatError:
        notes.add("bad_file", [name])
        return []
    links = []
    for number, line in enumerate(text.split("\n"), 1):
        found = _LINK.match(line)
        pair = sorted((int(found[1]), int(found[2]))) if found else []
        if pair and pair[1] < n_lines:
            links.append((pair[0], pair[1]))
        elif line.strip():
            notes.add("bad_line", [f"{name} line {number}"])
    return links


def _messages(
    lines: list[str], name: str, notes: Notes, wanted: list[bool] | None = None
) -> Iterator[tuple[int, str, str, str]]:
    """Yield the number, time, speaker and words of wanted lines that people wrote."""
    for number, line in enumerate(lines):
        if not line.strip() or (wanted is not None and not wanted[number]):
            continue
        found = _MESSAGE.match(line)
        if found:
            yield number, found[1], found[2] or found[3], found[4] or ""
        else:
            kind = "system_message" if _SYSTEM.match(line) else "bad_line"
            notes.add(kind, [f"{name} line {number + 1}"])


def _add_threads(
    rows: Rows, lines: list[str], links: list[tuple[int, int]], base: str, name: str, notes: Notes
) -> None:
    """Add linked lines, and all lines from the first annotated one onwards."""
    first = min(later for _, later in links)
    wanted = [number >= first for number in range(len(lines))]
    parents: dict[int, list[int]] = {}
    threads = Linked[int]()
    for earlier, later in links:
        threads.join(earlier, later)
        wanted[earlier] = True
        if earlier < later and _MESSAGE.match(lines[earlier]):
            parents.setdefault(later, []).append(earlier)
    names: dict[int, str] = {}
    for number, time, speaker, words in _messages(lines, name, notes, wanted):
        conversation = names.setdefault(threads.find(number), f"{base}:{number}")
        answered = sorted(set(parents.get(number, ())))
        if len(answered) > 1:
            notes.add("extra_parent", [f"{name} line {number + 1}"])
        _add(rows, conversation, base, number, time, speaker, words, name, answered)


def _add(
    rows: Rows,
    conversation: str,
    base: str,
    number: int,
    time: str,
    speaker: str,
    words: str,
    name: str,
    answered: list[int] | None = None,
) -> None:
    ids = [f"{base}:{line}" for line in answered or ()]
    rows.add(
        conversation=conversation,
        id=f"{base}:{number}",
        reply_to=ids[-1] if ids else None,
        speaker=speaker,
        time=time,
        text=words,
        other_parents=ids[:-1],
        place=f"{name} line {number + 1}",
    )


FORMAT = Format("irc", "IRC logs, with annotated reply links if available", looks_like, read)
