"""Probabilities of the same words in many cases: some parents observed, the others given.

A tagger asks for the probability of every word under every tag and state. Nodes of the backoff
graph that have dropped the tag or the state say the same in many of these cases, and are asked
once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from palaver.language.kernels.lookup import look_up
from palaver.language.tables import Tables

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Cases:
    """Words with their observed parents; a call gives values of the others.

    Parameters
    ----------
    tables : Tables
    words : array of int64, shape (n,)
    observed : mapping of int to array of int64, each of shape (n,)
        Values of parents by number, -1 where one is missing. It is fast if neighbours have the same
        values.
    """

    def __init__(self, tables: Tables, words: Numbers, observed: Mapping[int, Numbers]) -> None:
        self._tables, self._words, self._observed = tables, words, dict(observed)
        self._known: dict[tuple[int, ...], Floats] = {}
        self._runs: dict[tuple[int, ...], Numbers] = {}

    def __call__(self, given: Mapping[int, int]) -> Floats:
        """Return the probability of each word, (n,), given the values of all other parents."""
        return self._probability(0, given).copy()

    def _probability(self, node: int, given: Mapping[int, int]) -> Floats:
        """Return the probability of each word at a node."""
        kept = self._tables.graph.nodes[node].kept
        case = (node, *(given[parent] for parent in kept if parent in given))
        if case not in self._known:
            self._known[case] = self._computed(node, given)
        return self._known[case]

    def _computed(self, node: int, given: Mapping[int, int]) -> Floats:
        tables, n = self._tables, len(self._words)
        table = tables.nodes[node]
        runs, contexts = self._contexts(node, given)
        below = tables.graph.nodes[node].lower
        parts = [self._probability(other, given) for other in below]
        if not parts:
            lower = np.full(n, 1 / tables.n_words)
        elif len(parts) == 1:
            lower = parts[0]
        else:
            lower = tables.combined(parts, self._parents(slice(None), given), node)
        weights = tables.weight(contexts, self._parents(runs[:-1], given), node)
        found = np.empty(n)
        look_up(runs, contexts, weights, self._words, tables.n_words, table.pairs,
                table.probability, lower, found)  # fmt: skip
        return found

    def _contexts(self, node: int, given: Mapping[int, int]) -> tuple[Numbers, Numbers]:
        """Return runs of words with the same observed parents, and the context of each run."""
        kept = self._tables.graph.nodes[node].kept
        columns = tuple(parent for parent in kept if parent in self._observed)
        if columns not in self._runs:
            changes = np.zeros(max(len(self._words) - 1, 0), bool)
            for parent in columns:
                changes |= np.diff(self._observed[parent]) != 0
            starts = np.flatnonzero(changes) + 1
            first = [0] if len(self._words) else []
            self._runs[columns] = np.concatenate((first, starts, [len(self._words)])).astype(
                np.int64
            )
        runs = self._runs[columns]
        parents = self._parents(runs[:-1], given)
        own = [parents[parent] for parent in kept]
        return runs, self._tables.nodes[node].contexts.find(own, len(runs) - 1)

    def _parents(self, places: Numbers | slice, given: Mapping[int, int]) -> list[Numbers]:
        """Return the values of all parents at some places."""
        n = len(self._words[places])
        return [
            self._observed[parent][places] if parent in self._observed
            else np.full(n, given[parent], np.int64)
            for parent in range(len(self._tables.sizes))
        ]  # fmt: skip
