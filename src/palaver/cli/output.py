"""What verbs print: tables for people, JSON for programs, progress for long work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from palaver.cli.terminal import escaped_json, is_unicode, visible

if TYPE_CHECKING:
    import polars as pl

    from palaver.corpus.table import Corpus
    from palaver.draw.svg import Svg


_SHORT_NAME = 8  # characters


class Terminal(Console):
    """A console that prints texts and names of users as they are, but obeys none of them."""

    def __init__(self, *, stderr: bool = False) -> None:
        # [x] is no markup, :rocket: no picture
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts without control characters; tables are made of such texts."""
        super().print(*map(_shown, objects), **options)


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Text) and visible(value.plain) != value.plain:
        value = value.copy()
        value.plain = visible(value.plain)
    return value


console = Terminal()
errors = Terminal(stderr=True)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    text = json.dumps(value, indent=1, ensure_ascii=not is_unicode(), default=str)
    typer.echo(escaped_json(text))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values in two columns."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(visible(name), Text(_words(value)))
    console.print(grid)


def print_table(
    table: pl.DataFrame,
    title: str | None = None,
    right: Iterable[str] = (),
    *,
    markup: bool = False,
) -> None:
    """Print a table with numbers and the columns ``right`` aligned right.

    Cells are plain text unless ``markup``. Long texts wrap; where even single words would break,
    each row becomes a list.
    """
    make = Text.from_markup if markup else Text
    table = table.rename(visible)
    rows = [tuple(make(_words(cell)) for cell in row) for row in table.iter_rows()]
    columns = list(zip(*rows, strict=True)) or [()] * table.width
    longest = [
        max(len(word) for cell in map(str, cells) for word in [*cell.split(), ""]) if cells else 0
        for cells in columns
    ]
    longest = [max(width, *map(len, _unbroken(name)))
               for width, name in zip(longest, table.columns, strict=True)]  # fmt: skip
    if sum(longest) + 3 * len(longest) + 1 > console.width:
        _print_lists(table.columns, rows, title)
        return
    view = Table(title=title, title_justify="left", header_style="bold", pad_edge=False)
    aligned = set(right)
    for i, (width, (name, dtype)) in enumerate(zip(longest, table.schema.items(), strict=True)):
        side: Literal["left", "right"] = "left"
        if dtype.is_numeric() or name in aligned:
            side = "right"
        # columns of single words cannot be narrower: said so, the others make room for them
        single = max(len(str(cell)) for cell in (name, *columns[i])) <= width
        view.add_column(Text(name), justify=side, overflow="fold", min_width=width, no_wrap=single)
    for row in rows:
        view.add_row(*row)
    console.print(view)


def _unbroken(name: str) -> list[str]:
    """Return what stays on one line of a column's name: short names do, such as ``1 h %``."""
    return [name] if len(name) <= _SHORT_NAME else [*name.split(), ""]


def _print_lists(names: list[str], rows: list[tuple[Text, ...]], title: str | None) -> None:
    """Print each row as names and values, for narrow terminals."""
    if title:
        console.print(title, style="italic")
    for row in rows:
        console.print(row[0], style="bold")
        grid = Table.grid(padding=(0, 1))
        grid.add_column(style="dim")
        grid.add_column(overflow="fold")
        for name, value in zip(names[1:], row[1:], strict=True):
            grid.add_row(f"  {name}", value)
        console.print(grid)


def check_table_file(path: Path | None) -> None:
    """Before the work starts, refuse a file that :func:`write_table` could not write."""
    from palaver.errors import ParameterError

    if path is None:
        return
    if path.suffix not in (".csv", ".parquet"):
        raise ParameterError(f"--out takes x.csv or x.parquet, got {path.name}")
    if path.is_dir():
        raise ParameterError(f"{path}: is a folder; choose another name for --out")


#: Suffixes of pictures; all but the first need the extra ``pictures``.
PICTURES = (".svg", ".png", ".pdf")


def check_out_file(path: Path | None) -> None:
    """Before the work starts, refuse a file that :func:`write_out` could not write."""
    from palaver.errors import ParameterError

    if path is not None and path.suffix not in PICTURES:
        if path.suffix not in (".csv", ".parquet"):
            raise ParameterError(
                f"--out takes x.csv, x.parquet, x.svg, x.png or x.pdf, got {path.name}"
            )
        check_table_file(path)


def write_out(
    path: Path, table: pl.DataFrame, drawn: Callable[[], Svg], *, spreadsheet: bool = True
) -> None:
    """Write a table, or the picture of it if that is what the file name implies."""
    from palaver.store.atomic import replace_file

    if path.suffix not in PICTURES:
        write_table(table, path, spreadsheet=spreadsheet)
        return
    picture = drawn().standalone().encoded(path.suffix)
    with replace_file(path) as target:
        target.write_bytes(picture)


def write_table(table: pl.DataFrame, path: Path, *, spreadsheet: bool = True) -> None:
    """Write a table in the format that the file name implies, completely or not at all.

    Parameters
    ----------
    table : DataFrame
    path : path
    spreadsheet : bool
        In CSV, mark texts that a spreadsheet would treat as formulas.
    """
    from palaver.corpus.write import without_formulas
    from palaver.store.atomic import replace_file

    if spreadsheet and path.suffix == ".csv":
        table = without_formulas(table)
    with replace_file(path) as target:
        table.write_csv(target) if path.suffix == ".csv" else table.write_parquet(target)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal what is being done, for as long as it takes."""
    with errors.status(Text(f"{visible(what)} …")):
        yield


@contextmanager
def folding(what: str, n_folds: int = 1) -> Iterator[None]:
    """Show a bar with the time left while a model is asked, so often, about conversations."""
    from palaver.fit.fold import progress_listener

    with sharing(what) as advance, progress_listener(lambda share: advance(share / n_folds)):
        yield


@contextmanager
def sharing(what: str) -> Iterator[Callable[[float], None]]:
    """Show a bar with the time left; yield a function to call with shares that sum to one."""
    from palaver.fit.progress import share_bar

    with share_bar(what, errors, disable=not errors.is_terminal) as advance:
        yield advance


@contextmanager
def reading(path: Path) -> Iterator[Callable[[int], None]]:
    """Show a bar with speed and time left; yield a function to call with the bytes read."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    from palaver.corpus.readers.source import Source
    from palaver.errors import PalaverError
    from palaver.fit.progress import named

    what = TextColumn("{task.description}", markup=False, table_column=named(errors.width))
    columns: list[ProgressColumn] = [what, BarColumn(bar_width=None), TimeRemainingColumn()]
    if errors.width >= 80:
        columns[2:2] = [DownloadColumn(), TransferSpeedColumn()]
    try:
        total = Source(path).size
    except (PalaverError, OSError):
        total = None  # reading will say what is wrong
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(f"reading {visible(path.name)}", total=total)
        yield lambda n_bytes: bar.advance(task, n_bytes)


def excerpt(text: str, length: int = 60) -> str:
    """Return the beginning of a text on one line, with an ellipsis if there is more."""
    line = " ".join(text[: 4 * length].split())
    if len(line) <= length and len(text) <= 4 * length:
        return line
    return line[: length - 1].rstrip() + "…"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in the singular or plural."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def tell_repairs(corpus: Corpus, file: Path) -> None:
    """Say how much of a file was repaired or lost, and how to see the details."""
    from palaver.cli.options import command

    lost, repaired = (sum(corpus.notes.of(kind).values()) for kind in ("loss", "repair"))
    if lost or repaired:
        errors.print(
            f"{counted(repaired, 'repair')}, {counted(lost, 'loss', 'losses')}; "
            f"for details: {command('check', file)}",
            style="yellow",
            soft_wrap=True,
        )
    tell_advice(corpus)


def tell_advice(corpus: Corpus, where: Console = errors) -> None:
    """Say what to try if the file seems to have been read in the wrong way."""
    for words in corpus.notes.advice:
        where.print(f"{words[0].upper()}{words[1:]}.", style="yellow")


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
    return visible(str(value))
