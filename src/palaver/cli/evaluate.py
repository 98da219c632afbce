"""``palaver evaluate``: compare a run with labels that people gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import Anonymize, Chain, Column, FileOfRun, Format, Json, Run, Where
from palaver.cli.talks import NamesFile

if TYPE_CHECKING:
    import polars as pl

    from palaver.corpus.table import Corpus
    from palaver.models import Model, ModelSummary
    from palaver.trials import Judgement

NAME = "evaluate"
#: Measures for which lower is better.
LOWER = ("vi", "vi_normalized")
#: A V-measure that exceeds that of random classes by less than this is of no use.
NEXT_TO_NOTHING = 0.05


def run(
    folder: Run,
    file: FileOfRun = None,
    gold: Annotated[
        str, typer.Option(help="Column with the label, or list of labels, of each message.")
    ] = "act",
    sweeps: Annotated[int, typer.Option(help="Sweeps over the conversations.")] = 50,
    seed: Annotated[int, typer.Option(help="Random seed for the intervals.")] = 0,
    names: NamesFile = None,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Compare the classes of a run with gold labels, and with baselines.

    A table compares the run with k-means of tf-idf, the rule "has a ?", a single class and random
    classes: a model should beat all of them. Lower is better for `vi` (variation of information,
    in bits), higher for everything else. For a tagger, the share of correct tags is shown as
    well. Intervals come from resampling conversations. docs/evaluation.md explains the measures.

    Example: `palaver evaluate run/ --gold act`

    Example: `palaver evaluate run/ test.jsonl --gold act --json`
    """
    from palaver.cli import runs
    from palaver.cli.output import folding, print_json
    from palaver.models import load
    from palaver.models.taggers.contract import Tagger, share_right
    from palaver.trials import judge

    model = load(folder)
    if names is not None:
        runs.keep_names(folder, names, model)
        model = load(folder)
    corpus = runs.corpus_of(folder, file, format, column, chain, where)
    summary = model.summary()
    if anonymize:
        summary, corpus = _hidden(model, summary, corpus, gold)
    with folding("classifying messages"):
        judgement = judge(model, corpus, gold, n_sweeps=sweeps, random_state=seed)
        confusion = model.confusion(corpus, gold) if isinstance(model, Tagger) else None
    if json:
        accuracy = {} if confusion is None else {"accuracy": share_right(confusion)}
        print_json(
            {
                "run": "RUN" if anonymize else str(folder),
                "model": model.name,
                "gold": gold,
                "labels": judgement.n_labels,
                "messages": judgement.n_messages,
                "without_words": judgement.n_silent,
                "without_label": judgement.n_unlabelled,
                **accuracy,
                "scores": judgement.scores.to_dicts(),
                "rivals": judgement.rivals.to_dicts(),
                "classes": judgement.classes.to_dicts(),
            }
        )
    else:
        show(judgement, summary, confusion)


def _hidden(
    model: Model, summary: ModelSummary, corpus: Corpus, gold: str
) -> tuple[ModelSummary, Corpus]:
    """Return words, names and labels without people; texts stay, for the model to read."""
    from palaver.cli.talks import without_people
    from palaver.errors import ParameterError
    from palaver.questions.talk import ask

    talk = ask(model, corpus).anonymized()
    if gold in corpus.table.columns and gold not in talk.corpus.table.columns:
        raise ParameterError(f"--anonymize leaves out the column {gold!r}: it tells who people are")
    if gold in corpus.labels:
        corpus = corpus.with_columns(**{gold: talk.corpus.table[gold]})
    return without_people(summary, talk), corpus


def show(
    judgement: Judgement, summary: ModelSummary, confusion: pl.DataFrame | None = None
) -> None:
    """Print the measures and the main label of each class; ``confusion`` is that of a tagger."""
    from palaver.cli.classes import tell_proposals
    from palaver.cli.output import console, print_table
    from palaver.cli.tag import in_words as tags_in_words

    console.print(in_short(judgement, summary.name))
    measures = _measures(judgement)
    print_table(measures, right=[name for name in measures.columns if "random" in name])
    over = judgement.resampled
    console.print(f"↓ lower is better; higher for the others. 95% intervals over {over}.")
    console.print()
    rivals = _rivals(judgement, summary.name)
    print_table(rivals, right=rivals.columns[1:])
    console.print()
    print_table(_classes(judgement, summary), right=["share"])
    tell_proposals(summary, None)
    console.print(in_words(judgement))
    if confusion is not None:
        console.print(tags_in_words(confusion))


def in_short(judgement: Judgement, model: str) -> str:
    """Say what was compared with what, and which messages were left out."""
    from palaver.cli.output import counted

    said = (
        f"{model} against {counted(judgement.n_labels, 'label')} ({judgement.gold}) on "
        f"{counted(judgement.n_messages, 'message')}"
    )
    left = [
        f"{counted(number, 'message')} without {what}"
        for number, what in (
            (judgement.n_silent, "a word the run knows"),
            (judgement.n_unlabelled, "a label"),
        )
        if number
    ]
    return f"{said}; left out: {' and '.join(left)}" if left else said


def _measures(judgement: Judgement) -> pl.DataFrame:
    """Return the table of measures, narrow enough for two levels in 80 columns."""
    import polars as pl

    def number(name: str) -> pl.Series:
        return pl.Series(name, [f"{value:.3f}" for value in scores[name]], pl.String)

    scores = judgement.scores
    scores = scores.with_columns(*map(number, ("value", "low", "high", "random")))
    falls = pl.when(pl.col("measure").is_in(LOWER)).then(pl.lit(" ↓")).otherwise(pl.lit(""))
    measure = pl.col("measure").str.replace_all("_", " ") + falls
    parts: list[pl.DataFrame] = []
    for spaces, ((level,), part) in enumerate(scores.group_by("level", maintain_order=True)):
        random = "random" + " " * spaces  # columns need names that differ
        cell = pl.format("{} {}–{}", "value", "low", "high").alias(str(level))
        parts.append(part.select(measure, cell, pl.col("random").alias(random)))
    first, *others = parts
    for part in others:
        first = first.join(part, on="measure", maintain_order="left")
    return first


def _classes(judgement: Judgement, summary: ModelSummary) -> pl.DataFrame:
    """Return the main label of each class, the largest first; tags are shown by name."""
    import polars as pl

    from palaver.cli.classes import names_shown, with_letters

    share = (pl.col("share") * 100).round(0).cast(pl.Int64).cast(pl.String) + "%"
    classes = with_letters(summary.classes(6).select("class", "words"))
    classes = classes.join(judgement.classes, on="class", how="left", maintain_order="left")
    names = names_shown(summary, None)
    own = [f"{letter} {names.get(number, '')}".strip()
           for letter, number in classes.select("letter", "class").iter_rows()]  # fmt: skip
    called = pl.Series("class", own, pl.String)
    if summary.tags is not None:
        tags = pl.Series(summary.tags, dtype=pl.String)
        called = pl.Series("tag", tags.gather(classes["class"]))
    return classes.select(
        called, pl.col("messages").fill_null(0), pl.col("label").alias("main label"),
        share.alias("share"), "words",
    )  # fmt: skip


def _rivals(judgement: Judgement, name: str) -> pl.DataFrame:
    """Return the run and its trivial rivals side by side, at the level of messages."""
    import polars as pl

    run = judgement.scores.filter(pl.col("level") == "messages").select("measure", "value")
    values = dict(run.iter_rows())
    rows = [{"rival": name, "classes": len(judgement.classes), **values},
            *judgement.rivals.to_dicts()]  # fmt: skip
    shown = {"v_measure": "V", "f1": "F1", "one_to_one": "one to one", "vi": "VI ↓"}
    return pl.DataFrame(
        {"messages": [row["rival"] for row in rows], "classes": [row["classes"] for row in rows]}
        | {title: [f"{row[measure]:.3f}" for row in rows] for measure, title in shown.items()}
    )


def in_words(judgement: Judgement) -> str:
    """Say in a sentence or two whether the classes are more than chance, and more than trivial.

    This goes by the V-measure, which is near zero for random classes and for a single class.
    """
    import polars as pl

    scores = judgement.scores.filter(pl.col("measure") == "v_measure")
    rows = [row for row in scores.iter_rows(named=True) if row["low"] > row["random"]]
    if not rows:
        return "By V-measure, the classes agree with the labels no better than random classes do."
    said = "By V-measure, the classes agree with the labels better than random classes do"
    if len(rows) < len(scores):
        said += f", but only at the level of {rows[0]['level']}"
    if max(row["value"] - row["random"] for row in rows) < NEXT_TO_NOTHING:
        best = max(row["value"] for row in rows)
        return f"{said}; yet V is {best:.2f} where 1 is perfect, which is next to nothing."
    (own,) = scores.filter(pl.col("level") == "messages")["value"]
    better = judgement.rivals.filter(pl.col("v_measure") >= own).sort("v_measure", descending=True)
    if len(better):
        said += f". “{better['rival'][0]}”, which needs no model, does at least as well"
    return f"{said}."
