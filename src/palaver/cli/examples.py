"""``palaver examples``: messages of a class."""

from __future__ import annotations

from typing import Annotated

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
    TableOut,
    Where,
)
from palaver.cli.talks import NamesFile

NAME = "examples"


def run(
    folder: Run,
    file: FileOfRun = None,
    class_: Annotated[
        str | None,
        typer.Option(
            "--class",
            help="Letter, name or number of the class (default: some of each).",
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", "-n", min=1, help="Messages (default: 20; 3 of each without --class)."),
    ] = None,
    out: TableOut = None,
    formulas: Formulas = False,
    names: NamesFile = None,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Show messages that are characteristic of a class and differ from each other.

    Example: `palaver examples run/ --class thanks --n 20`
    """
    import polars as pl

    from palaver.cli.output import check_table_file, console, excerpt, print_json, write_table
    from palaver.cli.talks import talk_of, tell_proposed

    check_table_file(out)
    talk = talk_of(folder, file, format=format, column=column, chain=chain, where=where,
                   anonymize=anonymize, names=names)  # fmt: skip
    order = sorted(range(talk.n_classes), key=lambda k: (len(talk.letters[k]), talk.letters[k]))
    wanted = order if class_ is None else [talk.find_class(class_)]
    number = n or (3 if class_ is None else 20)
    parts = [
        talk.examples(k, number).select(
            pl.lit(k).alias("class"), pl.lit(talk.called(k)).alias("name"), pl.all()
        )
        for k in wanted
    ]
    table = pl.concat(parts)
    if out is not None:
        write_table(table, out, spreadsheet=not formulas)
    if json:
        print_json(table.to_dicts())
        return
    for k, part in zip(wanted, parts, strict=True):
        share = float((talk.main == k).sum() / max(int(talk.known.sum()), 1))
        console.print(f"{talk.called(k)}: mainly in {share:.0%} of the messages", style="bold")
        for row in part.iter_rows(named=True):
            who = f"{row['speaker']}: " if row["speaker"] else ""
            console.print(f"  {excerpt(who + row['text'], 400)}")
    tell_proposed(talk)
