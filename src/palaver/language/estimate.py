"""From counts to probabilities: discounts and weights of the nodes below, from the bottom up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.language.counts import Events, NodeCounts, count_nodes
from palaver.language.discounts import discounted_shares, estimate_discounts
from palaver.language.graph import Graph
from palaver.language.tables import NodeTable, Tables

_EVERYTHING = 1e-12


@dataclass(frozen=True)
class Smoothing:
    """How probabilities are estimated from counts.

    Attributes
    ----------
    discount : str
        One of :data:`palaver.language.discounts.DISCOUNTS`.
    combine : str
        One of :data:`palaver.language.tables.COMBINATIONS`.
    weights : tuple of float
        Weights of the paths, by the parent that each drops; for the weighted combination.
    interpolate : bool
        Mix the nodes below into the probabilities of seen words as well as unseen ones.
    cutoffs : tuple of int
        Counts up to this are treated as unseen; one value per number of parents, from none
        upwards, with the last one for all above.
    """

    discount: str = "modified-kneser-ney"
    combine: str = "mean"
    weights: tuple[float, ...] = ()
    interpolate: bool = True
    cutoffs: tuple[int, ...] = (0,)

    def cutoff(self, n_parents: int) -> int:
        """Return the cut-off of a node with this many parents."""
        return self.cutoffs[min(n_parents, len(self.cutoffs) - 1)]


def estimate(
    events: Events,
    graph: Graph,
    sizes: Sequence[int],
    n_words: int,
    type_counting: Sequence[bool],
    smoothing: Smoothing,
) -> Tables:
    """Estimate a backoff model.

    Parameters
    ----------
    events : Events
        Distinct events; see :meth:`Events.unique`.
    graph : Graph
    sizes : sequence of int
        Number of values of each parent.
    n_words : int
        Number of words that can be predicted, including the unknown word and the end.
    type_counting : sequence of bool
        For each parent, whether types instead of events are counted when it is dropped.
    smoothing : Smoothing
    """
    counted = count_nodes(events, graph, sizes, n_words, type_counting)
    tables = Tables(graph, sizes, n_words, smoothing.combine, smoothing.weights)
    for number in range(len(graph.nodes) - 1, -1, -1):
        tables.nodes[number] = _node_table(tables, number, counted[number], smoothing)
    return tables


def _node_table(
    tables: Tables, number: int, counted: NodeCounts, smoothing: Smoothing
) -> NodeTable:
    """Turn the counts of a node into probabilities, given the nodes below."""
    place = tables.graph.nodes[number]
    contexts = counted.pair_contexts
    n_contexts = len(counted.contexts)
    totals = np.bincount(contexts, counted.counts, n_contexts).astype(np.int64)
    discounts = estimate_discounts(counted.counts, smoothing.discount)
    shares = discounted_shares(counted.counts, contexts, totals, discounts, smoothing.discount)
    kept = counted.counts > smoothing.cutoff(len(place.kept))
    words, contexts, shares = counted.words[kept], contexts[kept], shares[kept]
    below, norm = _below(tables, number, counted, contexts, words)
    left = np.maximum(1 - np.bincount(contexts, shares, n_contexts), 0.0)
    if smoothing.interpolate:
        alpha = left / norm
        probability = shares + alpha[contexts] * below
    else:
        alpha, probability = _backed_off(shares, contexts, below, left, norm)
    pairs = contexts * tables.n_words + words
    return NodeTable(counted.contexts, pairs, probability, alpha, totals)


def _below(
    tables: Tables,
    number: int,
    counted: NodeCounts,
    contexts: NDArray[np.int64],
    words: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return g of each pair, and its sum over all words in each context."""
    parents = [np.full(len(counted.contexts), -1, np.int64) for _ in tables.sizes]
    for parent, column in zip(
        tables.graph.nodes[number].kept, counted.contexts.columns(), strict=True
    ):
        parents[parent] = column
    below = tables.lower(words, [column[contexts] for column in parents], number)
    if tables.is_unnormalized(number):
        return below, tables.normalizer(parents, number)
    return below, np.ones(len(counted.contexts))


def _backed_off(
    shares: NDArray[np.float64],
    contexts: NDArray[np.int64],
    below: NDArray[np.float64],
    left: NDArray[np.float64],
    norm: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return alpha and the seen words' probabilities if only unseen words back off.

    If every word was seen, no unseen word can take the rest, so the seen ones share it.
    """
    unseen = norm - np.bincount(contexts, below, len(norm))
    everything = unseen <= _EVERYTHING * norm
    alpha = np.where(everything, 0.0, left / np.where(everything, 1.0, unseen))
    scale = np.where(everything, 1 / np.maximum(1 - left, _EVERYTHING), 1.0)
    return alpha, shares * scale[contexts]
