"""``palaver paths``: the walks of documents over the topics of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from palaver.corpus.table import Corpus
    from palaver.models.summary import ModelSummary

NAME = "paths"


def run(
    folder: Run,
    file: FileOfRun = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Documents to show.")] = 10,
    out: TableOut = None,
    formulas: Formulas = False,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Show the most probable walk of each document over the topics (markov-m3).

    The first topic of a walk is the heaviest. *share* is how much of the document it is.
    `palaver transitions run/ --out topics.graphml` saves the graph on which documents walk.

    Example: `palaver paths run/ --out paths.csv`
    """
    import polars as pl

    from palaver.cli.output import check_table_file, console, folding, print_json, write_table
    from palaver.cli.runs import corpus_of
    from palaver.errors import ParameterError
    from palaver.models import load
    from palaver.questions.talk import ask

    check_table_file(out)
    known: Any = load(folder)
    model: Any = known.origin
    if not hasattr(model, "path"):
        raise ParameterError(f"{model.name} has no walks; markov-m3 has")
    corpus = corpus_of(folder, file, format, column, chain, where)
    with folding("finding walks"):
        table = model.path(corpus)
        if anonymize:
            talk = ask(model, corpus)
            hidden = list(talk.private_words)
            words = pl.col("words").str.split(" ")
            safe = words.list.eval(pl.element().filter(~pl.element().is_in(hidden)))
            corpus, table = talk.anonymized().corpus, table.with_columns(safe.list.join(" "))
        table = named(table, corpus, model.get_params()["unit"])
    table = with_own_names(table, known.summary(), folder)
    if out is not None:
        write_table(table, out, spreadsheet=not formulas)
    if json:
        print_json(table.to_dicts())
        return
    _show(table, n)
    if out is not None:
        console.print(f"-> {out}", soft_wrap=True)


def with_own_names(table: pl.DataFrame, summary: ModelSummary, folder: Path) -> pl.DataFrame:
    """Add the letters of topics, as other verbs show them, and names that people gave.

    A topic that was merged or dropped by hand has no letter: walks are over learned topics.
    """
    import polars as pl

    from palaver.cli.classes import with_letters
    from palaver.cli.runs import names_of

    letters = with_letters(summary.classes(1)).select("class", "letter")
    own = summary.class_names | dict(names_of(folder, summary))
    given = pl.col("topic").replace_strict(own, default=None, return_dtype=pl.String)
    return table.join(
        letters.rename({"class": "topic"}), on="topic", how="left", maintain_order="left"
    ).with_columns(pl.coalesce(given, "words").alias("words"))


def named(paths: pl.DataFrame, corpus: Corpus, unit: str) -> pl.DataFrame:
    """Add the ids of documents: of messages, or of whole conversations."""
    import polars as pl

    column = "conversation" if unit == "conversation" else "id"
    ids = corpus.table[column]
    if unit == "conversation":
        ids = ids.gather(corpus.conversation_offsets[:-1])
    return paths.select(ids.gather(paths["document"]).alias("id"), pl.all())


def _show(table: pl.DataFrame, n: int) -> None:
    """Print one line per step of the first documents."""
    import polars as pl

    from palaver.cli.output import console, print_table

    first = table.filter(pl.col("document").rank("dense") <= n)
    print_table(
        first.select(
            pl.when(pl.col("position") == 1).then("id").otherwise(pl.lit("")).alias("document"),
            pl.coalesce("letter", pl.col("topic").cast(pl.String)).alias("topic"),
            (100 * pl.col("weight")).round(0).cast(pl.Int64).alias("share %"),
            "words",
        )
    )
    left = table["document"].n_unique() - first["document"].n_unique()
    if left:
        console.print(f"{left:,} more documents; --n shows more, --out saves all.")
