"""Records of JSON exports: parsed one at a time from files of any size, read tolerantly.

Exports get edited by hand, truncated and converted by scripts: a field may have any type. The
getters here return a value of the type that a reader needs, or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator
from typing import Any, Protocol

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import parse_json
from palaver.corpus.readers.folders import members, peek
from palaver.corpus.readers.source import MAX_LINE, Source, decode
from palaver.errors import FormatError

#: The start of a file that is a single array.
ARRAY = re.compile(r"\A\s*\[")

_DECODER = json.JSONDecoder(strict=False)
_BETWEEN = re.compile(r"[\s,]*")
_NOT_ASCII = bytes(range(0x80, 0x100))
_LITERAL = len("-Infinity")  # the longest JSON literal that the end of a chunk can cut
_LONGEST_OPENING = 256  # that the end of a chunk can cut
_MOST_SKIPPED = 64_000


class Readable(Protocol):
    """Something with bytes to read."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; none at the end."""
        ...


def as_dict(value: Any) -> dict[str, Any]:
    """Return a JSON object; empty if the value is not one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a JSON array; empty if the value is not one."""
    return value if isinstance(value, list) else []


def as_word(value: Any) -> str | None:
    """Return a string or number as a string; None if the value is neither, or blank."""
    if isinstance(value, str):
        return None if not value or value.isspace() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return None


def parsed(value: Any) -> Any:
    """Return what a string holds if it is a JSON object or array, and anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def object_of(line: bytes, notes: Notes, place: str) -> dict[str, Any] | None:
    """Return the JSON object on a line, or None; anything else but a blank line is counted."""
    if not line.strip():
        return None
    try:
        record = parse_json(decode(line, notes, place), place)
    except FormatError:
        record = None
    if isinstance(record, dict):
        return record
    notes.add("bad_line", [place])
    return None


def json_records(
    source: Source, notes: Notes, wanted: Callable[[str], bool] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield the place and value of every record of a file, or of each wanted file of a folder.

    Records are lines of JSON, items of an array, or values that follow each other. Files of a
    folder that cannot be read are counted and skipped.
    """
    is_wanted = wanted or (lambda name: name.endswith((".json", ".jsonl", ".ndjson")))
    for member, name in members(source, is_wanted):
        before = "" if member is None else f"{name} "
        try:
            yield from _records_of(source, member, notes, before)
        except FormatError:
            if member is None:
                raise
            notes.add("bad_file", [name])


def _records_of(
    source: Source, member: str | None, notes: Notes, before: str
) -> Iterator[tuple[str, Any]]:
    head = (source.head_text if member is None else peek(source, member)).lstrip("\ufeff \t\r\n")
    if not _is_lines(head):
        with source.open(member) as stream:
            label = before.strip() or source.path.name
            for number, value in enumerate(stream_values(stream, notes, label), 1):
                yield f"{before}record {number}", value
        return
    line = 1
    for block in source.blocks(name=member):
        for number, data in enumerate(block.split(b"\n"), line):
            record = object_of(data, notes, f"{before}line {number}")
            if record is not None:
                yield f"{before}line {number}", record
        line += block.count(b"\n")


def _is_lines(head: str) -> bool:
    """Whether every line seems to be an object of its own: the first one, or the last, is."""
    first, _, rest = head.partition("\n")
    if not first.startswith("{"):
        return False
    return (first.rstrip().endswith("}") and not rest.lstrip().startswith("}")) or not rest


def unwrapped(
    records: Iterator[tuple[str, Any]], *keys: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects in a list under one of the keys in place of the object that wraps it."""
    for place, value in records:
        record = as_dict(value)
        inner = next((record[key] for key in keys if isinstance(record.get(key), list)), None)
        items = [value] if inner is None else inner
        for number, item in enumerate(items, 1):
            if isinstance(item, dict):
                yield (place if inner is None else f"{place} item {number}"), item


def object_after(text: str, opening: str) -> dict[str, Any]:
    """Return the JSON object after the first match of a pattern; empty if there is none."""
    found = re.search(opening, text)
    if found is None:
        return {}
    try:
        return as_dict(_DECODER.raw_decode(text, found.end())[0])
    except (ValueError, RecursionError):
        return {}


def stream_items(
    stream: Readable,
    notes: Notes,
    place: str,
    opening: re.Pattern[str] = ARRAY,
    size: int = 1 << 20,
) -> Iterator[Any]:
    """Yield the items of the array whose bracket ends the first match of ``opening``.

    Only one item and one chunk of the file are in memory at a time. An array that ends or
    breaks in the middle counts as truncated; everything before that has been yielded.
    """
    text = _Text(_chunks(stream, notes, place, size))
    if text.skip_to(opening) is None or not (yield from text.items()):
        notes.add("truncated", [place])


def stream_arrays(
    stream: Readable,
    notes: Notes,
    place: str,
    opening: re.Pattern[str],
    size: int = 1 << 20,
) -> Iterator[tuple[str, Iterator[Any]]]:
    """Yield what precedes each array whose bracket ends a match of ``opening``, and its items.

    Items must be consumed before the next array is asked for. What precedes is cut to its last
    64,000 characters.
    """
    text = _Text(_chunks(stream, notes, place, size))
    is_first = is_whole = True

    def items() -> Iterator[Any]:
        nonlocal is_whole
        is_whole = yield from text.items()

    while (before := text.skip_to(opening)) is not None:
        is_first = False
        yield before, items()
        if not is_whole:
            break
    if is_first or not is_whole:
        notes.add("truncated", [place])


def stream_values(stream: Readable, notes: Notes, place: str, size: int = 1 << 20) -> Iterator[Any]:
    """Yield the values of a file of JSON one after another; items in place of whole arrays."""
    text = _Text(_chunks(stream, notes, place, size))
    while text.is_left():
        is_array = text.take("[")
        is_whole = yield from (text.items() if is_array else text.values())
        if not is_whole:
            notes.add("truncated", [place])
            return


class _Text:
    """JSON text that arrives in chunks, of which only what is not yet parsed is kept."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._text, self._at = next(chunks, ""), 0

    def _more(self) -> bool:
        """Drop what was parsed and add text, at least as much as is left; False at the end."""
        parts = [self._text[self._at :]]
        wanted = max(1, len(parts[0]))  # doubles, so that a long item costs linear time
        added = 0
        while added < wanted and (chunk := next(self._chunks, "")):
            parts.append(chunk)
            added += len(chunk)
        self._text, self._at = "".join(parts), 0
        return added > 0

    def skip_to(self, opening: re.Pattern[str]) -> str | None:
        """Go behind the next match, and return what was skipped; None if there is none."""
        skipped = ""
        while (found := opening.search(self._text, self._at)) is None:
            keep = max(self._at, len(self._text) - _LONGEST_OPENING)
            skipped = (skipped + self._text[self._at : keep])[-_MOST_SKIPPED:]
            self._at = keep
            if not self._more():
                return None
        skipped = (skipped + self._text[self._at : found.start()])[-_MOST_SKIPPED:]
        self._at = found.end()
        return skipped

    def is_left(self) -> bool:
        """Whether anything but blanks and commas is left."""
        while True:
            self._at = _BETWEEN.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return True
            if not self._more():
                return False

    def take(self, mark: str) -> bool:
        """Go behind a mark, if it comes next."""
        is_next = self._text.startswith(mark, self._at)
        self._at += is_next
        return is_next

    def items(self) -> Generator[Any, None, bool]:
        """Yield items up to the closing bracket; return whether there was one."""
        while self.is_left():
            if self.take("]"):
                return True
            if not (yield from self._one()):
                return False
        return False

    def values(self) -> Generator[Any, None, bool]:
        """Yield the next value; return whether it was complete."""
        return (yield from self._one())

    def _one(self) -> Generator[Any, None, bool]:
        while len(self._text) - self._at < MAX_LINE:
            try:
                item, self._at = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.pos > len(self._text) - _LITERAL
                if not (cut or error.msg.startswith("Unterminated")) or not self._more():
                    return False
            except (ValueError, RecursionError):
                return False
            else:
                yield item
                return True
        return False


def _chunks(stream: Readable, notes: Notes, place: str, size: int) -> Iterator[str]:
    """Yield a file as text, in chunks that never split a character."""
    rest = b""
    while data := stream.read(size):
        data = rest + data
        whole = data.rstrip(_NOT_ASCII) if len(data) < MAX_LINE else data
        rest = data[len(whole) :]
        yield _text(whole, notes, place)
    if rest:
        yield _text(rest, notes, place)


def _text(data: bytes, notes: Notes, place: str) -> str:
    """Decode a chunk; if it is not UTF-8, line by line, so that only bad lines suffer."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "\n".join(decode(line, notes, place) for line in data.split(b"\n"))
