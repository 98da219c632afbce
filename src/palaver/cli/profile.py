"""``palaver profile``: what a person or role does."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from palaver.cli.options import Anonymize, Chain, Column, FileOfRun, Format, Json, Run, Where
from palaver.cli.talks import NamesFile

NAME = "profile"


def run(
    folder: Run,
    file: FileOfRun = None,
    who: Annotated[
        str | None,
        typer.Option(help="A person, or a value of --by (default: whoever writes most)."),
    ] = None,
    by: Annotated[str, typer.Option(help="Column of --who, such as role.")] = "speaker",
    names: NamesFile = None,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Show what a person or role does compared with everybody, and whom they talk with.

    Example: `palaver profile run/ --who gravel_sys`

    Example: `palaver profile run/ --by role --who agent`
    """
    from palaver.cli.output import print_json
    from palaver.cli.talks import talk_of, tell_proposed
    from palaver.corpus.grouping import group_column
    from palaver.errors import ParameterError

    talk = talk_of(folder, file, format=format, column=column, chain=chain, where=where,
                   anonymize=anonymize, names=names)  # fmt: skip
    if who is None:
        values = group_column(talk.corpus, by, "profile").drop_nulls()
        if not len(values):
            raise ParameterError(f"no message has a {by}; give --by COLUMN")
        who = str(values.value_counts(sort=True)[values.name][0])
    found = talk.profile(who, by)
    if json:
        tables = {name: found[name].to_dicts() for name in ("acts", "helps", "helped_by")}
        print_json(found | tables)
        return
    _show(found)
    tell_proposed(talk)


def _show(found: dict[str, Any]) -> None:
    import polars as pl

    from palaver.cli.output import console, counted, print_table
    from palaver.questions.story import spelled_time

    console.print(found["who"], style="bold")
    when = f", {found['first']} to {found['last']}" if found["first"] else ""
    console.print(
        f"{counted(found['messages'], 'message')} in "
        f"{counted(found['conversations'], 'conversation')}{when}; "
        f"{found['words_per_message']:.0f} words per message."
    )
    if found["started"]:
        wait = found["median_wait"]
        typical = "" if wait is None else f", typically after {spelled_time(wait)}"
        console.print(
            f"Opened {counted(found['started'], 'conversation')}; {found['answered']:.0%} of them "
            f"got an answer{typical}."
        )
    if found["answers"]:
        wait = found["median_answer"]
        typical = "" if wait is None else f", typically after {spelled_time(wait)}"
        console.print(f"Gave the first answer to {counted(found['answers'], 'message')}{typical}.")
    mark = (
        pl.when(pl.col("low") > pl.col("overall")).then(pl.lit("▲"))
        .when(pl.col("high") < pl.col("overall")).then(pl.lit("▼")).otherwise(pl.lit(""))
    )  # fmt: skip
    shown = found["acts"].select(
        pl.col("name").alias("class"),
        (100 * pl.col("share")).round(0).cast(pl.Int64).alias("share %"),
        (100 * pl.col("overall")).round(0).cast(pl.Int64).alias("everybody %"),
        mark.alias(""),
    )
    print_table(shown)
    console.print("▲ more, ▼ less than everybody (95% intervals).", style="dim")
    for name, title in (("helps", "Answers mostly"), ("helped_by", "Mostly answered by")):
        if found[name].height:
            people = ", ".join(f"{person} ({number:,})" for person, number in found[name].rows())
            console.print(f"{title}: {people}.")
