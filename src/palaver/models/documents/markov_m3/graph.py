"""Topics as a graph: nodes with their words, steps with their probabilities, three file formats."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.errors import ParameterError
from palaver.store.atomic import replace_file

_GRAPHML = "http://graphml.graphdrawing.org/xmlns"
_GEXF = "http://gexf.net/1.3"
#: Name, type and what it belongs to, of the attributes in GraphML.
_KEYS = (
    ("name", "string", "node"), ("share", "double", "node"), ("start", "double", "node"),
    ("weight", "double", "edge"),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class TopicGraph:
    """Topics and the likely steps between them.

    Attributes
    ----------
    nodes : polars.DataFrame
        Columns topic, name (its characteristic words), share, start (probability of the first
        step).
    edges : polars.DataFrame
        Columns source, target, probability; the likeliest first.
    threshold : float
    """

    nodes: pl.DataFrame
    edges: pl.DataFrame
    threshold: float

    def __repr__(self) -> str:
        return (
            f"TopicGraph({self.nodes.height} topics, {self.edges.height} steps of at least "
            f"{self.threshold:g})"
        )

    def to_json(self) -> str:
        """Return the graph in the node-link form that networkx and d3 read."""
        nodes = [{"id": row.pop("topic"), **row} for row in self.nodes.to_dicts()]
        links = [
            {"source": source, "target": target, "weight": weight}
            for source, target, weight in self.edges.iter_rows()
        ]
        graph: dict[str, Any] = {"directed": True, "multigraph": False, "graph": {}}
        return json.dumps({**graph, "nodes": nodes, "links": links}, indent=1, ensure_ascii=False)

    def to_graphml(self) -> str:
        """Return the graph as GraphML."""
        keys = [
            f'<key id="{name}" for="{owner}" attr.name="{name}" attr.type="{kind}"/>'
            for name, kind, owner in _KEYS
        ]
        nodes = [
            f'<node id="{topic}"><data key="name">{_text(name)}</data>'
            f'<data key="share">{share!r}</data><data key="start">{start!r}</data></node>'
            for topic, name, share, start in self.nodes.iter_rows()
        ]
        edges = [
            f'<edge source="{source}" target="{target}"><data key="weight">{weight!r}</data></edge>'
            for source, target, weight in self.edges.iter_rows()
        ]
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>', f'<graphml xmlns="{_GRAPHML}">', *keys,
            '<graph edgedefault="directed">', *nodes, *edges, "</graph>", "</graphml>",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def to_gexf(self) -> str:
        """Return the graph as GEXF 1.3, which Gephi reads."""
        nodes = [
            f'<node id="{topic}" label={quoteattr(_plain(name))}><attvalues>'
            f'<attvalue for="share" value="{share!r}"/><attvalue for="start" value="{start!r}"/>'
            "</attvalues></node>"
            for topic, name, share, start in self.nodes.iter_rows()
        ]
        edges = [
            f'<edge id="{number}" source="{source}" target="{target}" weight="{weight!r}"/>'
            for number, (source, target, weight) in enumerate(self.edges.iter_rows())
        ]
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>', f'<gexf xmlns="{_GEXF}" version="1.3">',
            '<graph defaultedgetype="directed">', '<attributes class="node">',
            '<attribute id="share" title="share" type="double"/>',
            '<attribute id="start" title="start" type="double"/>', "</attributes>",
            "<nodes>", *nodes, "</nodes>", "<edges>", *edges, "</edges>", "</graph>", "</gexf>",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def write(self, path: str | Path) -> Path:
        """Write the graph in the format that the suffix names: .graphml, .gexf or .json."""
        path = Path(path)
        forms = {".graphml": self.to_graphml, ".gexf": self.to_gexf, ".json": self.to_json}
        if path.suffix.lower() not in forms:
            raise ParameterError(f"{path}: a graph can only be saved as {', '.join(forms)}")
        text = forms[path.suffix.lower()]()
        with replace_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return path


def _plain(text: str) -> str:
    """Return text without the control characters that XML cannot hold."""
    return "".join(c for c in text if c >= " " and c not in "\ufffe\uffff")


def _text(text: str) -> str:
    return escape(_plain(text))


def topic_graph(
    names: list[str],
    shares: NDArray[np.float64],
    transitions: NDArray[np.float64],
    start: NDArray[np.float64],
    threshold: float,
) -> TopicGraph:
    """Make the graph of steps with at least a probability of ``threshold``."""
    sources, targets = np.nonzero(transitions >= threshold)
    edges = pl.DataFrame(
        {"source": sources, "target": targets, "probability": transitions[sources, targets]}
    ).sort("probability", descending=True, maintain_order=True)
    nodes = pl.DataFrame(
        {
            "topic": np.arange(len(names)),
            "name": pl.Series(names, dtype=pl.String),
            "share": shares,
            "start": start,
        }
    )
    return TopicGraph(nodes, edges, threshold)
