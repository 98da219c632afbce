"""Cells: named units of work whose results are stored, so that a long run can be interrupted.

An experiment is a list of cells. A cell has a name for people, settings that determine its result,
and work to do. Its result is stored in a folder named by the hash of the settings: if you change a
setting, the cell is computed again; otherwise it is never computed twice. ::

    def work(folder):                      # the cell's own folder, for models and checkpoints
        model = pv.LDA(n_classes=5).fit(corpus, folder=folder / "model")
        return {"log_joint": ...}          # plain JSON

    fit = Cell("r-help/lda/5/fit", {"corpus": "r-help", "n_classes": 5}, work, cost=5)
    judge = Cell("r-help/lda/5/judge", {"of": fit.key, "method": "paper"}, other_work)
    results = Cells(Path("work")).run([fit, judge])      # {cell.name: result}

- Cells run in the given order, and may read the folders of earlier ones (``cells.folder(fit)``).
  Put ``fit.key`` into the settings of cells that depend on it.
- ``result.json`` is written last and in one step, so a killed cell has no result; its folder
  stays, and a fit continues from its checkpoint.
- Results outlive the folder: :meth:`Cells.shelve` writes the results of all cells, without their
  models, to one JSON file, the shelf. A result on the shelf counts as done wherever the file is.
  A cell whose folder is missing but needed (its key is in a later cell's settings) runs again.
- ``cost`` is any number roughly proportional to the expected time; it serves to estimate the time
  left.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A unit of work.

    Attributes
    ----------
    name : str
        For people; unique in a run, with parts separated by "/".
    settings : mapping
        Plain values that determine the result; change a "version" among them if the code changes.
    work : callable
        Called with the cell's folder; returns the result as plain JSON values.
    cost : float
        Expected time, in any unit common to the run.
    """

    name: str
    settings: Mapping[str, Any]
    work: Callable[[Path], Any] = field(repr=False)
    cost: float = 1.0

    @property
    def key(self) -> str:
        """Hash of the settings."""
        return _key(self.settings)


@dataclass(frozen=True)
class Cells:
    """Where results are stored: a folder, and optionally a file of earlier results."""

    root: Path
    shelf: Path | None = None

    def folder(self, cell: Cell) -> Path:
        """Return the folder of one cell."""
        return self.root / f"{re.sub('[^A-Za-z0-9.=-]+', '-', cell.name)}-{cell.key}"

    def stored(self, cell: Cell) -> dict[str, Any] | None:
        """Return the record of a cell (settings, result, times), or None if it is not done."""
        path = self.folder(cell) / "result.json"
        if path.exists():
            return json.loads(path.read_text("utf-8"))
        return self._shelved().get(cell.key)

    def _shelved(self) -> dict[str, Any]:
        """Return the records on the shelf by key."""
        if self.shelf is None or not self.shelf.exists():
            return {}
        return {_key(r["settings"]): r for r in json.loads(self.shelf.read_text("utf-8"))}

    def shelve(self, cells: Sequence[Cell]) -> None:
        """Write the records of finished cells to the shelf, replacing its contents."""
        if self.shelf is None:
            raise ValueError("no shelf was given")
        records = [record for cell in cells if (record := self.stored(cell)) is not None]
        self.shelf.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(record) for record in records)
        _replace(self.shelf, f"[\n{lines}\n]\n")

    def _lost(self, cells: Sequence[Cell]) -> set[str]:
        """Return the names of shelved cells whose missing folders other cells need.

        A cell that runs again for another one may need folders itself.
        """
        undone = [cell for cell in cells if self.stored(cell) is None]
        return {cell.name for cell in self._missing(undone, cells) if cell not in undone}

    def _missing(self, wanted: Sequence[Cell], cells: Sequence[Cell]) -> list[Cell]:
        """Return those of the cells without a folder that the wanted ones need, one by another."""
        found: list[Cell] = []
        needed = list(wanted)
        while needed:
            settings = [json.dumps(cell.settings) for cell in needed]
            needed = [
                cell
                for cell in cells
                if cell not in found
                and any(cell.key in text for text in settings)
                and not (self.folder(cell) / "result.json").exists()
            ]
            found += needed
        return found

    def with_needed(self, wanted: Sequence[Cell], cells: Sequence[Cell]) -> list[Cell]:
        """Return the wanted cells and those of all cells that they cannot be done without."""
        undone = [cell for cell in wanted if self.stored(cell) is None]
        chosen = [*wanted, *self._missing(undone, cells)]
        return [cell for cell in cells if cell in chosen]

    def seconds(self, cells: Sequence[Cell]) -> float:
        """Return the wall-clock time that the stored results of the cells took."""
        return sum((self.stored(cell) or {"seconds": 0.0})["seconds"] for cell in cells)

    def processor_seconds(self, cells: Sequence[Cell]) -> float:
        """Return the processor time of all threads that the stored results of the cells took.

        Unlike wall-clock time, it hardly depends on other work on the machine.
        """
        records = (self.stored(cell) or {} for cell in cells)
        return sum(record.get("processor_seconds", 0.0) for record in records)

    def results(self, cells: Sequence[Cell]) -> dict[str, Any]:
        """Return the results of finished cells by name."""
        records = {cell.name: self.stored(cell) for cell in cells}
        return {name: record["result"] for name, record in records.items() if record is not None}

    def run(self, cells: Sequence[Cell]) -> dict[str, Any]:
        """Run the unfinished cells in order; return all results by name."""
        lost = self._lost(cells)
        kept = {c.name: None if c.name in lost else self.stored(c) for c in cells}
        if len(kept) < len(cells):
            raise ValueError("two cells have the same name")
        left = sum(cell.cost for cell in cells if kept[cell.name] is None)
        done = spent = 0.0
        for number, cell in enumerate(cells, 1):
            if kept[cell.name] is not None:
                continue
            estimate = f", about {_duration(spent / done * (left - done))} left" if done else ""
            _say(f"[{number}/{len(cells)}] {cell.name}{estimate}")
            kept[cell.name] = record = self._do(cell)
            done, spent = done + cell.cost, spent + record["seconds"]
        return {name: record["result"] for name, record in kept.items() if record is not None}

    def _do(self, cell: Cell) -> dict[str, Any]:
        """Run one cell and store its result; its times include earlier attempts."""
        folder = self.folder(cell)
        folder.mkdir(parents=True, exist_ok=True)
        clock = folder / "seconds.json"
        before = json.loads(clock.read_text("utf-8")) if clock.exists() else [0.0, 0.0]
        start = _clocks()
        try:
            result = cell.work(folder)
        finally:
            times = [b + t - s for b, t, s in zip(before, _clocks(), start, strict=True)]
            _replace(clock, json.dumps(times))
        record = {
            "name": cell.name,
            "settings": dict(cell.settings),
            "result": result,
            "seconds": round(times[0], 3),
            "processor_seconds": round(times[1], 3),
        }
        _replace(folder / "result.json", json.dumps(record, indent=1) + "\n")
        return json.loads(json.dumps(record))


def _clocks() -> tuple[float, float]:
    """Return the clock, and the processor time of this process and its finished children."""
    used = os.times()
    own, children = used.user + used.system, used.children_user + used.children_system
    return time.monotonic(), own + children


def _key(settings: Mapping[str, Any]) -> str:
    """Return the hash of settings."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _replace(path: Path, text: str) -> None:
    """Write a file in one step."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def _duration(seconds: float) -> str:
    """Format a duration for people."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)
