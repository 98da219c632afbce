"""GraphML: nodes and weighted edges, read in one pass without building a tree of the file."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from palaver.errors import FormatError


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
    """

    names: list[str] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    both_ways: list[bool] = field(default_factory=list)


class _Reader:
    """Handlers of the parser."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found = GraphML()
        self._numbers: dict[str, int] = {}
        self._weight_keys: set[str] = set()
        self._directed = True
        self._in_edge = False
        self._text: list[str] | None = None
        self._seen_graph = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if tag == "graph":
            self._seen_graph = True
            self._directed = attributes.get("edgedefault", "directed") != "undirected"
        elif tag == "key":
            if attributes.get("for", "edge") in ("edge", "all"):
                called = attributes.get("attr.name", attributes.get("id", ""))
                if called.lower() == "weight":
                    self._weight_keys.add(attributes.get("id", called))
        elif tag == "node":
            self._number(attributes.get("id"))
        elif tag == "edge":
            self._in_edge = True
            self.found.sources.append(self._number(attributes.get("source")))
            self.found.targets.append(self._number(attributes.get("target")))
            self.found.weights.append(1.0)
            directed = attributes.get("directed", str(self._directed)).lower() == "true"
            self.found.both_ways.append(not directed)
        elif tag == "data" and self._in_edge and attributes.get("key") in self._weight_keys:
            self._text = []

    def end(self, name: str) -> None:
        tag = name.rpartition(":")[2]
        if tag == "edge":
            self._in_edge = False
        elif tag == "data" and self._text is not None:
            said = "".join(self._text).strip()
            self._text = None
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
