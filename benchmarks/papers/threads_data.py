"""Conversations with known replies, as given and interleaved into channels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import palaver as pv
from palaver.models.views.reconstruct import order_of
from palaver.threads import interleaved

FILES = {
    "r-help": "r-help/r-help-2001-2002.jsonl.gz",
    "4forums": "4forums/4forums.jsonl.gz",
    "ubuntu-irc": "ubuntu-irc/ubuntu-irc.jsonl.gz",
    "rumoureval2017": "rumoureval2017/rumoureval2017.jsonl.gz",
    "molweni": "molweni/molweni.jsonl.gz",
}
CHANNEL = "ubuntu-irc, channels"


def in_order(corpus: pv.Corpus) -> pv.Corpus:
    """Return the corpus sorted by time; a parent stays the parent even if it now comes later.

    The files put parents before replies, an order that gives the replies away.
    """
    order = order_of(corpus, "time")
    starts = np.repeat(corpus.conversation_offsets[:-1], np.diff(corpus.conversation_offsets))
    places = starts + order.ranks
    rows = np.empty(len(places), np.int64)
    rows[places] = np.arange(len(places))
    old = np.asarray(corpus.parents)[rows]
    parents = np.where(old < 0, -1, places[np.maximum(old, 0)]).astype(np.int32)
    return replace(corpus, table=corpus.table[rows], parents=parents)


def _channels(corpus: pv.Corpus) -> pv.Corpus:
    """Interleave the conversations of each log by their line numbers, taken from the ids."""
    first = corpus.table["id"].gather(corpus.conversation_offsets[:-1])
    logs = first.str.extract(r"^(.*):\d+$", 1).to_numpy()
    lines = corpus.table["id"].str.extract(r":(\d+)$", 1).cast(pl.Int64)
    timed = replace(
        corpus,
        table=corpus.table.with_columns(
            (lines * 1_000_000).cast(pl.Datetime("us", "UTC")).alias("time")
        ),
    )
    mixed = interleaved(timed, logs)
    clock = corpus.table.select(
        pl.format("{}|{}", "conversation", "id").alias("id"), pl.col("time").alias("clock")
    )
    times = mixed.table.select("id").join(clock, on="id", how="left", maintain_order="left")
    return replace(mixed, table=mixed.table.with_columns(times["clock"].alias("time")))


def read(data: Path, name: str) -> pv.Corpus:
    """Return a corpus in order; of molweni, only the dialogues that share no message."""
    corpus = pv.read(data / FILES[name])
    if name == "molweni":
        first = corpus.table["distinct"].to_numpy()[corpus.conversation_offsets[:-1]]
        corpus = corpus.take(np.flatnonzero(first))
    return in_order(corpus)


def parts(data: Path, name: str) -> tuple[pv.Corpus, pv.Corpus]:
    """Return the conversations for training and those for testing.

    Uses the official split if there is one, else three quarters and one quarter at random.
    """
    source = "ubuntu-irc" if name == CHANNEL else name
    corpus = read(data, source)
    split = corpus.table["split"].to_numpy()[corpus.conversation_offsets[:-1]]
    if source in ("ubuntu-irc", "rumoureval2017"):
        train, test = (corpus.take(np.flatnonzero(split == part)) for part in ("train", "test"))
    else:
        train, test = corpus.split(0.25, random_state=0)
    if name == CHANNEL:
        return _channels(train), _channels(test)
    return train, test


def thinned(corpus: pv.Corpus, most: int) -> pv.Corpus:
    """Return every n-th conversation, so that about ``most`` messages are left."""
    step = max(1, round(corpus.n_messages / most))
    return corpus.take(np.arange(0, corpus.n_conversations, step))
