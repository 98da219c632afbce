"""``palaver shares``: what each speaker, month or other group of messages does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.classes import names_shown, tell_proposals, with_letters, with_names
from palaver.cli.options import (
    Anonymize,
    By,
    Chain,
    Column,
    FileOfRun,
    Format,
    Formulas,
    Json,
    PictureOrTableOut,
    Run,
    Where,
)
from palaver.cli.talks import NamesFile, remembered, without_people

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from palaver.corpus.table import Corpus
    from palaver.models import ModelSummary

NAME = "shares"


def run(
    folder: Run,
    file: FileOfRun = None,
    by: By = None,
    top: Annotated[int, typer.Option(min=1, help="Number of groups to show, largest first.")] = 15,
    resample: Annotated[
        str, typer.Option(help="What to resample for intervals: auto, conversation or message.")
    ] = "auto",
    out: PictureOrTableOut = None,
    formulas: Formulas = False,
    sweeps: Annotated[int, typer.Option(help="Sweeps over the conversations.")] = 50,
    names: NamesFile = None,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Show how large each class is in each group of messages, and where it stands out.

    Groups are those of --by, else of the --by that the run was fitted with, else people. Every
    message counts once, however long. ▲ and ▼ mark shares whose 95% interval lies above or
    below the share in all messages.

    Example: `palaver shares run/ threads.jsonl --by speaker`

    Example: `palaver shares run/ --by month --out shares.csv`

    Example: `palaver shares run/ --by channel --out shares.png`
    """
    from palaver.cli import runs
    from palaver.cli.output import check_out_file, console, folding, print_json, write_out
    from palaver.models import load
    from palaver.models.views.notebook import chart_of
    from palaver.models.views.shares import shares_table
    from palaver.questions.talk import ask

    check_out_file(out)
    by = by or remembered(folder, "by") or "speaker"
    model = load(folder)
    if names is not None:
        runs.keep_names(folder, names, model)
        model = load(folder)
    corpus = runs.corpus_of(folder, file, format, column, chain, where)
    talk: Any = None
    with folding("classifying messages"):
        if anonymize:  # what is grouped is shown; what is read stays as it is
            talk = ask(model, corpus).anonymized()
            corpus = talk.corpus
            table = shares_table(talk.shares, corpus, talk.known, by=by, top=top,
                                 resample=resample, level=0.95, random_state=0)  # fmt: skip
        else:
            table = model.shares(corpus, by, top=top, resample=resample, n_sweeps=sweeps)
    summary = model.summary()
    if anonymize:
        summary = without_people(summary, talk)
    if out is not None:
        write_out(out, table, lambda: chart_of(summary, table, by), spreadsheet=not formulas)
    if json:
        print_json(table.to_dicts())
    elif not table.height:
        console.print("No message contains a word that the run knows.")
    else:
        show(table, summary, by, runs.names_of(folder, summary), _n_messages(table, corpus, by))


def _n_messages(table: pl.DataFrame, corpus: Corpus, by: str) -> int | None:
    """Return how many messages the groups have; None if a message can be in several."""
    import polars as pl

    if isinstance(corpus.table.schema.get(by), pl.List):
        return None
    return int(table.unique("group")["messages"].sum())


def show(
    table: pl.DataFrame,
    summary: ModelSummary,
    by: str,
    names: Mapping[int, str],
    n_messages: int | None,
) -> None:
    """Print shares by group for as many of the largest classes as fit, and a key."""
    import polars as pl

    from palaver.cli.output import console, print_table

    longest = max(len(name) for name in [by, *table["group"].unique()])
    width = min(longest, console.width // 3)
    room = max(1, (console.width - width - 14) // 8)
    classes = with_letters(summary.classes(6)).head(room)
    letters = dict(zip(classes["class"].cast(pl.String), classes["letter"], strict=True))
    cell = pl.concat_str(
        (pl.col("share") * 100).round(0).cast(pl.Int64).cast(pl.String),
        pl.when(pl.col("low") > pl.col("overall")).then(pl.lit(" ▲"))
        .when(pl.col("high") < pl.col("overall")).then(pl.lit(" ▼")).otherwise(pl.lit("  ")),
    )  # fmt: skip
    everyone = table.unique("class").with_columns(
        pl.lit("(all)").alias("group"), share="overall", low=None, high=None, messages=n_messages
    )
    wide = (
        pl.concat([everyone, table], how="vertical_relaxed")
        .filter(pl.col("class").is_in(classes["class"].to_list()))
        .select("group", "messages", "class", cell.alias("cell"))
        .pivot("class", index=["group", "messages"], values="cell", maintain_order=True)
    )
    wide = wide.select("group", "messages", *letters).rename({"group": by, **letters})
    print_table(wide, f"Classes in % of messages, by {by}", right=letters.values())
    hidden = len(summary.class_shares) - classes.height
    console.print(
        "▲ above, ▼ below the share in all messages (95% intervals from resampling "
        f"{table['resampled'][0]}s)."
    )
    if hidden:
        left = "1 smaller class does" if hidden == 1 else f"{hidden} smaller classes do"
        console.print(f"{left} not fit here; see --out or --json.")
    console.print()
    print_table(with_names(classes.select("letter", "class", "words"), names_shown(summary, names)))
    tell_proposals(summary, names)
