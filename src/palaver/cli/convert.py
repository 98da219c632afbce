"""``palaver convert``: any format to JSONL, Parquet, CSV or a ConvoKit folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palaver.cli.options import (
    Anonymize,
    Chain,
    Column,
    CorpusOut,
    File,
    Format,
    Json,
    Spreadsheet,
    Strict,
    Where,
)

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus

NAME = "convert"


def run(
    file: File,
    out: CorpusOut,
    anonymize: Anonymize = False,
    spreadsheet: Spreadsheet = False,
    where: Where = None,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Convert FILE, or part of it, to OUT; the file extension of OUT sets the format.

    If --where leaves a message out, replies to it become replies to its parent.

    Example: `palaver convert export.zip chat.jsonl --anonymize --where bot=false`
    """
    from palaver.cli.options import check_out, read_corpus
    from palaver.cli.output import console, counted, print_json, tell_repairs, working

    check_out(out, file)
    corpus = read_corpus(file, format, column, chain=chain, strict=strict)
    if where:
        corpus = _part(corpus, where)
    if anonymize:
        corpus = corpus.anonymized()
    with working(f"writing {out.name}"):
        path = corpus.write(out, spreadsheet=spreadsheet)
    lost, repaired = (sum(corpus.notes.of(kind).values()) for kind in ("loss", "repair"))
    if json:
        print_json(
            {
                "out": str(path),
                "format": corpus.format,
                "conversations": corpus.n_conversations,
                "messages": corpus.n_messages,
                "repairs": repaired,
                "losses": lost,
            }
        )
        return
    console.print(
        f"{counted(corpus.n_messages, 'message')} in "
        f"{counted(corpus.n_conversations, 'conversation')} ({corpus.format}) -> {path}"
    )
    tell_repairs(corpus, file)


def _part(corpus: Corpus, where: list[str]) -> Corpus:
    """Return the matching messages; if there are none, say which values there are."""
    from palaver.corpus.filter import examples
    from palaver.errors import ParameterError

    part = corpus.filter(*where)
    if not len(part):
        told = "; ".join(dict.fromkeys(examples(text, corpus.table) for text in where))
        raise ParameterError(f"no message matches --where {' --where '.join(where)}: {told}")
    return part
