"""``palaver summarize``: central sentences that do not repeat each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Anonymize, Column, Format, Json, Where

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    import polars as pl

    from palaver.corpus.table import Corpus
    from palaver.ranking.documents import Document
    from palaver.ranking.summarize import Summary

    #: What one summary is about: conversations, or plain texts.
    Part: TypeAlias = Corpus | list[Document]

NAME = "summarize"
RANKING = "How sentences are ranked"


def run(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Conversations, or plain texts: files, folders and archives.",
            show_default=False,
        ),
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
    outline: Annotated[
        bool,
        typer.Option(
            "--outline",
            help="Tell what was asked and tried, what helped, and the thanks, in order, with who "
            "said it.",
        ),
    ] = False,
    acts: Annotated[
        Path | None,
        typer.Option(
            "--acts",
            help="With --outline: run of acts that helps to choose the sentences.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        bool,
        typer.Option("--sets", help="Texts: summarize each folder by itself, as in DUC."),
    ] = False,
    position_decay: Annotated[
        float,
        typer.Option(
            help="How strongly to prefer early sentences; 0 = not at all.", rich_help_panel=RANKING
        ),
    ] = 0.25,
    weight: Annotated[
        float,
        typer.Option(help="1 = similarity only, 0 = position only.", rich_help_panel=RANKING),
    ] = 0.5,
    threshold: Annotated[
        float,
        typer.Option(help="Cosine above which two sentences are linked.", rich_help_panel=RANKING),
    ] = 0.1,
    weighted: Annotated[
        bool,
        typer.Option(
            "--weighted/--binary",
            help="Weight links by cosine, or all the same.",
            rich_help_panel=RANKING,
        ),
    ] = True,
    stemmed: Annotated[
        bool,
        typer.Option(
            "--stemmed",
            help="English words with the same stem count as one.",
            rich_help_panel=RANKING,
        ),
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            help="grasshopper, pagerank, lexrank, mmr, degree or random.", rich_help_panel=RANKING
        ),
    ] = "grasshopper",
    where: Where = None,
    anonymize: Anonymize = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Print the sentences that best summarize FILES without repeating each other.

    Several texts, or a folder of them, are summarized together; --sets summarizes each folder.

    Example: `palaver summarize threads.jsonl --sentences 5`

    Example: `palaver summarize threads.jsonl --conversation t17 --words 100 --json`

    Example: `palaver summarize threads.jsonl --longest 3`

    Example: `palaver summarize threads.jsonl --outline --longest 5 --acts run/`

    Example: `palaver summarize report.txt notes/ --words 100 --stemmed`

    Example: `palaver summarize duc2004/docs --sets --bytes 665 --stemmed`
    """
    from functools import partial

    from palaver.cli.output import print_json
    from palaver.errors import ParameterError
    from palaver.ranking.summarize import summarize

    if longest is not None and conversation is not None:
        raise ParameterError("give either --conversation or --longest, not both")
    if acts is not None and not outline:
        raise ParameterError("--acts RUN goes with --outline")
    if outline and (sentences or words or bytes or sets):
        raise ParameterError("--outline has its own length: omit --sentences, --words and --sets")
    shorten = partial(
        summarize, sentences=sentences, position_decay=position_decay, weight=weight, words=words,
        bytes=bytes, threshold=threshold, weighted=weighted, stemmed=stemmed, method=method,
    )  # fmt: skip
    source = _read(files, format, column, where, anonymize)
    if outline:
        _tell(source, conversation, longest, acts, json)
        return
    is_many = sets or longest is not None
    parts: list[Part]
    if isinstance(source, list):
        if longest is not None or conversation is not None:
            raise ParameterError("--conversation and --longest are for conversations, not texts")
        parts = _sets(source) if sets else [source]
    elif sets:
        raise ParameterError("--sets is for folders of texts, not for conversations")
    else:
        parts = [*_longest(source, longest)] if longest else [_part(source, conversation)]
    summaries = _summaries(parts, shorten)
    if json:
        values = [_as_json(part, found) for part, found in zip(parts, summaries, strict=True)]
        print_json(values if is_many else values[0])
        return
    for part, summary in zip(parts, summaries, strict=True):
        _show(part, summary, with_heading=is_many)


def _tell(
    source: Corpus | list[Document],
    conversation: str | None,
    longest: int | None,
    acts: Path | None,
    json: bool,
) -> None:
    """Print the outlines of some or all conversations."""
    import polars as pl

    from palaver.cli.output import print_json, working
    from palaver.errors import ParameterError
    from palaver.models import load
    from palaver.ranking.outline import outline

    if isinstance(source, list):
        raise ParameterError("--outline is for conversations, not texts")
    parts = _longest(source, longest) if longest else [_part(source, conversation)]
    with working("reading conversations"):
        model = None if acts is None else load(acts)
        told = [outline(part, model) for part in parts]
    if json:
        print_json(pl.concat(told).to_dicts())
        return
    for part, table in zip(parts, told, strict=True):
        own = table["conversation"]
        for row in range(part.n_conversations):
            one = part.take([row])
            _show_outline(one, table.filter(own == one.table["conversation"][0]))


def _show_outline(part: Corpus, table: pl.DataFrame) -> None:
    """Print the outline of a conversation."""
    from rich.table import Table
    from rich.text import Text

    from palaver.cli.output import console

    _heading(part)
    shown = Table.grid(padding=(0, 1))
    for part_of, speaker, text in table.select("part", "speaker", "text").iter_rows():
        said = Text(f"{speaker}: " if speaker else "", style="dim").append(text, style="not dim")
        shown.add_row(Text(part_of, style="dim"), said)
    console.print(shown)
    console.print()


def _summaries(parts: list[Part], shorten: Callable[..., Summary]) -> list[Summary]:
    """Summarize each part, with a bar if there are several."""
    from palaver.cli.output import sharing, working

    def one(part: Part) -> Summary:
        return shorten([document.text for document in part] if isinstance(part, list) else part)

    if len(parts) == 1:
        with working("ranking sentences"):
            return [one(parts[0])]
    found = []
    with sharing(f"summarizing {len(parts):,} times") as progress:
        for part in parts:
            found.append(one(part))
            progress(1 / len(parts))
    return found


def _read(
    files: list[Path],
    format: str | None,
    column: list[str] | None,
    where: list[str] | None,
    anonymize: bool,
) -> Corpus | list[Document]:
    """Read conversations, or plain texts."""
    from palaver.cli.options import read_corpus
    from palaver.cli.output import counted, errors
    from palaver.errors import FormatError, PalaverError
    from palaver.ranking.documents import read_documents

    if len(files) == 1:
        try:
            return read_corpus(files[0], format, column, where=where, anonymize=anonymize)
        except FormatError as error:
            if format is not None:
                raise
            try:
                found, n_lost = read_documents(files[0])
            except PalaverError:
                raise error from None
    else:
        found, n_lost = [], 0
        for file in files:
            documents, lost = read_documents(file)
            found += documents
            n_lost += lost
    if n_lost:
        errors.print(f"{counted(n_lost, 'text')} cannot be read and are left out.", style="yellow")
    return found


def _sets(documents: list[Document]) -> list[Part]:
    """Return the documents of each folder."""
    folders: dict[str, list[Document]] = {}
    for document in documents:
        folders.setdefault(document.folder, []).append(document)
    return list(folders.values())


def _as_json(part: Part, summary: Summary) -> dict[str, Any]:
    """Return a summary for JSON, with the source of each sentence, and the speaker if any."""
    rows = summary.table.to_dicts()
    if isinstance(part, list):
        rows = [{**row, "source": part[row["document"]].name} for row in rows]
    else:
        names, speakers = part.table["conversation"], part.table["speaker"]
        rows = [
            {**row, "conversation": names[row["message"]], "speaker": speakers[row["message"]]}
            for row in rows
        ]
    return {"n_sentences": summary.n_sentences, "summary": rows}


def _longest(corpus: Corpus, number: int) -> list[Corpus]:
    """Return the longest conversations, each as a corpus."""
    import numpy as np

    order = np.argsort(-np.diff(corpus.conversation_offsets), kind="stable")[:number]
    return [corpus.take([row]) for row in order]


def _show(part: Part, summary: Summary, *, with_heading: bool) -> None:
    """Print a summary; with a heading if there are several."""
    from rich.text import Text

    from palaver.cli.output import console, counted

    if not with_heading:
        console.print(summary.text, soft_wrap=True)
    elif isinstance(part, list):
        heading = f"{part[0].folder}: {counted(len(part), 'text')}"
        console.print(Text(heading, style="bold"), soft_wrap=True)
        console.print(f"{summary.text}\n", soft_wrap=True)
    else:
        _show_conversation(part, summary)


def _heading(part: Corpus) -> None:
    """Print the name, size and time of a conversation."""
    from rich.text import Text

    from palaver.cli.output import console, counted

    speakers = part.table["speaker"]
    heading = f"{part.table['conversation'][0]}: {counted(part.n_messages, 'message')}"
    if speakers.drop_nulls().len():
        heading += f" by {counted(speakers.drop_nulls().n_unique(), 'speaker')}"
    times = part.table["time"].drop_nulls()
    if times.len():
        first, last = str(times.min())[:10], str(times.max())[:10]
        heading += f", {first}" if first == last else f", {first} to {last}"
    console.print(Text(heading, style="bold"), soft_wrap=True)


def _show_conversation(part: Corpus, summary: Summary) -> None:
    """Print a heading about a conversation, and its sentences with their speakers."""
    from rich.text import Text

    from palaver.cli.output import console

    _heading(part)
    speakers = part.table["speaker"]
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
