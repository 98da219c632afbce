"""``palaver report``: a self-contained HTML page about a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import (
    Anonymize,
    By,
    Chain,
    Column,
    FileOfRun,
    Format,
    Json,
    Run,
    Title,
    Where,
)

if TYPE_CHECKING:
    from palaver.threads import ThreadRebuilder

NAME = "report"
_MAX_MESSAGES = 20_000


def run(
    folder: Run,
    file: FileOfRun = None,
    out: Annotated[
        Path | None, typer.Option(help="Page to write (default: RUN/report.html).")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(help="Class names as exported from the page; saved with the run."),
    ] = None,
    title: Title = None,
    by: By = None,
    test: Annotated[
        Path | None,
        typer.Option(help="Unseen conversations on which to test how well words are predicted."),
    ] = None,
    anonymize: Anonymize = False,
    max_messages: Annotated[
        int, typer.Option(min=1, help="Maximum number of messages in the page's reader.")
    ] = _MAX_MESSAGES,
    rebuilt: Annotated[
        bool,
        typer.Option("--rebuilt", help="Show inferred replies next to the recorded ones."),
    ] = False,
    rebuilder: Annotated[
        Path | None,
        typer.Option(help="Folder written by `palaver reconstruct --save`, used to infer replies."),
    ] = None,
    where: Where = None,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Write a self-contained HTML page about RUN: what people do, when, and examples.

    Class names are saved with the run: later pages and `palaver classes`, `transitions`, `shares`
    and `annotate` use them.

    Example: `palaver report run/ --out report.html --names names.json`
    """
    from palaver.cli import runs
    from palaver.cli.commands import fit_command
    from palaver.cli.output import console, folding, print_json
    from palaver.models import load
    from palaver.page.build import make_page
    from palaver.page.names import read_names

    model = load(folder)
    told = runs.settings_of(folder).get("reading", {})
    title, by = title or told.get("title"), by or told.get("by")
    anonymize = anonymize or bool(told.get("anonymize"))
    corpus = runs.corpus_of(folder, file, format, column, chain, where)
    target = out or folder / "report.html"
    summary = model.summary()
    called = read_names(names, summary) if names else runs.names_of(folder, summary)
    options: dict[str, str | Path | int | bool | None] = {
        "out": out, "names": names, "title": title, "by": by, "test": test, "anonymize": anonymize,
        "max-messages": max_messages if max_messages != _MAX_MESSAGES else None,
        "rebuilt": rebuilt, "rebuilder": rebuilder, "chain": chain, "format": format,
    }  # fmt: skip
    what = "classifying messages and writing the page (slower the first time)"
    with folding(what):
        findings = make_page(
            model, corpus, target, summary=summary, names=called, anonymize=anonymize, title=title,
            test=None if test is None else runs.corpus_of(folder, test, format, column, chain),
            max_messages=max_messages, rebuilder=_rebuilder(rebuilt, rebuilder),
            command=_command(folder, file, options, column, short=anonymize),
            fit_command=fit_command(folder, summary.params, anonymize=anonymize),
            n_new=runs.count_new(folder, corpus), by=by,
        )  # fmt: skip
    same = file is None or findings.same_texts or runs.count_new(folder, corpus) == 0
    kept = names is not None and runs.keep_names(folder, names, model)
    if json:
        print_json({"out": str(target), "bytes": target.stat().st_size, "same_texts": same})
        return
    if not same:
        console.print("These are not the texts that the run was fitted on.", style="yellow")
    if kept:
        console.print("Names saved with the run; other verbs show them from now on.")
    console.print(f"Open in a browser: {target}", soft_wrap=True)


def _rebuilder(asked: bool, folder: Path | None) -> ThreadRebuilder | None:
    """Return the rebuilder of replies, if one was asked for."""
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
    """Return the command to type again; ``short``, for anonymous pages, leaves out names."""
    from palaver.cli.options import command

    arguments: list[str | Path] = ["report", folder, *([file] if file else [])]
    for name, value in options.items():
        if value is True:
            arguments.append(f"--{name}")
        elif value:
            arguments += [f"--{name}", value if isinstance(value, Path) else str(value)]
    for pair in column or []:
        ours = pair.partition("=")[0]
        arguments += ["--column", f"{ours}=COLUMN" if short else pair]
    return command(*(_placeholder(a, folder) if short else a for a in arguments))


def _placeholder(argument: str | Path, folder: Path) -> str | Path:
    """Return what stands for a name of a file, which may be that of a person."""
    if not isinstance(argument, Path):
        return argument
    return "RUN" if argument == folder else f"FILE{argument.suffix}"
