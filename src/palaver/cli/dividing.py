"""Dividing a class on the command line: its parts are shown, then kept if somebody says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from palaver.models import Model

_SHOWN = 100  # characters of an example


def tried(
    folder: Path, model: Model, id: int, n_parts: int, file: Path | None, *, yes: bool
) -> list[dict[str, Any]]:
    """Divide a class, show its parts, and return the actions that keep them.

    Raises
    ------
    typer.Exit
        Nobody said that they should be kept.
    """
    import secrets

    from palaver.cli import runs
    from palaver.cli.output import console, working
    from palaver.models.curated import curation_of
    from palaver.models.curated.splitting import divide, part_names

    corpus = runs.corpus_of(folder, file)
    with working("dividing the class"):
        found = divide(model, corpus, id, n_parts)
    number = curation_of(model).number_of(id)
    called = part_names(model.summary().class_names.get(number, f"class {number}"), found.words)
    texts = corpus.table["text"]
    for j, name in enumerate(called):
        console.print(f"{name} ({found.messages[j]:,} messages)", markup=False, style="bold")
        console.print(f"  {', '.join(found.words[j])}", markup=False)
        for row in found.examples[j][:3].tolist():
            console.print(f"  - {' '.join(texts[row].split())[:_SHOWN]}", markup=False)
    if not yes and not typer.confirm("Keep these parts?", err=True):
        raise typer.Exit(1)
    place = f"splits/{secrets.token_hex(6)}"
    found.division.save(folder / place)
    first = curation_of(model).n_ids
    split = {"do": "split", "class": id, "parts": n_parts, "folder": place}
    named = [{"do": "name", "class": first + j, "name": name, "proposed": True}
             for j, name in enumerate(called)]  # fmt: skip
    return [split, *named]
