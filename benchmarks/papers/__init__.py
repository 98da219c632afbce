"""The papers' experiments on the data we have, one module each.

Run: python -m benchmarks.papers NAME --data ../shared/data [--quick | --paper]

An experiment is a module here and a line in :data:`benchmarks.papers.__main__.EXPERIMENTS`. It has

    def cells(options, kept) -> list[Cell]       what to compute (benchmarks/papers/cells.py)
    def page(options, kept, results) -> str      the text of docs/results/NAME.md

where ``options`` is an :class:`Options`, ``kept`` the :class:`Cells` with earlier results, and
``results`` the results by cell name; with ``--page`` some may be missing.
Results of earlier runs are in ``benchmarks/papers/results`` (``--shelf``) and count as done; remove
a line or the file to measure again. Models are kept in ``benchmarks/papers/work`` (``--work``): run
the same command again to continue an interrupted run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Size = Literal["quick", "full", "paper"]


@dataclass(frozen=True)
class Options:
    """Options of the command line.

    Attributes
    ----------
    data : Path
        Folder of the corpora.
    size : {"quick", "full", "paper"}
        A check that takes minutes; what the pages show; the paper's own sizes.
    n_jobs : int
        Number of threads; never changes a result.
    """

    data: Path
    size: Size = "full"
    n_jobs: int = 2
