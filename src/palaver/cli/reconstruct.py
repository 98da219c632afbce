"""``palaver reconstruct``: who answers whom, where a file does not say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Column, File, Format, Json

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.threads import ThreadRebuilder

NAME = "reconstruct"


def run(
    file: File,
    out: Annotated[
        Path,
        typer.Option(
            help="Write FILE with its rebuilt replies: x.jsonl, x.csv ...", show_default=False
        ),
    ],
    train: Annotated[
        Path | None,
        typer.Option(
            help="Conversations with known replies to learn from; --format and --column count for "
            "them if the name ends as that of FILE."
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Run of M4 or the block HMM, whose classes count, too.")
    ] = None,
    bare: Annotated[
        bool,
        typer.Option(
            "--bare",
            help="Classes of --model alone: the method of the M4 paper. 2,500 sweeps: minutes "
            "for each 100,000 words.",
        ),
    ] = False,
    channel: Annotated[
        bool,
        typer.Option("--channel", help="FILE is a whole channel: find the conversations in it."),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Keep the replies that FILE has; find those of the other messages."
        ),
    ] = False,
    window: Annotated[
        int, typer.Option(min=1, help="How many messages back a reply may reach.")
    ] = 100,
    save: Annotated[
        Path | None, typer.Option(help="Folder to keep what was learned with --train.")
    ] = None,
    use: Annotated[
        Path | None, typer.Option("--use", help="Folder that --save wrote, instead of --train.")
    ] = None,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Say who answers whom in FILE: every message gets a parent or starts a conversation.

    Without --train, names, quotations, shared words and turns decide, and the file itself tells
    whether people rather answer the first message or the one before. Replies that FILE has are
    not used, and it is shown how many are found again; --keep keeps them.

    Example: `palaver reconstruct chat.txt --out rebuilt.jsonl`

    Example: `palaver reconstruct flat.csv --train linked.jsonl --save learned/ --out rebuilt.jsonl`

    Example: `palaver reconstruct irc.log --channel --out conversations.jsonl`

    Example: `palaver reconstruct slack.zip --channel --keep --out conversations.jsonl`
    """
    from palaver.cli.options import check_out, read_corpus
    from palaver.cli.output import print_json, sharing

    if bare and model is None:
        raise typer.BadParameter("--bare needs --model RUN, a run of m4 or block-hmm")
    if bare and (train or use or channel or keep):
        raise typer.BadParameter("--bare learns nothing and goes with --model only")
    if use is not None and (train is not None or model is not None):
        raise typer.BadParameter("--use goes without --train and --model")
    if model is not None and train is None and not bare:
        raise typer.BadParameter(
            "--model needs --train FILE, to learn how much its classes tell, or --bare"
        )
    check_out(out, file)
    if save is not None and save.is_file():
        raise typer.BadParameter(f"--save {save}: is a file; name a folder")
    corpus = read_corpus(file, format, column)
    if bare and model is not None:
        rebuilt = _bare(model, corpus)
    else:
        is_alike = train is not None and train.suffixes == file.suffixes
        how = (format, column) if is_alike else (None, None)
        rebuilder = _rebuilder(train, model, use, channel, window, *how)
        if save is not None:
            rebuilder.save(save)
        with sharing("rebuilding") as progress:
            rebuilt = rebuilder.rebuild(corpus, keep=keep, progress=progress)
    path = rebuilt.write(out)
    facts = _facts(corpus, rebuilt)
    if keep:
        facts.pop("as_in_file", None)
        facts["kept"] = int((corpus.parents >= 0).sum())
    if json:
        print_json({"out": str(path), **facts})
    else:
        _show(path, rebuilt, facts, save)


def _rebuilder(
    train: Path | None,
    model: Path | None,
    use: Path | None,
    channel: bool,
    window: int,
    format: str | None,
    column: list[str] | None,
) -> ThreadRebuilder:
    """Return what --train or --use asks for, else what needs no training."""
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
            f"{model}: a {learned.name} does not know how classes follow each other; "
            "fit M4 or block-hmm"
        )
    learned.set_params(n_jobs=os.cpu_count() or 1)
    with folding("rebuilding", RESTARTS):
        links = learned.reconstruct(corpus, order="time")
    parents = links["parent_row"].to_numpy().astype(np.int64)
    return relinked(corpus, np.arange(corpus.n_messages), parents)


def _facts(corpus: Corpus, rebuilt: Corpus) -> dict[str, Any]:
    """Return what was found, and how much of it the file says, too, if it says anything."""
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
    """Print a summary line, examples of sure and unsure replies, and what to do next."""
    import polars as pl

    from palaver.cli.output import console, counted, excerpt, print_table

    previous = facts["answer_the_one_before"] / max(facts["replies"], 1)
    console.print(
        f"{counted(facts['replies'], 'reply', 'replies')} among "
        f"{counted(facts['messages'], 'message')} in "
        f"{counted(facts['conversations'], 'conversation')}; {100 * previous:.0f} % answer the "
        "message before."
    )
    if "kept" in facts:
        console.print(f"{counted(facts['kept'], 'reply', 'replies')} of them are the file's own.")
    if "as_in_file" in facts:
        console.print(
            f"{100 * facts['as_in_file']:.1f} % of the messages have the parent that the file "
            "itself gives them."
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
                    "answers": [excerpt(text) for text in answered],
                }
            )
            print_table(shown, title="The least sure replies")
    if save is not None:
        console.print(f"What was learned is in {save}: use it with --use {save}", soft_wrap=True)
    console.print(f"{rebuilt.n_messages:,} messages with their replies -> {path}", soft_wrap=True)
