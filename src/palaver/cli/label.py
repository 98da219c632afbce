"""``palaver label``: which messages to label next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import Anonymize, Column, File, Format, Json, Where

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.models.taggers.contract import Tagger

NAME = "label"


def run(
    file: File,
    out: Annotated[
        Path, typer.Option(help="CSV file to write and to fill in.", show_default=False)
    ],
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Number of messages to choose.")] = 50,
    labels: Annotated[str, typer.Option(help="Column with the labels so far, if any.")] = "act",
    filled: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH", help="CSV written by this command, with labels filled in. Repeatable."
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Folder of a trained tagger (default: train one on the labels so far)."),
    ] = None,
    where: Where = None,
    anonymize: Anonymize = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Choose the messages of FILE that are most worth labelling next.

    It picks messages that a tagger, trained on the labels so far, is unsure of, and that differ
    from each other; without any labels, typical messages. Fill in the column `label` (in any
    spreadsheet), then train with `palaver train-tagger FILE --filled labels.csv`.

    Example: `palaver label talk.jsonl --out first.csv`

    Example: `palaver label talk.jsonl --filled first.csv --out second.csv`
    """
    from palaver.cli.options import check_out, command, read_corpus
    from palaver.cli.output import console, print_json, working, write_table
    from palaver.ranking.labelling import to_label

    check_out(out, file)
    if out.suffix.lower() != ".csv":
        from palaver.errors import ParameterError

        raise ParameterError(f"{out}: the table to fill in is a .csv file")
    corpus = read_corpus(file, format, column, where=where, anonymize=anonymize)
    corpus = with_filled(corpus, filled, labels, json)
    with working("choosing messages"):
        tagger = _tagger(corpus, labels, run)
        table = to_label(corpus, n, tagger, labels=labels)
    write_table(table, out)
    if json:
        print_json({"out": str(out), "messages": table.drop("label").to_dicts()})
        return
    console.print(f"{table.height:,} messages to label -> {out}", soft_wrap=True)
    console.print("Fill in the column `label`, then:")
    every = [part for done in [*(filled or []), out] for part in ("--filled", done)]
    arguments = ("train-tagger", file, "--labels", labels, *every, "--out", "run/")
    console.print(f"  {command(*arguments)}", soft_wrap=True)


def with_filled(corpus: Corpus, filled: list[Path] | None, labels: str, json: bool) -> Corpus:
    """Put labels that were filled in into the corpus, and say what was used and what was not."""
    from palaver.cli.output import errors
    from palaver.corpus.filled import with_labels

    for path in filled or []:
        corpus, counts = with_labels(corpus, path, labels)
        if not json:
            errors.print(f"{path}: {counts}.", soft_wrap=True)
    return corpus


def _tagger(corpus: Corpus, labels: str, run: Path | None) -> Tagger | None:
    """Return the tagger of a run, or one that is trained on the labels so far, if there are any."""
    from palaver.errors import ParameterError
    from palaver.models import load
    from palaver.models.taggers.contract import Tagger
    from palaver.models.taggers.crf import CRFTagger

    if run is not None:
        model = load(run)
        if not isinstance(model, Tagger):
            raise ParameterError(f"{run}: {model.name} is not a tagger")
        return model
    if labels not in corpus.table.columns or corpus.table[labels].n_unique() < 3:
        return None  # nothing known, or one label and blanks
    return CRFTagger().fit(corpus, labels, show_progress=False)
