"""``palaver evaluate``: a run against labels that people gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import Chain, Column, FileOfRun, Format, Json, Run

if TYPE_CHECKING:
    from palaver.models import ModelSummary
    from palaver.trials import Judgement

NAME = "evaluate"


def run(
    folder: Run,
    file: FileOfRun = None,
    gold: Annotated[
        str, typer.Option(help="Column with the label, or a list of labels, of a message.")
    ] = "act",
    sweeps: Annotated[int, typer.Option(help="Sweeps over the conversations.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the intervals.")] = 0,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Compare the classes of a run with gold labels, beside random classes.

    `vi` (variation of information, in bits) is better if lower, all others if higher. Intervals
    are over resampled conversations. docs/evaluation.md says what each measure means.

    Example: `palaver evaluate run/ --gold act`

    Example: `palaver evaluate run/ test.jsonl --gold act --json`
    """
    from palaver.cli import runs
    from palaver.cli.output import folding, print_json
    from palaver.models import load
    from palaver.trials import judge

    model = load(folder)
    corpus = runs.corpus_of(folder, file, format, column, chain)
    with folding("finding classes"):
        judgement = judge(model, corpus, gold, n_sweeps=sweeps, seed=seed)
    if json:
        print_json(
            {
                "run": str(folder),
                "model": model.name,
                "gold": gold,
                "labels": judgement.n_labels,
                "messages": judgement.n_messages,
                "scores": judgement.scores.to_dicts(),
                "classes": judgement.classes.to_dicts(),
            }
        )
    else:
        show(judgement, model.summary())


def show(judgement: Judgement, summary: ModelSummary) -> None:
    """Print the measures side by side and what each class mostly is."""
    import polars as pl

    from palaver.cli.output import console, counted, print_table

    console.print(
        f"{summary.name} against {counted(judgement.n_labels, 'label')} ({judgement.gold}) of "
        f"{counted(judgement.n_messages, 'message')}; 95 % intervals over conversations"
    )
    cell = pl.format("{} ({}–{})", *(pl.col(name).round(3) for name in ("value", "low", "high")))
    parts = []
    for (level,), part in judgement.scores.group_by("level", maintain_order=True):
        parts.append(
            part.select(
                "measure",
                cell.alias(str(level)),
                pl.col("random").round(3).alias(f"random {level}"),
            )
        )
    table = parts[0]
    for part in parts[1:]:
        table = table.join(part, on="measure", maintain_order="left")
    print_table(table.with_columns(pl.col("measure").str.replace_all("_", " ")))
    console.print()
    share = (pl.col("share") * 100).round(0).cast(pl.Int64).cast(pl.String) + " %"
    classes = summary.classes(6).select("class", "words")  # the largest first, as everywhere
    classes = classes.join(judgement.classes, on="class", maintain_order="left")
    mostly = pl.col("label").alias("mostly")
    classes = classes.select("class", mostly, share.alias("of it"), "words")
    print_table(classes, right=["of it"])
    console.print(against_chance(judgement))


def against_chance(judgement: Judgement) -> str:
    """Say in one sentence whether the classes know more of the labels than chance would.

    By the V-measure: it is near zero for classes drawn at random and for one class for all.
    """
    import polars as pl

    scores = judgement.scores.filter(pl.col("measure") == "v_measure")
    beyond = scores.filter(pl.col("low") > pl.col("random"))["level"].to_list()
    if len(beyond) == scores.height:
        return "The classes say more about the labels than random ones, beyond noise (V-measure)."
    if beyond:
        return (
            f"The classes say more about the labels than random ones, beyond noise, by {beyond[0]} "
            "only (V-measure)."
        )
    return "The classes say no more about the labels than random ones would (V-measure)."
