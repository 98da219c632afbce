"""Mini-batches of documents from memory, mapped folders, or bag-of-words files read as streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng, store
from palaver.corpus.readers.bagofwords import read_header, read_vocabulary
from palaver.corpus.readers.source import Source
from palaver.corpus.table import read
from palaver.encoding.documents import Documents, documents_of
from palaver.encoding.planned import (
    COLUMNS,
    FolderPlan,
    PlannedBatch,
    TextPlan,
    checked_rows,
    loaded,
    plan_file,
    plan_folder,
)
from palaver.encoding.tokens import Encoded
from palaver.encoding.vocabulary import Vocabulary
from palaver.errors import ParameterError
from palaver.parallel.wire import is_mapped
from palaver.store.remote import local_folder

#: What a stream yields: documents, or which ones to read.
Batch = Documents | PlannedBatch

_BLOCK = 4 << 20  # bytes of a file to parse at a time


class DocumentSource(Protocol):
    """Where mini-batches come from.

    Attributes
    ----------
    vocabulary : Vocabulary
    n_documents : int or None
        None if unknown.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        ...

    @property
    def n_documents(self) -> int | None:
        """Number of documents, or None if unknown."""
        ...

    def batches(self, size: int, passes: int, seed: int) -> Iterator[Batch]:
        """Yield all documents ``passes`` times, ``size`` at a time."""
        ...


def document_source(
    source: Any, vocabulary: Vocabulary | Sequence[str] | None = None, unit: str = "message"
) -> DocumentSource:
    """Return a source of documents for a path, data in memory, or an iterable of data.

    A URL must be that of a folder written by ``Documents.write`` or ``Encoded.write``.
    """
    if isinstance(source, str | Path):
        return _of_path(local_folder(source), vocabulary, unit)
    known = isinstance(source, np.ndarray | Documents | Encoded) or hasattr(source, "tocsr")
    if known or hasattr(source, "table"):
        return InMemory.of(documents_of(source, vocabulary, unit))
    if isinstance(source, Iterable):
        return Iterated(source, vocabulary, unit)
    raise ParameterError(
        "a stream must be a path, a matrix of counts, a Corpus or an iterable of these, got "
        f"{type(source).__name__}"
    )


def _of_path(
    path: Path, vocabulary: Vocabulary | Sequence[str] | None, unit: str
) -> DocumentSource:
    """Open a stored folder or a bag-of-words file; read any other file as conversations."""
    if store.is_stored(path):
        if store.load(path, mapped=True).kind == "encoded corpus":
            return InMemory.of(documents_of(Encoded.open(path), unit=unit))
        return InMemory.of(Documents.open(path))
    file = Source(path)
    if file.name.startswith("docword."):
        return BagOfWordsFile.of(file)
    return InMemory.of(documents_of(read(path), vocabulary, unit))


@dataclass(frozen=True)
class InMemory:
    """Documents in memory or mapped from disk, in a new random order on each pass.

    Attributes
    ----------
    numbers : array of int64, optional
        The documents to use; all by default.
    plan : FolderPlan, optional
        By which workers read them.
    """

    documents: Documents
    vocabulary: Vocabulary
    n_documents: int | None
    numbers: NDArray[np.int64] | None = None
    plan: FolderPlan | None = None

    @classmethod
    def of(cls, documents: Documents) -> InMemory:
        """Create a source from documents."""
        return cls(documents, documents.vocabulary, documents.n_documents)

    def batches(self, size: int, passes: int, seed: int) -> Iterator[Batch]:
        """Yield mini-batches without replacement."""
        for number in range(passes):
            generator = rng.generator(seed, "batches", 0, number)
            every = self.documents.n_documents if self.numbers is None else self.numbers
            order = generator.permutation(every)
            for first in range(0, len(order), size):
                yield self.batch(order[first : first + size])

    def batch(self, numbers: NDArray[np.int64]) -> Documents | PlannedBatch:
        """Return some of the documents."""
        return (
            self.documents.take(numbers) if self.plan is None else PlannedBatch(self.plan, numbers)
        )


class Iterated:
    """The items of an iterable, each of which is one mini-batch."""

    def __init__(
        self, items: Iterable[Any], vocabulary: Vocabulary | Sequence[str] | None, unit: str
    ) -> None:
        self._items, self._unit = items, unit
        self._iterator = iter(items)
        first = next(self._iterator, None)
        if first is None:
            raise ParameterError("the iterable yields nothing to learn from")
        self._first = documents_of(first, vocabulary, unit)
        self.vocabulary = self._first.vocabulary
        self.n_documents: int | None = None

    def batches(self, size: int, passes: int, seed: int) -> Iterator[Documents]:
        """Yield the items; ``size`` is ignored."""
        if passes > 1 and iter(self._items) is self._items:
            raise ParameterError("an iterator can be read only once; pass a list, or passes=1")
        for number in range(passes):
            items = chain([self._first], self._iterator) if number == 0 else iter(self._items)
            for item in items:
                documents = documents_of(item, self.vocabulary, self._unit)
                if len(documents.vocabulary) != len(self.vocabulary):
                    raise ParameterError(
                        f"a batch has {len(documents.vocabulary):,} words, but the first had "
                        f"{len(self.vocabulary):,}"
                    )
                yield documents


@dataclass(frozen=True)
class BagOfWordsFile:
    """A docword file in UCI form, read in file order, a few megabytes at a time.

    Attributes
    ----------
    plan : TextPlan, optional
        By which workers read it.
    """

    file: Source
    vocabulary: Vocabulary
    n_documents: int | None
    plan: TextPlan | None = None

    @classmethod
    def of(cls, file: Source) -> BagOfWordsFile:
        """Read the header and the words next to the file."""
        n_documents, n_words, *_ = read_header(file.head, file)
        words = read_vocabulary(file, n_words).to_list()
        return cls(file, Vocabulary(words, np.zeros(n_words, np.int64)), n_documents)

    def batches(self, size: int, passes: int, seed: int) -> Iterator[Batch]:
        """Yield mini-batches of non-empty documents, in file order."""
        for _ in range(passes):
            if self.plan is not None:
                numbers = np.arange(len(self.plan.sizes))
                for batch in range(0, len(numbers), size):
                    yield PlannedBatch(self.plan, numbers[batch : batch + size])
                continue
            rest = pl.DataFrame(schema=COLUMNS)
            for rows in self._rows():
                rest = pl.concat((rest, rows))
                number = rest["document"].rle_id().to_numpy()
                n_whole = int(number[-1])  # the last document may continue in the next block
                for batch in range(n_whole // size):
                    first, last = np.searchsorted(number, [batch * size, (batch + 1) * size])
                    yield self._batch(rest[int(first) : int(last)])
                rest = rest[int(np.searchsorted(number, n_whole // size * size)) :]
            if rest.height:
                yield self._batch(rest)

    def _rows(self) -> Iterator[pl.DataFrame]:
        """Yield tables of document, word and count."""
        start, newest = read_header(self.file.head, self.file)[-1], 0
        for block in self.file.blocks(_BLOCK):
            block, start = block[start:], 0
            if not block.strip():
                continue
            rows = checked_rows(block, str(self.file), len(self.vocabulary), newest)
            newest = int(rows["document"][-1])
            yield rows

    def _batch(self, rows: pl.DataFrame) -> Documents:
        starts = np.flatnonzero(np.diff(rows["document"].to_numpy(), prepend=-1))
        offsets = np.append(starts, rows.height).astype(np.int64)
        words = rows["word"].to_numpy().astype(np.int32) - np.int32(1)
        return Documents(offsets, words, rows["count"].to_numpy().copy(), self.vocabulary)


def planned(source: DocumentSource, executor: Any) -> DocumentSource:
    """Let the workers of a cluster read a source, if they can.

    They can read a folder of documents that was opened, and a bag-of-words file that is not
    packed. Data in memory, packed files and what has fractions are read by the driver, which
    sends the batches.
    """
    spread = getattr(executor, "spread", None)
    if spread is None:
        return source
    if isinstance(source, InMemory) and is_mapped(source.documents.words):
        return replace(source, plan=plan_folder(source.documents, spread))
    if isinstance(source, BagOfWordsFile):
        start = read_header(source.file.head, source.file)[-1]
        return replace(source, plan=plan_file(source.file, start, source.vocabulary, spread))
    return source


@dataclass(frozen=True)
class ThinnedFile:
    """A docword file without every ``step``-th of its documents."""

    file: BagOfWordsFile
    step: int
    vocabulary: Vocabulary
    n_documents: int | None

    def batches(self, size: int, passes: int, seed: int) -> Iterator[Batch]:
        """Yield mini-batches without the documents that are set aside."""
        for _ in range(passes):
            for batch, aside in self._parts(size):
                yield batch.take(np.flatnonzero(~aside))

    def set_aside(self, size: int = 500) -> Iterator[Batch]:
        """Yield the documents that are set aside."""
        for batch, aside in self._parts(size):
            yield batch.take(np.flatnonzero(aside))

    def _parts(self, size: int) -> Iterator[tuple[Batch, NDArray[np.bool_]]]:
        first = 0
        for batch in self.file.batches(size, 1, 0):
            numbers = np.arange(first, first + batch.n_documents)
            yield batch, numbers % self.step == self.step // 2
            first += batch.n_documents


def set_aside(source: DocumentSource, number: int) -> tuple[DocumentSource, Documents | None]:
    """Set some documents of a source aside, evenly spread over it.

    Parameters
    ----------
    source : DocumentSource
        In memory, mapped, or a bag-of-words file; nothing can be set aside of an iterable.
    number : int
        About how many documents; at most a tenth of all.

    Returns
    -------
    source : DocumentSource
        The others.
    aside : Documents or None
        None if there are too few documents.
    """
    total = source.n_documents or 0
    number = min(number, total // 10)
    if not number:
        return source, None
    step = total // number
    if isinstance(source, BagOfWordsFile):
        thinned = ThinnedFile(source, step, source.vocabulary, total - total // step)
        return thinned, joined(list(thinned.set_aside()))
    if not isinstance(source, InMemory):
        return source, None
    is_aside = np.arange(total) % step == step // 2
    others = np.flatnonzero(~is_aside)
    rest = replace(source, n_documents=len(others), numbers=others)
    return rest, source.documents.take(np.flatnonzero(is_aside))


def joined(batches: Sequence[Batch]) -> Documents:
    """Return the documents of several batches as one."""
    parts = [loaded(batch) for batch in batches if batch.n_documents]
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return Documents(
        np.concatenate(([0], np.cumsum(lengths))),
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.counts for part in parts]),
        parts[0].vocabulary,
    )
