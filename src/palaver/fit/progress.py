"""A bar with sweeps a second, log joint and time left, for terminals and notebooks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from palaver.fit.loop import Callback, Chain

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
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TextColumn("{task.fields[score]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
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
