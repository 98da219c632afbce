"""Graphs with named items, read from tables of edges and from GraphML."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from palaver.errors import FormatError, InputError
from palaver.ranking.graphml import read_graphml

_SOURCES, _TARGETS, _WEIGHTS = ("source", "from"), ("target", "to"), ("weight",)
_TABLES = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True, eq=False)
class NamedGraph:
    """A graph, what its items are called, and what was noticed in reading it.

    Attributes
    ----------
    names : polars.Series of str
        In the order in which the file mentions them.
    edges : csr matrix of float64, shape (n_items, n_items)
        Weights of repeated edges are added up.
    notes : list of str
        What had to be decided or left out.
    """

    names: pl.Series
    edges: Any
    notes: list[str] = field(default_factory=list)

    def with_loops(self, weight: float) -> NamedGraph:
        """Return the graph with an edge of this weight from every item to itself."""
        if not weight:
            return self
        loops = sparse.eye(len(self.names), format="csr") * weight
        return NamedGraph(self.names, sparse.csr_matrix(self.edges + loops), self.notes)

    def with_prior(self, path: Path) -> tuple[NamedGraph, NDArray[np.float64]]:
        """Read a prior, a table of items and numbers.

        Items that the table lacks get zero; items that the graph lacks become items without edges.
        """
        table = read_values(path)
        values = table["value"].cast(pl.Float64, strict=False)
        wrong = (values.is_null() | ~values.is_finite() | (values < 0)).to_numpy()
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"{path}: a prior must be a number of at least 0; {table['item'][row]!r} has "
                f"{table['value'][row]!r}"
            )
        again = table["item"].is_duplicated()
        if again.any():
            raise InputError(f"{path}: {table['item'].filter(again)[0]!r} occurs more than once")
        names = pl.concat([self.names, table["item"]]).unique(maintain_order=True)
        numbers = _numbers(table["item"], names)
        prior = np.zeros(len(names))
        prior[numbers] = values.to_numpy()
        n_new, n_without = len(names) - len(self.names), len(names) - len(numbers)
        notes = list(self.notes)
        if n_new:
            notes.append(f"items of {path.name} without edges: {n_new:,}")
        if n_without:
            notes.append(f"items that {path.name} lacks, with a prior of zero: {n_without:,}")
        edges = self.edges.copy()
        edges.resize(len(names), len(names))
        return NamedGraph(names, edges, notes), prior


def read_graph(path: str | Path, *, undirected: bool = False) -> NamedGraph:
    """Read a graph: edges as CSV, TSV or Parquet, or GraphML.

    Parameters
    ----------
    path : path
        A table has columns source, target and optionally weight (or from and to); without
        these names, the first two columns are source and target and the third the weight.
        Nodes of GraphML are called by their label or name if each has its own, else by their id.
        CSV and GraphML may be compressed (``.gz``).
    undirected : bool
        Whether each edge of a table leads both ways. GraphML says so itself.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    notes: list[str] = []
    if ".graphml" in path.suffixes or path.suffix == ".xml":
        found = read_graphml(path)
        called, attribute = found.called()
        if attribute is not None:
            notes.append(f"items are called by their {attribute}, not by their id")
        names = pl.Series("item", called, dtype=pl.String)
        source, target = np.array(found.sources, np.int64), np.array(found.targets, np.int64)
        weights = np.array(found.weights, np.float64)
        both = np.array(found.both_ways, bool) | undirected
    else:
        table = _edge_table(path, notes)
        pairs = table.select(pl.concat_list("source", "target").alias("item"))
        names = pairs["item"].explode().unique(maintain_order=True)
        source, target = _numbers(table["source"], names), _numbers(table["target"], names)
        weights = table["weight"].to_numpy()
        both = np.full(len(weights), undirected)
    if not len(names):
        raise InputError(f"{path}: the graph has no items")
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        edge = int(np.argmax(wrong))
        raise InputError(
            f"{path}: weights must be finite and non-negative; the edge from "
            f"{names[int(source[edge])]!r} to {names[int(target[edge])]!r} has {weights[edge]}"
        )
    back = both & (source != target)
    rows, columns = np.append(source, target[back]), np.append(target, source[back])
    values = np.append(weights, weights[back])
    edges = sparse.csr_matrix((values, (rows, columns)), shape=(len(names),) * 2)
    edges.sum_duplicates()
    return NamedGraph(names.alias("item"), edges, notes)


def read_values(path: Path) -> pl.DataFrame:
    """Read a table of items and values: the first two columns, as columns item and value."""
    table = _table(path)
    if table.width < 2:
        raise InputError(f"{path}: needs two columns, items and values")
    table = table.select(
        pl.nth(0).cast(pl.String).alias("item"), pl.nth(1).cast(pl.String).alias("value")
    )
    return table.drop_nulls("item")


def _numbers(items: pl.Series, names: pl.Series) -> NDArray[np.int64]:
    """Return the number of each item."""
    known = pl.DataFrame({"item": names}).with_row_index("number")
    found = pl.DataFrame({"item": items}).join(known, on="item", maintain_order="left")
    return found["number"].to_numpy().astype(np.int64)


def _table(path: Path) -> pl.DataFrame:
    """Read a table; cells of CSV stay text."""
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    suffix = suffixes[-1].lower() if suffixes else ""
    if suffix not in _TABLES:
        raise FormatError(
            f"{path}: a graph is a table (.csv, .tsv, .parquet) or GraphML (.graphml)"
        )
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    try:
        if suffix == ".parquet":
            return pl.read_parquet(path)
        separator = "\t" if suffix == ".tsv" else _separator(path)
        return pl.read_csv(
            path, separator=separator, infer_schema=False, encoding="utf8-lossy",
            truncate_ragged_lines=True,
        )  # fmt: skip
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FormatError(f"{path}: cannot be read as a table ({error})") from error


def _separator(path: Path) -> str:
    """Return a comma, or what the first line has instead."""
    if path.suffix == ".gz":
        return ","
    with path.open("rb") as stream:
        line = stream.readline(10_000)
    return max(",;\t", key=lambda mark: line.count(mark.encode())) if line else ","


def _edge_table(path: Path, notes: list[str]) -> pl.DataFrame:
    """Read edges as columns source, target and weight."""
    table = _table(path)
    if table.width < 2:
        raise InputError(f"{path}: needs two columns, source and target; it has {table.width}")
    source, target = _column(table, _SOURCES), _column(table, _TARGETS)
    weight = _column(table, _WEIGHTS)
    if source is None or target is None:
        source, target = table.columns[:2]
        weight = weight or (table.columns[2] if table.width > 2 else None)
        notes.append(f"{source!r} and {target!r} are used as source and target")
    given = pl.lit("1") if weight is None else pl.col(weight)
    found = table.with_columns(
        pl.col(source).cast(pl.String).alias("source"),
        pl.col(target).cast(pl.String).alias("target"),
        given.cast(pl.String).alias("said"),
    )
    whole = found.drop_nulls(["source", "target"])
    if n_lost := found.height - whole.height:
        notes.append(f"rows left out because they lack source or target: {n_lost:,}")
    whole = whole.with_columns(
        pl.col("said").str.strip_chars().cast(pl.Float64, strict=False).alias("weight")
    )
    bad = whole.filter(pl.col("weight").is_null())
    if bad.height:
        row = bad.row(0, named=True)
        raise InputError(
            f"{path}: the weight of the edge from {row['source']!r} to {row['target']!r} is "
            f"{row['said']!r}, which is no number"
        )
    return whole.select("source", "target", "weight")


def _column(table: pl.DataFrame, wanted: tuple[str, ...]) -> str | None:
    """Return the first column with one of these names, in any case."""
    return next((name for name in table.columns if name.strip().lower() in wanted), None)
