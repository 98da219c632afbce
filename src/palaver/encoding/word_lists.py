"""Sentences as flat arrays, from a corpus, lists of words, or word numbers with lengths."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from palaver.corpus.table import Corpus, as_corpus
from palaver.encoding import checks
from palaver.encoding.tokens import Coded, Encoded, encode
from palaver.encoding.vocabulary import Vocabulary
from palaver.errors import CorpusError, ParameterError

#: Words are counted up to the largest number, so that a stray one would fill the memory.
LARGEST_NUMBER = 100_000_000


def encode_sentences(
    sentences: Any, lengths: ArrayLike | None = None, vocabulary: Vocabulary | None = None
) -> Encoded:
    """Turn sentences into flat arrays that keep every token; unknown words get the number -1.

    Parameters
    ----------
    sentences : Corpus, Encoded, list of texts, sequence of sequences of str, or array of int
        The sentences of a corpus are its messages. Word numbers need ``lengths``.
    lengths : array of int, optional
        Lengths of sentences given as numbers; by default, one sentence.
    vocabulary : Vocabulary, optional
        An existing one; by default, all words are kept, however rare.
    """
    sentences = as_corpus(sentences)
    if isinstance(sentences, Encoded):
        sentences.check(unknown=True)
        return sentences
    if isinstance(sentences, Corpus):
        return encode(sentences, vocabulary, min_count=1, keep_unknown=True)
    if isinstance(sentences, str):
        raise ParameterError(f"sentences must be lists of words, got the text {sentences[:40]!r}")
    if lengths is not None or isinstance(sentences, np.ndarray):
        return _of_numbers(np.asanyarray(sentences), lengths, vocabulary)
    return _of_lists(sentences, vocabulary)


def _of_lists(lists: Sequence[Sequence[str]], vocabulary: Vocabulary | None) -> Encoded:
    """Encode lists of words."""
    for number, words in enumerate(lists):
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise ParameterError(
                f"sentence {number} must be a list of words (strings), got {words!r:.60}"
            )
    flat = pl.Series([word for words in lists for word in words], dtype=pl.String)
    if vocabulary is None:
        table = flat.rename("word").value_counts().sort(["count", "word"], descending=[True, False])
        vocabulary = Vocabulary(table["word"].to_list(), table["count"].to_numpy().astype(np.int64))
    index = vocabulary.index
    tokens = np.array([index.get(word, -1) for word in flat], np.int32)
    return _joined(tokens, np.array([len(words) for words in lists], np.int64), vocabulary)


def _of_numbers(
    ids: NDArray[Any], lengths: ArrayLike | None, vocabulary: Vocabulary | None
) -> Encoded:
    """Use word numbers as they are; a new vocabulary names them by their digits."""
    try:
        ids = checks.whole_numbers("word numbers", ids, np.int64, 0, LARGEST_NUMBER)
    except CorpusError as error:
        raise ParameterError(str(error)) from error
    sizes = [len(ids)] if lengths is None else lengths
    ends = checks.offsets_of_lengths("lengths", sizes, len(ids))
    if vocabulary is None:
        counts = np.bincount(ids) if len(ids) else np.zeros(0, np.int64)
        vocabulary = Vocabulary([str(i) for i in range(len(counts))], counts.astype(np.int64))
    tokens = np.where(ids < len(vocabulary), ids, -1).astype(np.int32)
    return _joined(tokens, np.diff(ends), vocabulary)


def _joined(tokens: NDArray[np.int32], lengths: Any, vocabulary: Vocabulary) -> Encoded:
    """Return sentences without replies, each as a conversation of its own."""
    n = len(lengths)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))
    digest = hashlib.blake2b(tokens.tobytes() + offsets.tobytes(), digest_size=16)
    digest.update("\n".join(vocabulary.words).encode())
    return Encoded(
        tokens, offsets, np.full(n, -1, np.int32), np.arange(n + 1, dtype=np.int64),
        Coded(np.full(n, -1, np.int32), []), {}, vocabulary, int((tokens < 0).sum()),
        digest.hexdigest(),
    )  # fmt: skip
