"""``palaver tag``: tag messages with a trained tagger, or words with states."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Anonymize, Column, File, Format, Json, Where

if TYPE_CHECKING:
    import polars as pl

    from palaver.corpus.table import Corpus
    from palaver.models.taggers.contract import Tagger

NAME = "tag"
#: Up to this many messages are shown one by one, in their order.
_FEW = 40
_LARGEST, _MISTAKES = 10, 5


def run(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Folder written by `palaver train-tagger` or `palaver fit infinite-hmm`.",
            show_default=False,
        ),
    ],
    file: File,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Save FILE with new columns tag and tag_probability as x.jsonl, x.csv, ..., or "
            "with a state per word as x.conll."
        ),
    ] = None,
    where: Where = None,
    anonymize: Anonymize = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Tag the messages of FILE.

    If FILE has the column of labels that the tagger was trained on, the share of correct tags is
    shown as well.

    Example: `palaver tag run/ talk.jsonl --out tagged.jsonl`

    Example: `palaver tag run/ talk.jsonl --json`

    A run of infinite-hmm gives each word a state (and the tag that the state refines):

    Example: `palaver tag run/ test.conll --out states.conll`
    """
    from palaver.cli import runs
    from palaver.cli.options import check_out, command
    from palaver.cli.output import console, print_json, working
    from palaver.errors import ParameterError
    from palaver.models import load
    from palaver.models.taggers.contract import Tagger, share_right

    if out is not None:
        check_out(out, file)
    model = load(folder)
    if hasattr(model, "tag_words"):
        corpus = runs.corpus_of(folder, file, format, column, where=where)
        _tag_words(model, corpus.anonymized() if anonymize else corpus, out, json)
        return
    if not isinstance(model, Tagger):
        raise ParameterError(
            f"{folder}: {model.name} is not a tagger; to add classes, use "
            f"`{command('annotate', folder, file, out or 'tagged.jsonl')}`"
        )
    corpus = runs.corpus_of(folder, file, format, column, where=where)
    with working("tagging"):
        tagged = model.annotate(corpus)
    tagged = tagged.anonymized() if anonymize else tagged
    path = tagged.write(out) if out is not None else None
    confusion = _confusion(model, corpus)
    accuracy = None if confusion is None else share_right(confusion)
    if json:
        rows = tagged.table.select("conversation", "id", "tag", "tag_probability").to_dicts()
        print_json({"out": path and str(path), "accuracy": accuracy, "messages": rows})
        return
    _show_messages(tagged) if tagged.n_messages <= _FEW else _show(tagged)
    if confusion is not None:
        console.print("\n" + in_words(confusion))
    if path is not None:
        console.print(f"{tagged.n_messages:,} messages with their tags -> {path}")


def _tag_words(model: Any, corpus: Corpus, out: Path | None, json: bool) -> None:
    """Give each word a state; print the most frequent words of each state."""
    import polars as pl

    from palaver.cli.output import console, print_json, print_table, working

    with working("tagging"):
        tagged = model.tag_words(corpus)
    path = tagged.write(out) if out is not None else None
    lists = ["tokens", "state", *(["tag"] if model.state_tags_ else [])]
    if json:
        rows = tagged.table.select("conversation", "id", *lists).to_dicts()
        print_json({"out": path and str(path), "messages": rows})
        return
    words = tagged.table.select(lists).explode(lists).drop_nulls("tokens")
    names = [name for name in lists if name != "tokens"]
    table = (
        words.group_by(*names, "tokens")
        .len()
        .sort(["len", "tokens"], descending=[True, False])
        .group_by(names, maintain_order=True)
        .agg(
            pl.col("len").sum().alias("words"),
            pl.col("tokens").head(8).str.join(" ").alias("most frequent"),
        )
        .sort("words", descending=True, maintain_order=True)
    )
    print_table(table)
    if path is not None:
        console.print(f"{words.height:,} words with their states -> {path}", soft_wrap=True)


def _confusion(model: Tagger, corpus: Corpus) -> pl.DataFrame | None:
    """Return how often messages of each label got each tag, if the corpus has labels."""
    if model.label_ not in corpus.labels or not corpus.table[model.label_].count():
        return None
    return model.confusion(corpus)


def in_words(confusion: pl.DataFrame) -> str:
    """Say how many tags are correct, compared with always giving the most frequent label."""
    import polars as pl

    from palaver.cli.output import counted
    from palaver.models.taggers.contract import share_right

    n_messages = int(confusion["messages"].sum())
    labels = confusion.group_by("label").agg(pl.col("messages").sum()).sort("messages", "label")
    most = labels.row(-1, named=True)
    return (
        f"{share_right(confusion):.1%} of {counted(n_messages, 'labelled message')} are tagged "
        f"correctly; always answering {most['label']}, the most frequent label, would be correct "
        f"for {most['messages'] / n_messages:.1%}."
    )


def show_scores(confusion: pl.DataFrame) -> None:
    """Print how well the most frequent tags are found, and the most frequent mistakes."""
    import polars as pl

    from palaver.cli.output import console, counted, print_table
    from palaver.models.taggers.contract import most_confused, tag_scores

    scores = tag_scores(confusion)
    rounded = pl.col("precision", "recall", "f1").round(2)
    print_table(scores.head(_LARGEST).with_columns(rounded))
    if scores.height > _LARGEST:
        console.print(f"The {_LARGEST} most frequent of {counted(scores.height, 'tag')}.")
    mistakes = most_confused(confusion, _MISTAKES)
    if mistakes.height:
        console.print("\nMost frequent mistakes:")
    for row in mistakes.iter_rows(named=True):
        console.print(
            f"  {row['label']} tagged as {row['tag']}: {counted(row['messages'], 'message')}, "
            f"{100 * row['share']:.0f}% of all {row['label']}"
        )


def _show_messages(tagged: Corpus) -> None:
    """Print the messages in order, each with its tag and the probability of the tag."""
    import polars as pl

    from palaver.cli.output import console, excerpt, print_table

    table = tagged.table
    width = max([3, *table["tag"].fill_null("").str.len_chars()])
    room = max(20, console.width - width - 20)  # of the other columns and the frame
    texts = [excerpt(text, room) for text in table["text"]]
    certain = [f"{100 * share:.0f}%" for share in table["tag_probability"]]
    shown = pl.DataFrame({"tag": table["tag"], "certain": certain, "text": texts})
    print_table(shown, right=["certain"])


def _show(tagged: Corpus) -> None:
    """Print how often each tag was given, with the message it is most certain of."""
    import polars as pl

    from palaver.cli.output import excerpt, print_table

    table = (
        tagged.table.sort("tag_probability", descending=True, maintain_order=True)
        .group_by("tag", maintain_order=True)
        .agg(pl.len().alias("messages"), pl.col("text").first().alias("example"))
        .sort("messages", descending=True)
    )
    shortened = pl.Series("example", [excerpt(text) for text in table["example"]], pl.String)
    print_table(table.with_columns(shortened))
