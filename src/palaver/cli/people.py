"""``palaver people``: prominent and diverse participants."""

from __future__ import annotations

from typing import Annotated

import typer

from palaver.cli.options import Chain, Column, File, Format, Json

NAME = "people"


def run(
    file: File,
    top: Annotated[int, typer.Option(min=1, help="How many people.")] = 20,
    weight: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Replies against numbers of messages.")
    ] = 0.95,
    direction: Annotated[
        str, typer.Option(help="both; answered: who gets replies; answering: who gives them.")
    ] = "both",
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Rank the people of FILE by who replies to whom: prominent, and from all corners.

    *answered* is how many replies a person got, *answers* how many they wrote, *around* how many
    people are nearer to this person than to any other in the list.

    Example: `palaver people threads.jsonl --top 20`

    Example: `palaver people meeting.vtt --chain --json`
    """
    from palaver.cli.options import read_corpus
    from palaver.cli.output import console, print_json, print_table, working
    from palaver.ranking.people import people

    corpus = read_corpus(file, format, column, chain=chain)
    with working("ranking people"):
        table = people(corpus, top, weight, direction)
    if json:
        print_json(table.to_dicts())
    else:
        short = {"conversations": "threads", "replies_received": "answered",
                 "replies_given": "answers"}  # fmt: skip
        print_table(table.drop("score").rename(short))
        console.print(
            "[dim]answered: replies got; answers: replies written; around: people nearer to this "
            "one than to any other listed.[/]"
        )
