"""Mini-batches of documents from memory, mapped folders, or bag-of-words files read as streams."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from palaver.encoding.tokens import Encoded
from palaver.encoding.vocabulary import Vocabulary
from palaver.errors import FormatError, ParameterError
from palaver.store.remote import local_folder

_BLOCK = 4 << 20  # bytes of a file to parse at a time
_SCHEMA = {"document": pl.Int64, "word": pl.Int64, "count": pl.Float64}


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

    def batches(self, size: int, passes: int, seed: int) -> Iterator[Documents]:
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
    """

    documents: Documents
    vocabulary: Vocabulary
    n_documents: int | None
    numbers: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, documents: Documents) -> InMemory:
        """Create a source from documents."""
        return cls(documents, documents.vocabulary, documents.n_documents)

    def batches(self, size: int, passes: int, seed: int) -> Iterator[Documents]:
        """Yield mini-batches without replacement."""
        for number in range(passes):
            generator = rng.generator(seed, "batches", 0, number)
            every = self.documents.n_documents if self.numbers is None else self.numbers
            order = generator.permutation(every)
            for first in range(0, len(order), size):
                yield self.documents.take(order[first : first + size])


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
    """A docword file in UCI form, read in file order, a few megabytes at a time."""

    file: Source
    vocabulary: Vocabulary
    n_documents: int | None

    @classmethod
    def of(cls, file: Source) -> BagOfWordsFile:
        """Read the header and the words next to the file."""
        n_documents, n_words, *_ = read_header(file.head, file)
        words = read_vocabulary(file, n_words).to_list()
        return cls(file, Vocabulary(words, np.zeros(n_words, np.int64)), n_documents)

    def batches(self, size: int, passes: int, seed: int) -> Iterator[Documents]:
        """Yield mini-batches of non-empty documents, in file order."""
        for _ in range(passes):
            rest = pl.DataFrame(schema=_SCHEMA)
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
            rows = self._parse(block)
            numbers = rows["document"].to_numpy()
            words, n_words = rows["word"], len(self.vocabulary)
            wrong = ~words.is_between(1, n_words) | ~(rows["count"] > 0)
            if numbers[0] < newest or (np.diff(numbers) < 0).any() or wrong.any():
                raise FormatError(
                    f"{self.file}: lines must be sorted by document, with words in "
                    f"1..{n_words:,} and positive counts; `palaver check` shows the "
                    "line"
                )
            newest = int(numbers[-1])
            yield rows

    def _parse(self, block: bytes) -> pl.DataFrame:
        try:
            return pl.read_csv(io.BytesIO(block), separator=" ", has_header=False, schema=_SCHEMA)
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise FormatError(
                f"{self.file}: a line is not three numbers separated by single spaces; "
                "`palaver check` shows it"
            ) from error

    def _batch(self, rows: pl.DataFrame) -> Documents:
        starts = np.flatnonzero(np.diff(rows["document"].to_numpy(), prepend=-1))
        offsets = np.append(starts, rows.height).astype(np.int64)
        words = rows["word"].to_numpy().astype(np.int32) - np.int32(1)
        return Documents(offsets, words, rows["count"].to_numpy().copy(), self.vocabulary)


@dataclass(frozen=True)
class ThinnedFile:
    """A docword file without every ``step``-th of its documents."""

    file: BagOfWordsFile
    step: int
    vocabulary: Vocabulary
    n_documents: int | None

    def batches(self, size: int, passes: int, seed: int) -> Iterator[Documents]:
        """Yield mini-batches without the documents that are set aside."""
        for _ in range(passes):
            for batch, aside in self._parts(size):
                yield batch.take(np.flatnonzero(~aside))

    def set_aside(self, size: int = 500) -> Iterator[Documents]:
        """Yield the documents that are set aside."""
        for batch, aside in self._parts(size):
            yield batch.take(np.flatnonzero(aside))

    def _parts(self, size: int) -> Iterator[tuple[Documents, NDArray[np.bool_]]]:
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
    rest = InMemory(source.documents, source.vocabulary, len(others), others)
    return rest, source.documents.take(np.flatnonzero(is_aside))


def joined(parts: Sequence[Documents]) -> Documents:
    """Return the documents of several batches as one."""
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return Documents(
        np.concatenate(([0], np.cumsum(lengths))),
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.counts for part in parts]),
        parts[0].vocabulary,
    )
