"""``palaver convert``: any format to JSONL, Parquet, CSV or a ConvoKit folder."""

from __future__ import annotations

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
    corpus = read_corpus(
        file, format, column, chain=chain, strict=strict, where=where, anonymize=anonymize
    )
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
