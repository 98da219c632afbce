"""One loop for a single file and for all files of a kind in a folder or archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import scrubbed
from palaver.corpus.readers.source import HEAD_BYTES, Source, decode
from palaver.errors import FormatError


def file_name(source: Source) -> str:
    """Return the name of a file, in its original case, without a compression suffix."""
    return source.path.name[: len(source.name)]


def stem(name: str, *suffixes: str) -> str:
    """Return a name without its suffix: one of those given, or else from the last dot on."""
    for suffix in suffixes:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)] or name
    folder, slash, last = name.rpartition("/")
    return folder + slash + (last.rpartition(".")[0] or last)


def peek(source: Source, name: str) -> str:
    """Return the start of a file in a folder or archive; empty if it cannot be read."""
    try:
        with source.open(name) as stream:
            return decode(stream.read(HEAD_BYTES))
    except FormatError:
        return ""


def members(source: Source, wanted: Callable[[str], bool]) -> list[tuple[str | None, str]]:
    """Return what to open and what to call it: the file, or each wanted file of a folder."""
    if not source.is_tree:
        return [(None, file_name(source))]
    return [(name, name) for name in source.names if wanted(name.lower())]


def texts(source: Source, notes: Notes, wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield the name and text of the file, or of each wanted file of a folder or archive.

    Files of a folder that cannot be read are counted and skipped.
    """
    for member, name in members(source, wanted):
        try:
            text = source.read_text(notes, member)
        except FormatError:
            if member is None:
                raise
            notes.add("bad_file", [name])
        else:
            yield scrubbed(name), text.removeprefix("\ufeff")


def sibling(source: Source, name: str) -> Source | None:
    """Return the file of that name next to a source, compressed or not."""
    for suffix in ("", ".gz", ".zst", ".bz2", ".xz"):
        path = source.path.with_name(name + suffix)
        if path.is_file():
            return Source(path, source.max_bytes)
    return None
