"""Records of JSON exports: parsed one at a time from files of any size, read tolerantly.

Exports get edited by hand, truncated and converted by scripts: a field may have any type. The
getters here return a value of the type that a reader needs, or nothing.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import parse_json
from palaver.corpus.readers.source import MAX_LINE, decode
from palaver.errors import FormatError

#: The start of a file that is a single array.
ARRAY = re.compile(r"\A\s*\[")

_DECODER = json.JSONDecoder(strict=False)
_BETWEEN = re.compile(r"[\s,]*")
_NOT_ASCII = bytes(range(0x80, 0x100))
_LITERAL = len("-Infinity")  # the longest JSON literal that the end of a chunk can cut


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
    stream: io.BufferedReader,
    notes: Notes,
    place: str,
    opening: re.Pattern[str] = ARRAY,
    size: int = 1 << 20,
) -> Iterator[Any]:
    """Yield the items of the array whose bracket ends the first match of ``opening``.

    Only one item and one chunk of the file are in memory at a time. An array that ends or
    breaks in the middle counts as truncated; everything before that has been yielded.
    """
    chunks = _chunks(stream, notes, place, size)
    text = next(chunks, "")
    found = opening.search(text)
    while found is None and len(text) < 16 * size and (more := next(chunks, "")):
        text += more
        found = opening.search(text)
    if found is None:
        notes.add("truncated", [place])
        return
    position = found.end()
    while len(text) - position < MAX_LINE:
        position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]
        if text.startswith("]", position):
            return
        try:
            item, position = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            cut = error.pos > len(text) - _LITERAL or error.msg.startswith("Unterminated")
            more = next(chunks, "") if cut else ""
            if not more:
                break
            while len(more) < len(text) - position and (extra := next(chunks, "")):
                more += extra  # at least doubles, so that a long item costs linear time
            text, position = text[position:] + more, 0
        except (ValueError, RecursionError):
            break
        else:
            yield item
    notes.add("truncated", [place])


def _chunks(stream: io.BufferedReader, notes: Notes, place: str, size: int) -> Iterator[str]:
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
