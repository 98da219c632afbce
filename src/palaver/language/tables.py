"""Probabilities of words at the nodes of a backoff graph.

At every node, a word in a context has either its own probability or that of the nodes below,
times the context's weight::

    p(w | context) = probability[context, w]                if the pair is in the table
                   = alpha[context] * g(w | lower contexts)   otherwise
                   = g(w | lower contexts) / Z                if the context was never seen

where ``g`` combines the nodes below, ``Z`` is its sum over all words, and ``g`` of the last node is
uniform. Interpolated and backed-off models, and ARPA files, all have this form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.language.graph import Graph, Node
from palaver.language.keys import Keys, find_sorted

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Parents = Sequence[NDArray[np.integer]]

COMBINATIONS = ("mean", "max", "product", "weighted", "count-weighted")
#: Combinations of distributions that are not themselves distributions.
_UNNORMALIZED = ("max", "product")


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The probabilities and weights at a node.

    Attributes
    ----------
    contexts : Keys
    pairs : array of int64, shape (n_pairs,)
        Index of the context times the number of words, plus the word; sorted.
    probability : array of float64, shape (n_pairs,)
    alpha : array of float64, shape (n_contexts,)
        Weight of the nodes below.
    totals : array of int64, shape (n_contexts,)
        Counts of the contexts, for the count-weighted combination.
    """

    contexts: Keys
    pairs: Numbers
    probability: Floats
    alpha: Floats
    totals: Numbers


class Tables:
    """A complete backoff model as arrays.

    Parameters
    ----------
    graph : Graph
    sizes : sequence of int
        Number of values of each parent.
    n_words : int
    combine : str
        One of :data:`COMBINATIONS`.
    weights : sequence of float
        Weights of the paths, by the parent that each drops; for the weighted combination.
    nodes : list of NodeTable or None
        In the order of the graph's nodes; filled from the last to the first.
    """

    def __init__(
        self,
        graph: Graph,
        sizes: Sequence[int],
        n_words: int,
        combine: str = "mean",
        weights: Sequence[float] = (),
        nodes: Sequence[NodeTable] = (),
    ) -> None:
        self.graph = graph
        self.sizes = tuple(sizes)
        self.n_words = n_words
        self.combine = combine
        self.weights = tuple(weights) or (1.0,) * len(self.sizes)
        self.nodes: dict[int, NodeTable] = dict(enumerate(nodes))

    @property
    def n_pairs(self) -> int:
        """Number of stored probabilities."""
        return sum(len(node.pairs) for node in self.nodes.values())

    # probabilities of many events

    def probability(self, words: Numbers, parents: Parents, node: int = 0) -> Floats:
        """Return the probability of each word given its parents.

        Parameters
        ----------
        words : array of int, shape (n,)
        parents : sequence of array of int, each of shape (n,)
            All parents, -1 where one is missing.
        node : int
            Node to use; 0 is the whole model.
        """
        table, place = self.nodes[node], self.graph.nodes[node]
        contexts = table.contexts.find([parents[parent] for parent in place.kept], len(words))
        keys = np.where(contexts < 0, -1, contexts * self.n_words + words)
        found = find_sorted(table.pairs, keys)
        result = np.empty(len(words))
        hits = found >= 0
        result[hits] = table.probability[found[hits]]
        missed = np.flatnonzero(~hits)
        if len(missed):
            rest = [column[missed] for column in parents]
            below = self.lower(words[missed], rest, node)
            result[missed] = below * self.weight(contexts[missed], rest, node)
        return result

    def weight(self, contexts: Numbers, parents: Parents, node: int) -> Floats:
        """Return alpha for seen contexts and 1 / Z for unseen ones."""
        weight = np.ones(len(contexts))
        seen = contexts >= 0
        weight[seen] = self.nodes[node].alpha[contexts[seen]]
        if self.is_unnormalized(node) and not seen.all():
            new = ~seen
            weight[new] = 1 / self.normalizer([column[new] for column in parents], node)
        return weight

    def lower(self, words: Numbers, parents: Parents, node: int) -> Floats:
        """Return g, the combined probability of each word at the nodes below."""
        below = self.graph.nodes[node].lower
        if not below:
            return np.full(len(words), 1 / self.n_words)
        parts = [self.probability(words, parents, other) for other in below]
        return self.combined(parts, parents, node) if len(parts) > 1 else parts[0]

    def combined(self, parts: list[Floats], parents: Parents, node: int) -> Floats:
        """Combine several probabilities of each word."""
        if self.combine == "max":
            return np.asarray(np.maximum.reduce(parts))
        if self.combine == "product":
            return np.asarray(np.multiply.reduce(parts))
        shares = self._shares(parents, len(parts[0]), node)
        return np.asarray(sum(share * part for share, part in zip(shares, parts, strict=True)))

    def _shares(self, parents: Parents, length: int, node: int) -> Floats:
        """Return the weight of each node below, for each event; they sum to one."""
        place = self.graph.nodes[node]
        if self.combine == "mean":
            raw = np.ones((len(place.lower), length))
        elif self.combine == "weighted":
            raw = np.array([[self._path_weight(place, other)] * length for other in place.lower])
        else:
            raw = np.array([self._context_totals(parents, length, other) for other in place.lower])
            raw = np.where(raw.sum(axis=0) > 0, raw, 1.0)
        return np.asarray(raw / raw.sum(axis=0))

    def _path_weight(self, place: Node, other: int) -> float:
        (dropped,) = set(place.kept) - set(self.graph.nodes[other].kept)
        return self.weights[dropped]

    def _context_totals(self, parents: Parents, length: int, node: int) -> Floats:
        """Return how often each context was seen at a node; 0 if never."""
        table = self.nodes[node]
        columns = [parents[parent] for parent in self.graph.nodes[node].kept]
        contexts = table.contexts.find(columns, length)
        return np.where(contexts < 0, 0, table.totals[contexts]).astype(float)

    def is_unnormalized(self, node: int) -> bool:
        """Whether g of a node may not sum to one."""
        return self.combine in _UNNORMALIZED and len(self.graph.nodes[node].lower) > 1

    # whole distributions

    def row(self, context: Sequence[int], node: int = 0) -> Floats:
        """Return the probabilities of all words in a context, shape (n_words,).

        Parameters
        ----------
        context : sequence of int
            A value for each parent, -1 if it is missing.
        node : int
        """
        table = self.nodes[node]
        kept = [np.array([context[parent]]) for parent in self.graph.nodes[node].kept]
        number = int(table.contexts.find(kept, 1)[0])
        below = self.lower_row(context, node)
        if number < 0:
            return below / below.sum() if self.is_unnormalized(node) else below
        first, last = np.searchsorted(
            table.pairs, [number * self.n_words, (number + 1) * self.n_words]
        )
        below = below * table.alpha[number]
        below[table.pairs[first:last] - number * self.n_words] = table.probability[first:last]
        return np.asarray(below)

    def lower_row(self, context: Sequence[int], node: int) -> Floats:
        """Return g of all words in a context, shape (n_words,)."""
        below = self.graph.nodes[node].lower
        if not below:
            return np.full(self.n_words, 1 / self.n_words)
        rows = [self.row(context, other) for other in below]
        parents = [np.array([value]) for value in context]
        return self.combined(rows, parents, node) if len(rows) > 1 else rows[0]

    def normalizer(self, parents: Parents, node: int) -> Floats:
        """Return Z, the sum of g over all words, for each event; computed once per context."""
        kept = self.graph.nodes[node].kept
        columns = [parents[parent] + 1 for parent in kept]
        keys, numbers = Keys.number(columns, [self.sizes[parent] + 1 for parent in kept])
        sums = np.empty(len(keys))
        context = [-1] * len(self.sizes)
        for i, values in enumerate(zip(*keys.columns(), strict=True)):
            for parent, value in zip(kept, values, strict=True):
                context[parent] = int(value) - 1
            sums[i] = self.lower_row(context, node).sum()
        return np.asarray(sums[numbers])

    # storing

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables as named arrays."""
        found: dict[str, NDArray[Any]] = {}
        for number, node in self.nodes.items():
            for level, keys in enumerate(node.contexts.levels):
                found[f"{number}_level{level}"] = keys
            for name in _ARRAYS:
                found[f"{number}_{name}"] = getattr(node, name)
        return found

    def with_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Tables:
        """Return a model with the same graph and sizes and the tables from :meth:`arrays`."""
        nodes = []
        for number, place in enumerate(self.graph.nodes):
            names = [name for name in arrays if name.startswith(f"{number}_level")]
            levels = [arrays[f"{number}_level{level}"] for level in range(len(names))]
            contexts = Keys([self.sizes[parent] for parent in place.kept], levels)
            nodes.append(NodeTable(contexts, *(arrays[f"{number}_{name}"] for name in _ARRAYS)))
        return Tables(self.graph, self.sizes, self.n_words, self.combine, self.weights, nodes)


_ARRAYS = ("pairs", "probability", "alpha", "totals")
