"""``palaver report``: one HTML file about a run, for people to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palaver.cli.options import Column, Format, Json
from palaver.cli.topics import Run

NAME = "report"


def run(
    folder: Run,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Conversations to show; those of the run if not given.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The page; RUN/report.html if not given.")
    ] = None,
    names: Annotated[
        Path | None, typer.Option(help="Names of the classes, as the page exports them.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    anonymize: Annotated[
        bool,
        typer.Option(
            "--anonymize", help="Replace speakers, mail addresses, phone numbers and handles."
        ),
    ] = False,
    max_messages: Annotated[
        int, typer.Option(min=1, help="Messages that the page's reader may carry.")
    ] = 20_000,
    chain: Annotated[
        bool,
        typer.Option("--chain", help="Let each message without a parent answer the one before."),
    ] = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Write one self-contained page about RUN: what people do, how, when, with examples.

    Example: `palaver report run/ --out report.html --names names.json`
    """
    from palaver.cli import runs
    from palaver.cli.output import console, print_json, working
    from palaver.models import load
    from palaver.page import report

    model = load(folder)
    corpus = runs.corpus_of(folder, file, format, column, chain)
    same = corpus.fingerprint == model.fingerprint_
    target = out or folder / "report.html"
    with working("reading every message with the model, and writing the page"):
        path = report(
            model, corpus, target, names=names, anonymize=anonymize, title=title,
            max_messages=max_messages,
            command=_command(folder, file, out, names, title, anonymize, max_messages, chain,
                             format, column),
        )  # fmt: skip
    if json:
        print_json({"out": str(path), "bytes": path.stat().st_size, "same_texts": same})
        return
    if not same:
        console.print("[yellow]These texts are not those that the run was fitted on.[/]")
    console.print(f"Open in a browser: {path}", soft_wrap=True)


def _command(
    folder: Path,
    file: Path | None,
    out: Path | None,
    names: Path | None,
    title: str | None,
    anonymize: bool,
    max_messages: int,
    chain: bool,
    format: str | None,
    column: list[str] | None,
) -> str:
    """Return the command as it can be typed again; no folders where people were taken out."""
    from palaver.page.settings import command_line

    def spelled(path: Path) -> str:
        return path.name if anonymize else str(path)

    arguments = ["report", spelled(folder)]
    arguments += [spelled(file)] if file else []
    for option, value in (("--out", out), ("--names", names)):
        arguments += [option, spelled(value)] if value else []
    arguments += ["--title", title] if title else []
    arguments += ["--anonymize"] if anonymize else []
    arguments += ["--max-messages", str(max_messages)] if max_messages != 20_000 else []
    arguments += ["--chain"] if chain else []
    arguments += ["--format", format] if format else []
    for pair in column or []:
        arguments += ["--column", pair]
    return command_line(arguments)
