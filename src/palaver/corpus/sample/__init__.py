"""The built-in sample: a synthetic help forum, written for Palaver and not taken from people.

Everything in it is invented by a small grammar: products, problems, people, moods and acts. It is
made for trying things out and for tests with known answers; it says nothing about real forums.
The phrases are in TOML files (see ``material``), the rules for who answers what with which acts in
``plot``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from palaver import rng
from palaver.corpus.sample.messages import Post
from palaver.corpus.sample.text import Dice
from palaver.corpus.sample.threads import Forum
from palaver.corpus.table import Corpus
from palaver.params import check, whole

SCHEMA = pl.Schema(
    {
        "conversation": pl.String(),
        "id": pl.String(),
        "reply_to": pl.String(),
        "speaker": pl.String(),
        "time": pl.Datetime("us", "UTC"),
        "text": pl.String(),
        "act": pl.String(),
        "acts": pl.List(pl.String()),
        "sentences": pl.List(pl.String()),
        "sentence_acts": pl.List(pl.String()),
        "topic": pl.String(),
    }
)

_LISTS = ("acts", "sentences", "sentence_acts")
_BREAK = "\x1f"  # a character that no phrase contains

_FIRST_DAY = datetime(2024, 3, 1, tzinfo=UTC)
_DAYS = 365
_HOURS = (*range(24), *range(8, 23), *range(17, 22))  # people ask by day, most of all after work


def sample(n_threads: int = 400, random_state: rng.RandomState = 0) -> Corpus:
    """Make the built-in synthetic help forum, a corpus with known acts.

    Parameters
    ----------
    n_threads : int
        Number of conversations; 400 have about 2,000 messages.
    random_state : int, numpy.random.Generator or None
        The same whole number gives the same forum.

    Returns
    -------
    Corpus
        Synthetic threads with the labels of :func:`generate_table`.
    """
    table = generate_table(n_threads, rng.resolve_seed(random_state))
    return Corpus.from_polars(table, source="built-in sample (synthetic help forum)")


def generate_table(n_threads: int = 400, seed: int = 0) -> pl.DataFrame:
    """Write the synthetic help forum as a table with one row per message.

    Parameters
    ----------
    n_threads : int
        Number of conversations.
    seed : int
        The same seed gives the same table.

    Returns
    -------
    polars.DataFrame
        The columns every corpus has (``conversation, id, reply_to, speaker, time, text``), then
        the gold labels: ``act`` (the main act of the message), ``acts`` (its distinct acts in
        order of appearance), ``sentences`` and ``sentence_acts`` (the text sentence by sentence)
        and ``topic`` (the product area).
    """
    limits = {"n_threads": whole(0), "seed": whole(0)}
    check("sample", limits, {"n_threads": n_threads, "seed": seed})
    dice = Dice(rng.generator(seed, "sample"))
    forum = Forum(dice)
    starts = sorted(_start(dice) for _ in range(n_threads))
    width = max(3, len(str(n_threads)))
    rows: list[tuple[Any, ...]] = []
    for number, start in enumerate(starts, 1):
        topic, posts = forum.thread(start)
        rows += _rows(f"t{number:0{width}}", topic, posts)
    # Rows hold lists as joined strings, because polars splits those far faster than it reads lists.
    joined = {name: pl.String() if name in _LISTS else kind for name, kind in SCHEMA.items()}
    table = pl.DataFrame(rows, schema=joined, orient="row")
    return table.with_columns(pl.col(_LISTS).str.split(_BREAK))


def _start(dice: Dice) -> datetime:
    """Draw when a thread begins."""
    day, hour = dice.below(_DAYS), dice.pick(_HOURS)
    return _FIRST_DAY + timedelta(days=day, hours=hour, seconds=dice.below(3600))


def _rows(conversation: str, topic: str, posts: Sequence[Post]) -> list[tuple[Any, ...]]:
    """Turn the messages of one synthetic thread into rows in the order of the schema."""
    ids = {post: f"{conversation}.{number}" for number, post in enumerate(posts, 1)}
    return [
        (
            conversation,
            ids[post],
            ids[post.parent] if post.parent else None,
            post.speaker.handle,
            post.time,
            post.text,
            post.act,
            _BREAK.join(post.acts),
            _BREAK.join(post.sentences),
            _BREAK.join(post.sentence_acts),
            topic,
        )
        for post in posts
    ]
