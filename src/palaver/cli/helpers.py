"""``palaver helpers``: who helps whom."""

from __future__ import annotations

from pathlib import Path
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
    Where,
)
from palaver.cli.talks import NamesFile

NAME = "helpers"
_PICTURES = (".svg", ".png", ".pdf")


def run(
    folder: Run,
    file: FileOfRun = None,
    top: Annotated[int, typer.Option(min=1, help="People and pairs to show.")] = 15,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Also save all pairs (x.csv, x.parquet) or the network (x.svg, x.png, x.pdf).",
            show_default=False,
        ),
    ] = None,
    formulas: Formulas = False,
    names: NamesFile = None,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Show who answers whom, how often, and with what.

    *given* counts a person's answers to others, *people* the different people answered. People
    with a single message are not ranked; bots do not count.

    Example: `palaver helpers run/ --out pairs.csv`

    Example: `palaver helpers run/ --out network.svg`
    """
    from palaver.cli.output import console, print_json, print_table, write_table
    from palaver.cli.talks import talk_of, tell_proposed
    from palaver.errors import ParameterError
    from palaver.questions.answers import network
    from palaver.questions.drawing import draw_network
    from palaver.store.atomic import replace_file

    if out is not None and out.suffix not in (".csv", ".parquet", *_PICTURES):
        raise ParameterError(f"--out takes x.csv, x.parquet, x.svg, x.png or x.pdf, got {out.name}")
    talk = talk_of(folder, file, format=format, column=column, chain=chain, where=where,
                   anonymize=anonymize, names=names)  # fmt: skip
    pairs, people = talk.helpers(), network(talk)
    if out is not None and out.suffix in _PICTURES:
        picture = draw_network(talk).standalone().encoded(out.suffix)
        with replace_file(out) as path:
            path.write_bytes(picture)
    elif out is not None:
        write_table(pairs, out, spreadsheet=not formulas)
    if json:
        print_json({"people": people.to_dicts(), "pairs": pairs.to_dicts()})
        return
    if not pairs.height:
        console.print("Nobody answers anybody here: no message follows one by somebody else.")
        return
    if not talk.answers.recorded:
        console.print("The file records no replies: whoever speaks next counts as answering.")
    print_table(
        people.head(top).rename({"people_helped": "people", "helped_by": "from people"}),
        "Who helps",
    )
    print_table(
        pairs.head(top).select("helper", "helped", "answers", "back", "name")
        .rename({"name": "mostly"}),
        "Who helps whom",
    )  # fmt: skip
    tell_proposed(talk)
    if out is not None:
        console.print(f"-> {out}", soft_wrap=True)
