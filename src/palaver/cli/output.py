"""What verbs print: tables for people, JSON for programs, a sign of life for long work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    import polars as pl

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False, default=str))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values in two columns."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(name, _words(value))
    console.print(grid)


def print_table(table: pl.DataFrame, title: str | None = None, right: Iterable[str] = ()) -> None:
    """Print a table, numbers and ``right`` to the right; long texts fold in narrow terminals."""
    view = Table(title=title, title_justify="left", header_style="bold", pad_edge=False)
    aligned = set(right)
    for name, dtype in table.schema.items():
        numeric = dtype.is_numeric() or name in aligned
        view.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in table.iter_rows():
        view.add_row(*map(_words, row))
    console.print(view)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show what is being done, on a terminal, while it takes its time."""
    with errors.status(f"{what} …"):
        yield


@contextmanager
def reading(path: Path) -> Iterator[Callable[[int], None]]:
    """Show a bar with speed and time left while a path is read; give what to call with bytes."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    from palaver.corpus.readers.source import Source
    from palaver.errors import PalaverError

    columns = (
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    try:
        total = Source(path).size
    except (PalaverError, OSError):
        total = None  # reading will say what is wrong
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(f"reading {path.name}", total=total)
        yield lambda n_bytes: bar.advance(task, n_bytes)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, in the plural where it must be."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _words(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return str(value)
