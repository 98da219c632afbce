"""``palaver unanswered``: what nobody answers, and how long answers take."""

from __future__ import annotations

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
    TableOut,
    Where,
)
from palaver.cli.talks import NamesFile

if TYPE_CHECKING:
    import polars as pl

NAME = "unanswered"


def run(
    folder: Run,
    file: FileOfRun = None,
    class_: Annotated[
        str | None,
        typer.Option(
            "--class",
            help="Messages of this class: its letter, name or number (default: messages that open "
            "a conversation).",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            help="Waits by class, speaker (who waits), helper (who answers first), or any column "
            "or period."
        ),
    ] = "class",
    n: Annotated[int, typer.Option("--n", "-n", min=0, help="Messages to show.")] = 10,
    top: Annotated[int, typer.Option(min=1, help="Groups to show, largest first.")] = 15,
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
    """Show which messages nobody answered, the latest first, and how long answers take.

    An answer is a message by somebody else who is not a bot. Messages without an answer count as
    still waiting: *1 h* and *1 day* are shares of all messages of a row. --out saves the unanswered
    messages.

    Example: `palaver unanswered run/ --class question --out open.csv`

    Example: `palaver unanswered run/ --by helper`
    """
    from palaver.cli.output import check_table_file, console, print_json, write_table
    from palaver.cli.talks import talk_of, tell_proposed
    from palaver.questions.story import answered

    check_table_file(out)
    talk = talk_of(folder, file, format=format, column=column, chain=chain, where=where,
                   anonymize=anonymize, names=names)  # fmt: skip
    open_, waits = talk.unanswered(class_), talk.waits(by, of=class_)
    if out is not None:
        write_table(open_, out, spreadsheet=not formulas)
    if json:
        print_json({"waits": waits.to_dicts(), "unanswered": open_.to_dicts()})
        return
    for sentence in answered(talk, class_):
        console.print(sentence)
    _show_waits(waits, by, top)
    _show_messages(open_, n)
    tell_proposed(talk)
    if out is not None:
        console.print(f"All {open_.height:,} -> {out}", soft_wrap=True)


def _show_waits(waits: pl.DataFrame, by: str, top: int) -> None:
    import polars as pl

    from palaver.cli.output import print_table
    from palaver.cli.talks import percents
    from palaver.questions.story import spelled_time

    typical = [None if s is None else spelled_time(s) for s in waits["median_seconds"]]
    shown = waits.with_columns(*percents("answered", "within_hour", "within_day"))
    shown = shown.drop("median_seconds")
    titles = {"group": by, "answered": "answered %", "within_hour": "1 h %",
              "within_day": "1 day %"}  # fmt: skip
    shown = shown.rename(titles).with_columns(pl.Series("typical wait", typical, pl.String))
    if waits["median_seconds"].null_count() == waits.height:
        shown = shown.drop("1 h %", "1 day %", "typical wait")
    print_table(shown.head(top), right=["typical wait"])


def _show_messages(table: pl.DataFrame, n: int) -> None:
    from palaver.cli.output import console, excerpt

    if n and table.height:
        console.print(f"\nWithout an answer ({table.height:,}), the latest first:")
    for row in table.head(n).iter_rows(named=True):
        dated = row["time"] is not None and row["time"].year > 1970
        when = f"{row['time']:%Y-%m-%d} " if dated else ""
        who = f"{row['speaker']}: " if row["speaker"] else ""
        line = f"{when}{who}{row['text']}"
        console.print(f"  {excerpt(line, console.width - 4)}", no_wrap=True)
