"""Emitted factors: values that acts and states generate, as words are (Ji & Bilmes 2006, figure 5).

A factor f, such as a quantized pitch, multiplies the joint probability of section 3 by ::

    prod_{k,i}  P(f_{k,i} | s_{k,i}, d_k)                                                      (a)

a small backoff model with Witten-Bell smoothing, which drops the state first and the tag second.
Section 4.5 also tries words as parents; the graph of a factor may name them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.errors import ParameterError
from palaver.language import Events, Graph, Smoothing, Tables, estimate, parse_graph
from palaver.models.taggers.hidden_backoff.layout import StateLayout

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Possible parents of an emitted factor, and the order in which they are dropped.
PARENTS, GRAPH = ("word", "state", "tag"), "state>tag"


def graphs_of(emitted: Sequence[str] | Mapping[str, str] | None) -> dict[str, str]:
    """Return the graphs of emitted factors by name.

    Raises
    ------
    ParameterError
        A graph names something else than words, states and tags.
    """
    named = dict(emitted) if isinstance(emitted, Mapping) else dict.fromkeys(emitted or (), GRAPH)
    for name, text in named.items():
        unknown = [parent for parent in _parents(text) if parent not in PARENTS]
        if unknown or not _parents(text):
            raise ParameterError(
                f"emitted: the graph of {name!r} must name some of {', '.join(PARENTS)}, "
                f"such as {GRAPH!r}, got {text!r}"
            )
    return named


def _parents(text: str) -> list[str]:
    return [name.strip() for step in text.split(">") for name in step.split("+") if name.strip()]


@dataclass(frozen=True, eq=False)
class EmittedFactor:
    """How the values of a factor depend on the act, the state, and possibly the word.

    Attributes
    ----------
    layout : StateLayout
    n_words, n_values : int
    backoff : str
        The graph's text; a state is left out if none is hidden.
    """

    layout: StateLayout
    n_words: int
    n_values: int
    backoff: str

    @property
    def _steps(self) -> list[list[str]]:
        hidden = self.layout.most > 1
        steps = ([n.strip() for n in step.split("+")] for step in self.backoff.split(">"))
        kept = ([n for n in step if hidden or n != "state"] for step in steps)
        return [step for step in kept if step]

    @property
    def parents(self) -> list[str]:
        """Names of the parents, in a fixed order."""
        named = [name for step in self._steps for name in step]
        return [name for name in PARENTS if name in named]

    @property
    def graph(self) -> Graph:
        """The backoff graph."""
        return parse_graph(">".join("+".join(step) for step in self._steps), self.parents)

    @property
    def sizes(self) -> list[int]:
        """Number of values of each parent."""
        layout = self.layout
        sizes = {"word": self.n_words, "state": layout.most, "tag": len(layout.variants[0])}
        return [sizes[name] for name in self.parents]

    @property
    def empty(self) -> Tables:
        """Tables without probabilities."""
        return Tables(self.graph, self.sizes, self.n_values)

    def _columns(self, words: Numbers, units: Numbers) -> list[Numbers]:
        layout = self.layout
        columns = {"word": words, "state": layout.unit_states[units],
                   "tag": layout.tags[layout.unit_tags[units]]}  # fmt: skip
        return [columns[name] for name in self.parents]

    def train(self, values: Numbers, words: Numbers, units: Numbers, counts: Numbers) -> Tables:
        """Estimate the probabilities from events; those without a value (-1) do not count.

        All arrays have the shape (n_events,).
        """
        known = values >= 0
        columns = [column[known] for column in self._columns(words, units)]
        events = Events(values[known], columns, counts[known])
        return estimate(
            events.unique(self.sizes, self.n_values), self.graph, self.sizes, self.n_values,
            [False] * len(self.parents), Smoothing("witten-bell"),
        )  # fmt: skip

    def probability(self, tables: Tables, values: Numbers, words: Numbers, units: Any) -> Floats:
        """Return the probability of each value in its unit, 1 where there is none, (n_events,)."""
        found = np.ones(len(values))
        known = np.flatnonzero(values >= 0)
        found[known] = tables.probability(values[known], self._columns(words[known], units[known]))
        return found
