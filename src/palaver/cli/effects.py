"""``palaver effects``: what moves the shares of classes, by a formula."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import (
    Anonymize,
    Chain,
    Column,
    FileOfRun,
    Format,
    Formulas,
    Json,
    Run,
    Where,
)
from palaver.cli.talks import NamesFile

if TYPE_CHECKING:
    import polars as pl

NAME = "effects"
_PICTURES = (".svg", ".png", ".pdf")
_SURE = 0.05


def run(
    folder: Run,
    file: FileOfRun = None,
    formula: Annotated[
        str,
        typer.Option(
            help="Columns that may explain what people do, e.g. '~ role' or '~ role * month'. "
            "year, month, week, day, weekday and hour (UTC) work as in `palaver shares`.",
            show_default=False,
        ),
    ] = "",
    groups: Annotated[
        str | None,
        typer.Option(
            help="A column whose values get an intercept of their own, e.g. speaker.",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[int, typer.Option(help="Draws of the classes of messages.")] = 20,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Also save the full table (x.csv, x.parquet) or a chart (x.svg, x.png, x.pdf).",
            show_default=False,
        ),
    ] = None,
    formulas: Formulas = False,
    sweeps: Annotated[int, typer.Option(help="Sweeps over the conversations.")] = 50,
    names: NamesFile = None,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Show how columns of FILE move the shares of classes.

    A regression per class. An effect is a difference in percentage points; those whose p-value,
    corrected for the number of effects, is below 0.05 are marked with *. Needs the extra
    `effects`.

    Example: `palaver effects run/ --formula '~ weekday' --groups speaker`
    """
    from palaver.cli import runs
    from palaver.cli.classes import names_shown, tell_proposals
    from palaver.cli.output import check_table_file, console, folding, print_json, write_table
    from palaver.cli.talks import without_people
    from palaver.errors import ParameterError
    from palaver.models import load
    from palaver.models.views.effects import class_labels, effects, plot_effects
    from palaver.questions.talk import ask
    from palaver.store.atomic import replace_file

    if not formula:
        raise ParameterError("--formula is missing; for example --formula '~ role'")
    picture = out is not None and out.suffix in _PICTURES
    if not picture:
        check_table_file(out)
    model = load(folder)
    if names is not None:
        runs.keep_names(folder, names, model)
        model = load(folder)
    corpus = runs.corpus_of(folder, file, format, column, chain, where)
    summary = model.summary()
    with folding("classifying messages"):
        hidden = ask(model, corpus).anonymized() if anonymize else None
        table = effects(
            model, corpus, formula, sweeps, groups=groups, n_draws=draws, level=0.95,
            random_state=0, shown=None if hidden is None else hidden.corpus,
        )  # fmt: skip
    summary = summary if hidden is None else without_people(summary, hidden)
    given = runs.names_of(folder, summary)
    called = class_labels(summary, names_shown(summary, given))
    if picture and out is not None:
        drawn = plot_effects(table, called).encoded(out.suffix)
        with replace_file(out) as path:
            path.write_bytes(drawn)
    elif out is not None:
        write_table(table, out, spreadsheet=not formulas)
    if json:
        print_json(table.to_dicts())
        return
    _show(table, called)
    tell_proposals(summary, given)
    if out is not None:
        console.print(f"-> {out}", soft_wrap=True)


def _show(table: pl.DataFrame, labels: dict[int, str]) -> None:
    """Print one row per class and term, in percentage points."""
    import polars as pl

    from palaver.cli.output import console, print_table
    from palaver.models.views.effects import in_order

    def points(column: str) -> pl.Expr:
        value = 100 * pl.col(column)  # slopes, such as those per day, may be small
        rounded = pl.when(value.abs() < 0.1).then(value.round_sig_figs(1)).otherwise(value.round(1))
        return rounded.cast(pl.String)

    shown = in_order(table, labels).select(
        pl.col("class").replace_strict(labels, return_dtype=pl.String),
        "term",
        effect=points("effect"),
        interval=pl.format("{} to {}", points("low"), points("high")),
        sure=pl.when(pl.col("p_adjusted") < _SURE).then(pl.lit("*")).otherwise(pl.lit("")),
    ).rename({"sure": "*"})  # fmt: skip
    print_table(shown, "Effects on shares, in percentage points", right=["effect"])
    console.print(
        f"{table['messages'][0]:,} messages. (usual): the share where every column has its first "
        "value or is zero. *: p below 0.05, corrected for the number of effects."
    )
