"""``palaver annotate``: a file with the classes that a run gives its messages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palaver.cli.options import Column, File, Format, Json
from palaver.cli.topics import Run

NAME = "annotate"


def run(
    folder: Run,
    file: File,
    out: Annotated[
        Path,
        typer.Argument(help="x.jsonl, x.jsonl.gz, x.parquet, x.csv, or a folder for ConvoKit."),
    ],
    sweeps: Annotated[int, typer.Option(help="Sweeps over the new conversations.")] = 50,
    chain: Annotated[
        bool,
        typer.Option("--chain", help="Let each message without a parent answer the one before."),
    ] = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Write FILE to OUT with columns class, class_probability and share_0, share_1, ...

    FILE may hold other conversations than those that the run was fitted on.

    Example: `palaver annotate run/ threads.jsonl tagged.jsonl`
    """
    from palaver.cli.options import check_out, read_corpus
    from palaver.cli.output import console, folding, print_json
    from palaver.models import load

    check_out(out, file)
    model = load(folder)
    corpus = read_corpus(file, format, column)
    if chain:
        corpus = corpus.chained()
    with folding("finding classes"):
        tagged = model.annotate(corpus, sweeps)
    path = tagged.write(out)
    if json:
        print_json({"out": str(path), "messages": tagged.n_messages})
    else:
        console.print(f"{tagged.n_messages:,} messages with their classes -> {path}")
