"""``palaver reconstruct``: infer who replies to whom in a file that does not record it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Anonymize, Column, File, Format, Json, Where

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.threads import ThreadRebuilder

NAME = "reconstruct"
_ASKING = "Asking a language model"


def run(
    file: File,
    out: Annotated[
        Path,
        typer.Option(
            help="Output with the inferred replies: x.jsonl, x.csv, ...", show_default=False
        ),
    ],
    train: Annotated[
        Path | None,
        typer.Option(
            help="Conversations with known replies to learn from. --format and --column also apply "
            "here if the file extension is the same as FILE's."
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Run of acts, m4 or block-hmm whose classes serve as evidence."),
    ] = None,
    bare: Annotated[
        bool,
        typer.Option(
            "--bare",
            help="Use only the classes of --model, as in the M4 paper (2,500 sweeps: minutes per "
            "100,000 words).",
        ),
    ] = False,
    channel: Annotated[
        bool,
        typer.Option(
            "--channel", help="FILE is a whole channel: also split it into conversations."
        ),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Keep the replies recorded in FILE; infer only the missing ones."
        ),
    ] = False,
    window: Annotated[
        int, typer.Option(min=1, help="How many messages back a reply can reach.")
    ] = 100,
    save: Annotated[
        Path | None, typer.Option(help="Folder in which to save what --train learned.")
    ] = None,
    use: Annotated[
        Path | None,
        typer.Option("--use", help="Folder written by --save, to use instead of --train."),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Use what was learned even if FILE looks like another kind of talk, or like no "
            "channel.",
        ),
    ] = False,
    ask: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Let a language model choose where a link is uncertain: the address of an "
            "OpenAI-compatible endpoint. A key is read from PALAVER_API_KEY.",
            show_default=False,
            rich_help_panel=_ASKING,
        ),
    ] = None,
    ask_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What the endpoint calls the model.",
            show_default=False,
            rich_help_panel=_ASKING,
        ),
    ] = None,
    below: Annotated[
        float,
        typer.Option(
            min=0.01, max=1, help="Ask if a link is less probable.", rich_help_panel=_ASKING
        ),
    ] = 0.5,
    calls: Annotated[
        int, typer.Option(min=1, help="Most questions to send.", rich_help_panel=_ASKING)
    ] = 100,
    seconds: Annotated[
        float,
        typer.Option(min=1, help="How long one answer may take.", rich_help_panel=_ASKING),
    ] = 120,
    yes: Annotated[
        bool, typer.Option("--yes", help="Send without asking first.", rich_help_panel=_ASKING)
    ] = False,
    where: Where = None,
    anonymize: Anonymize = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Infer who replies to whom in FILE: each message gets a parent or starts a conversation.

    Without --train, the evidence is names, quotations, shared words and the order of turns; FILE
    itself shows whether people tend to answer the first message or the previous one. Replies that
    FILE already records are not used, only compared with the result; --keep keeps them. With
    --train or --use, what was learned counts less the less FILE looks like it, and not at all for
    another kind of talk, such as chats after mail; a warning says so. So it is with --channel if
    FILE looks like separate conversations.

    With --ask, it shows the first question (a message and its likeliest parents, without names of
    people), asks you once, and sends one question per uncertain link, the least certain first.
    Answers are kept next to the output, so that a repeated command continues where it stopped.

    Example: `palaver reconstruct chat.txt --out rebuilt.jsonl`

    Example: `palaver reconstruct flat.csv --train linked.jsonl --save learned/ --out rebuilt.jsonl`

    Example: `palaver reconstruct irc.log --channel --out conversations.jsonl`

    Example: `palaver reconstruct slack.zip --channel --keep --out conversations.jsonl`

    Example: `palaver reconstruct a.txt --out b.csv --ask http://localhost:11434/v1 --ask-model x`
    """
    from palaver.cli.ask_links import Asking, asked_facts, asker_of, bar_of, show_asked
    from palaver.cli.options import check_out, read_corpus
    from palaver.cli.output import print_json, sharing

    if bare and model is None:
        raise typer.BadParameter("--bare needs --model RUN, a run of m4 or block-hmm")
    if bare and (train or use or channel or keep or ask):
        raise typer.BadParameter(
            "--bare works with --model alone; omit --train, --use, --channel, --keep and --ask"
        )
    if ask is None and ask_model is not None:
        raise typer.BadParameter("--ask-model needs --ask URL")
    if use is not None and (train is not None or model is not None):
        raise typer.BadParameter("--use cannot be combined with --train or --model")
    if model is not None and train is None and not bare:
        raise typer.BadParameter(
            "--model needs --train FILE, to learn how much weight its classes deserve, or --bare"
        )
    check_out(out, file)
    if save is not None and save.is_file():
        raise typer.BadParameter(f"--save {save}: is a file; give a folder")
    asker = None
    if ask is not None:
        asker = asker_of(Asking(ask, ask_model or "", below, calls, seconds, yes), out)
    corpus = read_corpus(file, format, column, where=where, anonymize=anonymize)
    distance = None
    if bare and model is not None:
        rebuilt = _bare(model, corpus)
    else:
        is_alike = train is not None and train.suffixes == file.suffixes
        how = (format, column) if is_alike else (None, None)
        rebuilder = _rebuilder(train, model, use, channel, window, *how)
        rebuilder.set_params(fallback=not trust)
        if save is not None:
            rebuilder.save(save)
        with sharing("inferring replies") as progress:
            found = rebuilder.links(corpus, asker=asker, progress=progress)
        with bar_of(asker):
            rebuilt = rebuilder.finish(corpus, found, keep=keep, asker=asker)
        distance = rebuilder.distance_
    path = rebuilt.write(out)
    facts = _facts(corpus, rebuilt)
    if distance is not None:
        facts["distance"] = distance
    if keep:
        facts.pop("as_in_file", None)
        facts["kept"] = int((corpus.parents >= 0).sum())
    if asker is not None:
        facts |= asked_facts(asker)
    if json:
        print_json({"out": str(path), **facts})
        return
    _show(path, rebuilt, facts, save)
    if asker is not None:
        show_asked(asker)


def _rebuilder(
    train: Path | None,
    model: Path | None,
    use: Path | None,
    channel: bool,
    window: int,
    format: str | None,
    column: list[str] | None,
) -> ThreadRebuilder:
    """Return the rebuilder of --train or --use, otherwise one that needs no training."""
    from palaver.cli.options import read_corpus
    from palaver.cli.output import sharing
    from palaver.models import load
    from palaver.threads import ThreadRebuilder

    if use is not None:
        return ThreadRebuilder.load(use)
    if train is None:
        return ThreadRebuilder.default(channel=channel, window=window)
    learned = load(model) if model is not None else None
    rebuilder = ThreadRebuilder(learned, channel=channel, window=window)
    linked = read_corpus(train, format, column)
    with sharing(f"learning from {train.name}") as progress:
        return rebuilder.fit(linked, progress=progress)


def _bare(model: Path, corpus: Corpus) -> Corpus:
    """Return the corpus with the replies of the M4 paper's method."""
    import os

    import numpy as np

    from palaver.cli.output import folding
    from palaver.errors import ParameterError
    from palaver.models import load
    from palaver.models.views.reconstruct import RESTARTS
    from palaver.threads import relinked

    learned: Any = load(model)
    if not hasattr(learned, "reconstruct"):
        raise ParameterError(
            f"{model}: {learned.name} does not learn which classes follow which; "
            "fit M4 or block-hmm"
        )
    learned.set_params(n_jobs=os.cpu_count() or 1)
    with folding("rebuilding", RESTARTS):
        links = learned.reconstruct(corpus, order="time")
    parents = links["parent_row"].to_numpy().astype(np.int64)
    return relinked(corpus, np.arange(corpus.n_messages), parents)


def _facts(corpus: Corpus, rebuilt: Corpus) -> dict[str, Any]:
    """Return what was inferred, and how much of it agrees with the file's own replies, if any."""
    import numpy as np
    import polars as pl

    answered = rebuilt.parents >= 0
    rows = np.arange(rebuilt.n_messages)
    facts: dict[str, Any] = {
        "messages": rebuilt.n_messages,
        "replies": int(answered.sum()),
        "conversations": rebuilt.n_conversations,
        "answer_the_one_before": int((rebuilt.parents[answered] == rows[answered] - 1).sum()),
    }
    if "reply_probability" in rebuilt.table.columns and answered.any():
        facts["mean_probability"] = float(
            rebuilt.table.filter(pl.Series(answered))["reply_probability"].mean()  # type: ignore[arg-type]
        )
    if (corpus.parents >= 0).any() and corpus.table["id"].is_unique().all():
        both = corpus.table.select("id", "reply_to").join(
            rebuilt.table.select("id", found="reply_to"), on="id"
        )
        same = both["reply_to"].eq_missing(both["found"])
        facts["as_in_file"] = float(same.mean())  # type: ignore[arg-type]
    return facts


def _show(path: Path, rebuilt: Corpus, facts: dict[str, Any], save: Path | None) -> None:
    """Print a summary, the least certain replies, and what to do next."""
    import polars as pl

    from palaver.cli.output import console, counted, excerpt, print_table

    previous = facts["answer_the_one_before"] / max(facts["replies"], 1)
    console.print(
        f"{counted(facts['replies'], 'reply', 'replies')} among "
        f"{counted(facts['messages'], 'message')} in "
        f"{counted(facts['conversations'], 'conversation')}; {100 * previous:.0f}% are to the "
        "previous message."
    )
    if "kept" in facts:
        console.print(f"Kept from the file: {counted(facts['kept'], 'reply', 'replies')}.")
    if "distance" in facts:
        console.print(
            f"Distance from what was learned from: {facts['distance']:.2f} (more of the same: "
            "below 0.45; another kind of talk: above 0.6)."
        )
    if "as_in_file" in facts:
        console.print(
            f"{100 * facts['as_in_file']:.1f}% of the messages have the same parent as in the file."
        )
    if "reply_probability" in rebuilt.table.columns:
        table = rebuilt.table.with_row_index("row").filter(pl.Series(rebuilt.parents >= 0))
        unsure = table.sort("reply_probability", maintain_order=True).head(3)
        if unsure.height:
            answered = rebuilt.table["text"].gather(rebuilt.parents[unsure["row"].to_numpy()])
            shown = pl.DataFrame(
                {
                    "probability": [f"{chance:.2f}" for chance in unsure["reply_probability"]],
                    "message": [excerpt(text) for text in unsure["text"]],
                    "reply to": [excerpt(text) for text in answered],
                }
            )
            print_table(shown, title="Least certain replies")
    if save is not None:
        console.print(
            f"Saved what was learned in {save}; reuse it with --use {save}", soft_wrap=True
        )
    console.print(f"{rebuilt.n_messages:,} messages with their replies -> {path}", soft_wrap=True)
