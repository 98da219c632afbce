"""Reply forests with changing links: children, siblings, descendants, draws from log weights.

Within a conversation, messages are numbered from zero; links hold each one's first child and next
and previous siblings, -1 if there is none, with the children of the start last.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import highest_of
from palaver.kernels.random import open_stream, uniform

_NEGLIGIBLE = -45.0


@kernel
def open_parents(  # type: ignore[no-untyped-def]
    conversation_offsets, first_conversation, is_ordered, ranks, key, parents
):
    """Draw a forest for each conversation: for each message in turn, a parent among earlier ones.

    Parameters
    ----------
    conversation_offsets, first_conversation : of the shard. IN
    is_ordered : bool; ranks : array of int64, shape (n_messages,). IN
        Place of each message in its conversation; if they are not ordered, an order is drawn.
    key : array of uint64, shape (2,). IN
    parents : array of int32, shape (n_messages,). OUT
    """
    state = np.empty(4, np.uint64)
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        first, last = conversation_offsets[c], conversation_offsets[c + 1]
        sequence = np.arange(last - first)
        if is_ordered:
            for b in range(last - first):
                sequence[ranks[first + b]] = b
        else:
            for i in range(last - first - 1, 0, -1):
                other = int(uniform(state) * (i + 1))
                sequence[i], sequence[other] = sequence[other], sequence[i]
        for i in range(last - first):
            choice = int(uniform(state) * (i + 1))
            parents[first + sequence[i]] = -1 if choice == i else first + sequence[choice]


@inner
def link(parents, first, n, first_child, following, preceding):  # type: ignore[no-untyped-def]
    """Set the links of a conversation's forest."""
    first_child[: n + 1] = -1
    for b in range(n - 1, -1, -1):
        attach(b, parents[first + b] - first if parents[first + b] >= 0 else n,
                first_child, following, preceding)  # fmt: skip


@inner
def attach(b, parent, first_child, following, preceding):  # type: ignore[no-untyped-def]
    """Make ``b`` the first child of a message (or of the start)."""
    following[b] = first_child[parent]
    preceding[b] = -1
    if first_child[parent] >= 0:
        preceding[first_child[parent]] = b
    first_child[parent] = b


@inner
def detach(b, parent, first_child, following, preceding):  # type: ignore[no-untyped-def]
    """Remove ``b`` from the children of a message (or of the start)."""
    if preceding[b] >= 0:
        following[preceding[b]] = following[b]
    else:
        first_child[parent] = following[b]
    if following[b] >= 0:
        preceding[following[b]] = preceding[b]


@inner
def list_below(b, first_child, following, below):  # type: ignore[no-untyped-def]
    """List ``b`` and all messages below it in ``below`` (OUT); return their number."""
    below[0] = b
    n_below = 1
    done = 0
    while done < n_below:
        child = first_child[below[done]]
        while child >= 0:
            below[n_below] = child
            n_below += 1
            child = following[child]
        done += 1
    return n_below


@inner
def draw_by_logs(scores, n, draw):  # type: ignore[no-untyped-def]
    """Return an index drawn with log weights ``scores`` (IN-OUT, overwritten) from one uniform."""
    highest = highest_of(scores[:n])
    total = 0.0
    for i in range(n):
        distance = scores[i] - highest
        total += math.exp(distance) if distance > _NEGLIGIBLE else 0.0
        scores[i] = total
    target = draw * total
    for i in range(n - 1):
        if target < scores[i]:
            return i
    return n - 1
