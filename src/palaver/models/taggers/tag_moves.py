"""How tags follow each other: a small backoff model of tags, as dense log-probabilities."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from palaver.language import Events, Smoothing, estimate, parse_graph

Numbers = NDArray[np.int64]


def learn_tag_moves(
    tags: NDArray[np.integer],
    conversation_offsets: Numbers,
    n_tags: int,
    order: int = 2,
    changes: NDArray[np.int8] | None = None,
) -> NDArray[np.float64]:
    """Estimate log-probabilities of tags given the tags before, with Witten-Bell smoothing.

    A handful of tags has too few counts of counts for Kneser-Ney.

    Parameters
    ----------
    tags : array of int, shape (n_messages,)
        Each message has one.
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    n_tags : int
    order : {1, 2, 3}
        A tag depends on no, one or two tags before it.
    changes : array of int8, shape (n_messages,), optional
        Where the speaker changes, if tags depend on that.

    Returns
    -------
    array of float64, shape (n_kinds, n_histories, n_tags)
        As :mod:`palaver.models.taggers.kernels.tag_chains` takes it; two kinds
        with ``changes``, else one. The last history is the start of a conversation.
    """
    numbers = tags.astype(np.int64)
    parents = ["tag", "tag2"][: order - 1]
    columns = [
        previous_tags(numbers, conversation_offsets, distance, n_tags)
        for distance in range(1, order)
    ]
    sizes = [n_tags + 1] * (order - 1)
    if changes is not None:
        parents.append("change")
        columns.append(changes.astype(np.int64))
        sizes.append(2)
    text = ">".join(name for name in ("tag2", "change", "tag") if name in parents)
    events = Events(numbers, columns, np.ones(len(numbers), np.int64))
    tables = estimate(
        events.unique(sizes, n_tags), parse_graph(text, parents), sizes, n_tags,
        [False] * len(parents), Smoothing("witten-bell"),
    )  # fmt: skip
    n_kinds = 1 if changes is None else 2
    before = [range(n_tags + 1)] * max(order - 1, 1)
    rows = [
        tables.row([*history[::-1][: order - 1], *([] if changes is None else [kind])])
        for kind in range(n_kinds)
        for history in itertools.product(*before)
    ]
    return np.asarray(np.log(rows)).reshape(n_kinds, -1, n_tags)


def previous_tags(
    tags: Numbers, conversation_offsets: Numbers, distance: int, start: int
) -> Numbers:
    """Return the tag ``distance`` messages earlier, ``start`` where there is none."""
    column = np.full(len(tags), start, np.int64)
    column[distance:] = tags[: max(len(tags) - distance, 0)]
    lengths = np.diff(conversation_offsets)
    positions = np.arange(len(tags)) - np.repeat(conversation_offsets[:-1], lengths)
    column[positions < distance] = start
    return column
