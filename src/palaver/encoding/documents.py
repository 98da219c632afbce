"""Documents: word types with counts, for models that ignore word order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver import store
from palaver.corpus.table import Corpus, as_corpus
from palaver.encoding import checks
from palaver.encoding.shards import even_parts
from palaver.encoding.tokens import Encoded, encode
from palaver.encoding.vocabulary import Vocabulary
from palaver.errors import CorpusError, DamagedStoreError, ParameterError

#: Smaller shards cost more in merging than they gain in balance.
SMALLEST, MOST = 20_000, 32


@dataclass(frozen=True, eq=False, repr=False)
class Documents:
    """Bags of words, which are checked when they are made and whenever a model reads them.

    Attributes
    ----------
    offsets : array of int64, shape (n_documents + 1,)
        Document ``d`` has ``words[offsets[d]:offsets[d + 1]]``, each word once.
    words : array of int32, shape (n_counts,)
    counts : array of float64, shape (n_counts,)
        How often each word occurs; always positive, not necessarily whole.
    vocabulary : Vocabulary
    fingerprint : str
    """

    offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float64]
    vocabulary: Vocabulary
    fingerprint: str = ""

    def __post_init__(self) -> None:
        for name, value in self._checked().items():
            object.__setattr__(self, name, value)

    def check(self) -> None:
        """Check all arrays again, which may have been written to.

        Raises
        ------
        CorpusError
        """
        self._checked()

    def _checked(self) -> dict[str, NDArray[Any]]:
        """Return the arrays in the form that kernels read."""
        if not isinstance(self.vocabulary, Vocabulary):
            raise CorpusError("Documents.vocabulary: must be a Vocabulary")
        self.vocabulary.check("Documents.vocabulary")
        last = len(self.vocabulary) - 1
        words = checks.whole_numbers("Documents.words", self.words, np.int32, 0, last)
        counts = checks.real_numbers("Documents.counts", self.counts)
        checks.same_length("Documents.counts", counts, len(words), "words")
        # not-a-number fails the comparison
        if len(counts) and not (counts.min() > 0 and counts.max() < np.inf):
            first = int(np.argmax(~((counts > 0) & (counts < np.inf))))
            raise CorpusError(
                f"Documents.counts: number {first:,} is {counts[first]:g}, but must be positive "
                "and finite"
            )
        offsets = checks.offsets("Documents.offsets", self.offsets, len(words))
        return {"offsets": offsets, "words": words, "counts": counts}

    @property
    def n_documents(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.offsets) - 1

    @property
    def n_messages(self) -> int:
        """Number of documents; all data of models have this property."""
        return self.n_documents

    @property
    def n_tokens(self) -> float:
        """Sum of all counts."""
        return float(self.counts.sum())

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Sum of each document's counts."""
        sums = np.concatenate(([0.0], np.cumsum(self.counts)))
        return np.where(np.diff(self.offsets) > 0, sums[self.offsets[1:]] - sums[self.offsets[:-1]],
                        0.0)  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"Documents({self.n_documents:,} documents, {len(self.words):,} counts, "
            f"{len(self.vocabulary):,} words)"
        )

    def part(self, first: int, last: int) -> Documents:
        """Return documents ``first`` to ``last - 1``."""
        inside = slice(int(self.offsets[first]), int(self.offsets[last]))
        return Documents(
            self.offsets[first : last + 1] - self.offsets[first],
            self.words[inside],
            self.counts[inside],
            self.vocabulary,
        )

    def take(self, chosen: NDArray[np.int64]) -> Documents:
        """Return the chosen documents, in that order."""
        sizes = np.diff(self.offsets)[chosen]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        places = np.repeat(self.offsets[chosen] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Documents(offsets, self.words[places], self.counts[places], self.vocabulary)

    def matrix(self) -> Any:
        """Return the counts as a scipy CSR matrix, (n_documents, n_words)."""
        from scipy.sparse import csr_matrix

        shape = (self.n_documents, len(self.vocabulary))
        return csr_matrix((self.counts, self.words, self.offsets), shape=shape)

    def write(self, folder: str | Path) -> None:
        """Write the arrays to a folder, for :meth:`open` to map."""
        arrays: dict[str, NDArray[Any]] = {
            "offsets": self.offsets,
            "words": self.words,
            "counts": self.counts,
            "word_counts": self.vocabulary.counts,
        }
        content = {"words": self.vocabulary.words, "fingerprint": self.fingerprint}
        store.save(folder, "documents", content, arrays)

    @classmethod
    def open(cls, folder: str | Path, *, mapped: bool = True) -> Documents:
        """Open stored documents; arrays are mapped from disk, not kept in memory.

        Raises
        ------
        DamagedStoreError
            An array is missing, was altered, or refers to what is not there.
        """
        stored = store.load(folder, "documents", mapped=mapped)
        arrays, content = stored.arrays, stored.content
        try:
            texts = [*content["words"], content["fingerprint"]]
            if not all(isinstance(text, str) for text in texts):
                raise ValueError("a word or the fingerprint is not text")
            return cls(
                arrays["offsets"],
                arrays["words"],
                arrays["counts"],
                Vocabulary(content["words"], arrays["word_counts"]),
                content["fingerprint"],
            )
        except (AttributeError, CorpusError, KeyError, TypeError, ValueError) as error:
            raise DamagedStoreError(
                f"{folder}: does not contain complete documents ({type(error).__name__}: {error}); "
                "restore the folder from a backup, or create it again"
            ) from error


def documents_of(
    data: Any, vocabulary: Vocabulary | Sequence[str] | None = None, unit: str = "message"
) -> Documents:
    """Turn data of any kind into documents.

    Parameters
    ----------
    data : Documents, scipy sparse matrix, array, Corpus, Encoded or list of texts
        A matrix has one row per document and one column per word.
    vocabulary : Vocabulary or sequence of str, optional
        Names of the columns; for a corpus, the words to keep.
    unit : {"message", "conversation"}
        What counts as a document of a corpus.
    """
    if isinstance(data, Documents):
        data.check()
        return data
    data = as_corpus(data)
    if isinstance(data, Corpus):
        known = vocabulary if isinstance(vocabulary, Vocabulary) else _named(vocabulary)
        return _of_encoded(encode(data, known), unit)
    if isinstance(data, Encoded):
        return _of_encoded(data, unit)
    if hasattr(data, "tocsr") or isinstance(data, np.ndarray):
        return _of_matrix(data, vocabulary)
    raise ParameterError(
        f"documents must be a scipy sparse matrix or an array of counts, a Corpus, Encoded or "
        f"Documents, got {type(data).__name__}"
    )


def _named(words: Sequence[str] | None) -> Vocabulary | None:
    return None if words is None else Vocabulary(list(words), np.zeros(len(words), np.int64))


def _of_encoded(encoded: Encoded, unit: str) -> Documents:
    """Count the words of each message or conversation."""
    encoded.check()
    ends = encoded.message_offsets
    if unit == "conversation":
        ends = ends[encoded.conversation_offsets]
    n_documents, n_words = len(ends) - 1, max(len(encoded.vocabulary), 1)
    places = np.repeat(np.arange(n_documents), np.diff(ends)) * n_words + encoded.tokens
    pairs, counts = np.unique(places, return_counts=True)
    offsets = np.searchsorted(pairs, np.arange(n_documents + 1) * n_words).astype(np.int64)
    words = (pairs % n_words).astype(np.int32)
    return Documents(
        offsets, words, counts.astype(np.float64), encoded.vocabulary, encoded.fingerprint
    )


def _of_matrix(matrix: Any, vocabulary: Vocabulary | Sequence[str] | None) -> Documents:
    """Check a matrix of counts and turn its rows into documents."""
    from scipy.sparse import csr_matrix, issparse

    if getattr(matrix, "ndim", 2) != 2:
        raise ParameterError(f"counts must have two dimensions, got {matrix.ndim}")
    if not issparse(matrix):
        try:
            matrix = checks.real_numbers("counts", matrix, 2)
        except CorpusError as error:
            raise ParameterError(str(error)) from error
    elif matrix.dtype.kind not in "iufb":
        raise ParameterError(f"counts must be numbers, got {matrix.dtype}")
    try:
        if issparse(matrix) and matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)  # what refers to nowhere would crash
        rows = csr_matrix(matrix, dtype=np.float64, copy=True)
        rows.check_format(full_check=True)
    except (AttributeError, TypeError, ValueError) as error:
        raise ParameterError(
            f"counts must be a sound sparse matrix of numbers ({error}); make it again from its "
            "rows, columns and values"
        ) from error
    rows.sum_duplicates()
    rows.eliminate_zeros()
    wrong = ~(np.isfinite(rows.data) & (rows.data > 0))
    if wrong.any():
        first = int(np.argmax(wrong))
        row = int(np.searchsorted(rows.indptr, first, side="right")) - 1
        raise CorpusError(
            f"counts must be finite and non-negative; document {row}, word {rows.indices[first]} "
            f"has {rows.data[first]:g}"
        )
    n_words = rows.shape[1]
    if vocabulary is None:
        vocabulary = [str(number) for number in range(n_words)]
    if len(vocabulary) != n_words:
        raise ParameterError(
            f"the vocabulary has {len(vocabulary):,} words, but the matrix {n_words:,} columns"
        )
    if not isinstance(vocabulary, Vocabulary):
        sums = np.asarray(rows.sum(axis=0)).ravel()
        vocabulary = Vocabulary([str(word) for word in vocabulary], np.rint(sums).astype(np.int64))
    digest = hashlib.blake2b(digest_size=16)
    for array in (rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data):
        digest.update(array.tobytes())
    return Documents(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        rows.data,
        vocabulary,
        digest.hexdigest(),
    )


@dataclass(frozen=True, eq=False)
class DocumentShard:
    """Contiguous documents with words renumbered within the shard.

    Attributes
    ----------
    offsets, words, counts : arrays
        As in :class:`Documents`; words are rows of ``word_ids``.
    word_ids : array of int32, shape (n_own_words,)
        Numbers of the words in the vocabulary.
    first_document : int
    """

    offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float64]
    word_ids: NDArray[np.int32]
    first_document: int

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse arrays that refer to what is not there: kernels check no bounds.

        Raises
        ------
        CorpusError
        """
        last = len(self.word_ids) - 1
        checks.whole_numbers("DocumentShard.words", self.words, np.int32, 0, last)
        checks.same_length("DocumentShard.counts", self.counts, len(self.words), "words")
        checks.offsets("DocumentShard.offsets", self.offsets, len(self.words))

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.offsets) - 1

    @property
    def longest(self) -> int:
        """The most different words in a document."""
        return int(np.diff(self.offsets).max(initial=0))

    @property
    def n_tokens(self) -> int:
        """Number of counts, a measure of the work."""
        return len(self.words)


def cut_documents(documents: Documents, smallest: int | None = None) -> list[DocumentShard]:
    """Cut documents into at most 32 shards of at least ``smallest`` (default 20,000) counts."""
    shards = []
    for first, last in document_parts(documents.offsets, smallest or SMALLEST):
        part = documents.part(first, last)
        shards.append(shard_of(part.offsets, part.words, part.counts, first))
    return shards


def document_parts(offsets: NDArray[np.int64], smallest: int) -> list[tuple[int, int]]:
    """Return the first and last documents of at most 32 shards of at least ``smallest`` counts."""
    n_shards = int(np.clip(offsets[-1] // smallest, 1, MOST))
    return even_parts(offsets, n_shards)


def shard_of(
    offsets: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float64],
    first_document: int,
) -> DocumentShard:
    """Return a shard of documents, its words renumbered."""
    word_ids, renumbered = np.unique(words, return_inverse=True)
    return DocumentShard(
        np.ascontiguousarray(offsets),
        renumbered.astype(np.int32),
        np.ascontiguousarray(counts, np.float64),
        word_ids.astype(np.int32),
        first_document,
    )
