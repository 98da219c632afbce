"""``palaver summarize``: the central and different sentences of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import Column, Format, Json

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus

NAME = "summarize"

_PLAIN = (".txt", ".text", ".md", ".rst")


def run(
    file: Annotated[
        Path,
        typer.Argument(help="Conversations, or a plain text as one document.", show_default=False),
    ],
    sentences: Annotated[
        int | None, typer.Option(min=1, help="Length in sentences; 5 unless said.")
    ] = None,
    words: Annotated[int | None, typer.Option(min=1, help="Length in words instead.")] = None,
    bytes: Annotated[int | None, typer.Option(min=1, help="Length in bytes instead.")] = None,
    conversation: Annotated[
        str | None, typer.Option(help="Summarize this conversation only.")
    ] = None,
    position_decay: Annotated[
        float, typer.Option(min=0.0, help="How much earlier sentences are preferred; 0 not at all.")
    ] = 0.25,
    weight: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Similarity against position.")
    ] = 0.5,
    method: Annotated[
        str, typer.Option(help="grasshopper, pagerank, lexrank, mmr, degree or random.")
    ] = "grasshopper",
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Print the sentences that say most of FILE without saying it twice.

    Example: `palaver summarize threads.jsonl --sentences 5`

    Example: `palaver summarize threads.jsonl --conversation t17 --words 100 --json`
    """
    from palaver.cli.output import console, print_json, working
    from palaver.ranking.summarize import summarize

    corpus = _read(file, format, column)
    names = None
    if not isinstance(corpus, str):
        corpus = _part(corpus, conversation)
        names = corpus.table["conversation"]
    with working("ranking sentences"):
        summary = summarize(
            corpus, sentences, position_decay, weight, words=words, bytes=bytes, method=method
        )
    if json:
        rows = summary.table.to_dicts()
        if names is not None:
            rows = [{**row, "conversation": names[row["message"]]} for row in rows]
        print_json({"n_sentences": summary.n_sentences, "summary": rows})
    else:
        console.print(summary.text, markup=False, soft_wrap=True)


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
            f"there is no conversation {conversation!r}; there are {len(firsts):,}: {known}, ..."
        )
    return corpus.take(found)
