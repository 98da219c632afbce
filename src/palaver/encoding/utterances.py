"""Utterances as vectors: weighted word vectors, pooled and whitened, or any encoder's output."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from palaver.corpus.table import Corpus
from palaver.encoding import checks
from palaver.encoding.corpus_vectors import learn_word_vectors, upright
from palaver.encoding.tokens import Encoded, encode
from palaver.encoding.vectors import WordVectors
from palaver.encoding.vocabulary import Vocabulary
from palaver.errors import CorpusError, ParameterError
from palaver.params import check, either, flag, nothing, one_of, whole

#: A sentence encoder: a function from texts to an array with one row per text.
SentenceEncoder = Callable[[Sequence[str]], ArrayLike]
#: What utterance vectors can be made from.
VectorSource = str | Path | WordVectors | SentenceEncoder | NDArray[np.float64]

_LIMITS = {
    "weighting": one_of("idf", "root-idf", "even"),
    "pooling": one_of("mean", "sum"),
    "whiten": either(whole(1), nothing()),
    "normalize": flag(),
}
_LARGEST = 1e100  # squares of larger numbers overflow


@dataclass(frozen=True, eq=False, repr=False)
class Utterances:
    """Utterances as vectors, in conversations.

    Attributes
    ----------
    vectors : array of float64, shape (n_messages, M)
        Vectors of the messages that have one; those without a known word are left out.
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    words : sparse array, shape (n_messages, n_words)
        How often each word occurs in each utterance; no columns if words are unknown.
    vocabulary : Vocabulary
    fingerprint : str
        Depends on the vectors and the conversations.
    coverage : float
        Share of the tokens whose words have vectors.
    has_vector : array of bool, shape (n,), optional
        Which of all messages have a vector; by default, all.
    """

    vectors: NDArray[np.float64]
    conversation_offsets: NDArray[np.int64]
    words: sparse.csr_array
    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary([], np.zeros(0, np.int64)))
    coverage: float = float("nan")
    has_vector: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        vectors = checks.real_numbers("Utterances.vectors", self.vectors, 2)
        offsets = checks.offsets(
            "Utterances.conversation_offsets", self.conversation_offsets, len(vectors)
        )
        object.__setattr__(self, "vectors", vectors)
        object.__setattr__(self, "conversation_offsets", offsets)

    @property
    def n_messages(self) -> int:
        """Number of utterances."""
        return len(self.vectors)

    def only(self, has_vector: NDArray[np.bool_]) -> Utterances:
        """Drop messages without a vector; their neighbours become adjacent."""
        if has_vector.all():
            return self
        before = np.concatenate(([0], np.cumsum(has_vector, dtype=np.int64)))
        return replace(
            self, vectors=self.vectors[has_vector], words=self.words[np.flatnonzero(has_vector)],
            conversation_offsets=before[self.conversation_offsets], has_vector=has_vector,
        )  # fmt: skip

    def spread(self, values: NDArray[Any], fill: ArrayLike) -> NDArray[Any]:
        """Return one row for every message, with ``fill`` for those without a vector."""
        if self.has_vector is None:
            return values
        rows = np.empty((len(self.has_vector), *values.shape[1:]), values.dtype)
        rows[:] = fill
        rows[self.has_vector] = values
        return rows

    @property
    def fingerprint(self) -> str:
        """A short hash, equal for equal vectors in equal conversations."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr(self.vectors.shape).encode())
        for array in (self.vectors, self.conversation_offsets):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    @classmethod
    def of_arrays(cls, X: ArrayLike, lengths: ArrayLike | None = None) -> Utterances:
        """Check vectors and the lengths of their conversations.

        Parameters
        ----------
        X : array, shape (n, M)
        lengths : array of int, optional
            Number of utterances in each conversation, in order; by default, one conversation.
        """
        vectors = checked_vectors(X)
        if lengths is None:
            lengths = [len(vectors)] if len(vectors) else []
        offsets = checks.offsets_of_lengths("lengths", lengths, len(vectors))
        return cls(vectors, offsets, sparse.csr_array((len(vectors), 0)))


def checked_vectors(X: ArrayLike) -> NDArray[np.float64]:
    """Return vectors as a table of numbers; an error names the first row that cannot be used."""
    shape = np.shape(X)
    if len(shape) != 2 or (shape[0] and not shape[1]):
        raise ParameterError(f"vectors must be a table (n, M), got shape {shape}")
    vectors = checks.real_numbers("vectors", X, 2)
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(vectors) <= _LARGEST)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise CorpusError(
            f"row {row} of the vectors has {vectors[row, column]} in column {column} "
            f"({int(bad.any(axis=1).sum()):,} such rows); replace or drop it"
        )
    return vectors


@dataclass(frozen=True, eq=False)
class WordPooling:
    """Turns word vectors into utterance vectors; learned once, applied to new conversations.

    Attributes
    ----------
    word_vectors : array of float64, shape (n_words, M)
        Already projected; zero for words without a vector.
    word_weights : array of float64, shape (n_words,)
        Zero for words without a vector.
    centre : array of float64, shape (M,)
        Subtracted from every utterance vector.
    pooling : {"mean", "sum"}
    """

    word_vectors: NDArray[np.float64]
    word_weights: NDArray[np.float64]
    centre: NDArray[np.float64]
    pooling: str

    def has_known_words(self, encoded: Encoded) -> NDArray[np.bool_]:
        """Return which messages have a word with positive weight, (n_messages,)."""
        return np.asarray(word_counts(encoded) @ (self.word_weights > 0) > 0)

    def __call__(self, encoded: Encoded) -> NDArray[np.float64]:
        """Return the vectors of all messages, (n_messages, M)."""
        counts = word_counts(encoded)
        return _pool(counts, self.word_vectors, self.word_weights, self.pooling) - self.centre


def word_counts(encoded: Encoded) -> sparse.csr_array:
    """Return how often each word occurs in each message, (n_messages, n_words)."""
    encoded.check()
    ones = np.ones(encoded.n_tokens)
    shape = (encoded.n_messages, len(encoded.vocabulary))
    # copies, because duplicates are summed in place
    tokens, offsets = np.array(encoded.tokens), np.array(encoded.message_offsets)
    counts = sparse.csr_array((ones, tokens, offsets), shape)
    counts.sum_duplicates()
    return counts


def _pool(
    counts: sparse.csr_array,
    word_vectors: NDArray[np.float64],
    word_weights: NDArray[np.float64],
    pooling: str,
) -> NDArray[np.float64]:
    """Return the weighted sum or mean of each message's word vectors; zero if it has none."""
    pooled: NDArray[np.float64] = counts @ (word_vectors * word_weights[:, None])
    if pooling == "mean":
        totals = counts @ word_weights
        pooled /= np.where(totals > 0, totals, 1.0)[:, None]
    return pooled


def learn_pooling(
    encoded: Encoded,
    vectors: WordVectors,
    *,
    weighting: str = "idf",
    pooling: str = "mean",
    normalize: bool = True,
    whiten: int | None = None,
) -> WordPooling:
    """Learn weights, centre and projection from a corpus; see :func:`utterance_vectors`."""
    check("utterance_vectors", _LIMITS,
          {"weighting": weighting, "pooling": pooling, "whiten": whiten,
           "normalize": normalize})  # fmt: skip
    word_vectors, known = vectors.look_up(encoded.vocabulary.words)
    if normalize:
        lengths = np.linalg.norm(word_vectors, axis=1, keepdims=True)
        word_vectors /= np.where(lengths > 0, lengths, 1.0)
    counts = word_counts(encoded)
    weights = known.astype(float)
    if weighting != "even":
        spread = np.bincount(counts.indices, minlength=counts.shape[1])
        rarity = np.log(max(encoded.n_messages, 1) / np.maximum(spread, 1))
        weights *= np.sqrt(rarity) if weighting == "root-idf" else rarity
        if not weights.any():  # every message contains every word
            weights = known.astype(float)
    if whiten is None:
        return WordPooling(word_vectors, weights, np.zeros(word_vectors.shape[1]), pooling)
    centre, projection = whitening(_pool(counts, word_vectors, weights, pooling), whiten)
    with threadpool_limits(1):
        return WordPooling(word_vectors @ projection, weights, centre @ projection, pooling)


def whitening(
    vectors: NDArray[np.float64], n_dimensions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centre (M,) and the projection (M, d) to d uncorrelated dimensions.

    Principal components with positive variance, scaled to variance one; d <= ``n_dimensions``.
    """
    with threadpool_limits(1):
        centre = vectors.mean(axis=0)
        centred = vectors - centre
        values, axes = np.linalg.eigh(centred.T @ centred / max(len(vectors), 1))
    order = np.argsort(-values, kind="stable")[:n_dimensions]
    varying = values[order] > max(values.max(initial=0.0), 0.0) * 1e-12
    order = order[varying] if varying.any() else order[:1]
    scales = np.sqrt(np.where(values[order] > 0, values[order], 1.0))
    return centre, upright(axes[:, order]) / scales


def word_vectors_of(encoded: Encoded, vectors: str | Path | WordVectors) -> WordVectors:
    """Return word vectors: learned if ``"corpus"``, read from a file, or as given."""
    if isinstance(vectors, WordVectors):
        return vectors
    if vectors == "corpus":
        return learn_word_vectors(encoded)
    return WordVectors.read(vectors, encoded.vocabulary.words)


def sentence_vectors(
    corpus: Corpus | None, vectors: object, n_messages: int
) -> NDArray[np.float64]:
    """Return one vector per message from an array or a sentence encoder."""
    if callable(vectors):
        if corpus is None:
            raise ParameterError("a sentence encoder needs texts: pass a Corpus, not Encoded")
        vectors = vectors(corpus.table["text"].fill_null("").to_list())
    found = checked_vectors(vectors)  # type: ignore[arg-type]
    if len(found) != n_messages:
        raise ParameterError(f"there are {len(found):,} vectors for {n_messages:,} messages")
    return found


def with_text(corpus: Corpus) -> NDArray[np.bool_]:
    """Return which messages have a text that is not blank, (n_messages,)."""
    return (corpus.table["text"].fill_null("").str.strip_chars() != "").to_numpy()


def utterance_vectors(
    corpus: Corpus | Encoded,
    vectors: VectorSource = "corpus",
    weighting: str = "idf",
    *,
    pooling: str = "mean",
    normalize: bool = True,
    whiten: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return a vector per message of a corpus, and the lengths of its conversations.

    Parameters
    ----------
    corpus : Corpus or Encoded
    vectors : "corpus", path, WordVectors, callable or array
        Word vectors learned from the corpus itself; a file of word vectors
        (:meth:`WordVectors.read`); word vectors; a function from a list of texts to an array
        with one row per text, such as a sentence encoder; or that array.
    weighting : {"idf", "root-idf", "even"}
        Weight of a word: the log of messages over messages that contain it, its root, or one.
    pooling : {"mean", "sum"}
        How to combine a message's weighted word vectors; zero if it has no known words.
    normalize : bool
        Scale every word vector to length one first.
    whiten : int, optional
        Project to this many principal components, scaled to variance one.

    Returns
    -------
    X : array of float64, shape (n_messages, n_dimensions)
    lengths : array of int64, shape (n_conversations,)

    Examples
    --------
    >>> X, lengths = pv.utterance_vectors(corpus, "glove.6B.100d.txt")   # doctest: +SKIP
    >>> pv.GaussianHMM(n_states=10).fit(X, lengths)                      # doctest: +SKIP
    """
    lengths = np.diff(corpus.conversation_offsets).astype(np.int64)
    if callable(vectors) or isinstance(vectors, np.ndarray):
        texts = corpus if isinstance(corpus, Corpus) else None
        found = sentence_vectors(texts, vectors, corpus.n_messages)
        if whiten is not None:
            centre, projection = whitening(found, whiten)
            found = (found - centre) @ projection
        return found, lengths
    encoded = corpus if isinstance(corpus, Encoded) else encode(corpus)
    pool = learn_pooling(
        encoded, word_vectors_of(encoded, vectors), weighting=weighting, pooling=pooling,
        normalize=normalize, whiten=whiten,
    )  # fmt: skip
    return pool(encoded), lengths
