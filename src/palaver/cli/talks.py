"""What the verbs that ask about talk share: reading a run's messages with their classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import polars as pl

    from palaver.models import ModelSummary
    from palaver.questions.talk import Talk

#: Names of classes for this and all later verbs.
NamesFile = Annotated[
    Path | None,
    typer.Option(
        "--names",
        help="Class names as exported from the page; saved with the run.",
        show_default=False,
    ),
]


def talk_of(
    folder: Path,
    file: Path | None,
    *,
    format: str | None = None,
    column: list[str] | None = None,
    chain: bool = False,
    where: list[str] | None = None,
    anonymize: bool = False,
    names: Path | None = None,
) -> Talk:
    """Let a run read its file, or another, with the options that verbs share."""
    from palaver.cli import runs
    from palaver.cli.output import folding
    from palaver.models import load
    from palaver.questions.talk import ask

    model = load(folder)
    corpus = runs.corpus_of(folder, file, format, column, chain, where)
    summary = model.summary()
    if names is not None:
        runs.keep_names(folder, names, model)
        model = load(folder)
        summary = model.summary()
    with folding("classifying messages"):
        talk = ask(model, corpus, runs.names_of(folder, summary))
    return talk.anonymized() if anonymize else talk


def without_people(summary: ModelSummary, talk: Talk) -> ModelSummary:
    """Return a summary without words and names that tell who somebody is; ``talk`` has none."""
    from dataclasses import replace

    safe = summary.words["word"].is_in(talk.words["word"].unique().to_list())
    return replace(summary, words=summary.words.filter(safe), class_names=dict(talk.names))


def remembered(folder: Path, name: str) -> str | None:
    """Return an option that the run was fitted with."""
    from palaver.cli import runs

    value = runs.settings_of(folder).get("reading", {}).get(name)
    return value if isinstance(value, str) else None


def percents(*names: str) -> list[pl.Expr]:
    """Return shares in whole percents."""
    import polars as pl

    return [(pl.col(name) * 100).round(0).cast(pl.Int64).alias(name) for name in names]


def tell_proposed(talk: Talk) -> None:
    """Say that names are proposals, if some are."""
    from palaver.cli.output import console

    if talk.proposed:
        console.print(
            "Names of classes are proposals; on the page (palaver report) you can give better "
            "ones.",
            style="dim",
        )
