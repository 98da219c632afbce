"""``palaver demo``: everything from start to finish on the built-in sample."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from palaver.cli.options import Json

NAME = "demo"


def run(
    out: Annotated[
        Path, typer.Option(help="Output folder; an earlier demo there is replaced.")
    ] = Path("palaver-demo"),
    sweeps: Annotated[int, typer.Option(help="Number of sweeps.")] = 100,
    json: Json = False,
) -> None:
    """Fit the model of acts to the built-in sample, a synthetic help forum, and write a page.

    It finds by itself what people do there, and proposes names.

    Example: `palaver demo`
    """
    from palaver.cli import runs
    from palaver.cli.check import show
    from palaver.cli.commands import fit_command
    from palaver.cli.fit_said import report
    from palaver.cli.options import command, n_threads
    from palaver.cli.output import console, folding
    from palaver.corpus.describe import describe
    from palaver.corpus.sample import sample
    from palaver.encoding import encode
    from palaver.models.acts import Acts
    from palaver.page import report as write_page

    _clear(out)
    corpus = sample()
    if not json:
        show(corpus, describe(corpus))
        console.print()
    model = Acts(n_sweeps=sweeps, n_jobs=n_threads(None))
    encoded = encode(corpus, sentences=True, keep_unknown=True)
    encoded = runs.begin(out, model, encoded, runs.SAMPLE, corpus=corpus)
    model.fit(encoded, folder=out)
    with folding("classifying messages"):
        model.annotate(corpus).write(out / _TAGGED)
    with folding("writing the page"):
        page = write_page(
            model,
            corpus,
            out / _PAGE,
            command=command("report", out),
            fit_command=fit_command(out, model.get_params()),
        )
    report(model, out, json, next_steps=False)
    if not json:
        console.print(f"\nOpen in a browser: {page}", soft_wrap=True)
        console.print(f"Every message with its classes: {out / _TAGGED}", soft_wrap=True)
        console.print(f"Who does what: {command('shares', out)}", soft_wrap=True)
        console.print(f"Look closer: {command('explore', out)}", soft_wrap=True)
        console.print("For a file of your own: palaver FILE", soft_wrap=True)


_TAGGED, _PAGE = "tagged.jsonl", "report.html"
#: Files, other than arrays, that a demo writes, or a verb that was tried on it.
_OURS = {_TAGGED, _PAGE, "curation.json", "manifest.json", "manifest.previous.json", "lock"}


def _clear(folder: Path) -> None:
    """Remove an earlier demo; refuse a folder that contains anything else."""
    from palaver.errors import StoreError

    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if folder.is_symlink() or not _is_demo(folder):
        raise StoreError(
            f"{folder}: not written by `palaver demo`, or holds other files; choose another --out"
        )
    shutil.rmtree(folder)


def _is_demo(folder: Path) -> bool:
    """Whether a folder contains the run of a demo and no other file."""
    from palaver.cli import runs

    if not folder.is_dir() or runs.settings_of(folder).get("source") != runs.SAMPLE:
        return False
    files = (path for path in folder.rglob("*") if not path.is_dir())
    ours = ("arrays-*/*.npy", "explore/texts-*.sqlite", "explore/overview-*.json")
    return all(path.name in _OURS or any(map(path.match, ours)) for path in files)
