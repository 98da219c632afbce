"""``palaver demo``: the whole way on the built-in sample."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from palaver.cli.options import Json

NAME = "demo"


def run(
    out: Annotated[Path, typer.Option(help="Folder to write to; replaced.")] = Path("palaver-demo"),
    sweeps: Annotated[int, typer.Option(help="Sweeps of the fit.")] = 200,
    json: Json = False,
) -> None:
    """Fit M4 to the built-in sample, a synthetic help forum, and write a page about it.

    Example: `palaver demo`
    """
    from palaver.cli import runs
    from palaver.cli.check import show
    from palaver.cli.commands import fit_command
    from palaver.cli.fit import report
    from palaver.cli.output import console, folding
    from palaver.corpus.describe import describe
    from palaver.corpus.sample import sample
    from palaver.encode import encode
    from palaver.errors import StoreError
    from palaver.models.m4 import M4
    from palaver.page import report as write_page
    from palaver.page.settings import command_line

    if out.exists():
        if not (out / "settings").is_dir() and (not out.is_dir() or any(out.iterdir())):
            raise StoreError(f"{out}: is not a folder of `palaver demo`; choose another --out")
        shutil.rmtree(out)
    corpus = sample()
    if not json:
        show(describe(corpus))
        console.print()
    model = M4(n_classes=12, n_sweeps=sweeps, n_chains=2, n_jobs=2)
    encoded = encode(corpus)
    runs.begin(out, model, encoded, runs.SAMPLE)
    model.fit(encoded, folder=out)
    with folding("reading the sample"):
        model.annotate(corpus).write(out / "tagged.jsonl")
    with folding("writing the page"):
        page = write_page(
            model,
            corpus,
            out / "report.html",
            foretell=False,  # compiling what it takes would be a third of the demo
            command=command_line(["report", str(out)]),
            fit_command=fit_command(out, model.get_params()),
        )
    report(model, out, json)
    if not json:
        console.print(f"The sample with its classes: {out / 'tagged.jsonl'}", soft_wrap=True)
        console.print(f"What people do in it, to read in a browser: {page}", soft_wrap=True)
