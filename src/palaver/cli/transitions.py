"""``palaver transitions``: what follows what in a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Formulas, Json, Run
from palaver.cli.talks import NamesFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from palaver.models import ModelSummary

NAME = "transitions"
_PICTURES = (".svg", ".png", ".pdf")
_GRAPHS = (".graphml", ".gexf", ".json")
_MANY = 1000  # times as often as usual; beyond, a number says nothing


def run(
    folder: Run,
    top: Annotated[int, typer.Option(min=1, help="Follow-ups to show per class, at most.")] = 3,
    least: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            help="Show what is at least this many times as likely as usual (default: 1.2 in the "
            "table; in the graph, as many arrows as stay readable).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Also save the full table (x.csv, x.parquet) or the graph (x.svg, x.png, x.pdf; "
            "of markov-m3's topics also x.graphml, x.gexf, x.json).",
            show_default=False,
        ),
    ] = None,
    numbers: Annotated[
        bool,
        typer.Option("--numbers", help="Write on each arrow how many times as likely as usual."),
    ] = False,
    formulas: Formulas = False,
    names: NamesFile = None,
    json: Json = False,
) -> None:
    """Show which classes follow which more often than usual.

    *share* is how much of what follows class A is class B; *usual* is how much of
    what follows any class is B (for starts: of everything). Classes with too few replies
    to judge are left out.

    Example: `palaver transitions run/ --out follows.csv`

    Example: `palaver transitions run/ --out graph.png --numbers`
    """
    from palaver.cli.output import console, counted, folding, print_json, write_table
    from palaver.cli.runs import keep_names, names_of
    from palaver.errors import ParameterError
    from palaver.models import load
    from palaver.models.summary import least_replies
    from palaver.store.atomic import replace_file

    if out is not None and out.suffix not in (".csv", ".parquet", *_PICTURES, *_GRAPHS):
        raise ParameterError(
            "--out takes x.csv, x.parquet, x.svg, x.png or x.pdf, for markov-m3 also x.graphml, "
            f"x.gexf or x.json; got {out.name}"
        )
    model: Any = load(folder)
    if names is not None:
        keep_names(folder, names, model)
        model = load(folder)
    summary = model.summary()
    if summary.next_shares() is None:
        raise ParameterError(
            f"{summary.name} does not learn what follows what; `palaver report {folder}` counts "
            "it in the texts instead"
        )
    if out is not None and out.suffix in _GRAPHS:
        _write_graph(model, out)
    data = _data(folder, summary)
    with folding("counting replies"):
        answered = None if data is None else model.count_replies(data)
    called = _called(summary, names_of(folder, summary))
    table = _labelled(summary.follow_ups(answered), called)
    if out is not None and out.suffix in _PICTURES:
        own = {int(number): name for number, name in called.items() if number != "start"}
        picture = model.plot_graph(least, corpus=data, names=own, numbers=numbers)
        drawn = picture.encoded(out.suffix)
        with replace_file(out) as path:
            path.write_bytes(drawn)
    elif out is not None and out.suffix not in _GRAPHS:
        write_table(table, out, spreadsheet=not formulas)
    if json:
        print_json(table.to_dicts())
        return
    _show(table, top, 1.2 if least is None else least)
    if answered is not None:
        few = least_replies(answered)
        left = int((answered < few).sum())
        if left:
            console.print(f"Left out: {counted(left, 'class', 'classes')} followed by fewer than "
                          f"{few:.0f} messages.")  # fmt: skip
    if out is not None:
        console.print(f"-> {out}", soft_wrap=True)


def _write_graph(model: Any, out: Path) -> None:
    """Save the topics and the likely steps between them."""
    from palaver.errors import ParameterError

    if not hasattr(model.origin, "graph"):
        raise ParameterError(f"{out.suffix} is for markov-m3's topics; {model.name} can save its "
                             "graph as x.svg, x.png or x.pdf")  # fmt: skip
    model.origin.graph().write(out)


def _data(folder: Path, summary: ModelSummary) -> Any:
    """Return what a run learned from: its file for models of vectors, otherwise its own copy."""
    from palaver import store
    from palaver.cli.runs import corpus_of
    from palaver.encoding import Encoded
    from palaver.errors import StoreError

    if summary.transition_steps == "messages":
        try:
            return corpus_of(folder, None)
        except StoreError:
            return None  # the file is gone
    if summary.is_about_replies and store.is_stored(folder / "data"):
        return Encoded.open(folder / "data")
    return None


def _labelled(table: pl.DataFrame, called: Mapping[str, str]) -> pl.DataFrame:
    """Add the names of sources and targets to the table."""
    import polars as pl

    return table.with_columns(
        pl.col("source").replace_strict(called).alias("after"),
        pl.col("target").cast(pl.String).replace_strict(called).alias("comes"),
    )


def _show(table: pl.DataFrame, top: int, least: float) -> None:
    import polars as pl

    from palaver.cli.output import console, print_table

    strong = table.filter(pl.col("times") >= least, pl.col("share") >= 0.02)
    strong = strong.filter(pl.int_range(pl.len()).over("source") < top)
    if not strong.height:
        console.print(
            f"No class is followed by another at least {least:g} times as often as usual."
        )
        return
    percents = [
        (pl.col(name) * 100).round(0).cast(pl.Int64).alias(f"{name} %")
        for name in ("share", "usual")
    ]
    shown = strong.select(
        "after",
        "comes",
        *percents,
        pl.when(pl.col("times") < _MANY)
        .then(pl.format("{}×", pl.col("times").round(1)))
        .otherwise(pl.lit(f"> {_MANY}×"))  # of what hardly ever follows anything
        .alias("times"),
        pl.col("replies").round(0).cast(pl.Int64),
    )
    has_replies = shown["replies"].null_count() < shown.height
    print_table(shown if has_replies else shown.drop("replies"), right=["times"])
    console.print(
        "share: of what follows the first class (or of starts); usual: of all that follows "
        f"anything (for starts: of everything){'; replies: to the first class' * has_replies}."
    )


def _called(summary: ModelSummary, names: Mapping[int, str]) -> dict[str, str]:
    """Return the letter and name, or characteristic words, of each class, by number."""
    from palaver.cli.classes import with_letters

    own = summary.class_names | dict(names)
    called = {"start": "(start)"}
    for row in with_letters(summary.classes(3)).iter_rows(named=True):
        name = own.get(row["class"]) or row["words"] or ""
        called[str(row["class"])] = f"{row['letter']} {name}".strip()
    return called
