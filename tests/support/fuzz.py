"""Broken files: mutated bytes of a good file, and reading that may fail in one way only.

``mutations(data)`` is a hypothesis strategy; ``read_or_refuse`` writes bytes to a file of the
given name and reads them. A refusal by ``PalaverError`` is a legal answer (None); any other
exception goes through and fails the test.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import palaver as pv
from palaver.errors import PalaverError

GARBAGE = (
    b"\x00",
    b"\x00" * 40,
    b"\xff\xfe",
    b"\xc3\x28",  # a UTF-8 lead byte without its continuation
    b"\xed\xa0\x80",  # a lone surrogate
    b"\xf0\x9f\x98",  # an emoji cut short
    b"\\ud83d",
    b"\n",
    b"\r\n\r\n",
    b"\x0b\x0c\x1c\x85",  # what str.splitlines takes for line ends
    b"\xe2\x80\xa8",
    b"\t",
    b" ",
    b'"',
    b"{",
    b"}",
    b"[[",
    b"null",
    b"[]",
    b"{}",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 25,
    b",",
    b":",
)


@st.composite
def mutations(draw: st.DrawFn, data: bytes, max_changes: int = 4) -> bytes:
    """Bytes that differ from ``data`` by a few truncations, flips, insertions, copies and cuts."""
    for _ in range(draw(st.integers(1, max_changes))):
        size = len(data)
        kind = draw(st.sampled_from(("truncate", "flip", "insert", "duplicate", "delete")))
        at = draw(st.integers(0, size))
        end = min(size, at + draw(st.integers(1, max(1, size // 2))))
        if kind == "truncate":
            data = data[:at]
        elif kind == "flip" and at < size:
            data = data[:at] + bytes([data[at] ^ draw(st.integers(1, 255))]) + data[at + 1 :]
        elif kind == "insert":
            rubbish = draw(st.sampled_from(GARBAGE) | st.binary(min_size=1, max_size=12))
            data = data[:at] + rubbish + data[at:]
        elif kind == "duplicate":
            data = data[:end] + data[at:end] + data[end:]
        elif kind == "delete":
            data = data[:at] + data[end:]
    return data


def read_or_refuse(data: bytes, name: str, **options: Any) -> pv.Corpus | None:
    """Read bytes as a file called ``name``; None if Palaver refuses them."""
    return read_tree_or_refuse({name: data}, name, **options)


def read_tree_or_refuse(
    files: Mapping[str, bytes], name: str = ".", **options: Any
) -> pv.Corpus | None:
    """Write files into a new folder and read the one called ``name`` (default: the folder)."""
    with tempfile.TemporaryDirectory() as folder:
        for relative, data in files.items():
            path = Path(folder, "export", relative)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        try:
            corpus = pv.read(Path(folder, "export", name), **options)
        except PalaverError:
            return None
    check_tidy(corpus)
    return corpus


def check_tidy(corpus: pv.Corpus) -> None:
    """Assert what every corpus promises, however dirty its file was."""
    table = corpus.table
    assert table.columns[:6] == ["conversation", "id", "reply_to", "speaker", "time", "text"]
    assert table["text"].null_count() == 0
    assert table["conversation"].null_count() == 0
    assert table.select("conversation", "id").is_unique().all()
    assert len(corpus.parents) == table.height
    assert all(parent < row for row, parent in enumerate(corpus.parents))
