"""Evidence of a second look: what the first look says about conversations around a message.

The first look gives every candidate a probability and every message a parent, from which
conversations follow: the trees of messages so far. The second look sees, for candidate ``j`` of
message ``i``, the tree that ``j`` is in: its size, its latest message, who takes part in it, and
how likely the first look finds it that ``i`` belongs there. Only messages before ``i`` count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palaver.kernels.compiled import inner, kernel

#: Names of the additional features, in the order of their columns; see docs/threads.md.
STRUCTURE = (
    "chance", "behind best", "no parent", "no parent, spoken before", "tree, log size",
    "tree, latest", "tree, log since", "tree, mine", "tree, not mine", "tree, chance",
    "tree, my start", "tree, alone", "tree, similarity", "tree, nearest", "tree, log my messages",
    "tree, addressee's", "tree, not addressee's", "tree, previous", "starts", "replies to me",
    "log replies", "chance of start",
)  # fmt: skip

(
    CHANCE, BEHIND, NONE, NONE_SPOKEN, TREE_SIZE, TREE_LATEST, TREE_SINCE, TREE_MINE, TREE_NOT_MINE,
    TREE_CHANCE, TREE_MY_START, TREE_ALONE, TREE_SIMILARITY, TREE_NEAREST, TREE_MY_MESSAGES,
    TREE_ADDRESSEE, TREE_NOT_ADDRESSEE, TREE_PREVIOUS, STARTS, REPLIES_TO_ME, LOG_REPLIES,
    CHANCE_OF_START,
) = range(len(STRUCTURE))  # fmt: skip

_LEAST = 1e-6  # chances are at least this, so that their logarithms are finite


class Trees(NamedTuple):
    """Trees of the messages so far, filled message by message.

    Attributes
    ----------
    roots, sizes, latest : array of int64, shape (n_messages,)
        First message of each message's tree; size and latest message of the tree of each root.
    replies : array of int64, shape (n_messages,)
        Number of replies to each message.
    parents : array of int64, shape (n_messages,)
    starts : array of float64, shape (n_messages,)
        Log chance that each message starts a conversation.
    last_of : array of int64, shape (n_speakers + 1,)
        Latest message of each speaker.
    chances, similarity, nearest : array of float64, shape (n_messages,). Scratch
    mine : array of int64, shape (n_messages,). Scratch
    """

    roots: NDArray[np.int64]
    sizes: NDArray[np.int64]
    latest: NDArray[np.int64]
    replies: NDArray[np.int64]
    parents: NDArray[np.int64]
    starts: NDArray[np.float64]
    last_of: NDArray[np.int64]
    chances: NDArray[np.float64]
    similarity: NDArray[np.float64]
    nearest: NDArray[np.float64]
    mine: NDArray[np.int64]


def no_trees(n_messages: int, n_speakers: int) -> Trees:
    """Return the state before the first message; a message that is left out is a tree."""
    return Trees(
        roots=np.arange(n_messages),
        sizes=np.ones(n_messages, np.int64),
        latest=np.arange(n_messages),
        replies=np.zeros(n_messages, np.int64),
        parents=np.full(n_messages, -1, np.int64),
        starts=np.zeros(n_messages),
        last_of=np.full(n_speakers + 1, -1, np.int64),
        chances=np.zeros(n_messages),
        similarity=np.zeros(n_messages),
        nearest=np.zeros(n_messages),
        mine=np.zeros(n_messages, np.int64),
    )


@kernel
def fill_structure(  # type: ignore[no-untyped-def]
    trees, messages, pair_offsets, candidates, chances, parents, alike, speakers, addressed,
    firsts, structure,
):  # fmt: skip
    """Set the additional features of some messages, in order, and add them to the trees.

    Parameters
    ----------
    trees : Trees. IN-OUT
        Of the messages before these.
    messages : array of int64, shape (n_some,). IN
        Places of the messages.
    pair_offsets : array of int64, shape (n_some + 1,). IN
    candidates : array of int32, shape (n_pairs,). IN
        Places, -1 for no parent.
    chances : array of float64, shape (n_pairs,). IN
        Probabilities of the first look.
    parents : array of int64, shape (n_some,). IN
        Parents of the first look, -1 for none.
    alike : array of float32, shape (n_pairs,). IN
        Similarity to each candidate.
    speakers, addressed : array of int32, shape (n_messages,). IN
    firsts : array of int64, shape (n_some,). IN
        First message of each message's conversation.
    structure : array of float32, shape (n_pairs, n_structure). OUT
    """
    for b in range(len(messages)):
        begin, end = pair_offsets[b], pair_offsets[b + 1]
        i = messages[b]
        best = _sum_up(trees, i, candidates[begin:end], chances[begin:end], alike[begin:end],
                       speakers)  # fmt: skip
        me, them = speakers[i], addressed[i]
        my_tree = _tree_of(trees, me, firsts[b])
        their_tree = _tree_of(trees, them, firsts[b])
        for p in range(begin, end):
            row = structure[p]
            row[:] = 0.0
            row[CHANCE] = math.log(max(chances[p], _LEAST))
            row[BEHIND] = row[CHANCE] - math.log(max(best, _LEAST))
            j = candidates[p]
            if j < 0:
                row[NONE] = 1.0
                row[NONE_SPOKEN] = my_tree >= 0
                continue
            root = trees.roots[j]
            row[TREE_SIZE] = math.log(trees.sizes[root])
            row[TREE_LATEST] = trees.latest[root] == j
            row[TREE_SINCE] = math.log(i - trees.latest[root])
            row[TREE_MINE] = my_tree == root
            row[TREE_NOT_MINE] = my_tree >= 0 and my_tree != root
            row[TREE_CHANCE] = math.log(max(trees.chances[root], _LEAST))
            row[TREE_MY_START] = me >= 0 and speakers[root] == me
            row[TREE_ALONE] = trees.sizes[root] == 1
            row[TREE_SIMILARITY] = trees.similarity[root]
            row[TREE_NEAREST] = trees.nearest[root]
            row[TREE_MY_MESSAGES] = math.log1p(trees.mine[root])
            row[TREE_ADDRESSEE] = their_tree == root
            row[TREE_NOT_ADDRESSEE] = their_tree >= 0 and their_tree != root
            row[TREE_PREVIOUS] = i > firsts[b] and trees.roots[i - 1] == root
            row[STARTS] = trees.parents[j] < 0
            row[REPLIES_TO_ME] = (
                trees.parents[j] >= 0 and me >= 0 and speakers[trees.parents[j]] == me
            )
            row[LOG_REPLIES] = math.log1p(trees.replies[j])
            row[CHANCE_OF_START] = trees.starts[j]
        _add(trees, i, parents[b], me)


@inner
def _tree_of(trees, speaker, first):  # type: ignore[no-untyped-def]
    """Return the tree of a speaker's latest message in this conversation, -1 for none."""
    if speaker < 0 or trees.last_of[speaker] < first:
        return -1
    return trees.roots[trees.last_of[speaker]]


@inner
def _sum_up(trees, i, candidates, chances, alike, speakers):  # type: ignore[no-untyped-def]
    """Set what candidates say about their trees, and the chance of a start; return the best."""
    best = 0.0
    for k in range(len(candidates)):
        if candidates[k] >= 0:
            root = trees.roots[candidates[k]]
            trees.chances[root] = trees.similarity[root] = trees.nearest[root] = 0.0
            trees.mine[root] = 0
    for k in range(len(candidates)):
        best = max(best, chances[k])
        j = candidates[k]
        if j < 0:
            trees.starts[i] = math.log(max(chances[k], _LEAST))
            continue
        root = trees.roots[j]
        trees.chances[root] += chances[k]
        trees.similarity[root] += alike[k]
        trees.nearest[root] = max(trees.nearest[root], alike[k])
        trees.mine[root] += speakers[i] >= 0 and speakers[j] == speakers[i]
    return best


@inner
def _add(trees, i, parent, speaker):  # type: ignore[no-untyped-def]
    """Add a message to the tree of its parent."""
    if parent >= 0:
        root = trees.roots[parent]
        trees.roots[i] = root
        trees.parents[i] = parent
        trees.sizes[root] += 1
        trees.latest[root] = i
        trees.replies[parent] += 1
    if speaker >= 0:
        trees.last_of[speaker] = i
