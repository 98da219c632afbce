"""Streams that the workers of a cluster read: the driver only plans which documents a batch has.

A plan knows where each document is, how many words it has and how often they occur. Workers find
that out, each in its part of the data; afterwards, each reads the documents of its shards.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.readers.source import Source
from palaver.encoding.documents import Documents, DocumentShard, document_parts, shard_of
from palaver.encoding.vocabulary import Vocabulary
from palaver.errors import FormatError
from palaver.parallel.wire import ToRead

#: Columns of a bag of words.
COLUMNS = {"document": pl.Int64, "word": pl.Int64, "count": pl.Float64}
#: Bytes of a file, or documents of a folder, that a worker looks through at a time.
BLOCK, MANY = 16 << 20, 100_000

#: A parallel ``map`` over the workers of a cluster, in order.
Spread = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterator[Any]]


class Plan(ABC):
    """Where documents are.

    Parameters
    ----------
    sizes : array of int64, shape (n_documents,)
        Numbers of words of documents, each counted once.
    sums : array of float64, shape (n_documents,)
        Numbers of tokens.
    vocabulary : Vocabulary
    """

    def __init__(
        self, sizes: NDArray[np.int64], sums: NDArray[np.float64], vocabulary: Vocabulary
    ) -> None:
        self.sizes, self.sums, self.vocabulary = sizes, sums, vocabulary

    @abstractmethod
    def part(self, numbers: NDArray[np.int64], first: int) -> ToRead:
        """Return what a worker needs to read documents; ``first`` is their place in the batch."""


@dataclass(frozen=True)
class PlannedBatch:
    """Documents that have not been read.

    Attributes
    ----------
    plan : Plan
    numbers : array of int64, shape (n_documents,)
    """

    plan: Plan
    numbers: NDArray[np.int64]

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.numbers)

    @property
    def n_tokens(self) -> float:
        """Sum of all counts."""
        return float(self.plan.sums[self.numbers].sum())

    def take(self, chosen: NDArray[np.int64]) -> PlannedBatch:
        """Return the chosen documents."""
        return PlannedBatch(self.plan, self.numbers[chosen])

    def shards(self, smallest: int) -> list[ToRead]:
        """Cut the batch as :func:`palaver.encoding.documents.cut_documents` would."""
        offsets = np.concatenate(([0], np.cumsum(self.plan.sizes[self.numbers])))
        return [
            self.plan.part(self.numbers[first:last], first)
            for first, last in document_parts(offsets, smallest)
        ]

    def read(self) -> Documents:
        """Read the documents here."""
        shard: DocumentShard = self.plan.part(self.numbers, 0).read()
        words = shard.word_ids[shard.words]
        return Documents(shard.offsets, words, shard.counts, self.plan.vocabulary)


def loaded(batch: Documents | PlannedBatch) -> Documents:
    """Return the documents of a batch."""
    return batch.read() if isinstance(batch, PlannedBatch) else batch


# documents in a folder


@dataclass(frozen=True, eq=False)
class FolderPart(ToRead):
    """Some documents of a folder; its arrays are mapped where they are read."""

    offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float64]
    numbers: NDArray[np.int64]
    first: int

    def read(self) -> DocumentShard:
        """Read the documents."""
        starts = self.offsets[self.numbers]
        sizes = self.offsets[self.numbers + 1] - starts
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        places = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
        return shard_of(offsets, self.words[places], self.counts[places], self.first)


class FolderPlan(Plan):
    """Documents of a folder that all machines can reach."""

    def __init__(self, documents: Documents, sums: NDArray[np.float64]) -> None:
        super().__init__(np.diff(documents.offsets), sums, documents.vocabulary)
        self._documents = documents

    def part(self, numbers: NDArray[np.int64], first: int) -> FolderPart:
        """Return the numbers of the documents."""
        own = self._documents
        return FolderPart(own.offsets, own.words, own.counts, numbers, first)


def plan_folder(documents: Documents, spread: Spread) -> FolderPlan | None:
    """Plan a stream of mapped documents; None if counts have fractions.

    These add up to other bytes in another order, and so must be read by the driver.
    """
    n = documents.n_documents
    limits = [(first, min(first + MANY, n)) for first in range(0, n, MANY)]
    work = [
        (FolderPart(documents.offsets, documents.words, documents.counts, np.arange(*ends), 0),)
        for ends in limits
    ]
    sums, whole = zip(*spread(_sums, work), strict=True) if work else ((), ())
    return FolderPlan(documents, np.concatenate([np.empty(0), *sums])) if all(whole) else None


def _sums(shard: DocumentShard) -> tuple[NDArray[np.float64], bool]:
    """Return the tokens of each document, and whether all counts are whole."""
    return _totals(shard.offsets, shard.counts), bool((shard.counts % 1 == 0).all())


def _totals(offsets: NDArray[np.int64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.diff(np.concatenate(([0.0], np.cumsum(counts)))[offsets])


# a bag-of-words file


def checked_rows(block: bytes, name: str, n_words: int, newest: int = 0) -> pl.DataFrame:
    """Parse lines of a docword file, none before the document ``newest``.

    Raises
    ------
    FormatError
    """
    try:
        rows = pl.read_csv(io.BytesIO(block), separator=" ", has_header=False, schema=COLUMNS)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise FormatError(
            f"{name}: a line is not three numbers separated by single spaces; `palaver check` "
            "shows it"
        ) from error
    numbers = rows["document"].to_numpy()
    known = rows["word"].is_between(1, n_words) & (rows["count"] > 0)
    wrong = ~known.fill_null(False) | rows["document"].is_null()
    if numbers[0] < newest or (np.diff(numbers) < 0).any() or wrong.any():
        raise FormatError(
            f"{name}: lines must be sorted by document, with words in 1..{n_words:,} and positive "
            "counts; `palaver check` shows the line"
        )
    return rows


@dataclass(frozen=True)
class TextFile:
    """A docword file.

    Attributes
    ----------
    path : str
    size : int
        In bytes, when the stream began.
    start : int
        Where the counts begin.
    n_words : int
    """

    path: str
    size: int
    start: int
    n_words: int

    def rows(self, start: int, end: int) -> pl.DataFrame:
        """Parse the bytes from ``start`` to ``end``, which are whole lines."""
        return checked_rows(self.bytes(start, end), self.path, self.n_words)

    def bytes(self, start: int, end: int) -> bytes:
        """Read a part of the file.

        Raises
        ------
        FormatError
            The file is not there, or has changed.
        """
        try:
            with Path(self.path).open("rb") as file:
                if file.seek(0, 2) != self.size:
                    raise self.changed()
                file.seek(start)
                return file.read(end - start)
        except OSError as error:
            raise FormatError(
                f"{self.path}: cannot be read by a worker ({error.strerror}); all machines of a "
                "cluster must reach it under the same path"
            ) from error

    def changed(self) -> FormatError:
        """Return the error of a file that is not what was planned."""
        return FormatError(f"{self.path}: has changed since the stream began; fit again")


@dataclass(frozen=True)
class TextPart(ToRead):
    """Some documents of a file: those of a range of bytes that are taken."""

    file: TextFile
    start: int
    end: int
    taken: NDArray[np.bool_]
    first: int

    def read(self) -> DocumentShard:
        """Read the documents."""
        rows = self.file.rows(self.start, self.end)
        numbers = rows["document"].rle_id().to_numpy()
        if not len(numbers) or int(numbers[-1]) + 1 != len(self.taken):
            raise self.file.changed()
        kept = self.taken[numbers]
        starts = np.flatnonzero(np.diff(numbers[kept], prepend=-1))
        offsets = np.append(starts, np.count_nonzero(kept)).astype(np.int64)
        words = rows["word"].to_numpy()[kept].astype(np.int32) - np.int32(1)
        return shard_of(offsets, words, rows["count"].to_numpy()[kept], self.first)


class TextPlan(Plan):
    """Documents of a file that all machines can reach; they come in its order.

    Parameters
    ----------
    starts : array of int64, shape (n_documents + 1,)
        Where documents begin in the file, and where the last one ends.
    """

    def __init__(
        self,
        file: TextFile,
        starts: NDArray[np.int64],
        sizes: NDArray[np.int64],
        sums: NDArray[np.float64],
        vocabulary: Vocabulary,
    ) -> None:
        super().__init__(sizes, sums, vocabulary)
        self._file, self._starts = file, starts

    def part(self, numbers: NDArray[np.int64], first: int) -> TextPart:
        """Return a range of bytes, and which of its documents to take."""
        low, high = int(numbers[0]), int(numbers[-1]) + 1
        taken = np.zeros(high - low, bool)
        taken[numbers - low] = True
        start, end = int(self._starts[low]), int(self._starts[high])
        return TextPart(self._file, start, end, taken, first)


def plan_file(
    source: Source, start: int, vocabulary: Vocabulary, spread: Spread
) -> TextPlan | None:
    """Plan a stream of a file; None if it must be read by the driver.

    That is if it is packed, counts have fractions, or its lines cannot be counted.
    """
    if source.is_packed or not source.path.is_file() or source.head[:1] in (b"\xff", b"\xfe"):
        return None
    size = source.size
    file = TextFile(str(source.path.absolute()), size, start, len(vocabulary))
    work = [(file, first, min(first + BLOCK, size)) for first in range(start, size, BLOCK)]
    found = list(spread(_documents_between, work))
    if not found or any(part is None for part in found):
        return None
    numbers, starts, sizes, sums = map(np.concatenate, zip(*found, strict=True))
    if not len(numbers):
        return None
    if (np.diff(numbers) < 0).any():
        raise FormatError(f"{source}: lines must be sorted by document")
    is_first = np.diff(numbers, prepend=numbers[0] - 1) > 0  # others go on from the part before
    places = np.flatnonzero(is_first)
    return TextPlan(
        file,
        np.append(starts[places], size),
        np.add.reduceat(sizes, places),
        np.add.reduceat(sums, places),
        vocabulary,
    )


def _documents_between(file: TextFile, start: int, end: int) -> tuple[NDArray[Any], ...] | None:
    """Return documents, where they begin, their words and their tokens.

    Of the lines that begin between two places of a file; None if these cannot be counted.
    """
    data = file.bytes(start - (start > file.start), end)
    if start > file.start:  # the line that goes on here is the part's before
        skipped = data.find(b"\n") + 1
        if not skipped:
            return (np.empty(0, np.int64),) * 3 + (np.empty(0),)
        data, start = data[skipped:], start - 1 + skipped
    at = end
    while data and not data.endswith(b"\n") and at < file.size:
        more = file.bytes(at, min(at + 1024, file.size))
        data += more[: more.find(b"\n") + 1] if b"\n" in more else more
        at += 1024
    if not data:
        return (np.empty(0, np.int64),) * 3 + (np.empty(0),)
    rows = checked_rows(data, file.path, file.n_words)
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    lines = np.concatenate(([0], ends[ends < len(data)]))
    counts = rows["count"].to_numpy()
    if len(lines) != rows.height or (counts % 1).any():
        return None
    numbers = rows["document"].to_numpy()
    firsts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
    offsets = np.append(firsts, len(numbers))
    return numbers[firsts], start + lines[firsts], np.diff(offsets), _totals(offsets, counts)
