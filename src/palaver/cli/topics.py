"""``palaver topics``: the classes of a run and their words."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Json, Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from palaver.models import ModelSummary

NAME = "topics"


def run(
    folder: Run,
    words: Annotated[int, typer.Option(min=1, max=20, help="Words a class.")] = 10,
    json: Json = False,
) -> None:
    """Show the classes of a run, the largest first, with their telling words.

    Example: `palaver topics run/ --words 15`
    """
    from palaver.cli.output import print_json
    from palaver.cli.runs import names_of
    from palaver.models import load

    summary = load(folder).summary()
    names = names_of(folder, summary)
    if json:
        print_json(as_rows(summary, words, names))
    else:
        show(summary, words, names)


def as_rows(
    summary: ModelSummary, n_words: int = 10, names: Mapping[int, str] | None = None
) -> list[dict[str, Any]]:
    """Return the table of classes for JSON, words as lists."""
    rows = []
    for row in summary.classes(n_words).to_dicts():
        name = (names or {}).get(row["class"])
        called = {"name": name} if name is not None else {}
        rows.append({**row, **called, "words": (row["words"] or "").split()})
    return rows


def show(summary: ModelSummary, n_words: int = 10, names: Mapping[int, str] | None = None) -> None:
    """Print one line about the fit and the table of classes."""
    import polars as pl

    from palaver.cli.output import console, counted, print_table
    from palaver.fit.trace import STILL_CLIMBING

    facts = summary.facts
    line = f"{summary.name}: {facts['sweeps']:,} sweeps ({facts['sampler']}), "
    line += f"{facts['words']:,} words, seed {facts['seed']}"
    if "first_states" in summary.params:  # nobody said how many there are
        line += f", {counted(len(summary.class_shares), 'state')} found"
    if summary.params.get("background"):
        line += f", {summary.background_share:.0%} of the tokens are background"
    if "coverage" in facts:
        line += f", {facts['coverage']:.1%} of the tokens have vectors"
    if summary.params.get("n_chains", 1) > 1 and isfinite(summary.convergence["r_hat"]):
        line += f", R-hat {summary.convergence['r_hat']:.2f}"
    console.print(line, soft_wrap=False)
    late = summary.convergence.get("late_gain", 0.0)
    if late > STILL_CLIMBING:
        console.print(
            f"[yellow]The search had not settled: {late:.0%} of what it gained came in the last "
            "quarter of its sweeps, so these classes are not the last word. Go on: "
            f"palaver fit --resume RUN --sweeps {4 * facts['sweeps']}[/]"
        )
    if summary.params.get("n_chains", 1) > 1 and summary.convergence["r_hat"] > 1.1:
        console.print(
            f"[dim]{summary.params['n_chains']} searches from different starts found somewhat "
            "different classes (R-hat above 1.1), as is usual: what is shown is the best of them "
            "and one good way to cut the talk, not the only one. If another run must find the "
            "same, give it more --sweeps or fewer --classes.[/]"
        )
    table = summary.classes(n_words).with_columns(
        (pl.col("share") * 100).round(1).cast(pl.String).add(" %")
    )
    print_table(
        with_names(table, {**dict(enumerate(facts.get("class_names", []))), **(names or {})})
    )
    if "topics" in summary.tables:
        console.print(f"\nTopics of conversations, {facts['topic_share']:.0%} of the tokens:")
        cut = pl.col("words").str.split(" ").list.head(n_words).list.join(" ")
        share = (pl.col("share") * 100).round(1).cast(pl.String).add(" %")
        print_table(summary.tables["topics"].with_columns(cut, share))


def with_names(classes: pl.DataFrame, names: Mapping[int, str]) -> pl.DataFrame:
    """Put the names of classes behind their numbers, if there are any."""
    import polars as pl

    if not names:
        return classes
    called = pl.Series("name", [names.get(k, "") for k in classes["class"]], pl.String)
    return classes.select("class", called, pl.exclude("class"))
