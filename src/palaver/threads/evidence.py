"""Gathering what features are computed from: the words, names and times of a corpus, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode
from palaver.encoding.tokenizer import split_words
from palaver.models.views.reconstruct import Order
from palaver.threads.kernels.evidence import (
    Entries,
    Evidence,
    People,
    find_mentions,
    link_entries,
    relate_people,
)
from palaver.threads.transitions import Transitions, unlinked

_COMMON = 0.1  # words in more than this share of messages say nothing about who replies to whom
_NAME_SHARE = 0.05  # a name in more than this share of messages is also an ordinary word
_SHORTEST_NAME = 3
_MINUTE = 60.0


@dataclass(frozen=True, eq=False)
class Gathered:
    """Evidence, and the message of the corpus that each row stands for.

    Attributes
    ----------
    evidence : Evidence
    rows : array of int64, shape (n_messages,)
        Message of the corpus at each place in the order.
    places : array of int64, shape (n_messages,)
        Place of each message of the corpus.
    words : list of str
    bag_messages, bag_words : array of int64, shape (n_entries,)
        Each word of each message, once.
    """

    evidence: Evidence
    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    words: list[str]
    bag_messages: NDArray[np.int64]
    bag_words: NDArray[np.int64]

    def leaning(self, scores: NDArray[np.float32]) -> Gathered:
        """Return the same with the leanings of the messages, (n_messages, 3)."""
        return replace(self, evidence=self.evidence._replace(leanings=scores))


def gather_evidence(
    corpus: Corpus,
    order: Order,
    transitions: Transitions | None = None,
    *,
    tick: float = 0.0,
) -> Gathered:
    """Gather the evidence of a corpus, ignoring its replies.

    Parameters
    ----------
    corpus : Corpus
    order : Order
    transitions : Transitions, optional
        What a model says about classes in replies, with rows as in the corpus.
    tick : float
        Seconds to which times are rounded down; 0 leaves them as they are.
    """
    offsets = np.asarray(corpus.conversation_offsets, np.int64)
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    places = starts + order.ranks
    rows = np.empty(corpus.n_messages, np.int64)
    rows[places] = np.arange(corpus.n_messages)
    encoded = encode(unlinked(corpus), min_count=1)  # replies may be late, or not to be known
    tokens, token_offsets = _reordered(encoded, rows)
    words = encoded.vocabulary.words
    speakers = encoded.speakers.codes[rows]
    lengths = np.diff(token_offsets)
    shares, replies = _classes(transitions, rows)
    bag = np.unique(_owners(token_offsets) * max(len(words), 1) + tokens)
    bag_messages, bag_words = np.divmod(bag, max(len(words), 1))
    spread = np.bincount(bag_words, minlength=len(words))
    weighted, norms = _weighted_words(tokens, token_offsets, spread, offsets)
    handles, leads = _handles(tokens, token_offsets, words, offsets)
    evidence = Evidence(
        offsets,
        _scaled_times(corpus, rows, starts, tick),
        _asks(tokens, token_offsets, words),
        np.log1p(lengths).astype(np.float32),
        weighted,
        _runs(tokens, token_offsets, len(words), offsets),
        handles,
        norms,
        leads,
        _people(encoded, tokens, token_offsets, speakers),
        np.zeros((len(rows), 3), np.float32),
        shares,
        replies,
    )
    return Gathered(evidence, rows, places, words, bag_messages, bag_words)


def _reordered(
    encoded: Encoded, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return tokens and message offsets for another order of messages."""
    lengths = np.diff(encoded.message_offsets)[rows]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    shift = np.repeat(encoded.message_offsets[:-1][rows] - offsets[:-1], lengths)
    return encoded.tokens[np.arange(offsets[-1]) + shift], offsets


def _owners(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the message of each token."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _classes(
    transitions: Transitions | None, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return what a model found, in order; no classes without a model."""
    if transitions is None:
        return np.zeros((len(rows), 0), np.float32), np.zeros((len(rows) + 1, 0), np.float32)
    return transitions.shares[rows], transitions.replies[np.append(rows, len(rows))]


def tick_of(corpus: Corpus) -> float:
    """Return 60 if the clock of a corpus shows whole minutes, otherwise 0 for as it is.

    What is learned from gaps of whole minutes, most of them none, does not hold for seconds.
    """
    times = corpus.table["time"].drop_nulls().cast(pl.Int64)
    whole = (times % int(1e6 * _MINUTE) == 0).all()
    return _MINUTE if len(times) and whole else 0.0


def _scaled_times(
    corpus: Corpus, rows: NDArray[np.int64], starts: NDArray[np.int64], tick: float
) -> NDArray[np.float64]:
    """Return times in units of the median gap between neighbours; NaN if unknown."""
    times = corpus.table["time"].gather(rows).cast(pl.Int64).cast(pl.Float64) / 1e6
    seconds: NDArray[np.float64] = times.fill_null(np.nan).to_numpy()
    if tick:
        seconds = np.floor(seconds / tick) * tick
    gaps = np.diff(seconds)[starts[1:] == starts[:-1]]
    gaps = gaps[gaps > 0]  # also drops NaN
    return seconds / np.median(gaps) if len(gaps) else np.full(len(seconds), np.nan)


def _asks(
    tokens: NDArray[np.int32], offsets: NDArray[np.int64], words: list[str]
) -> NDArray[np.bool_]:
    """Return which messages contain a question mark, in any script."""
    asking = pl.Series(words, dtype=pl.String).str.contains("[?？؟՞]").to_numpy()
    found = np.bincount(_owners(offsets)[asking[tokens]], minlength=len(offsets) - 1)
    return np.asarray(found > 0)


def _entries(
    owners: NDArray[np.int64],
    items: NDArray[Any],
    n_items: int,
    conversation_offsets: NDArray[np.int64],
) -> tuple[Entries, NDArray[np.int64]]:
    """Create one entry per item of a message, and count how often it occurs."""
    n_messages = int(conversation_offsets[-1])
    keys, counts = np.unique(owners * max(n_items, 1) + items, return_counts=True)
    messages, words = np.divmod(keys, max(n_items, 1))
    offsets = np.searchsorted(messages, np.arange(n_messages + 1)).astype(np.int64)
    words = words.astype(np.int32)
    linked = [np.empty(len(words), np.int32) for _ in range(3)]
    link_entries(words, offsets, conversation_offsets, n_items, *linked)
    return Entries(offsets, words, np.ones(len(words), np.float32), *linked), counts


def _weighted_words(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    spread: NDArray[np.int64],
    conversation_offsets: NDArray[np.int64],
) -> tuple[Entries, NDArray[np.float32]]:
    """Return the words that are not too common, weighted by tf-idf, and the messages' norms."""
    owners = _owners(offsets)
    n_messages = len(offsets) - 1
    kept = ((spread > 1) & (spread <= max(_COMMON * n_messages, 3)))[tokens]
    entries, counts = _entries(owners[kept], tokens[kept], len(spread), conversation_offsets)
    values = np.log1p(counts) * np.log(n_messages / np.maximum(spread[entries.words], 1))
    norms = np.sqrt(np.bincount(entries.messages, values**2, n_messages))
    scaled = values / np.maximum(norms, 1e-9)[entries.messages]
    return entries._replace(values=scaled.astype(np.float32)), norms.astype(np.float32)


def _runs(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    n_words: int,
    conversation_offsets: NDArray[np.int64],
) -> Entries:
    """Return the runs of three words that occur in more than one message, as in quotations."""
    owners = _owners(offsets)
    whole = owners[2:] == owners[:-2]
    wide = tokens.astype(np.int64)
    keys = ((wide[:-2] * n_words + wide[1:-1]) * n_words + wide[2:])[whole]
    names, items, counts = np.unique(keys, return_inverse=True, return_counts=True)
    n_messages = len(offsets) - 1
    kept = ((counts > 1) & (counts <= max(0.01 * n_messages, 3)))[items]
    return _entries(owners[2:][whole][kept], items[kept], len(names), conversation_offsets)[0]


def _handles(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    words: list[str],
    conversation_offsets: NDArray[np.int64],
) -> tuple[Entries, NDArray[np.int32]]:
    """Return the words that follow an at sign, and the first one in each message."""
    owners = _owners(offsets)
    at = np.array([word.endswith("@") for word in words], bool)
    follows = np.flatnonzero(at[tokens[:-1]] & (owners[1:] == owners[:-1])) + 1
    entries, _ = _entries(owners[follows], tokens[follows], len(words), conversation_offsets)
    leads = np.full(len(offsets) - 1, -1, np.int32)
    leads[owners[follows[::-1]]] = tokens[follows[::-1]]
    return entries, leads


def _people(
    encoded: Encoded,
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    speakers: NDArray[np.int32],
) -> People:
    """Find out who is named and how people are related."""
    words = encoded.vocabulary.words
    n_messages, n_people = len(speakers), len(encoded.speakers.names)
    is_sign = ~pl.Series(words, dtype=pl.String).str.contains(r"[\p{L}\p{N}]").to_numpy()
    names = _names(encoded, tokens, offsets)
    mention_offsets = np.zeros(n_messages + 1, np.int64)
    mentions, addressed = np.empty(len(tokens), np.int32), np.empty(n_messages, np.int32)
    find_mentions(tokens, offsets, names, is_sign, speakers, mention_offsets, mentions, addressed)
    mentions = mentions[: mention_offsets[-1]].copy()
    related: list[Any] = [np.empty(n_messages, np.int32) for _ in range(7)]
    relate_people(encoded.conversation_offsets, speakers, addressed, mention_offsets, mentions,
                  n_people, *related)  # fmt: skip
    return People(speakers, addressed, mention_offsets, mentions, *related)


def _names(
    encoded: Encoded, tokens: NDArray[np.int32], offsets: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the speaker that each word names, -1 for none.

    A word of a speaker's name counts if no other speaker has it, if it is long enough, and
    if messages do not use it too often.
    """
    names = np.full(max(len(encoded.vocabulary), 1), -1, np.int32)
    parts = (
        pl.DataFrame({"word": split_words(pl.Series(encoded.speakers.names, dtype=pl.String))})
        .with_row_index("speaker")
        .explode("word")
        .drop_nulls()
        .unique()
        .filter(
            pl.col("word").str.len_chars() >= _SHORTEST_NAME,
            pl.col("word").str.contains(r"\p{L}|\d{5}"),
            pl.len().over("word") == 1,
        )
    )
    index = encoded.vocabulary.index
    known = [(index[word], speaker) for speaker, word in parts.iter_rows() if word in index]
    if not known:
        return names
    numbers, people = np.array(known, np.int64).T
    owners = _owners(offsets)
    is_name = np.zeros(len(names), bool)
    is_name[numbers] = True
    named = is_name[tokens]
    pairs = np.unique(owners[named] * len(names) + tokens[named])
    spread = np.bincount(pairs % len(names), minlength=len(names))
    rare = spread[numbers] <= max(_NAME_SHARE * (len(offsets) - 1), 5)
    names[numbers[rare]] = people[rare]
    return names
