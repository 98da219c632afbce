"""``palaver summarize``: central sentences that do not repeat each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Column, Format, Json

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.ranking.summarize import Summary

NAME = "summarize"

_PLAIN = (".txt", ".text", ".md", ".rst")


def run(
    file: Annotated[
        Path,
        typer.Argument(help="Conversations, or a plain text file.", show_default=False),
    ],
    sentences: Annotated[
        int | None, typer.Option(min=1, help="Length in sentences (default: 5).")
    ] = None,
    words: Annotated[
        int | None, typer.Option(min=1, help="Length in words, instead of sentences.")
    ] = None,
    bytes: Annotated[
        int | None, typer.Option(min=1, help="Length in bytes, instead of sentences.")
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="Summarize only this conversation.")
    ] = None,
    longest: Annotated[
        int | None,
        typer.Option(min=1, help="Summarize each of the N longest conversations."),
    ] = None,
    position_decay: Annotated[
        float, typer.Option(help="How strongly to prefer early sentences; 0 = not at all.")
    ] = 0.25,
    weight: Annotated[float, typer.Option(help="1 = similarity only, 0 = position only.")] = 0.5,
    method: Annotated[
        str, typer.Option(help="grasshopper, pagerank, lexrank, mmr, degree or random.")
    ] = "grasshopper",
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Print the sentences that best summarize FILE without repeating each other.

    Example: `palaver summarize threads.jsonl --sentences 5`

    Example: `palaver summarize threads.jsonl --conversation t17 --words 100 --json`

    Example: `palaver summarize threads.jsonl --longest 3`
    """
    from palaver.cli.output import console, print_json, working
    from palaver.errors import ParameterError
    from palaver.ranking.summarize import summarize

    if longest is not None and conversation is not None:
        raise ParameterError("give either --conversation or --longest, not both")
    source = _read(file, format, column)
    parts: list[Corpus | str] = [source]
    if not isinstance(source, str):
        parts = _longest(source, longest) if longest else [_part(source, conversation)]
    with working("ranking sentences"):
        summaries = [
            summarize(
                part, sentences, position_decay, weight, words=words, bytes=bytes, method=method
            )
            for part in parts
        ]
    if json:
        values = [_as_json(part, found) for part, found in zip(parts, summaries, strict=True)]
        print_json(values if longest else values[0])
    elif longest:
        for part, summary in zip(parts, summaries, strict=True):
            _show_conversation(part, summary)
    else:
        console.print(summaries[0].text, soft_wrap=True)


def _read(file: Path, format: str | None, column: list[str] | None) -> Corpus | str:
    """Read conversations, or a plain text file as one document."""
    from palaver.cli.options import read_corpus
    from palaver.errors import FormatError

    try:
        return read_corpus(file, format, column)
    except FormatError:
        if format is None and file.suffix.lower() in _PLAIN and file.is_file():
            return file.read_text("utf-8", errors="replace")
        raise


def _as_json(part: Corpus | str, summary: Summary) -> dict[str, Any]:
    """Return a summary for JSON; for conversations, with speaker and source of each sentence."""
    rows = summary.table.to_dicts()
    if not isinstance(part, str):
        names, speakers = part.table["conversation"], part.table["speaker"]
        rows = [
            {**row, "conversation": names[row["message"]], "speaker": speakers[row["message"]]}
            for row in rows
        ]
    return {"n_sentences": summary.n_sentences, "summary": rows}


def _longest(corpus: Corpus, number: int) -> list[Corpus | str]:
    """Return the longest conversations, each as a corpus."""
    import numpy as np

    order = np.argsort(-np.diff(corpus.conversation_offsets), kind="stable")[:number]
    return [corpus.take([row]) for row in order]


def _show_conversation(part: Corpus | str, summary: Summary) -> None:
    """Print a heading about a conversation, and its sentences with their speakers."""
    from rich.text import Text

    from palaver.cli.output import console, counted

    if isinstance(part, str):
        console.print(summary.text, soft_wrap=True)
        return
    speakers = part.table["speaker"]
    heading = f"{part.table['conversation'][0]}: {counted(part.n_messages, 'message')}"
    if speakers.drop_nulls().len():
        heading += f" by {counted(speakers.drop_nulls().n_unique(), 'speaker')}"
    times = part.table["time"].drop_nulls()
    if times.len():
        first, last = str(times.min())[:10], str(times.max())[:10]
        heading += f", {first}" if first == last else f", {first} to {last}"
    console.print(Text(heading, style="bold"), soft_wrap=True)
    for row in summary.table.sort("document", "position").iter_rows(named=True):
        who = speakers[row["message"]]
        console.print(Text(f"{who}: " if who else "", style="dim"), end="")
        console.print(row["text"], soft_wrap=True)
    console.print()


def _part(corpus: Corpus, conversation: str | None) -> Corpus:
    """Return one conversation of a corpus, or all."""
    import numpy as np

    from palaver.errors import ParameterError

    if conversation is None:
        return corpus
    firsts = corpus.table["conversation"].gather(corpus.conversation_offsets[:-1])
    found = np.flatnonzero((firsts == conversation).to_numpy())
    if not len(found):
        known = ", ".join(firsts.head(3))
        raise ParameterError(
            f"there is no conversation {conversation!r}; the file has {len(firsts):,}, e.g. {known}"
        )
    return corpus.take(found)
