"""What taggers read: labels, words with an unknown one and an end, changes of speaker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Vocabulary, encode
from palaver.errors import CorpusError, ParameterError
from palaver.language.words import END, UNKNOWN

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sentences:
    """Messages as sentences of numbers; a conversation is one stream of them.

    Attributes
    ----------
    tokens : array of int32, shape (n_tokens,)
        Words, 0 for the unknown one; each sentence ends with 1, the end, if it is predicted.
    message_offsets : array of int64, shape (n_messages + 1,)
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    changes : array of int8, shape (n_messages,)
        1 where the speaker differs from the one before; a conversation starts with 1.
    tags : array of int32, shape (n_messages,)
        Numbers of the labels, -1 for none.
    vocabulary : Vocabulary
    factors : dict of str to array of int32, each of shape (n_tokens,)
        -1 for missing values.
    fingerprint : str
    """

    tokens: NDArray[np.int32]
    message_offsets: Numbers
    conversation_offsets: Numbers
    changes: NDArray[np.int8]
    tags: NDArray[np.int32]
    vocabulary: Vocabulary
    factors: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    fingerprint: str = ""

    @property
    def n_tokens(self) -> int:
        """Number of tokens, ends included."""
        return len(self.tokens)

    @property
    def n_messages(self) -> int:
        """Number of sentences."""
        return len(self.tags)

    def take(self, kept: NDArray[np.bool_]) -> Sentences:
        """Return some of the sentences; conversations may become empty."""
        lengths = np.diff(self.message_offsets)
        tokens = np.repeat(kept, lengths)
        before = np.concatenate([[0], np.cumsum(kept)])
        return Sentences(
            self.tokens[tokens],
            np.concatenate([[0], np.cumsum(lengths[kept])]),
            before[self.conversation_offsets],
            self.changes[kept],
            self.tags[kept],
            self.vocabulary,
            {name: column[tokens] for name, column in self.factors.items()},
            self.fingerprint,
        )

    def groups(self, n_tokens: int) -> list[tuple[int, int]]:
        """Return groups of conversations (first, last + 1) of at least ``n_tokens`` tokens."""
        ends = self.message_offsets[self.conversation_offsets[1:]].tolist()
        groups, first, begun = [], 0, 0
        for number, end in enumerate(ends, 1):
            if end - begun >= n_tokens or number == len(ends):
                groups.append((first, number))
                first, begun = number, end
        return groups

    def part(self, first: int, last: int) -> Sentences:
        """Return conversations ``first`` to ``last - 1``."""
        rows = slice(*(int(n) for n in self.conversation_offsets[[first, last]]))
        offsets = self.message_offsets[rows.start : rows.stop + 1]
        tokens = slice(int(offsets[0]), int(offsets[-1]))
        return Sentences(
            self.tokens[tokens], offsets - tokens.start,
            self.conversation_offsets[first : last + 1] - rows.start,
            self.changes[rows], self.tags[rows], self.vocabulary,
            {name: column[tokens] for name, column in self.factors.items()},
            self.fingerprint,
        )  # fmt: skip


def choose_words(encoded: Encoded, min_count: int, end: bool) -> Vocabulary:
    """Return the words that are frequent enough, after the unknown one and the end."""
    kept = [n for n, count in enumerate(encoded.vocabulary.counts) if count >= min_count]
    special = [UNKNOWN, END] if end else [UNKNOWN]
    words = [encoded.vocabulary.words[n] for n in kept]
    counts = np.concatenate([np.zeros(len(special), np.int64), encoded.vocabulary.counts[kept]])
    kept_words = [word for word in words if word not in special]
    if len(kept_words) < len(words):
        raise CorpusError(
            f"the texts contain {UNKNOWN} or {END}, which stand for the unknown word and the end "
            "of a sentence; replace them in the texts"
        )
    return Vocabulary(special + kept_words, counts)


def all_words(corpus: Corpus | Encoded) -> Encoded:
    """Return a corpus as arrays, with every word of it.

    Raises
    ------
    ParameterError
        It is no corpus.
    """
    if isinstance(corpus, Encoded):
        corpus.check()
        return corpus
    if not isinstance(corpus, Corpus):
        raise ParameterError(
            f"a tagger takes a Corpus, got {type(corpus).__name__}; make one with "
            "palaver.read(path), Corpus.from_polars(table) or Corpus.from_pandas(table)"
        )
    return encode(corpus, min_count=1)


def with_vocabulary(corpus: Corpus | Encoded, vocabulary: Vocabulary) -> Encoded:
    """Return a corpus as arrays with the words of a vocabulary; other words are dropped."""
    if isinstance(corpus, Corpus):
        return encode(corpus, vocabulary)
    encoded = all_words(corpus)
    tokens = _renumbered(encoded, vocabulary, -1)
    kept = tokens >= 0
    before = np.concatenate(([0], np.cumsum(kept)))
    return replace(
        encoded, tokens=tokens[kept], message_offsets=before[encoded.message_offsets],
        vocabulary=vocabulary, n_dropped=encoded.n_dropped + int((~kept).sum()),
        sentence_offsets=np.unique(before[encoded.sentence_offsets]),
    )  # fmt: skip


def _renumbered(encoded: Encoded, vocabulary: Vocabulary, unknown: int) -> NDArray[np.int32]:
    """Return the tokens as numbers of another vocabulary, ``unknown`` for other words."""
    index = vocabulary.index
    numbers = [index.get(word, unknown) for word in encoded.vocabulary.words]
    return np.array([*numbers, unknown], np.int32)[encoded.tokens]  # the last is for tokens of -1


def as_sentences(
    encoded: Encoded,
    vocabulary: Vocabulary,
    tags: NDArray[np.int32],
    factors: Mapping[str, NDArray[np.int32]],
    fingerprint: str,
    emitted: Mapping[str, NDArray[np.int32]] | None = None,
) -> Sentences:
    """Give words their numbers in a vocabulary that starts with the unknown one.

    Parameters
    ----------
    encoded : Encoded
        With any vocabulary.
    vocabulary : Vocabulary
    tags : array of int32, shape (n_messages,)
    factors : mapping of str to array of int32, each of shape (n_tokens of encoded,)
        Parents of words.
    fingerprint : str
    emitted : mapping of str to array of int32, shape (n_tokens of encoded,) or (n_messages, 1)
        Values that words do not depend on: of words, or of messages, which the last token has.
    """
    tokens = _renumbered(encoded, vocabulary, 0)
    offsets = encoded.message_offsets
    columns = dict(factors)
    words = np.arange(len(tokens))
    if len(vocabulary) > 1 and vocabulary.words[1] == END:
        ends = offsets[1:]
        empty = np.diff(offsets) == 0
        columns = {
            name: np.insert(column, ends, _last_values(column, ends, empty))
            for name, column in columns.items()
        }
        tokens = np.insert(tokens, ends, 1)
        words = words + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        offsets = offsets + np.arange(len(offsets))
    for name, values in (emitted or {}).items():
        columns[name] = np.full(len(tokens), -1, np.int32)
        if values.ndim == 1:
            columns[name][words] = values
        else:
            full = np.flatnonzero(np.diff(offsets))
            columns[name][offsets[full + 1] - 1] = values[full, 0]
    return Sentences(
        tokens.astype(np.int32, copy=False), offsets, encoded.conversation_offsets,
        _changes(encoded), tags, vocabulary, columns, fingerprint,
    )  # fmt: skip


def _last_values(
    column: NDArray[np.int32], ends: Numbers, empty: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Return the value of each sentence's last word, which its end gets as well."""
    if not len(column):
        return np.full(len(ends), -1, np.int32)
    return np.where(empty, -1, column[np.maximum(ends - 1, 0)]).astype(np.int32)


def _changes(encoded: Encoded) -> NDArray[np.int8]:
    codes = encoded.speakers.codes
    changes = np.ones(len(codes), np.int8)
    changes[1:] = (codes[1:] != codes[:-1]) | (codes[1:] < 0)
    changes[encoded.conversation_offsets[:-1][np.diff(encoded.conversation_offsets) > 0]] = 1
    return changes


def label_names(encoded: Encoded, labels: str) -> tuple[NDArray[np.int32], list[str]]:
    """Return the numbers and names of the labels of a corpus.

    Raises
    ------
    ParameterError
        There is no such column of names, or it has more than 1,000 of them.
    """
    if labels not in encoded.labels:
        known = ", ".join(encoded.labels) or "none"
        raise ParameterError(f"there is no column {labels!r} of labels; the corpus has: {known}")
    coded = encoded.labels[labels]
    return coded.codes, coded.names


def factor_values(corpus: Any, names: Sequence[str], encoded: Encoded) -> dict[str, pl.Series]:
    """Return the values of factors, one per token.

    A column of lists has one value per word; any other column has one for the whole message.
    """
    found: dict[str, pl.Series] = {}
    lengths = np.diff(encoded.message_offsets)
    for name in names:
        if not isinstance(corpus, Corpus) or name not in corpus.table.columns:
            raise ParameterError(f"factors: the corpus has no column {name!r}")
        column = corpus.table[name]
        if isinstance(column.dtype, pl.List):
            sizes = column.list.len().fill_null(0).to_numpy()
            wrong = np.flatnonzero(sizes != lengths)
            if len(wrong):
                row = int(wrong[0])
                raise ParameterError(
                    f"factors: {name!r} has {sizes[row]} values in message {row}, which has "
                    f"{lengths[row]} words; add a column `tokens` with the words as lists"
                )
            flat = column.filter(pl.Series(sizes > 0)).explode()
        else:
            flat = column.gather(np.repeat(np.arange(len(column)), lengths))
        found[name] = flat.cast(pl.String)
    return found


def emitted_values(corpus: Any, names: Sequence[str], encoded: Encoded) -> dict[str, pl.Series]:
    """Return the values of emitted factors: those of words in a row, or lists of one per message.

    A column of lists has one value per word; any other column has one for the whole message.
    """
    found = {}
    for name in names:
        values = factor_values(corpus, [name], encoded)[name]
        if not isinstance(corpus.table[name].dtype, pl.List):
            values = corpus.table[name].cast(pl.String).reshape((-1, 1))
        found[name] = values
    return found


def coded_factors(
    values: Mapping[str, pl.Series], known: Mapping[str, list[str]]
) -> dict[str, NDArray[np.int32]]:
    """Give the values of factors their numbers; -1 for missing and unknown ones."""
    coded = {}
    for name, column in values.items():
        index = {value: number for number, value in enumerate(known[name])}
        flat = column.explode() if column.dtype.is_nested() else column
        numbers = np.array([index.get(value, -1) for value in flat], np.int32)
        coded[name] = numbers[:, None] if column.dtype.is_nested() else numbers
    return coded
