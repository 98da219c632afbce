"""Backoff graphs: which parents of a word are dropped, and in which order.

A graph is written as a sequence of parents to drop, separated by ``>``; parents joined by ``+``
are dropped in parallel, each path dropping a different one first::

    tag>word            {tag, word} -> {word} -> {}
    word>state+tag      {state, tag, word} -> {state, tag} -> {tag} and {state} -> {}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from palaver.errors import ParameterError


@dataclass(frozen=True)
class Node:
    """A set of parents from which a word is predicted.

    Attributes
    ----------
    kept : tuple of int
        Numbers of the parents in the context, ascending.
    lower : tuple of int
        Nodes that this one backs off to; if empty, the uniform distribution.
    source : int
        Node whose counts this one's are derived from: the nearest one on every path
        from the top. On a chain it is the node above, at a join the fork. -1 at the top.
    """

    kept: tuple[int, ...]
    lower: tuple[int, ...]
    source: int


@dataclass(frozen=True)
class Graph:
    """A backoff graph; the first node has all parents, the last one none."""

    text: str
    parents: tuple[str, ...]
    nodes: tuple[Node, ...]


def parse_graph(text: str, parents: Sequence[str]) -> Graph:
    """Parse the text form of a graph.

    Parameters
    ----------
    text : str
        Such as ``"state>tag>word"``; every parent must occur once. Without parents, ``""``.
    parents : sequence of str
        Names in the order of the columns of contexts.
    """
    steps = [[name.strip() for name in step.split("+")] for step in text.split(">")] if text else []
    named = [name for step in steps for name in step]
    if sorted(named) != sorted(parents):
        raise ParameterError(
            f"graph must name each of {', '.join(parents) or 'no parents'} once, as in "
            f"{'>'.join(parents)!r} or {'+'.join(parents)!r}, got {text!r}"
        )
    numbers = {name: number for number, name in enumerate(parents)}
    layers = _layers([[numbers[name] for name in step] for step in steps])
    return Graph(text, tuple(parents), _nodes(layers))


def _layers(steps: list[list[int]]) -> list[list[list[tuple[int, ...]]]]:
    """Return all kept sets, for each step and each number of dropped parents."""
    rest = sorted(parent for step in steps for parent in step)
    layers = []
    for step in steps:
        rest = [parent for parent in rest if parent not in step]
        layers.append(
            [
                [tuple(sorted([*rest, *stay])) for stay in combinations(sorted(step), size)]
                for size in range(len(step), 0, -1)
            ]
        )
    layers.append([[()]])
    return layers


def _nodes(layers: list[list[list[tuple[int, ...]]]]) -> tuple[Node, ...]:
    """Link every kept set to those with one parent less, in order from the top."""
    rows = [row for layer in layers for row in layer]
    numbers = {kept: number for number, kept in enumerate(kept for row in rows for kept in row)}
    forks = {layer[0][0] for layer in layers}
    nodes: list[Node] = []
    fork = -1
    for row, below in zip(rows, [*rows[1:], []], strict=True):
        for kept in row:
            lower = tuple(numbers[other] for other in below if set(other) < set(kept))
            above = [n for n, node in enumerate(nodes) if numbers[kept] in node.lower]
            nodes.append(Node(kept, lower, above[0] if len(above) == 1 else fork))
        if row[0] in forks:
            fork = numbers[row[0]]
    return tuple(nodes)
