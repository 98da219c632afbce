"""A corpus in numbers, for ``palaver check``, notebooks and reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.notes import KINDS
from palaver.corpus.table import Corpus
from palaver.kernels.trees import depths


def describe(corpus: Corpus) -> dict[str, Any]:
    """Return counts, the shape of the reply trees, the time span, labels and notes.

    Returns
    -------
    dict
        Plain values only, ready for JSON.
    """
    table = corpus.table
    times = table["time"].drop_nulls()
    return {
        "source": corpus.source,
        "format": corpus.format,
        "fingerprint": corpus.fingerprint,
        "conversations": corpus.n_conversations,
        "messages": corpus.n_messages,
        "speakers": table["speaker"].drop_nulls().n_unique(),
        "characters": int(table["text"].str.len_chars().sum()),
        "shape": _shape(corpus),
        "first_time": times.min().isoformat() if len(times) else None,  # type: ignore[union-attr]
        "last_time": times.max().isoformat() if len(times) else None,  # type: ignore[union-attr]
        "columns": dict(corpus.columns),
        "roles": roles(corpus),
        "labels": {name: _distinct(corpus, name) for name in corpus.labels},
        "notes": [
            {
                "kind": kind,
                "severity": KINDS[kind][0],
                "count": count,
                "what": KINDS[kind][1],
                "places": corpus.notes.places.get(kind, []),
            }
            for kind, count in sorted(corpus.notes.counts.items(), key=_worst_first)
        ],
        "advice": corpus.notes.advice,
    }


def roles(corpus: Corpus) -> dict[str, Any] | None:
    """Return the column that names the people, if speakers are only roles such as A and B.

    Speakers are roles if a few of them take part in nearly all of many conversations, while a
    column has a different value for each speaker of a conversation, and more values than there
    are speakers.

    Returns
    -------
    dict or None
        ``column``, and the number of ``people`` in it.
    """
    if not are_roles(corpus):
        return None
    table = corpus.table.drop_nulls("speaker")
    n_speakers = table["speaker"].n_unique()
    pairs = table.select("conversation", "speaker").n_unique()
    for name in corpus.labels:
        if isinstance(table.schema[name], pl.List):
            continue
        known = table.select("conversation", "speaker", name).drop_nulls().unique()
        people = known[name].n_unique()
        one_each = all(
            known.select("conversation", column).n_unique() == known.height
            for column in ("speaker", name)
        )
        if people > n_speakers and one_each and known.height >= 0.9 * pairs:
            return {"column": name, "people": people}
    return None


def are_roles(corpus: Corpus) -> bool:
    """Whether speakers are roles, such as A and B or user and assistant, rather than people.

    A few of them take part in nearly all of many conversations.
    """
    table = corpus.table.drop_nulls("speaker")
    n_speakers = table["speaker"].n_unique()
    if not 2 <= n_speakers <= _MOST_ROLES or corpus.n_conversations < _ROLES_IN * n_speakers:
        return False
    pairs = table.select("conversation", "speaker").n_unique()
    return bool(pairs >= 0.9 * n_speakers * corpus.n_conversations)


#: Most speakers that count as roles, and fewest conversations per role.
_MOST_ROLES, _ROLES_IN = 4, 5


def bots(corpus: Corpus) -> list[str]:
    """Return the speakers that are bots: those with ``bot`` true in all of their messages."""
    table = corpus.table
    if "bot" not in table.columns or table["bot"].dtype != pl.Boolean:
        return []
    every = table.drop_nulls("speaker").group_by("speaker", maintain_order=True)
    marked = every.agg(pl.col("bot").fill_null(False).all()).filter("bot")
    names: list[str] = marked["speaker"].to_list()
    return names


def by_bots(corpus: Corpus) -> NDArray[np.bool_]:
    """Return which messages :func:`bots` wrote, (n_messages,)."""
    found = corpus.table["speaker"].is_in(bots(corpus)).fill_null(False)
    return np.asarray(found.to_numpy(), bool)


def _distinct(corpus: Corpus, name: str) -> int:
    column = corpus.table[name]
    return int(column.drop_nulls().n_unique())


def _worst_first(item: tuple[str, int]) -> tuple[int, int]:
    kind, count = item
    return -["note", "repair", "loss"].index(KINDS[kind][0]), -count


def _shape(corpus: Corpus) -> dict[str, float]:
    """Describe the reply trees."""
    if not corpus.n_messages:
        return {}
    lengths = np.diff(corpus.conversation_offsets)
    replies = corpus.parents >= 0
    children = np.bincount(corpus.parents[replies], minlength=corpus.n_messages)
    return {
        "starts": int((~replies).sum()),
        "replies": int(replies.sum()),
        "single_message_conversations": int((lengths == 1).sum()),
        "messages_per_conversation": float(lengths.mean()),
        "longest_conversation": int(lengths.max()),
        "deepest_reply": int(depths(corpus.parents).max()),
        "most_replies_to_one_message": int(children.max()),
    }
