"""``palaver check``: what is in a file, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from palaver.cli.options import Column, File, Format, Json, Strict

if TYPE_CHECKING:
    import polars as pl

NAME = "check"


def run(
    file: File,
    format: Format = None,
    column: Column = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Count what is in FILE, show the shape of its replies, repairs and problems.

    Exits with 1 if anything could not be read, or if there is no message at all.

    Example: `palaver check threads.jsonl --column text=body`
    """
    from palaver.cli.options import read_corpus
    from palaver.cli.output import console, counted, print_json
    from palaver.corpus.describe import describe

    corpus = read_corpus(file, format, column, strict=strict)
    facts = describe(corpus)
    lost = sum(corpus.notes.of("loss").values())
    if json:
        print_json(facts)
    else:
        show(facts)
        if not corpus.n_messages:
            console.print("\n[bold red]The file holds no messages.[/]")
        elif lost:
            console.print(
                f"\n[bold red]{counted(lost, 'thing')} in this file could not be read.[/]"
            )
    if lost or not corpus.n_messages:
        raise typer.Exit(1)


def show(facts: dict[str, Any]) -> None:
    """Print what :func:`palaver.corpus.describe.describe` found."""
    from palaver.cli.output import console, print_facts, print_table

    shown = {key: facts[key] for key in ("source", "format", "conversations", "messages")}
    shown |= {"speakers": facts["speakers"], "characters": facts["characters"]}
    if facts["first_time"]:
        shown["time"] = f"{facts['first_time'][:16]} to {facts['last_time'][:16]}"
    shown |= {key.replace("_", " "): value for key, value in facts["shape"].items()}
    if facts["labels"]:
        shown["other columns (values)"] = [
            f"{name} ({count:,})" if count else f"{name} (empty)"
            for name, count in facts["labels"].items()
        ]
    print_facts(shown)
    shape = facts["shape"]
    if shape and not shape["replies"] and shape["longest_conversation"] > 1:
        console.print(
            "\nNobody is said to answer anybody here. `palaver reconstruct` finds out who does. If "
            "messages follow each other as in talk: with --chain, `palaver convert` and "
            "`palaver fit` let each answer the one before."
        )
    if facts["notes"]:
        console.print()
        print_table(_notes(facts["notes"]), "What reading found")


def _notes(notes: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    rows = [
        {
            "kind": note["kind"],
            "count": note["count"],
            "severity": note["severity"],
            "what": note["what"],
            "first places": ", ".join(note["places"][:3]) or "–",
        }
        for note in notes
    ]
    return pl.DataFrame(rows)
