"""The papers' experiments, one module each, on the data that is at hand.

Run: python -m benchmarks.papers NAME --data ../shared/data [--quick | --paper]

An experiment is a module here and a line in :data:`benchmarks.papers.__main__.EXPERIMENTS`. It has

    def cells(options, kept) -> list[Cell]       what to compute (benchmarks/papers/cells.py)
    def page(options, kept, results) -> str      the text of docs/results/NAME.md

where ``options`` is an :class:`Options`, ``kept`` the :class:`Cells` with earlier results and
``results`` those of the cells by name; with ``--page`` some may be missing.
The numbers of the last runs lie in ``benchmarks/papers/results`` (``--shelf``) and count as done;
remove a line there, or the file, to measure again. Models are kept in ``benchmarks/papers/work``
(``--work``): a run that was interrupted goes on where it stopped when the same command is given
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Size = Literal["quick", "full", "paper"]


@dataclass(frozen=True)
class Options:
    """What the command line asks for.

    Attributes
    ----------
    data : Path
        Folder of the corpora.
    size : {"quick", "full", "paper"}
        Minutes; what the documents show; the paper's own sizes.
    n_jobs : int
        Threads; never changes a result.
    """

    data: Path
    size: Size = "full"
    n_jobs: int = 2
