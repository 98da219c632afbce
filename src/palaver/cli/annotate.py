"""``palaver annotate``: a file with the classes that a run gives its messages."""

from __future__ import annotations

from typing import Annotated

import typer

from palaver.cli.options import Chain, Column, CorpusOut, File, Format, Json, Run

NAME = "annotate"


def run(
    folder: Run,
    file: File,
    out: CorpusOut,
    sweeps: Annotated[int, typer.Option(help="Sweeps over the new conversations.")] = 50,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Write FILE to OUT with columns class, class_probability and share_0, share_1, ...

    If the classes have names (`palaver report --names`), there is a column class_name, too.
    FILE may hold other conversations than those that the run was fitted on. A run fitted with
    --chain needs no --chain here.

    Example: `palaver annotate run/ threads.jsonl tagged.jsonl`
    """
    import polars as pl

    from palaver.cli import runs
    from palaver.cli.options import check_out
    from palaver.cli.output import console, folding, print_json
    from palaver.models import load

    check_out(out, file)
    model = load(folder)
    corpus = runs.corpus_of(folder, file, format, column, chain)
    with folding("finding classes"):
        tagged = model.annotate(corpus, sweeps)
    names = runs.names_of(folder, model.summary())
    if names:
        called = [names.get(number) for number in tagged.table["class"]]
        tagged = tagged.with_columns(class_name=pl.Series(called, dtype=pl.String))
    path = tagged.write(out)
    if json:
        print_json({"out": str(path), "messages": tagged.n_messages})
    else:
        console.print(f"{tagged.n_messages:,} messages with their classes -> {path}")
