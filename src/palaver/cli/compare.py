"""``palaver compare``: models side by side on held-out conversations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import (
    Anonymize,
    Chain,
    Column,
    File,
    Format,
    Formulas,
    Jobs,
    Json,
    TableOut,
    Where,
)

if TYPE_CHECKING:
    import polars as pl

    from palaver.trials import Comparison

NAME = "compare"

_NAMES = {"perplexity": "perplexity", "perplexity_paper": "paper's", "replies": "replies %",
          "v_measure": "V", "f1": "F1", "one_to_one": "one to one", "vi": "VI",
          "coherence": "coherence", "stability": "stability",
          "seconds": "seconds", "words_per_second": "words/s"}  # fmt: skip


def run(
    file: File,
    models: Annotated[
        str, typer.Option(help="Models, separated by commas.")
    ] = "acts,m4,block-hmm,lda",
    classes: Annotated[
        str,
        typer.Option(metavar="N,N", help="Numbers of classes to try, separated by commas."),
    ] = "5,10,15",
    gold: Annotated[
        str | None,
        typer.Option(
            help="Column with labels (default: act, if there is one).", show_default=False
        ),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(min=1, help="Sweeps per fit (default: 300; acts: 100).", show_default=False),
    ] = None,
    chains: Annotated[
        int | None,
        typer.Option(min=1, help="Chains per fit (default: 2; acts: 10).", show_default=False),
    ] = None,
    test: Annotated[float, typer.Option(help="Fraction of the conversations to hold out.")] = 0.25,
    seed: Annotated[
        int, typer.Option(help="Random seed for the split, the fits and the resampling.")
    ] = 0,
    jobs: Jobs = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps finished fits; if interrupted, run the same command again.",
            show_default=False,
        ),
    ] = None,
    out: TableOut = None,
    formulas: Formulas = False,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Fit several models and compare them on held-out conversations.

    Lower is better for VI and for the perplexity of unseen words, which is measured in two ways:
    without looking ahead, and by the M4 paper's protocol, which looks ahead. Higher is better for
    everything else. In each column * marks the best value, and ≈ marks those that differ from it
    by no more than noise. With labels, the last rows are what any model must beat: k-means of
    tf-idf, the rule "has a ?", one class, random classes. Where one of them is best, nothing is
    marked with *.

    Example: `palaver compare threads.jsonl --models acts,m4,lda --classes 5,10 --keep tried/`
    """
    from palaver.cli.options import n_threads, read_corpus
    from palaver.cli.output import check_table_file, errors, print_json, write_table
    from palaver.trials import compare

    check_table_file(out)
    numbers = _numbers(classes)
    corpus = read_corpus(file, format, column, chain=chain, where=where, anonymize=anonymize)
    if gold is None and "act" in corpus.labels and corpus.table["act"].null_count() < len(corpus):
        gold = "act"
    asked: dict[str, Any] = {"n_sweeps": sweeps, "n_chains": chains}
    asked = {name: value for name, value in asked.items() if value is not None}
    names = [name.strip() for name in models.split(",") if name.strip()]
    try:
        comparison = compare(
            corpus, names, numbers, gold=gold, replies=not chain, test=test, random_state=seed,
            folder=keep, n_jobs=n_threads(jobs), **asked,
            log=_tell if errors.is_terminal else None,
        )  # fmt: skip
    except KeyboardInterrupt as stop:
        if keep is not None:
            errors.print(
                f"Stopped. Finished fits are in {keep}; run the same command again to continue."
            )
        raise typer.Exit(130) from stop
    if out is not None:
        write_table(comparison.table, out, spreadsheet=not formulas)
    if json:
        print_json(
            {
                "file": str(file),
                "held_out": comparison.n_conversations,
                "gold": comparison.gold,
                "rows": comparison.table.to_dicts(),
            }
        )
    else:
        show(comparison)


def _tell(what: str) -> None:
    from palaver.cli.output import errors

    errors.print(what, style="dim")


def _numbers(classes: str) -> list[int]:
    try:
        return [int(number) for number in classes.split(",") if number.strip()]
    except ValueError:
        raise typer.BadParameter(
            f"--classes takes numbers separated by commas, got {classes!r}"
        ) from None


def show(comparison: Comparison) -> None:
    """Print the table, in several parts on a narrow terminal, and how to read it."""
    from palaver.cli.output import console, print_table

    for part in _parts(comparison, console.width):
        print_table(part, right=_NAMES.values(), markup=True)
    replies = "previous message" in comparison.table["model"]
    below = ", and always replying to the previous or the first message" if replies else ""
    console.print(
        f"On {comparison.n_conversations:,} held-out conversations. * best; ≈ differs from the "
        "best by no more than noise (paired bootstrap over conversations, p ≥ .05 after Holm's "
        f"correction). Baselines in the last rows: unigram, random{below}."
    )
    if comparison.gold is not None:
        console.print(
            f"V, F1, one to one, VI: classes against column {comparison.gold}. Any "
            "model must beat the rows that need none."
        )
    beaten = comparison.beaten()
    if beaten:
        console.print(_warning(beaten), style="yellow")


def _warning(beaten: dict[str, str]) -> str:
    """Say by which measures no model is better than what needs no model."""
    by = {name: [_NAMES[m].removesuffix(" %") for m in beaten if beaten[m] == name]
          for name in beaten.values()}  # fmt: skip
    told = "; ".join(f"“{name}” by {', '.join(measures)}" for name, measures in by.items())
    return f"No model beats {told}, so nothing is marked with * there."


def _parts(comparison: Comparison, width: int) -> list[pl.DataFrame]:
    """Return all measures that have values, in as many tables as the width requires."""
    import polars as pl
    from rich.text import Text

    table, unmarked = comparison.table, comparison.beaten()
    rows = table.to_dicts()
    named = table.select(pl.col("model").str.strip_suffix(" message"), "classes")
    room = width - 14 - max(len(model) for model in named["model"])
    parts: list[list[pl.Series]] = [[]]
    left = room
    for name, title in _NAMES.items():
        if table[name].null_count() == len(table):
            continue
        cells = [_cell(row, name, marked=name not in unmarked) for row in rows]
        size = 3 + max(Text.from_markup(cell or title).cell_len for cell in [*cells, title])
        if size > left and name == "words_per_second":
            continue  # no table of its own
        if size > left and parts[-1]:
            parts.append([])
            left = room
        parts[-1].append(pl.Series(title, cells, dtype=pl.String))
        left -= size
    views = [named.with_columns(part) for part in parts]
    return [view.filter(pl.any_horizontal(pl.nth(range(2, view.width)).is_not_null()))
            for view in views]  # fmt: skip


def _cell(row: dict[str, Any], name: str, *, marked: bool) -> str | None:
    value = row[name]
    if value is None:
        return None
    spell = _SPELLED.get(name, _number)
    shown = spell(value)
    if row.get(f"{name}_low") is None:
        return shown
    shown += f" ({spell(row[f'{name}_low'])}–{spell(row[f'{name}_high'])})"
    p_value = row[f"{name}_p"]
    if p_value is None:
        return f"[bold]{shown}[/] *" if marked else f"{shown}  "
    return f"{shown} {'≈' if p_value >= 0.05 else ' '}"


def _number(value: float) -> str:
    return f"{value:,.1f}" if abs(value) >= 10 else f"{round(value, 3) + 0.0:.3f}"  # no -0.000


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _millions(value: float) -> str:
    return f"{value / 1e6:.2f} M"


_SPELLED = {"replies": _percent, "seconds": _seconds, "words_per_second": _millions}
