"""A bar with sweeps a second, log joint and time left, for terminals and notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from palaver.fit.fold import is_heard, listening
from palaver.fit.loop import Callback, Chain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn
    from rich.table import Column

Show = Literal["auto"] | bool


def _wanted(show: Show) -> bool:
    """Whether to show a bar: on a terminal or in a notebook, unless told otherwise."""
    if show == "auto":
        return sys.stderr.isatty() or "ipykernel" in sys.modules
    return show


@contextmanager
def progress(what: str, n_sweeps: int, show: Show = "auto") -> Iterator[list[Callback]]:
    """Give the callbacks that draw a bar; none where nobody looks."""
    if not _wanted(show):
        yield []
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(*columns(console.width), console=console, transient=True) as bar:
        task = bar.add_task(f"{what}: compiling, once", total=n_sweeps, speed="", score="")

        def advance(sweep: int, chains: Sequence[Chain]) -> None:
            speed = bar.tasks[task].speed
            score = max(chain.trace[-1]["log_joint"] for chain in chains)
            bar.update(
                task,
                description=what,
                completed=sweep,
                speed=f"{speed:.1f} sweeps/s" if speed else "",
                score=f"log joint {score:,.0f}",
            )

        yield [advance]


@contextmanager
def fold_progress(what: str, n_folds: int = 1, show: Show = "auto") -> Iterator[None]:
    """Show a bar while conversations are folded in; none where nobody looks, or one is shown."""
    if is_heard() or not _wanted(show):
        yield
        return
    from rich.console import Console

    with share_bar(what, Console(stderr=True), n_folds) as advance, listening(advance):
        yield


@contextmanager
def share_bar(
    what: str, console: Console, total: float = 1.0, *, disable: bool = False
) -> Iterator[Callable[[float], None]]:
    """Show a bar with the time left; give what to call with shares that sum to the total."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    name = TextColumn("{task.description}", table_column=named(console.width))
    parts = (name, BarColumn(bar_width=None), TaskProgressColumn(), TimeLeft())
    with Progress(*parts, console=console, transient=True, disable=disable) as bar:
        task = bar.add_task(what, total=float(total))

        def advance(share: float) -> None:
            if bar.tasks[task].finished:
                bar.reset(task)  # there is more than was known, such as another fold-in
            bar.advance(task, share)

        yield advance


def columns(width: int) -> list[ProgressColumn]:
    """Return what fits into a terminal; the time left always does."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    what = TextColumn("{task.description}", table_column=named(width))
    if width < 60:
        return [what, MofNCompleteColumn(), TimeRemainingColumn()]
    shown: list[ProgressColumn] = [what, BarColumn(bar_width=None), MofNCompleteColumn()]
    if width >= 84:
        shown.append(TextColumn("{task.fields[speed]}"))
    if width >= 110:
        shown += [TextColumn("{task.fields[score]}"), TimeElapsedColumn()]
    return [*shown, TimeRemainingColumn()]


def named(width: int) -> Column:
    """Return a column for names, which are cut where they would take more than a third."""
    from rich.table import Column

    return Column(no_wrap=True, overflow="ellipsis", max_width=max(width // 3, 8))
