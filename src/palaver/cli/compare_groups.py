"""``palaver compare-groups``: what changed between periods or groups of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import (
    Anonymize,
    By,
    Chain,
    Column,
    FileOfRun,
    Format,
    Formulas,
    Json,
    PictureOrTableOut,
    Run,
    Where,
)
from palaver.cli.talks import NamesFile

if TYPE_CHECKING:
    import polars as pl

NAME = "compare-groups"


def run(
    folder: Run,
    file: FileOfRun = None,
    by: By = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help='Two groups instead, as in --where: "time<2024-04" "time>=2024-04".',
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=2, help="Largest groups to compare; of periods, the last.")
    ] = 12,
    resample: Annotated[
        str, typer.Option(help="What to resample for intervals: auto, conversation or message.")
    ] = "auto",
    out: PictureOrTableOut = None,
    formulas: Formulas = False,
    names: NamesFile = None,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Show what changed: how the shares of classes differ between groups of messages.

    Periods are compared with the one before each, two groups with each other, several groups each
    with all other messages. The 95% intervals hold for the whole table at once, so that a long
    table does not find changes by chance; only changes whose interval excludes zero are listed.

    Example: `palaver compare-groups run/ --by quarter`

    Example: `palaver compare-groups run/ --between "time<2024-04" "time>=2024-04" --out new.csv`
    """
    from palaver.cli.output import check_out_file, print_json, write_out
    from palaver.cli.talks import remembered, talk_of
    from palaver.errors import ParameterError
    from palaver.questions.drawing import draw_changes

    check_out_file(out)
    by = by or (None if between else remembered(folder, "by"))
    if (by is None) == (between is None):
        raise ParameterError(
            "give --by COLUMN (or quarter, month ...), or --between with two conditions"
        )
    talk = talk_of(folder, file, format=format, column=column, chain=chain, where=where,
                   anonymize=anonymize, names=names)  # fmt: skip
    table = talk.compare_groups(by, between=between, top=top, resample=resample)
    if out is not None:
        write_out(out, table, lambda: draw_changes(table), spreadsheet=not formulas)
    if json:
        print_json(table.to_dicts())
    else:
        _show(table)


def _show(table: pl.DataFrame) -> None:
    import polars as pl

    from palaver.cli.output import console, counted, print_table
    from palaver.cli.talks import percents
    from palaver.questions.story import changed

    for sentence in changed(table):
        console.print(sentence)
    clear = table.filter("clear")
    pairs = table.select("first", "second").unique(maintain_order=True)
    if clear.height:
        console.print()
        points = (pl.col("difference", "low", "high") * 100).round(1)
        shown = clear.select("first", "second", "name", *percents("before", "after"), points)
        print_table(shown.rename({"name": "class", "before": "before %", "after": "after %",
                                  "difference": "points"}))  # fmt: skip
    quiet = table.filter(pl.col("low").is_null()).select("second").n_unique()
    console.print(
        f"{counted(pairs.height, 'comparison')} of {table['class'].n_unique()} classes; "
        f"intervals hold for all of them at once (95%, resampling {table['resampled'][0]}s)."
        + (f" {quiet} of the groups are too small to judge." if quiet else ""),
        style="dim",
    )
