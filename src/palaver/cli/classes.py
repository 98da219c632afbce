"""``palaver classes``: the classes of a run and their words."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Json, Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from palaver.models import Model, ModelSummary

NAME = "classes"
_LARGE = 0.01  # share above which a state counts as large


def run(
    folder: Run,
    words: Annotated[int, typer.Option(min=1, max=100, help="Words per class.")] = 10,
    json: Json = False,
) -> None:
    """List the classes of a run, largest first, with their characteristic words.

    Letters are those on the page (`palaver report`), numbers those in exported tables.

    Example: `palaver classes run/ --words 15`
    """
    from palaver.cli.output import print_json
    from palaver.cli.runs import names_of
    from palaver.models import load

    summary = _with_words(load(folder), words)
    names = names_of(folder, summary)
    if json:
        print_json(as_rows(summary, words, names))
    else:
        show(summary, folder, words, names)


def _with_words(model: Model, n_words: int) -> ModelSummary:
    """Return the summary of a model, with more words than usual if asked for."""
    summary = model.summary()
    if n_words <= 20:
        return summary
    tables = dict(summary.tables)
    if "topics" in tables:
        tables["topics"] = getattr(model, "topics_table")(n_words)  # noqa: B009
    words = model.top_words(n_words, by="distinctiveness")
    return replace(summary, words=words, tables=tables)


def as_rows(
    summary: ModelSummary, n_words: int = 10, names: Mapping[int, str] | None = None
) -> list[dict[str, Any]]:
    """Return the table of classes for JSON, words as lists."""
    rows = []
    for row in with_letters(summary.classes(n_words)).to_dicts():
        called = _called(summary, row["class"], names or {})
        if summary.found_by is not None:
            called["found_by"] = int(summary.found_by[row["class"]])
        rows.append({**row, **called, "words": (row["words"] or "").split()})
    return rows


def _called(summary: ModelSummary, number: int, names: Mapping[int, str]) -> dict[str, Any]:
    """Return the tag and the name of a class, if it has any, and whether it is a proposal."""
    called: dict[str, Any] = {}
    own = names.get(number)
    if own is None and summary.tags is None:
        own = summary.class_names.get(number)
        if number in summary.proposed:
            called["name_is_proposed"] = True
    if own is not None:
        called["name"] = own
    if summary.tags is not None:
        called["tag"] = summary.tags[number]
    return called


def names_shown(summary: ModelSummary, names: Mapping[int, str] | None) -> dict[int, str]:
    """Return the names of classes for a table: a star marks those that the model proposes."""
    if summary.tags is not None:
        return dict(names or {})
    own = {k: f"{name} *" if k in summary.proposed else name
           for k, name in summary.class_names.items()}  # fmt: skip
    return own | dict(names or {})


def tell_proposals(summary: ModelSummary, names: Mapping[int, str] | None) -> None:
    """Explain the star, if there is one."""
    from palaver.cli.output import console

    if summary.proposed - set(names or {}):
        console.print(
            "* a proposed name; on the page (palaver report) you can give better ones.",
            style="dim",
        )


def called_hidden(summary: ModelSummary) -> list[str]:
    """Return the letters and names of hidden classes, which come last."""
    from palaver.draw.palette import letters

    return [
        f"{letters(rank)} {summary.class_names.get(int(number), '')}".strip()
        for rank, number in enumerate(summary.order)
        if int(number) in summary.hidden
    ]


def show(
    summary: ModelSummary,
    folder: Path,
    n_words: int = 10,
    names: Mapping[int, str] | None = None,
) -> None:
    """Print a line about the fit, whether it has converged, and the table of classes."""
    import polars as pl

    from palaver.cli.output import console, print_table

    console.print(_about(summary))
    _show_convergence(summary, folder)
    unit = f"% of {summary.units}"
    classes = with_names(with_letters(summary.classes(n_words)), names_shown(summary, names))
    classes = classes.filter(~pl.col("class").is_in(list(summary.hidden)))
    if summary.found_by is not None:
        found = pl.Series("found by", summary.found_by[classes["class"].to_numpy()])
        classes = classes.select(pl.exclude("words"), found, "words")
    if summary.tags is not None:  # tags have names, so their numbers are not needed
        tags = pl.Series("tag", summary.tags, pl.String).gather(classes["class"])
        classes = classes.with_columns(tags.alias("class")).rename({"class": "tag"})
    print_table(classes.rename({"share": unit}).with_columns(_percent(unit)), right=[unit])
    _tell_searches(summary)
    tell_proposals(summary, names)
    if summary.hidden:
        hidden = ", ".join(called_hidden(summary))
        console.print(f"Hidden, but counted: {hidden}.", style="dim")
    if "topics" in summary.tables:
        share = summary.facts["topic_share"]
        console.print(f"\nTopics, {share:.0%} of the words:")
        cut = pl.col("words").str.split(" ").list.head(n_words).list.join(" ")
        topics = summary.tables["topics"].with_columns(cut).rename({"share": "% of these"})
        print_table(topics.with_columns(_percent("% of these")), right=["% of these"])


def _tell_searches(summary: ModelSummary) -> None:
    """Explain how stable classes are, and name the views that a model of acts left out."""
    from palaver.cli.output import console

    if summary.found_by is not None:
        console.print(
            f"found by: of {summary.facts['searches']} searches. Read some messages of a class "
            "that few of them found before you build on it.",
            style="dim",
        )
    if summary.facts.get("views_left_out"):
        left = ", ".join(summary.facts["views_left_out"])
        console.print(f"Views left out, in which all {summary.units} look the same: {left}.")


def _about(summary: ModelSummary) -> str:
    """Say in one line what was fitted, for how long and to how many words."""
    from palaver.cli.output import counted

    facts = summary.facts
    line = f"{summary.name}: {counted(facts['sweeps'], 'sweep')} ({facts['sampler']}), "
    line += f"{facts['words']:,} distinct words, seed {facts['seed']}"
    if summary.found_by is not None:
        searches = counted(facts["searches"], "search", "searches")
        return f"{line}, {searches}, {counted(len(summary.class_shares), 'act')} of {summary.units}"
    line += _states(summary)
    if facts.get("background"):
        line += f", {summary.background_share:.0%} of the words are background"
    if "coverage" in facts:
        line += f", {facts['coverage']:.1%} of the words have vectors of their own"
    if facts.get("left_out"):
        line += f", {counted(facts['left_out'], 'message')} without a known word left out"
    if summary.params.get("n_chains", 1) > 1 and isfinite(summary.convergence["r_hat"]):
        line += f", R-hat {summary.convergence['r_hat']:.2f}"
    return line


def _states(summary: ModelSummary) -> str:
    """Say how many states there are, if they were found or differ from the acts."""
    from palaver.cli.output import counted

    facts, shares = summary.facts, summary.class_shares
    n_states = facts.get("states", len(shares))
    line = ""
    if summary.params.get("n_states", 0) is None:  # the user gave no number
        line += f", {counted(n_states, 'state')} found"
        if "acts" not in facts:
            line += f", {int((shares > _LARGE).sum())} with more than {_LARGE:.0%}"
    if "acts" in facts:
        given = summary.params.get("n_states", 0) is not None
        states = f" {counted(n_states, 'state')}" if given else ""
        line += f",{states} merged into {counted(facts['acts'], 'act')}"
    elif "n_acts" in summary.params and summary.params["n_states"] is not None:
        line += f", {counted(n_states, 'state')}, each its own act"
    return line


def _show_convergence(summary: ModelSummary, folder: Path) -> None:
    """Say whether the searches have settled and agree, and what to do if not."""
    from palaver.cli.options import command
    from palaver.cli.output import console
    from palaver.fit.trace import AGREED, STILL_CLIMBING

    more = command("fit", "--resume", folder, "--sweeps", 4 * summary.facts["sweeps"])
    n_chains = summary.params.get("n_chains", 1)
    late, r_hat = (summary.convergence.get(name, 0.0) for name in ("late_gain", "r_hat"))
    if late > STILL_CLIMBING:
        console.print(
            f"The search had not settled: {late:.0%} of its progress came in the last quarter of "
            "the sweeps, so better classes are likely. To continue:",
            style="yellow",
        )
        console.print(f"  {more}", style="yellow", soft_wrap=True)
    if summary.found_by is not None:
        return  # how far searches agree is said of each class
    if r_hat > AGREED and n_chains > 1:
        console.print(
            f"{n_chains} searches from different starts found somewhat different classes (R-hat "
            f"above {AGREED}), which is common: the best one is shown, but it is not the only good "
            "way to divide the talk. For classes that other runs find again, try more --sweeps or "
            "fewer --classes.",
            style="dim",
        )
    elif r_hat > AGREED and not late > STILL_CLIMBING:
        console.print(
            f"The two halves of the search differ (R-hat {r_hat:.2f}; they agree up to {AGREED}): "
            "more sweeps may find better classes, and --chains 4 would show whether other starts "
            "find the same ones. To continue:",
            style="dim",
        )
        console.print(f"  {more}", style="dim", soft_wrap=True)


def _percent(name: str) -> pl.Expr:
    import polars as pl

    return (pl.col(name) * 100).round(1).cast(pl.String)


def with_letters(classes: pl.DataFrame) -> pl.DataFrame:
    """Put the letters of the page before the class numbers; rows are sorted by size."""
    import polars as pl

    from palaver.draw.palette import letters

    named = pl.Series("letter", [letters(rank) for rank in range(classes.height)], pl.String)
    return classes.select(named, pl.all())


def with_names(classes: pl.DataFrame, names: Mapping[int, str]) -> pl.DataFrame:
    """Put the names of classes after their numbers, if there are any."""
    import polars as pl

    if not names:
        return classes
    called = pl.Series("name", [names.get(k, "") for k in classes["class"]], pl.String)
    behind = classes.columns[classes.columns.index("class") + 1 :]
    return classes.select(pl.exclude(behind), called, *behind)
