"""``palaver people``: central participants from different parts of the reply network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import Anonymize, Chain, Column, File, Format, Json, Where

if TYPE_CHECKING:
    import polars as pl

    from palaver.corpus.table import Corpus

NAME = "people"


def run(
    file: File,
    top: Annotated[int, typer.Option(min=1, help="Number of people to list.")] = 20,
    weight: Annotated[
        float, typer.Option(help="1 = replies only, 0 = message counts only.")
    ] = 0.95,
    direction: Annotated[
        str, typer.Option(help="Rank by replies received (answered), written (answering) or both.")
    ] = "both",
    everyone: Annotated[
        bool, typer.Option("--all", help="Include bots and people without any reply.")
    ] = False,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Find central people from different parts of the reply network of FILE.

    *answered* counts the replies that a person received, *answers* the replies they wrote, and
    *nearby* the people who are closer to this person than to anyone else in the list. *role* is
    the file's, or who asks (opens conversations), helps (answers others) or does both; *within*
    is the median time until a person's first answers.

    Example: `palaver people threads.jsonl --top 20`

    Example: `palaver people meeting.vtt --chain --json`
    """
    import polars as pl

    from palaver.cli.options import read_corpus
    from palaver.cli.output import console, print_json, print_table, working
    from palaver.page.people import lasting
    from palaver.ranking.people import left_out, people

    corpus = read_corpus(file, format, column, chain=chain, where=where, anonymize=anonymize)
    with working("ranking people"):
        table = _with_roles(people(corpus, top, weight, direction, everyone=everyone), corpus)
    if json:
        print_json(table.to_dicts())
    else:
        within = table["responds"].map_elements(lasting, return_dtype=pl.String)
        table = table.drop("responds", "opened", "unanswered").with_columns(within=within)
        if not within.is_not_null().any():
            table = table.drop("within")
        short = {"conversations": "threads", "replies_received": "answered",
                 "replies_given": "answers"}  # fmt: skip
        print_table(table.drop("prominence").rename(short))
        console.print(
            "answered: replies received; answers: replies written; nearby: people closer to this "
            "person than to anyone else listed.",
            style="dim",
        )
        silent, n_bots = (0, 0) if everyone else left_out(corpus)
        if silent or n_bots:
            console.print(f"Left out: {_said(silent, n_bots)}; --all includes them.", style="dim")


def _with_roles(table: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Add what people do: role, opened, unanswered and responds, in seconds."""
    from palaver.questions.circle import circle_of

    own = circle_of(corpus).people.select("speaker", "role", "opened", "unanswered", "responds")
    return table.join(own, on="speaker", how="left", maintain_order="left")


def _said(silent: int, n_bots: int) -> str:
    people = f"{silent:,} {'person' if silent == 1 else 'people'} without any reply"
    robots = f"{n_bots:,} bot{'' if n_bots == 1 else 's'}"
    return " and ".join([people] * (silent > 0) + [robots] * (n_bots > 0))
