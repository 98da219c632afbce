"""``palaver refit``: fit a run again with what people decided about it."""

from __future__ import annotations

import json as json_module
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Chain, Column, FileOfRun, Format, Jobs, Json, Run, n_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from palaver.corpus.table import Corpus
    from palaver.encoding import Encoded
    from palaver.fit.loop import Chain as FitChain
    from palaver.fit.progress import Show
    from palaver.models import Model

NAME = "refit"
_PAUSE = 0.5  # seconds between notes on the progress


def run(
    folder: Run,
    file: FileOfRun = None,
    classes: Annotated[
        int | None,
        typer.Option(min=1, help="Number of classes (default: as many as there are now)."),
    ] = None,
    take: Annotated[
        bool, typer.Option("--take", help="Put the new fit in the place of the old one.")
    ] = False,
    leave: Annotated[bool, typer.Option("--leave", help="Remove the new fit.")] = False,
    jobs: Jobs = None,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Fit RUN again with what you curated, compare it with the old fit, and take it or leave it.

    Messages that you marked as right have their class; the surest messages of classes that you
    named, merged or divided stand for these, and words that you gave are what a class begins with.
    Acts begin as they are now, unless you ask for another number of them.
    What differs is printed: what moved, how shares changed, how far both agree. Nothing of RUN
    changes until --take, which keeps the old fit in RUN/versions.

    Ctrl-C stops after the current sweep; the same command continues.

    Example: `palaver refit run/`

    Example: `palaver refit run/ --take`
    """
    from palaver.cli.output import console, print_json
    from palaver.curation import versions
    from palaver.errors import ParameterError

    versions.finish(folder)
    if take and leave:
        raise ParameterError("--take and --leave exclude each other")
    if take:
        before = versions.take(folder)
        console.print(f"The new fit is taken; the old one is in {before}.", soft_wrap=True)
        return
    if leave:
        versions.leave(folder)
        console.print("The new fit is removed; the run is as it was.")
        return

    def read() -> Corpus:
        from palaver.cli import runs

        return runs.corpus_of(folder, file, format, column, chain)

    found = refit(folder, read, classes, n_threads(jobs))
    if json:
        print_json(found)
    else:
        show(folder, found)


def in_background(
    folder: Path,
    file: Path | None,
    format: str | None,
    column: list[str] | None,
    chain: bool,
    n_classes: int | None,
) -> None:
    """Fit a run again without a word on the terminal; ``progress.json`` says how it goes."""
    import contextlib

    from palaver.cli import runs
    from palaver.errors import PalaverError

    with contextlib.suppress(PalaverError, typer.Exit, KeyboardInterrupt):
        refit(
            folder, lambda: runs.corpus_of(folder, file, format, column, chain), n_classes,
            show_progress=False,
        )  # fmt: skip


def refit(
    folder: Path,
    read: Callable[[], Corpus],
    n_classes: int | None = None,
    n_jobs: int | None = None,
    *,
    show_progress: Show = "auto",
) -> dict[str, Any]:
    """Fit a run again, or continue; return how the new fit differs from the old one.

    What happens is written to ``refit/progress.json``; a file ``refit/stop`` ends it after a sweep.
    """
    from palaver.cli import runs
    from palaver.curation.versions import REFIT
    from palaver.errors import PalaverError
    from palaver.fit import Interrupted
    from palaver.models import load

    place = folder / REFIT
    notes = Notes(place)
    try:
        old = load(folder)
        corpus = read()
        if not runs.settings_of(place):
            begin(folder, place, old, corpus, n_classes)
        model, data, labels = runs.reopen(place)
        model.set_params(**({} if n_jobs is None else {"n_jobs": n_jobs}))
        _fit(model, data, labels, place, notes, show_progress)
        return finished(place, old, corpus, notes)
    except Interrupted:
        notes.write("stopped")
        raise
    except PalaverError as error:
        notes.write("failed", error=str(error))
        raise


class Notes:
    """What a new fit tells those who watch: ``progress.json`` in its folder."""

    def __init__(self, place: Path) -> None:
        self.place, self._last = place, 0.0
        self._told: dict[str, Any] = {}

    def write(self, state: str, **facts: Any) -> None:
        """Replace the file."""
        from palaver.store.atomic import replace_file

        self._told = {**self._told, **facts, "state": state}
        self.place.mkdir(parents=True, exist_ok=True)
        with replace_file(self.place / "progress.json") as path:
            path.write_text(json_module.dumps(self._told), encoding="utf-8")

    def sweep(self, n_sweeps: int) -> Any:
        """Return a callback of a fit, which says how far it is and stops it if asked to."""

        def tell(sweep: int, chains: Sequence[FitChain]) -> bool:
            now = time.monotonic()
            if now - self._last > _PAUSE or sweep == n_sweeps:
                self._last = now
                self.write("running", sweep=sweep, of=n_sweeps)
            return (self.place / "stop").exists()

        return tell


def begin(folder: Path, place: Path, old: Model, corpus: Corpus, n_classes: int | None) -> None:
    """Write what the new fit starts from."""
    from palaver.cli import fit_stream, runs
    from palaver.cli.labels import read_labels
    from palaver.encoding import encode
    from palaver.errors import InputError
    from palaver.models.curated.refitting import guidance
    from palaver.store.atomic import replace_file

    settings = runs.settings_of(folder)
    if not settings or fit_stream.plan_of(folder) is not None:
        raise InputError(f"{folder}: only runs of `palaver fit` without --stream can be refitted")
    given = read_labels(folder)
    if given is not None and len(given) != corpus.n_messages:
        given = None  # of another file
    guide = guidance(old, corpus, given, n_classes)
    words = settings.get("words", {})
    encoded = encode(
        corpus, min_count=words.get("min_count") or guide.model.default_min_count,
        max_share=words.get("max_share") or 1.0, sentences=guide.model.needs_sentences,
        view=guide.model.view, keep_unknown=guide.model.keeps_unknown,
    )  # fmt: skip
    guide.model.check_data(encoded)
    for path in (place / "progress.json", place / "stop", place / "log"):
        path.unlink(missing_ok=True)
    runs.begin(place, guide.model, encoded, settings["source"], settings.get("reading", {}), words,
               guide.labels, corpus, guide.first_acts)  # fmt: skip
    plan = {"seeds": guide.seeds, "marked": guide.n_marked, "sure": guide.n_sure,
            "left_out": guide.left_out,
            "classes": guide.model.get_params()[guide.model.size_parameter]}  # fmt: skip
    with replace_file(place / "plan.json") as path:
        path.write_text(json_module.dumps(plan), encoding="utf-8")


def _fit(
    model: Model,
    data: Encoded,
    labels: pl.Series | None,
    place: Path,
    notes: Notes,
    show_progress: Show,
) -> None:
    """Fit the new model; raise if somebody asked for a stop."""
    from palaver.errors import StoppedError

    n_sweeps = int(model.get_params()["n_sweeps"])
    (place / "stop").unlink(missing_ok=True)
    notes.write("running", sweep=0, of=n_sweeps)
    known = {} if labels is None else {"labels": labels}
    try:
        model.fit(data, **known, folder=place, callbacks=[notes.sweep(n_sweeps)],
                  show_progress=show_progress)  # fmt: skip
    except StoppedError:
        if not (place / "stop").exists():
            raise
    if (place / "stop").exists():
        notes.write("stopped")
        raise typer.Exit(3)


def finished(place: Path, old: Model, corpus: Corpus, notes: Notes) -> dict[str, Any]:
    """Compare both fits, and keep what was decided as far as it holds for the new one."""
    from palaver.curation import replace_curation
    from palaver.models import load
    from palaver.models.curated.versions import compare_versions
    from palaver.store.atomic import replace_file

    notes.write("comparing")
    found = compare_versions(old, load(place), corpus)
    replace_curation(place, found.curation)
    with replace_file(place / "comparison.json") as path:
        path.write_text(json_module.dumps(found.content), encoding="utf-8")
    notes.write("done")
    return found.content


def show(folder: Path, found: dict[str, Any]) -> None:
    """Print how the new fit differs from the old one."""
    from rich.table import Table

    from palaver.cli.options import command
    from palaver.cli.output import console

    table = Table("Before", "", "After", "", "Stayed", box=None, header_style="bold")
    for row in found["classes"]:
        table.add_row(row["old"] or "–", _share(row["before"]), row["new"] or "–",
                      _share(row["after"]), _share(row["kept"]))  # fmt: skip
    console.print(table, markup=False)
    kappa = found["kappa"]
    console.print(f"\n{_share(found['same'])} of {found['messages']:,} messages are of the same "
                  f"class (kappa {'–' if kappa is None else format(kappa, '.2f')}).")  # fmt: skip
    for move in found["moves"][:5]:
        console.print(f"  {move['messages']:,} moved from {move['from']} to {move['to']}",
                      markup=False)  # fmt: skip
    marks = found["marks"]
    if marks["of"]:
        console.print(f"Of {marks['of']:,} messages that people judged, {marks['after']:,} are as "
                      f"they said (before: {marks['before']:,}).")  # fmt: skip
    if found["lost"]:
        console.print(f"No class is the same as: {', '.join(found['lost'])}.", markup=False)
    console.print(f"\nTake it: {command('refit', folder, '--take')}", soft_wrap=True)
    console.print(f"Leave it: {command('refit', folder, '--leave')}", soft_wrap=True)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
