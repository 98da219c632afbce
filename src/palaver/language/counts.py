"""Counts of words in contexts at every node of a backoff graph, as sorted integer arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.language.graph import Graph, Node
from palaver.language.keys import Keys


@dataclass(frozen=True, eq=False)
class Events:
    """Words with their parents.

    Attributes
    ----------
    words : array of int, shape (n_events,)
    parents : sequence of array of int, each of shape (n_events,)
        One column per parent; -1 where it is missing, as before the first word.
    counts : array of int64, shape (n_events,)
        How often each event was seen.
    """

    words: NDArray[np.int64]
    parents: Sequence[NDArray[np.int64]]
    counts: NDArray[np.int64]

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Events:
        """Return some of the events."""
        parents = [column[rows] for column in self.parents]
        return Events(self.words[rows], parents, self.counts[rows])

    def unique(self, sizes: Sequence[int], n_words: int) -> Events:
        """Return the distinct events, sorted, with the sums of their counts."""
        shifted = [column + 1 for column in self.parents]
        keys, numbers = Keys.number([*shifted, self.words], [*(s + 1 for s in sizes), n_words])
        *parents, words = keys.columns()
        counts = np.bincount(numbers, self.counts, len(keys)).astype(np.int64)
        return Events(words, [column - 1 for column in parents], counts)


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """The counts at a node.

    Attributes
    ----------
    contexts : Keys
    bounds : array of int64, shape (n_contexts + 1,)
        Where the words of each context begin.
    words, counts : array of int64, shape (n_pairs,)
        Words, ascending within a context, and how often, or with how many values of the
        dropped parents, each was seen there.
    """

    contexts: Keys
    bounds: NDArray[np.int64]
    words: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def pair_contexts(self) -> NDArray[np.int64]:
        """Context of each pair, (n_pairs,)."""
        return np.repeat(np.arange(len(self.contexts)), np.diff(self.bounds))


def count_nodes(
    events: Events,
    graph: Graph,
    sizes: Sequence[int],
    n_words: int,
    type_counting: Sequence[bool],
) -> list[NodeCounts]:
    """Count at every node.

    The top node has the counts of the events. Any other node has, for each word in a context,
    the number (kind: types) or the summed counts (kind: sum) of its source's
    entries; types if a dropped parent is ``type_counting``, as in Kneser-Ney's continuation
    counts. Events that the source does not see, because a dropped parent is missing,
    contribute their own counts, as n-grams at the start of a sentence do in KenLM.

    Parameters
    ----------
    events : Events
        Distinct events.
    graph : Graph
    sizes : sequence of int
        Number of values of each parent.
    n_words : int
    type_counting : sequence of bool
        For each parent, whether types are counted when it is dropped.
    """
    found: list[NodeCounts] = []
    kept_events: list[Events] = []
    for node in graph.nodes:
        seen = _passed_down(events, graph, node, kept_events, type_counting)
        columns = [seen.parents[parent] for parent in node.kept]
        counted = _count(seen, columns, [sizes[parent] for parent in node.kept], n_words)
        found.append(counted)
        kept_events.append(_as_events(counted, node, len(sizes)))
    return found


def _passed_down(
    events: Events,
    graph: Graph,
    node: Node,
    above: list[Events],
    type_counting: Sequence[bool],
) -> Events:
    """Return the events that a node counts."""
    visible = _exist(events, node.kept)
    if node.source < 0:
        return events.take(visible)
    source = graph.nodes[node.source]
    dropped = set(source.kept) - set(node.kept)
    seen = above[node.source]
    if any(type_counting[parent] for parent in dropped):
        seen = Events(seen.words, seen.parents, np.ones_like(seen.counts))
    late = events.take(visible & ~_exist(events, source.kept))
    return Events(
        np.concatenate([seen.words, late.words]),
        [np.concatenate(pair) for pair in zip(seen.parents, late.parents, strict=True)],
        np.concatenate([seen.counts, late.counts]),
    )


def _exist(events: Events, kept: Sequence[int]) -> NDArray[np.bool_]:
    """Return which events have all of the given parents."""
    exist = np.ones(len(events.words), bool)
    for parent in kept:
        exist &= events.parents[parent] >= 0
    return exist


def _count(
    seen: Events, columns: list[NDArray[np.int64]], sizes: list[int], n_words: int
) -> NodeCounts:
    """Sort events and add up their counts."""
    contexts, numbers = Keys.number(columns, sizes)
    if not columns:
        numbers = np.zeros(len(seen.words), np.int64)
    pairs, places = np.unique(numbers * n_words + seen.words, return_inverse=True)
    counts = np.bincount(places, seen.counts, len(pairs)).astype(np.int64)
    bounds = np.searchsorted(pairs, np.arange(len(contexts) + 1) * n_words)
    return NodeCounts(contexts, bounds, pairs % n_words, counts)


def _as_events(counted: NodeCounts, node: Node, n_parents: int) -> Events:
    """Return the entries of a node as events, for the nodes below; dropped parents are -1."""
    contexts = counted.pair_contexts
    parents = [np.full(len(contexts), -1, np.int64) for _ in range(n_parents)]
    for parent, column in zip(node.kept, counted.contexts.columns(), strict=True):
        parents[parent] = column[contexts]
    return Events(counted.words, parents, counted.counts)
