"""GraphML: nodes and weighted edges, read in one pass without building a tree of the file."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from palaver.errors import FormatError

#: Attributes of nodes that say what they are called, in the order in which they are tried.
_CALLED = ("label", "name")


@dataclass
class GraphML:
    """Items by number, and edges; filled by the parser.

    Attributes
    ----------
    names : list of str
    sources, targets : list of int
    weights : list of float
    both_ways : list of bool
        Whether each edge is undirected.
    labels : dict of str to dict of int to str
        What nodes are called by their attributes "label" and "name", if there are any.
    """

    names: list[str] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    both_ways: list[bool] = field(default_factory=list)
    labels: dict[str, dict[int, str]] = field(default_factory=dict)

    def called(self) -> tuple[list[str], str | None]:
        """Return what items are called, and by which attribute: None if by their ids.

        By an attribute only if every item has one of its own.
        """
        for attribute in _CALLED:
            labels = self.labels.get(attribute, {})
            if len(set(labels.values())) == len(self.names) and "" not in labels.values():
                return [labels[number] for number in range(len(self.names))], attribute
        return self.names, None


class _Reader:
    """Handlers of the parser."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found = GraphML()
        self._numbers: dict[str, int] = {}
        self._weight_keys: set[str] = set()
        self._called_keys: dict[str, str] = {}
        self._directed = True
        self._in_edge = False
        self._node: int | None = None
        self._calls: str | None = None
        self._text: list[str] | None = None
        self._seen_graph = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if tag == "graph":
            self._seen_graph = True
            self._directed = attributes.get("edgedefault", "directed") != "undirected"
        elif tag == "key":
            called = attributes.get("attr.name", attributes.get("id", ""))
            key, owner = attributes.get("id", called), attributes.get("for", "edge")
            if owner in ("edge", "all") and called.lower() == "weight":
                self._weight_keys.add(key)
            if owner in ("node", "all") and called.lower() in _CALLED:
                self._called_keys[key] = called.lower()
        elif tag == "node":
            self._node = self._number(attributes.get("id"))
        elif tag == "edge":
            self._in_edge = True
            self.found.sources.append(self._number(attributes.get("source")))
            self.found.targets.append(self._number(attributes.get("target")))
            self.found.weights.append(1.0)
            directed = attributes.get("directed", str(self._directed)).lower() == "true"
            self.found.both_ways.append(not directed)
        elif tag == "data" and self._in_edge and attributes.get("key") in self._weight_keys:
            self._text = []
        elif tag == "data" and self._node is not None:
            self._calls = self._called_keys.get(attributes.get("key", ""))
            self._text = None if self._calls is None else []

    def end(self, name: str) -> None:
        tag = name.rpartition(":")[2]
        if tag == "edge":
            self._in_edge = False
        elif tag == "node":
            self._node = None
        elif tag == "data" and self._text is not None:
            said = "".join(self._text).strip()
            self._text = None
            if self._node is not None and self._calls is not None:
                self.found.labels.setdefault(self._calls, {})[self._node] = said
                return
            try:
                self.found.weights[-1] = float(said)
            except ValueError:
                raise FormatError(
                    f"{self.path}: the weight of edge {len(self.found.weights):,} is {said!r}, "
                    "which is no number"
                ) from None

    def text(self, part: str) -> None:
        if self._text is not None:
            self._text.append(part)

    def refuse(self, *_: object) -> NoReturn:
        raise FormatError(f"{self.path}: has a document type declaration, which is not read")

    def _number(self, name: str | None) -> int:
        if name is None:
            raise FormatError(f"{self.path}: a node or an edge does not say what it is called")
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers)
            self.found.names.append(name)
        return self._numbers[name]

    @property
    def is_graph(self) -> bool:
        return self._seen_graph


def read_graphml(path: Path) -> GraphML:
    """Read a file, plain or compressed by gzip.

    Entities and document types are refused, so that a small file cannot grow without limit.
    """
    reader = _Reader(path)
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as stream:
            parser.ParseFile(stream)
    except (expat.ExpatError, OSError, EOFError) as error:
        raise FormatError(f"{path}: is no sound GraphML ({error})") from error
    if not reader.is_graph:
        raise FormatError(f"{path}: has no element <graph>")
    return reader.found
