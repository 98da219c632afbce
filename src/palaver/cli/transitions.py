"""``palaver transitions``: what follows what in a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Json, Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from palaver.encode import Encoded
    from palaver.models import ModelSummary

NAME = "transitions"


def run(
    folder: Run,
    top: Annotated[int, typer.Option(min=1, help="Follow-ups shown of each class.")] = 3,
    least: Annotated[
        float, typer.Option(min=1.0, help="Times as likely as usual, to be shown.")
    ] = 1.2,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Also write it: the whole table as x.csv or x.parquet, the graph as x.svg.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show what follows what: after which class others are likelier than usual.

    Share is how much of what follows a class is of another one; usual, how much of all that
    follows anything. Only classes with some replies to them are judged.

    Example: `palaver transitions run/ --out follows.csv`
    """
    from palaver import store
    from palaver.cli.output import check_table_file, folding, print_json, write_table
    from palaver.cli.runs import names_of
    from palaver.encode import Encoded
    from palaver.errors import ParameterError
    from palaver.models import load

    if out is None or out.suffix != ".svg":
        check_table_file(out)
    model: Any = load(folder)
    summary = model.summary()
    data: Encoded | None = None
    if store.is_stored(folder / "data") and summary.is_about_replies:
        data = Encoded.open(folder / "data")
        if (data.parents < 0).all():
            data = None  # talk, where one message follows the other
    with folding("counting replies"):
        answered = None if data is None else model._replies_to(data)
    table = summary.follow_ups(answered)
    if table is None:
        raise ParameterError(
            f"{summary.name} does not learn what follows what; `palaver report {folder}` counts "
            "it in the texts"
        )
    if out is not None and out.suffix == ".svg":
        out.write_text(model.plot_graph(corpus=data), encoding="utf-8")
    elif out is not None:
        write_table(table, out)
    if json:
        print_json(table.to_dicts())
        return
    _show(table, summary, names_of(folder, summary), top, least)


def _show(
    table: pl.DataFrame, summary: ModelSummary, names: Mapping[int, str], top: int, least: float
) -> None:
    import polars as pl

    from palaver.cli.output import console, print_table

    called = {str(k): name for k, name in _called(summary, names).items()} | {"start": "(start)"}
    strong = table.filter(pl.col("times") >= least, pl.col("share") >= 0.02)
    strong = strong.filter(pl.int_range(pl.len()).over("source") < top)
    if not strong.height:
        console.print(f"No class is followed by another {least:g} times as often as usual.")
        return
    percents = [
        (pl.col(name) * 100).round(0).cast(pl.Int64).alias(f"{name} %")
        for name in ("share", "usual")
    ]
    shown = strong.select(
        pl.col("source").replace_strict(called).alias("after"),
        pl.col("target").cast(pl.String).replace_strict(called).alias("comes"),
        *percents,
        pl.format("{}×", pl.col("times").round(1)).alias("times"),
        pl.col("replies").round(0).cast(pl.Int64),
    )
    if shown["replies"].null_count() == shown.height:
        shown = shown.drop("replies")
    print_table(shown, right=["times"])


def _called(summary: ModelSummary, names: Mapping[int, str]) -> dict[int, str]:
    """Return the name of each class, or its number and first telling words."""
    own = dict(enumerate(summary.names or summary.facts.get("class_names", []))) | dict(names)
    rows = summary.classes(3).iter_rows(named=True)
    return {
        row["class"]: own.get(row["class"]) or f"{row['class']} {row['words'] or ''}".strip()
        for row in rows
    }
