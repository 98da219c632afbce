"""``palaver rank``: central and different items of any graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Json

if TYPE_CHECKING:
    import polars as pl

    from palaver.ranking.graphs import NamedGraph
    from palaver.ranking.result import Ranking

NAME = "rank"


def run(
    graph: Annotated[
        Path,
        typer.Argument(
            help="Edges: x.csv, x.tsv or x.parquet with source, target and weight; or x.graphml.",
            show_default=False,
        ),
    ],
    top: Annotated[int, typer.Option(min=1, help="Number of items to rank.")] = 20,
    prior: Annotated[
        Path | None, typer.Option(help="Table of items and how much each is preferred.")
    ] = None,
    weight: Annotated[
        float, typer.Option(help="1 = follow edges only, 0 = rank by the prior only.")
    ] = 0.5,
    method: Annotated[
        str, typer.Option(help="grasshopper, pagerank, lexrank, mmr, degree or random.")
    ] = "grasshopper",
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Every edge leads both ways.")
    ] = False,
    loops: Annotated[
        float, typer.Option(min=0, help="Add an edge of this weight from each item to itself.")
    ] = 0.0,
    groups: Annotated[
        Path | None,
        typer.Option(help="Table of items and groups: how many groups do the first items cover?"),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the graph (x.svg, x.png, x.pdf).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Save rank and absorbing item of every item as x.csv or x.parquet."),
    ] = None,
    json: Json = False,
) -> None:
    """Rank the items of GRAPH so that the first are central and different from each other.

    *nearby* counts the items that belong to a ranked one: walks from them most probably end there.
    With --groups, --picture draws how many groups the first items cover.

    Example: `palaver rank edges.csv --prior prior.csv --top 10`

    Example: `palaver rank costars.graphml --weight 0.95 --loops 1 --picture graph.svg`

    Example: `palaver rank edges.parquet --groups countries.csv --picture coverage.svg`
    """
    from palaver.cli.output import check_table_file, sharing, working, write_table
    from palaver.errors import ParameterError
    from palaver.ranking.graphs import read_graph
    from palaver.ranking.picture import coverage_curves

    check_table_file(out)
    if picture is not None and picture.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise ParameterError(f"--picture takes x.svg, x.png or x.pdf, got {picture.name}")
    with working(f"reading {graph.name}"):
        found = read_graph(graph, undirected=undirected).with_loops(loops)
        preferred = None
        if prior is not None:
            found, preferred = found.with_prior(prior)
        membership = None if groups is None else _membership(found, groups)
    options: dict[str, Any] = {"prior": preferred, "weight": weight, "top": top}
    ranking = _ranked(found, method, options, sharing)
    with working("finding who absorbs whom"):
        table = _table(ranking, found)
        covered = None if membership is None else coverage_curves(ranking, membership)
        if picture is not None:
            _draw(ranking, found, covered, picture)
        if out is not None:
            write_table(_everybody(ranking, found), out)
    _show(found, table, covered, json=json)


def _ranked(found: NamedGraph, method: str, options: dict[str, Any], sharing: Any) -> Ranking:
    """Rank, with a bar where there is something to wait for."""
    from palaver.ranking.baselines import rank
    from palaver.ranking.grasshopper import grasshopper

    if method != "grasshopper":
        return rank(found.edges, method, **options)
    with sharing(f"ranking {len(found.names):,} items") as progress:
        return grasshopper(found.edges, progress=progress, **options)


def _membership(found: NamedGraph, path: Path) -> pl.Series:
    """Return the group of each item; null if the table does not say."""
    import polars as pl

    from palaver.errors import InputError
    from palaver.ranking.graphs import read_values

    said = read_values(path).unique("item", keep="first", maintain_order=True)
    items = pl.DataFrame({"item": found.names})
    groups = items.join(said, on="item", how="left", maintain_order="left")["value"]
    if not groups.count():
        raise InputError(
            f"{path}: says nothing of any item of the graph; it has {said['item'][0]!r} ... "
            f"where the graph has {found.names[0]!r} ..."
            if said.height
            else f"{path}: has no rows"
        )
    if n_without := groups.null_count():
        found.notes.append(f"items without a group: {n_without:,}")
    return groups


def _table(ranking: Ranking, found: NamedGraph) -> pl.DataFrame:
    """Return the ranked items and how many others belong to each."""
    import numpy as np
    import polars as pl

    nearby = np.bincount(ranking.absorbed_by, minlength=len(found.names)) - 1
    return pl.DataFrame(
        {
            "rank": np.arange(1, len(ranking) + 1),
            "item": found.names.gather(ranking.order),
            "score": ranking.scores,
            "nearby": nearby[ranking.order],
            "tied": ranking.tied,
        }
    )


def _everybody(ranking: Ranking, found: NamedGraph) -> pl.DataFrame:
    """Return all items: rank and score of the ranked ones, and who absorbs each."""
    import polars as pl

    ranked = _table(ranking, found).select("item", "rank", "score")
    items = pl.DataFrame(
        {"item": found.names, "absorbed_by": found.names.gather(ranking.absorbed_by)}
    )
    whole = items.join(ranked, on="item", how="left", maintain_order="left")
    return whole.select("item", "rank", "score", "absorbed_by")


def _draw(ranking: Ranking, found: NamedGraph, covered: Any, path: Path) -> None:
    from palaver.ranking.picture import coverage_picture, graph_picture
    from palaver.store.atomic import replace_file

    drawn = graph_picture(ranking, found.names) if covered is None else coverage_picture(covered)  # type: ignore[arg-type]
    content = drawn.encoded(path.suffix)
    with replace_file(path) as target:
        target.write_bytes(content)


def _show(found: NamedGraph, table: pl.DataFrame, covered: Any, *, json: bool) -> None:
    """Print the ranking as JSON or as a table."""
    from palaver.cli.output import console, counted, errors, print_json, print_table

    for note in found.notes:
        errors.print(f"{note[0].upper()}{note[1:]}.", style="yellow", soft_wrap=True)
    if json:
        facts: dict[str, Any] = {"items": len(found.names), "edges": int(found.edges.nnz),
                                 "ranking": table.to_dicts()}  # fmt: skip
        if covered is not None:
            facts["covered"] = {name: curve.tolist() for name, curve in covered.items()}
        print_json(facts)
        return
    shown = table if table["tied"].any() else table.drop("tied")
    print_table(shown)
    console.print(
        f"{counted(len(found.names), 'item')}, {counted(int(found.edges.nnz), 'edge')}; nearby: "
        "items closer to this one than to any other in the list.",
        style="dim",
    )
    if covered is not None:
        ends = ", ".join(f"{name} {curve[-1]:g}" for name, curve in covered.items())
        console.print(f"Groups among the first {table.height:,}: {ends}.")
