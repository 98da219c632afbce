"""``palaver balance``: who talks how much."""

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

NAME = "balance"


def run(
    folder: Run,
    file: FileOfRun = None,
    by: Annotated[str, typer.Option(help="speaker, or a column such as role.")] = "speaker",
    top: Annotated[int, typer.Option(min=1, help="Groups to show, largest first.")] = 15,
    out: TableOut = None,
    formulas: Formulas = False,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Show who talks how much: messages, turns, words and, in transcripts, seconds.

    *there* is the mean share of the words in the conversations that somebody takes part in.

    Example: `palaver balance run/ --by role`
    """
    import polars as pl

    from palaver.cli.output import check_table_file, console, print_json, print_table, write_table
    from palaver.cli.talks import percents, talk_of
    from palaver.questions.story import evenly

    check_table_file(out)
    talk = talk_of(folder, file, format=format, column=column, chain=chain, where=where,
                   anonymize=anonymize)  # fmt: skip
    table = talk.balance(by)
    if out is not None:
        write_table(table, out, spreadsheet=not formulas)
    if json:
        print_json(table.to_dicts())
        return
    shown = table.with_columns(
        *percents("words_share", "seconds_share", "in_conversation"),
        pl.col("seconds").round(0).cast(pl.Int64),
    )
    if table["seconds"].null_count() == table.height:
        shown = shown.drop("seconds", "seconds_share")
    shown = shown.drop("turns", "words_per_message")  # --out and --json have them
    titles = {"group": by, "words_share": "words %", "seconds_share": "seconds %",
              "in_conversation": "there %"}  # fmt: skip
    print_table(shown.head(top).rename({a: b for a, b in titles.items() if a in shown.columns}))
    for sentence in evenly(talk):
        console.print(sentence)
