"""``palaver report``: one HTML file about a run, for people to read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import Anonymize, Chain, Column, FileOfRun, Format, Json, Run

if TYPE_CHECKING:
    from palaver.page.names import Names
    from palaver.threads import ThreadRebuilder

NAME = "report"
_MAX_MESSAGES = 20_000
#: How often a page asks a thread model about all messages: shares, classes of words, foretelling.
_FOLDS = 3


def run(
    folder: Run,
    file: FileOfRun = None,
    out: Annotated[
        Path | None, typer.Option(help="The page; RUN/report.html if not given.")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(help="Names of the classes, as the page exports them; the run keeps them."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    test: Annotated[
        Path | None, typer.Option(help="Unseen conversations, to say how well it predicts words.")
    ] = None,
    anonymize: Anonymize = False,
    max_messages: Annotated[
        int, typer.Option(min=1, help="Messages that the page's reader may carry.")
    ] = _MAX_MESSAGES,
    rebuilt: Annotated[
        bool,
        typer.Option("--rebuilt", help="Show replies as rebuilt beside those that are given."),
    ] = False,
    rebuilder: Annotated[
        Path | None,
        typer.Option(help="Rebuild with what `palaver reconstruct --save` kept in this folder."),
    ] = None,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Write one self-contained page about RUN: what people do, how, when, with examples.

    Names are kept in the run: later pages, `palaver classes`, `shares` and `annotate` use them.

    Example: `palaver report run/ --out report.html --names names.json`
    """
    from palaver.cli import runs
    from palaver.cli.commands import fit_command
    from palaver.cli.output import console, folding, print_json, working
    from palaver.encode import encode
    from palaver.models import load
    from palaver.models.words.model import ThreadModel
    from palaver.page import report
    from palaver.page.findings import learned_from

    model = load(folder)
    corpus = runs.corpus_of(folder, file, format, column, chain)
    same = file is None or learned_from(encode(corpus, model.vocabulary_))
    target = out or folder / "report.html"
    summary = model.summary()
    known: Names = dict(runs.names_of(folder, summary).items())
    called = names if names is not None else known
    options: dict[str, str | Path | int | bool | None] = {
        "out": out, "names": names, "title": title, "test": test, "anonymize": anonymize,
        "max-messages": max_messages if max_messages != _MAX_MESSAGES else None,
        "rebuilt": rebuilt, "rebuilder": rebuilder, "chain": chain, "format": format,
    }  # fmt: skip
    what = "reading every message with the model, and writing the page (longer the first time)"
    with folding(what, _FOLDS) if isinstance(model, ThreadModel) else working(what):
        path = report(
            model, corpus, target, names=called, anonymize=anonymize, title=title,
            test=None if test is None else runs.corpus_of(folder, test, format, column, chain),
            max_messages=max_messages, rebuilder=_rebuilder(rebuilt, rebuilder),
            command=_command(folder, file, options, column, short=anonymize),
            fit_command=fit_command(folder, summary.params, anonymize=anonymize),
        )  # fmt: skip
    kept = names is not None and runs.keep_names(folder, names, summary)
    if json:
        print_json({"out": str(path), "bytes": path.stat().st_size, "same_texts": same})
        return
    if not same:
        console.print("These texts are not those that the run was fitted on.", style="yellow")
    if kept:
        console.print("The run keeps the names: classes, shares and annotate show them, too.")
    console.print(f"Open in a browser: {path}", soft_wrap=True)


def _rebuilder(asked: bool, folder: Path | None) -> ThreadRebuilder | None:
    """Return what rebuilds replies, if that was asked for."""
    if not asked and folder is None:
        return None
    from palaver.threads import ThreadRebuilder

    return ThreadRebuilder.default() if folder is None else ThreadRebuilder.load(folder)


def _command(
    folder: Path,
    file: Path | None,
    options: dict[str, str | Path | int | bool | None],
    column: list[str] | None,
    *,
    short: bool,
) -> str:
    """Return the command as it can be typed again; without folders where people were taken out."""
    from palaver.cli.options import command

    arguments: list[str | Path] = ["report", folder, *([file] if file else [])]
    for name, value in options.items():
        if value is True:
            arguments.append(f"--{name}")
        elif value:
            arguments += [f"--{name}", value if isinstance(value, Path) else str(value)]
    for pair in column or []:
        arguments += ["--column", pair]
    return command(*(a.name if short and isinstance(a, Path) else a for a in arguments))
