"""Safe access to what readers read: plain and compressed files, folders and archives.

A :class:`Source` is one path. Files are decompressed as they are read and never beyond
``max_bytes``. Members of an archive are never written to disk, links are not followed, and
a name that points outside its archive is rejected.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO

import zstandard

from palaver.corpus.notes import Notes
from palaver.errors import FormatError

HEAD_BYTES = 1 << 16
MAX_BYTES = 8 << 30  # largest unpacked size; pv.read(max_bytes=) raises it
MAX_LINE = 256 << 20
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
_ZSTD_WINDOW = 1 << 31  # Reddit dumps are written with the longest window
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # UTF-16, whose bytes cannot be split into lines
_BOMS = {**dict.fromkeys(_WIDE, "utf-16"), b"\xef\xbb\xbf": "utf-8-sig"}
#: What decompressors raise on damage; RuntimeError is for encrypted or exotic zip members,
#: the rest for archives with false directories.
_READ_ERRORS = (
    OSError, EOFError, zstandard.ZstdError, zipfile.BadZipFile, lzma.LZMAError, zlib.error,
    RuntimeError, ValueError, KeyError, IndexError, OverflowError, struct.error,
)  # fmt: skip


#: Called with the number of bytes read from disk, for progress bars.
OnRead = Callable[[int], None]


class _Limited(io.RawIOBase):
    """A stream that raises an error beyond a number of bytes, or if its source is broken."""

    def __init__(
        self, raw: IO[bytes], suffix: str, limit: int, name: str, on_read: OnRead | None
    ) -> None:
        self._raw, self._stream = raw, _unpacked(raw, suffix)
        self._left, self._limit, self._name = limit, limit, name
        self._on_read, self._position = on_read, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except _READ_ERRORS as error:
            raise FormatError(
                f"{self._name}: cannot be unpacked ({error}); the file is damaged or truncated"
            ) from error
        self._left -= len(data)
        if self._left < 0:
            raise FormatError(
                f"{self._name}: unpacks to more than {self._limit:,} bytes; "
                "if that is right, raise max_bytes"
            )
        buffer[: len(data)] = data
        if self._on_read is not None:
            position = self._raw.tell()
            self._on_read(position - self._position)
            self._position = position
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._raw.close()  # decompressors leave their source open
        super().close()


def _unpacked(stream: IO[bytes], suffix: str) -> IO[bytes]:
    """Wrap a stream in the decompressor for its suffix."""
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if suffix == ".bz2":
        return bz2.BZ2File(stream)
    if suffix == ".xz":
        return lzma.LZMAFile(stream)
    if suffix == ".zst":
        return zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).stream_reader(
            stream, read_across_frames=True
        )
    return stream


def decode(data: bytes, notes: Notes | None = None, place: str = "") -> str:
    """Decode bytes by their byte order mark, as UTF-8, or as Windows-1252, which is counted."""
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if notes is not None:
            notes.add("decoded", [place])
        return data.decode("cp1252", errors="replace")


class Source:
    """One path to read from: a file (also compressed), a folder, or a zip archive.

    Parameters
    ----------
    path : path
    max_bytes : int
        Largest total unpacked size; beyond it, reading stops with an error.
    on_read : callable, optional
        Called with the number of bytes read.

    Attributes
    ----------
    name : str
        Lower-case file name without a compression suffix, for formats to look at.
    head : bytes
        The first 64 KiB of the unpacked file; empty for folders and archives.
    names : list of str
        Relative names of the files inside a folder or archive, sorted; empty for a file.
    """

    def __init__(
        self, path: str | Path, max_bytes: int = MAX_BYTES, on_read: OnRead | None = None
    ) -> None:
        self.path = Path(path)
        self.max_bytes = max_bytes
        self.on_read = on_read
        try:
            is_there = self.path.exists()
        except (OSError, ValueError) as error:  # too long, or with a NUL
            reason = getattr(error, "strerror", None) or error
            raise FormatError(f"{path}: no such file or folder ({reason})") from error
        if not is_there:
            raise FormatError(f"{path}: no such file or folder")
        suffix = self.path.suffix.lower()
        self._compression = suffix if suffix in _COMPRESSIONS and self.path.is_file() else ""
        self.name = (self.path.stem if self._compression else self.path.name).lower()

    def __str__(self) -> str:
        return str(self.path)

    @property
    def suffix(self) -> str:
        """Lower-case suffix of the unpacked file, such as ``".jsonl"``."""
        return PurePosixPath(self.name).suffix

    @property
    def is_packed(self) -> bool:
        """Whether the file is compressed, by its name."""
        return bool(self._compression)

    @cached_property
    def is_archive(self) -> bool:
        """Whether the path is a zip archive."""
        return self.path.is_file() and not self._compression and zipfile.is_zipfile(self.path)

    @property
    def is_tree(self) -> bool:
        """Whether the path is a folder or an archive, whose files are in ``names``."""
        return self.path.is_dir() or self.is_archive

    @property
    def size(self) -> int:
        """Number of bytes to read: of the file, or of all files in a folder or archive."""
        if self.is_archive:
            return sum(info.file_size for info in self._archive.infolist())
        if self.path.is_dir():
            return sum((self.path / name).stat().st_size for name in self.names)
        return self.path.stat().st_size

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB of the unpacked file; empty for folders and archives."""
        if self.is_tree:
            return b""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    @cached_property
    def head_text(self) -> str:
        """The head as text, up to its last complete line if it has one."""
        data = self.head
        if len(data) == HEAD_BYTES and b"\n" in data:
            data = data[: data.rindex(b"\n") + 1]
        return decode(data)

    @cached_property
    def names(self) -> list[str]:
        """Names of the files inside a folder or archive, with forward slashes, sorted."""
        if self.is_archive:
            return sorted(self._archive_names())
        if not self.path.is_dir():
            return []
        return sorted(
            file.relative_to(self.path).as_posix()
            for file in self.path.rglob("*")
            if file.is_file() and not file.is_symlink()
        )

    def _archive_names(self) -> Iterator[str]:
        total = 0
        for info in self._archive.infolist():
            parts = PurePosixPath(info.filename.replace("\\", "/")).parts
            is_link = (info.external_attr >> 16) & 0o170000 == 0o120000
            if ".." in parts or info.filename.startswith("/") or ":" in parts[:1]:
                raise FormatError(
                    f"{self}: the archive names a file outside itself ({info.filename!r}); "
                    "do not trust it"
                )
            total += info.file_size
            if total > self.max_bytes:
                raise FormatError(
                    f"{self}: unpacks to more than {self.max_bytes:,} bytes; "
                    "if that is right, raise max_bytes"
                )
            is_file = info.filename and not info.is_dir() and not is_link
            if is_file and not info.filename.startswith("__MACOSX/"):
                yield info.filename

    def close(self) -> None:
        """Close the archive, if one was opened."""
        if "_archive" in self.__dict__:
            self._archive.close()

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except _READ_ERRORS as error:
            raise FormatError(f"{self}: cannot be opened as a zip archive ({error})") from error

    def open(self, name: str | None = None) -> io.BufferedReader:
        """Open the file, or a named file in a folder or archive, unpacked and with a size limit."""
        try:
            if name is None:
                raw: IO[bytes] = self.path.open("rb")
                suffix = self._compression
            elif self.is_archive:
                raw, suffix = self._archive.open(name), ""
            else:
                raw, suffix = (self.path / name).open("rb"), ""
        except _READ_ERRORS as error:
            raise FormatError(f"{self}: cannot be opened ({error})") from error
        label = str(self) if name is None else f"{self}: {name}"
        limited = _Limited(raw, suffix, self.max_bytes, label, self.on_read)
        return io.BufferedReader(limited, 1 << 20)

    def read_bytes(self, name: str | None = None) -> bytes:
        """Return the whole unpacked file."""
        with self.open(name) as stream:
            return stream.read()

    def read_text(self, notes: Notes | None = None, name: str | None = None) -> str:
        """Return the whole unpacked file as text, with plain line endings."""
        text = decode(self.read_bytes(name), notes, name or str(self.path.name))
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def blocks(self, size: int = 8 << 20, name: str | None = None) -> Iterator[bytes]:
        """Yield the file in blocks of whole lines, each of about ``size`` bytes.

        UTF-16 is converted to UTF-8 and comes in one block.
        """
        with self.open(name) as stream:
            if stream.peek(2).startswith(_WIDE):
                yield self.read_text(name=name).encode()
                return
            rest: list[bytes] = []
            waiting = 0
            while data := stream.read(size):
                cut = data.rfind(b"\n") + 1
                if cut:
                    yield b"".join([*rest, memoryview(data)[:cut]])
                    rest, waiting = [], 0
                if data[cut:]:
                    rest.append(data[cut:])
                    waiting += len(data) - cut
                if waiting > MAX_LINE:
                    raise FormatError(f"{self}: a line is longer than {MAX_LINE:,} bytes")
            if rest:
                yield b"".join(rest)
