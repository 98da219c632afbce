"""``palaver check``: what a file contains, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from palaver.cli.options import Anonymize, Column, File, Format, Json, Strict, Where

if TYPE_CHECKING:
    import polars as pl

    from palaver.corpus.table import Corpus

NAME = "check"

#: Formats in which columns have names.
_TABLES = ("csv", "jsonl", "parquet")
_N_SHOWN = 3


def run(
    file: File,
    where: Where = None,
    anonymize: Anonymize = False,
    format: Format = None,
    column: Column = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Show what FILE contains: counts, reply structure, first messages, and any problems.

    For tables, *columns* shows which of the file's columns Palaver uses for what. The exit code
    is 1 if anything could not be read or if there are no messages.

    Example: `palaver check threads.jsonl --column text=body`
    """
    from palaver.cli.options import read_corpus
    from palaver.cli.output import console, counted, print_json
    from palaver.corpus.describe import describe

    corpus = read_corpus(file, format, column, strict=strict, where=where, anonymize=anonymize)
    facts = describe(corpus)
    lost = sum(corpus.notes.of("loss").values())
    if json:
        print_json(facts)
    else:
        show(corpus, facts)
        if not corpus.n_messages:
            console.print("\nThe file contains no messages.", style="bold red")
        elif lost:
            console.print(
                f"\n{counted(lost, 'item')} in this file could not be read.", style="bold red"
            )
    if lost or not corpus.n_messages:
        raise typer.Exit(1)


def show(corpus: Corpus, facts: dict[str, Any]) -> None:
    """Print what :func:`palaver.corpus.describe.describe` found, and the first messages."""
    from palaver.cli.output import console, print_facts, print_table, tell_advice

    shown = {key: facts[key] for key in ("source", "format", "conversations", "messages")}
    shown |= {"speakers": facts["speakers"], "characters": facts["characters"]}
    if facts["first_time"]:
        shown["time"] = _spanned(facts["first_time"], facts["last_time"])
    shown |= {key.replace("_", " "): value for key, value in facts["shape"].items()}
    if facts["format"] in _TABLES:
        shown["columns"] = [
            ours if ours == theirs else f"{ours}={theirs}"
            for ours, theirs in facts["columns"].items()
        ]
    if facts["labels"]:
        shown["other columns (values)"] = [
            f"{name} ({count:,})" if count else f"{name} (empty)"
            for name, count in facts["labels"].items()
        ]
    print_facts(shown)
    _show_messages(corpus)
    if facts["notes"]:
        console.print()
        print_table(_notes(facts["notes"]), "Found while reading")
    if facts["roles"]:
        column, people = facts["roles"]["column"], facts["roles"]["people"]
        console.print(
            f"\n{facts['speakers']} speakers in {facts['conversations']:,} conversations are "
            f"probably roles, not people. Did you mean --column speaker={column} "
            f"({people:,} people)?",
            style="yellow",
        )
    if corpus.notes.advice:
        console.print()
        tell_advice(corpus, console)
    elif corpus.n_messages > 1 and not facts["shape"]["replies"]:
        console.print(f"\n{no_replies(corpus)}", style="yellow")


def _spanned(first: str, last: str) -> str:
    """Return from when to when, without the year 1970 that times without a date have."""
    if last.startswith("1970-"):
        return f"{first[11:16]} to {last[11:16]} (without dates)"
    return f"{first[:16]} to {last[:16]}"


def no_replies(corpus: Corpus) -> str:
    """Say that a corpus has no replies, and what to do about it."""
    said = "This file does not record who replies to whom"
    if corpus.n_conversations == corpus.n_messages:
        return (
            f"{said}, and every message is its own conversation. If a column says which messages "
            "belong together, add --column conversation=NAME; if a column says which message each "
            "one answers, add --column reply_to=NAME."
        )
    return (
        f"{said}. `palaver reconstruct` can infer it. If each message answers the previous one, "
        "as in spoken dialogue, add --chain to `palaver convert` or `palaver fit`."
    )


def _show_messages(corpus: Corpus) -> None:
    """Print the first messages as they were read, each on one line."""
    import polars as pl

    from palaver.cli.output import console, excerpt

    first = corpus.table.select("speaker", "text").filter(pl.col("text") != "").head(_N_SHOWN)
    if first.height:
        console.print("\nFirst messages:", style="dim")
    for speaker, text in first.iter_rows():
        line = f"{speaker}: {text}" if speaker else text
        console.print(f"  {excerpt(line, console.width - 4)}", no_wrap=True)


def _notes(notes: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    rows = [
        {
            "kind": note["kind"],
            "count": note["count"],
            "severity": note["severity"],
            "what": note["what"],
            "first seen": ", ".join(note["places"][:3]) or "–",
        }
        for note in notes
    ]
    return pl.DataFrame(rows)
