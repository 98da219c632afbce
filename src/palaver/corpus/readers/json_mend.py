"""Repairs lines of JSON that compiled code cannot read or would misread."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import MOST_COLUMNS
from palaver.corpus.readers.source import decode

_LONE_SURROGATE = re.compile(
    rb"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|[c-fC-F]..(?<!\\u[dD][89abAB]..\\u[dD]...))"
)
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"  # a pair is one character
    rb"|\\u([dD][89a-fA-F][\da-fA-F]{2})|\\."
)
_WIDE, _WIDEST = 2**63, 2**127  # limits of polars' integers, in lists and in columns


def mend_surrogates(block: bytes, first_line: int, notes: Notes) -> bytes:
    """Replace escaped surrogates that lack their other half by U+FFFD."""
    if not _may_have_surrogates(block):
        return block
    if not _LONE_SURROGATE.search(block):
        return block
    found: list[int] = []

    def mend(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            return match[0]
        found.append(match.start())
        return rb"\ufffd"

    block = _ESCAPE.sub(mend, block)
    notes.add("control_characters", [f"line {n}" for n in _line_numbers(block, found, first_line)])
    return block


def _may_have_surrogates(block: bytes) -> bool:
    r"""Whether ``\ud`` or ``\uD`` occurs; faster than two searches where escapes are frequent."""
    data = np.frombuffer(block, np.uint8)
    escapes = (data[:-2] == ord("\\")) & (data[1:-1] == ord("u"))
    return bool((escapes & ((data[2:] | 32) == ord("d"))).any())  # 32 makes a letter small


def _line_numbers(block: bytes, positions: Iterable[int], first_line: int) -> list[int]:
    """Return the line numbers, each once, of ascending positions."""
    lines: dict[int, None] = {}
    line, last = first_line, 0
    for position in positions:
        line += block.count(b"\n", last, position)
        last = position
        lines[line] = None
    return list(lines)


def mend_lines(
    block: bytes, first_line: int, is_cut: bool, notes: Notes
) -> tuple[list[int], bytes, int]:
    """Read line by line and rewrite what polars can read; count and drop all other lines.

    Returns
    -------
    numbers : list of int
        Lines that were kept.
    block : bytes
    n_keys : int
        How many different keys they have.
    """
    numbers: list[int] = []
    records: list[dict[str, Any]] = []
    kinds: dict[str, set[str]] = {}
    lines = block.split(b"\n")
    for number, line in enumerate(lines, first_line):
        if not line.strip():
            continue
        try:
            record = _flat(_DECODER.decode(decode(line, notes, f"line {number}")), kinds)
        except (ValueError, RecursionError):
            cut_here = is_cut and number == first_line + len(lines) - 1
            notes.add("truncated" if cut_here else "bad_line", [f"line {number}"])
        else:
            numbers.append(number)
            records.append(record)
    if len(kinds) <= MOST_COLUMNS:  # more are refused
        _write_mixed_as_text(records, kinds)
    lines = [_ENCODER.encode(record).encode("utf-8", "replace") for record in records]
    return numbers, b"\n".join(lines), len(kinds)


def _flat(record: Any, kinds: dict[str, set[str]]) -> dict[str, Any]:
    """Turn nested values into text, in place, and collect the kinds of all values."""
    if not isinstance(record, dict):
        raise ValueError("not an object")
    for name, value in record.items():
        kind = _kind(value)
        kinds.setdefault(name, set()).add(kind)
        if kind == "nested":
            record[name] = as_json(value)
    return record


def _kind(value: Any) -> str:
    """Name the type of a value; a number too wide for a column counts as nested."""
    if isinstance(value, list):
        inner = {type(item).__name__ for item in value}
        too_wide = any(type(item) is int and abs(item) >= _WIDE for item in value)
        return "nested" if too_wide or inner & {"list", "dict"} else f"list {' '.join(inner)}"
    if isinstance(value, dict) or (type(value) is int and abs(value) >= _WIDEST):
        return "nested"
    return type(value).__name__


def _write_mixed_as_text(records: list[dict[str, Any]], kinds: dict[str, set[str]]) -> None:
    """Turn values into text, in place, in columns whose types polars cannot combine."""
    mixed = [name for name, found in kinds.items() if _is_mixed(found - {"NoneType"})]
    for record in records:
        for name in mixed:
            value = record.get(name)
            if value is not None and not isinstance(value, str):
                record[name] = as_json(value)


def _is_mixed(kinds: set[str]) -> bool:
    """Whether values of these kinds can only be combined as text."""
    lists = {kind for kind in kinds if kind.startswith("list")}
    if "nested" in kinds or (lists and lists != kinds):
        return True
    words = set(" ".join(kinds).split())
    return "bool" in words and bool(words & {"int", "float"}) and "str" not in words


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Create an object; for duplicate keys, do as polars does."""
    record = dict(pairs)
    if len(record) < len(pairs):
        record.update(reversed(pairs))
    return record


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _no_number(word: str) -> None:
    """Turn NaN and Infinity, which some programs write although they are not JSON, into null."""


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=_first_wins, parse_constant=_no_number, parse_float=_finite
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def as_json(value: Any) -> str:
    """Write a value as readable JSON text: with spaces and without escapes."""
    return json.dumps(value, ensure_ascii=False)
