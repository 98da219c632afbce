"""How tags follow each other: a small backoff model over tags, as dense log-probabilities."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from palaver.language import Events, Smoothing, estimate, parse_graph
from palaver.models.taggers.sentences import Sentences


def learn_tag_moves(
    sentences: Sentences, n_tags: int, order: int, with_changes: bool
) -> NDArray[np.float64]:
    """Estimate log-probabilities of tags given the tags before, Witten-Bell smoothed.

    Five tags have no counts of counts to speak of, so that Kneser-Ney has nothing to go by.

    Parameters
    ----------
    sentences : Sentences
        All with a tag.
    n_tags : int
    order : {1, 2, 3}
        No history, the tag before, or the two before.
    with_changes : bool
        Whether a change of the speaker is a parent, too.

    Returns
    -------
    array of float64, shape (n_kinds, n_histories, n_tags)
        As :mod:`palaver.models.taggers.hidden_backoff.kernels.tag_chains` takes it.
    """
    parents = ["tag", "tag2", "change"][: order - 1 if order > 1 else 0]
    columns = [_before(sentences, distance, n_tags) for distance in range(1, order)]
    sizes = [n_tags + 1] * (order - 1)
    if with_changes:
        parents.append("change")
        columns.append(sentences.changes.astype(np.int64))
        sizes.append(2)
    text = ">".join(name for name in ("tag2", "change", "tag") if name in parents)
    events = Events(
        sentences.tags.astype(np.int64), columns, np.ones(len(sentences.tags), np.int64)
    )
    tables = estimate(
        events.unique(sizes, n_tags), parse_graph(text, parents), sizes, n_tags,
        [False] * len(parents), Smoothing("witten-bell"),
    )  # fmt: skip
    n_kinds = 2 if with_changes else 1
    before = [range(n_tags + 1)] * max(order - 1, 1)
    rows = [
        tables.row([*history[::-1][: order - 1], *([kind] if with_changes else [])])
        for kind in range(n_kinds)
        for history in itertools.product(*before)
    ]
    return np.asarray(np.log(rows)).reshape(n_kinds, -1, n_tags)


def _before(sentences: Sentences, distance: int, start: int) -> NDArray[np.int64]:
    """Return the tag ``distance`` sentences before; the start before the first ones."""
    tags = sentences.tags.astype(np.int64)
    column = np.full(len(tags), start, np.int64)
    column[distance:] = tags[: max(len(tags) - distance, 0)]
    offsets = sentences.conversation_offsets
    positions = np.arange(len(tags)) - np.repeat(offsets[:-1], np.diff(offsets))
    column[positions < distance] = start
    return column
