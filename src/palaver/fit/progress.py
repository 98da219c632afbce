"""Progress bars for terminals and notebooks, with sweeps per second, log joint and time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from palaver.draw.svg import tag, words
from palaver.fit.fold import has_listener, progress_listener
from palaver.fit.loop import Callback, Chain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn
    from rich.table import Column

Show = Literal["auto"] | bool


def _wanted(show: Show) -> bool:
    """Whether to show a bar: by default, on a terminal or in a notebook."""
    if show == "auto":
        return sys.stderr.isatty() or _in_notebook()
    return show


def _in_notebook() -> bool:
    """Whether the code runs in a notebook kernel; an imported ipykernel does not prove it."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def progress(what: str, n_sweeps: int, show: Show = "auto") -> Iterator[list[Callback]]:
    """Yield the callbacks that draw a bar; none if no bar is to be shown."""
    if not _wanted(show):
        yield []
        return
    if _in_notebook():
        with _notebook_bar(f"{what}: compiling, once", n_sweeps) as draw:
            yield [lambda sweep, chains: draw(sweep, f"{what}, {_best(chains)}")]
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(*columns(console.width), console=console, transient=True) as bar:
        task = bar.add_task(f"{what}: compiling, once", total=n_sweeps, speed="", score="")

        def advance(sweep: int, chains: Sequence[Chain]) -> None:
            speed = bar.tasks[task].speed
            bar.update(
                task,
                description=what,
                completed=sweep,
                speed=f"{speed:.1f} sweeps/s" if speed else "",
                score=_best(chains),
            )

        yield [advance]


def _best(chains: Sequence[Chain]) -> str:
    return f"log joint {max(chain.trace[-1]['log_joint'] for chain in chains):,.0f}"


@contextmanager
def _notebook_bar(what: str, total: float) -> Iterator[Callable[[float, str], None]]:
    """Show a bar below a cell, redrawn in place and removed at the end.

    In notebooks, rich's bars need ipywidgets and warn at every step without it.
    """
    screen: Any = import_module("IPython.display")

    def line(done: float, note: str) -> Any:
        share = tag("progress", value=done, max=total, style="width:40%")
        return screen.HTML(tag("div", share, words(f" {done / total:.0%} {note}")))

    shown = screen.display(line(0, what), display_id=True)
    drawn = monotonic()

    def draw(done: float, note: str) -> None:
        nonlocal drawn
        if monotonic() - drawn > _PAUSE:
            shown.update(line(done, note))
            drawn = monotonic()

    try:
        yield draw
    finally:
        shown.update(screen.HTML(""))


_PAUSE = 0.25  # seconds between redraws


@contextmanager
def fold_progress(what: str, n_folds: int = 1, show: Show = "auto") -> Iterator[None]:
    """Show a bar while conversations are folded in, unless one is already shown or none wanted."""
    if has_listener() or not _wanted(show):
        yield
        return
    from rich.console import Console

    with share_bar(what, Console(stderr=True), n_folds) as advance, progress_listener(advance):
        yield


@contextmanager
def share_bar(
    what: str, console: Console, total: float = 1.0, *, disable: bool = False
) -> Iterator[Callable[[float], None]]:
    """Show a bar with the time left; yield a function to call with shares that sum to ``total``."""
    if _in_notebook() and not disable:
        with _notebook_bar(what, total) as draw:
            yield _adding(draw, what, total)
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    name = TextColumn("{task.description}", table_column=named(console.width))
    parts = (name, BarColumn(bar_width=None), TaskProgressColumn(), TimeLeft())
    with Progress(*parts, console=console, transient=True, disable=disable) as bar:
        task = bar.add_task(what, total=float(total))

        def advance(share: float) -> None:
            if bar.tasks[task].finished:
                bar.reset(task)  # more work than announced, such as another fold-in
            bar.advance(task, share)

        yield advance


def _adding(draw: Callable[[float, str], None], what: str, total: float) -> Callable[[float], None]:
    done = 0.0

    def advance(share: float) -> None:
        nonlocal done
        done = done + share if done < total else share  # more work than announced
        draw(min(done, total), what)

    return advance


def columns(width: int) -> list[ProgressColumn]:
    """Return the columns that fit a terminal's width; the time left is always among them."""
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
    """Return a column for names, truncated to a third of the width."""
    from rich.table import Column

    return Column(no_wrap=True, overflow="ellipsis", max_width=max(width // 3, 8))
