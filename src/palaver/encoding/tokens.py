"""A corpus as flat arrays: word numbers, message and conversation offsets, parents, labels."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import store
from palaver.corpus.ahead import beside
from palaver.corpus.table import Corpus, as_corpus
from palaver.encoding import checks
from palaver.encoding.act_view import add_marks, marked_types, without_rare_words
from palaver.encoding.conditions import numbers_of, other_parents_of, sentence_lengths
from palaver.encoding.numbering import Chunk, number_words
from palaver.encoding.tokenizer import Tokenizer
from palaver.encoding.topic_view import without_common_words
from palaver.encoding.vocabulary import Vocabulary, select_words
from palaver.errors import CorpusError, DamagedStoreError, ParameterError
from palaver.params import check, one_of

_MAX_LABEL_VALUES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """A column of names as numbers.

    Attributes
    ----------
    codes : array of int32, shape (n_messages,)
        -1 where the name is missing.
    names : list of str
        In order of first appearance.
    """

    codes: NDArray[np.int32]
    names: list[str]

    def checked(self, name: str, n_messages: int) -> Coded:
        """Return the same with codes that are numbers of names, one per message.

        Raises
        ------
        CorpusError
        """
        codes = checks.whole_numbers(name, self.codes, np.int32, -1, len(self.names) - 1)
        checks.same_length(name, codes, n_messages, "messages")
        return self if codes is self.codes else Coded(codes, self.names)


@dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """A corpus as flat arrays, which are checked when it is made and whenever a model reads it.

    Attributes
    ----------
    tokens : array of int32, shape (n_tokens,)
        Word numbers of all messages, concatenated; -1 for unknown words, if they are kept.
    message_offsets : array of int64, shape (n_messages + 1,)
        Message ``b`` has ``tokens[message_offsets[b]:message_offsets[b + 1]]``.
    parents : array of int32, shape (n_messages,)
        Message that each one replies to, -1 for a start; always an earlier message.
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    speakers : Coded
    labels : dict of str to Coded
        All columns of at most 1,000 different names.
    vocabulary : Vocabulary
    n_dropped : int
        Number of tokens whose words are not in the vocabulary.
    fingerprint : str
        Fingerprint of the corpus.
    numbers : dict of str to array of float64, shape (n_messages,)
        All columns of numbers, and "time" in seconds; NaN where missing.
    other_parents : array of int32, shape (n_pairs, 2)
        Messages and what they reply to besides their parent, from the column ``other_parents``.
    sentence_offsets : array of int64, shape (n_sentences + 1,)
        Bounds of the non-empty sentences among the tokens; empty unless requested.
    """

    tokens: NDArray[np.int32]
    message_offsets: NDArray[np.int64]
    parents: NDArray[np.int32]
    conversation_offsets: NDArray[np.int64]
    speakers: Coded
    labels: dict[str, Coded]
    vocabulary: Vocabulary
    n_dropped: int = 0
    fingerprint: str = ""
    numbers: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    other_parents: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 2), np.int32))
    sentence_offsets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        for name, value in self._checked().items():
            object.__setattr__(self, name, value)

    def check(self, *, unknown: bool = False) -> None:
        """Check all arrays again, which may have been written to.

        Parameters
        ----------
        unknown : bool
            Whether word number -1, an unknown word, is legal.

        Raises
        ------
        CorpusError
        """
        self._checked()
        if not unknown and self.n_tokens and self.tokens.min() < 0:
            raise CorpusError(
                "the corpus holds words without a number; encode it without keep_unknown=True"
            )

    def _checked(self) -> dict[str, Any]:
        """Return all fields that are arrays, in the form that kernels read."""
        if not isinstance(self.vocabulary, Vocabulary):
            raise CorpusError("Encoded.vocabulary: must be a Vocabulary")
        self.vocabulary.check("Encoded.vocabulary")
        parents = checks.whole_numbers("Encoded.parents", self.parents, np.int32, -1, 2**31 - 1)
        n_words, n = len(self.vocabulary), len(parents)
        tokens = checks.whole_numbers("Encoded.tokens", self.tokens, np.int32, -1, n_words - 1)
        messages = checks.offsets("Encoded.message_offsets", self.message_offsets, len(tokens))
        checks.same_length("Encoded.message_offsets", messages, n + 1, "messages and an end")
        bounds = checks.offsets("Encoded.conversation_offsets", self.conversation_offsets, n)
        starts = np.repeat(bounds[:-1], np.diff(bounds))
        checks.earlier("Encoded.parents", np.arange(n), parents, starts)
        numbers = {
            name: checks.real_numbers(f"Encoded.numbers[{name!r}]", values)
            for name, values in self.numbers.items()
        }
        for name, values in numbers.items():
            checks.same_length(f"Encoded.numbers[{name!r}]", values, n, "messages")
        return {
            "tokens": tokens,
            "message_offsets": messages,
            "parents": parents,
            "conversation_offsets": bounds,
            "speakers": self.speakers.checked("Encoded.speakers", n),
            "labels": {
                name: coded.checked(f"Encoded.labels[{name!r}]", n)
                for name, coded in self.labels.items()
            },
            "numbers": numbers,
            "other_parents": _checked_pairs(self.other_parents, starts),
            "sentence_offsets": _checked_sentences(self.sentence_offsets, messages),
        }

    @property
    def n_tokens(self) -> int:
        """Number of kept tokens."""
        return len(self.tokens)

    @property
    def known_words(self) -> NDArray[np.int64]:
        """Number of known words in each message, (n_messages,)."""
        before = np.concatenate(([0], np.cumsum(np.asarray(self.tokens) >= 0)))
        return np.asarray(np.diff(before[self.message_offsets]))

    @property
    def n_messages(self) -> int:
        """Number of messages."""
        return len(self.parents)

    @property
    def n_conversations(self) -> int:
        """Number of conversations."""
        return len(self.conversation_offsets) - 1

    def __repr__(self) -> str:
        return (
            f"Encoded({self.n_conversations:,} conversations, {self.n_messages:,} messages, "
            f"{self.n_tokens:,} tokens, {len(self.vocabulary):,} words)"
        )

    def write(self, folder: str | Path) -> None:
        """Write the arrays to a folder, for :meth:`open` to map."""
        arrays: dict[str, NDArray[Any]] = {
            "tokens": self.tokens,
            "message_offsets": self.message_offsets,
            "parents": self.parents,
            "conversation_offsets": self.conversation_offsets,
            "speakers": self.speakers.codes,
            "word_counts": self.vocabulary.counts,
            "other_parents": self.other_parents,
            "sentence_offsets": self.sentence_offsets,
        }
        arrays |= {f"number{i}": values for i, values in enumerate(self.numbers.values())}
        arrays |= {f"label{i}": coded.codes for i, coded in enumerate(self.labels.values())}
        content = {
            "words": self.vocabulary.words,
            "speakers": self.speakers.names,
            "labels": {name: coded.names for name, coded in self.labels.items()},
            "numbers": list(self.numbers),
            "n_dropped": self.n_dropped,
            "fingerprint": self.fingerprint,
        }
        store.save(folder, "encoded corpus", content, arrays)

    @classmethod
    def open(cls, folder: str | Path, *, mapped: bool = True) -> Encoded:
        """Open a stored corpus; arrays are mapped from disk, not kept in memory.

        Raises
        ------
        DamagedStoreError
            An array is missing, was altered, or refers to what is not there.
        """
        stored = store.load(folder, "encoded corpus", mapped=mapped)
        try:
            return cls._restored(stored)
        except (AttributeError, CorpusError, KeyError, TypeError, ValueError) as error:
            raise DamagedStoreError(
                f"{folder}: does not contain a complete corpus ({type(error).__name__}: {error}); "
                "restore the folder from a backup, or create it again"
            ) from error

    @classmethod
    def _restored(cls, stored: store.Stored) -> Encoded:
        """Make a corpus of what :meth:`write` wrote."""
        arrays, content = stored.arrays, stored.content
        labels = {
            name: Coded(arrays[f"label{i}"], names)
            for i, (name, names) in enumerate(content["labels"].items())
        }
        for names in (content["words"], content["speakers"], *content["labels"].values()):
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError("a name or word is not text")
        if not isinstance(content["fingerprint"], str) or not isinstance(content["n_dropped"], int):
            raise ValueError("the manifest has values of the wrong kind")
        return cls(
            arrays["tokens"],
            arrays["message_offsets"],
            arrays["parents"],
            arrays["conversation_offsets"],
            Coded(arrays["speakers"], content["speakers"]),
            labels,
            Vocabulary(content["words"], arrays["word_counts"]),
            content["n_dropped"],
            content["fingerprint"],
            {name: arrays[f"number{i}"] for i, name in enumerate(content["numbers"])},
            arrays["other_parents"],
            arrays["sentence_offsets"],
        )


def _checked_pairs(pairs: Any, starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return further parents, if each is an earlier message of the same conversation."""
    name, shape, n = "Encoded.other_parents", np.shape(pairs), len(starts)
    if len(shape) != 2 or shape[1] != 2:
        raise CorpusError(f"{name}: must be pairs of messages, got the shape {shape}")
    flat = checks.whole_numbers(name, np.ravel(np.asanyarray(pairs)), np.int32, 0, n - 1)
    found = flat.reshape(-1, 2)
    checks.earlier(name, found[:, 0], found[:, 1], starts[found[:, 0]])
    return found


def _checked_sentences(sentences: Any, message_offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bounds of sentences, if there are none or no message ends within a sentence."""
    name = "Encoded.sentence_offsets"
    if not np.size(sentences):
        return np.empty(0, np.int64)
    bounds = checks.offsets(name, sentences, int(message_offsets[-1]))
    if (bounds[1:] == bounds[:-1]).any():
        raise CorpusError(f"{name}: sentences must not be empty")
    if not (bounds[np.searchsorted(bounds, message_offsets)] == message_offsets).all():
        raise CorpusError(f"{name}: a message ends within a sentence")
    return bounds


def encode(
    corpus: Corpus,
    vocabulary: Vocabulary | None = None,
    *,
    tokenizer: Tokenizer | None = None,
    min_count: int | Literal["auto"] = "auto",
    max_share: float = 1.0,
    max_size: int | None = None,
    stop_words: Collection[str] = (),
    sentences: bool = False,
    keep_unknown: bool = False,
    view: str = "words",
) -> Encoded:
    """Turn a corpus into flat arrays.

    Parameters
    ----------
    corpus : Corpus or list of str
        If it has a column ``tokens`` of lists of words, that is used instead of the texts.
    vocabulary : Vocabulary, optional
        An existing one; words that are not in it are dropped and counted. Created by default.
    tokenizer : callable, optional
        Splits a text into words; by default, as in the M4 paper
        (:mod:`palaver.encoding.tokenizer`).
    min_count, max_share, max_size, stop_words
        Which words to keep in a new vocabulary; see :func:`select_words`.
    sentences : bool
        Find sentence boundaries as well, for models that give each sentence a class.
    keep_unknown : bool
        Keep tokens whose words are not in the vocabulary, as number -1, instead of dropping them.
    view : {"words", "acts", "topics"}
        What a new vocabulary is made of: words; the 300 most frequent words, and the first and
        last word of each message as further tokens, such as ``first:do`` and ``last:?``; or the
        words that say what a text is about, without common words, numbers and punctuation. An
        existing vocabulary knows its own.
    """
    corpus = as_corpus(corpus)
    check("encode", {"view": one_of("words", "acts", "topics")}, {"view": view})
    view = view if vocabulary is None else vocabulary.view
    if sentences and view == "acts":
        raise ParameterError("encode: view='acts' marks messages; it cannot go with sentences=True")
    with beside(lambda: _named(corpus)) as named:
        chunks, types = number_words(corpus, tokenizer)
        speakers, labels, fingerprint = named()
    if view == "acts":
        n_types, types = len(types), marked_types(types)
        chunks = [add_marks(chunk, n_types) for chunk in chunks]
    if vocabulary is None:
        counts, spread = _count(chunks, len(types), with_spread=max_share < 1 or view == "topics")
        if view == "acts":
            counts = without_rare_words(types, counts, n_types)
        elif view == "topics":
            counts = without_common_words(types, counts, spread, corpus.n_messages)
        vocabulary = select_words(
            types, counts, spread, corpus.n_messages, min_count=min_count,
            max_share=max_share, max_size=max_size, stop_words=stop_words,
        )  # fmt: skip
    n_words = sum(len(numbers) for numbers, _ in chunks)
    limits = None
    if sentences:
        limits = _sentence_limits(corpus, chunks)
    tokens, offsets, before = _renumber(chunks, types, vocabulary, limits, keep_unknown)
    return Encoded(
        tokens,
        offsets,
        corpus.parents,
        corpus.conversation_offsets,
        speakers,
        labels,
        vocabulary,
        n_words - int((tokens >= 0).sum()),
        fingerprint,
        numbers_of(corpus),
        other_parents_of(corpus),
        before,
    )


def _messages(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the message of each word of a chunk."""
    return np.repeat(np.arange(len(lengths)), lengths)


def _count(
    chunks: list[Chunk], n_types: int, *, with_spread: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count how often each type occurs and, if requested, in how many messages."""
    counts, spread = np.zeros(n_types, np.int64), np.zeros(n_types, np.int64)
    for numbers, lengths in chunks:
        counts += np.bincount(numbers, minlength=n_types)
        if with_spread:
            pairs = np.unique(_messages(lengths) * n_types + numbers)
            spread += np.bincount(pairs % n_types, minlength=n_types)
    return counts, spread


def _renumber(
    chunks: list[Chunk],
    types: list[str],
    vocabulary: Vocabulary,
    limits: NDArray[np.int64] | None,
    keep_unknown: bool,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Give words their vocabulary numbers and drop all others; chunks are emptied on the way.

    ``limits`` are positions among all words; the last array returned holds the number of kept
    words before each, without duplicates.
    """
    numbers_of = np.array([vocabulary.index.get(word, -1) for word in types], np.int32)
    known = (numbers_of >= 0) | keep_unknown
    tokens = np.empty(sum(int(known[numbers].sum()) for numbers, _ in chunks), np.int32)
    lengths, filled, seen = [np.zeros(1, np.int64)], 0, 0
    limits = np.empty(0, np.int64) if limits is None else limits
    before = np.zeros(len(limits), np.int64)
    while chunks:
        numbers, n_words = chunks.pop(0)
        kept = known[numbers]
        n_kept = np.concatenate(([0], np.cumsum(kept)))
        here = slice(*np.searchsorted(limits, (seen, seen + len(kept)), side="right"))
        before[here] = filled + n_kept[limits[here] - seen]
        seen += len(kept)
        chosen = numbers_of[numbers[kept]]
        tokens[filled : filled + len(chosen)] = chosen
        filled += len(chosen)
        ends = np.cumsum(n_words)
        lengths.append(n_kept[ends] - n_kept[ends - n_words])
    first = np.diff(before, prepend=-1) > 0  # they ascend
    return tokens, np.cumsum(np.concatenate(lengths), dtype=np.int64), before[first]


def _sentence_limits(corpus: Corpus, chunks: list[Chunk]) -> NDArray[np.int64]:
    """Return the bounds of sentences among all words.

    If splitting a message by sentences changes its words, which happens with code,
    addresses and custom tokenizers, the message counts as one sentence.
    """
    whole = np.concatenate([np.zeros(0, np.int64), *(lengths for _, lengths in chunks)])
    messages, n_sentences, lengths = sentence_lengths(corpus)
    owner = np.repeat(np.arange(len(messages)), n_sentences)
    sums = np.bincount(owner, weights=lengths, minlength=len(messages)).astype(np.int64)
    agrees = (sums == whole[messages]) & (n_sentences > 0)
    alone = np.ones(len(whole), bool)
    alone[messages[agrees]] = False
    kept = agrees[owner]
    places = np.concatenate((np.flatnonzero(alone), messages[owner[kept]]))
    order = np.argsort(places, kind="stable")
    found = np.concatenate((whole[alone], lengths[kept]))[order]
    return np.concatenate(([0], np.cumsum(found))).astype(np.int64)


def _named(corpus: Corpus) -> tuple[Coded, dict[str, Coded], str]:
    """Return speakers, labels and the fingerprint of a corpus, which take no words."""
    return coded(corpus.table["speaker"]), _labels(corpus), corpus.fingerprint


def coded(column: pl.Series) -> Coded:
    """Turn the names in a column into numbers, in order of first appearance."""
    names = column.drop_nulls().unique(maintain_order=True)
    codes = column.replace_strict(
        names, pl.int_range(len(names), dtype=pl.Int32, eager=True), default=-1,
        return_dtype=pl.Int32,
    )  # fmt: skip
    return Coded(codes.to_numpy().copy(), names.to_list())


def _labels(corpus: Corpus) -> dict[str, Coded]:
    """Encode every column with few enough different names to be labels."""
    labels = {}
    for name in corpus.labels:
        column = corpus.table[name]
        if column.dtype == pl.String and column.n_unique() <= _MAX_LABEL_VALUES:
            labels[name] = coded(column)
    return labels
