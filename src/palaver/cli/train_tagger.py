"""``palaver train-tagger``: learn to tag messages from labelled ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.fit import parse_setting
from palaver.cli.options import (
    Address,
    Anonymize,
    Column,
    ExecutorName,
    File,
    Format,
    Jobs,
    Json,
    Where,
    Workers,
    command,
    executor_of,
    n_threads,
)
from palaver.names import commands

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.models.base.model import Model
    from palaver.models.taggers.contract import Tagger
    from palaver.trials.taggers import TaggerChoice

NAME = "train-tagger"
#: With fewer labels, --acts is suggested.
_FEW = 1000


def run(
    file: File,
    out: Annotated[
        Path, typer.Option(help="Run folder to create (new or empty).", show_default=False)
    ],
    labels: Annotated[str, typer.Option(help="Column with the labels to learn.")] = "act",
    tagger: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(commands('tagger'))}; auto compares them on FILE and takes "
            "the best."
        ),
    ] = "auto",
    states: Annotated[
        str | None,
        typer.Option(help="Hidden states per tag of hidden-backoff: a number, or auto."),
    ] = None,
    filled: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="CSV written by `palaver label`, with labels filled in. Repeatable.",
        ),
    ] = None,
    acts: Annotated[
        bool,
        typer.Option(
            "--acts",
            help="Fit the model of acts to all messages of FILE, without labels, and take its acts "
            "as features; worth it if few messages are labelled.",
        ),
    ] = False,
    test: Annotated[
        Path | None, typer.Option(help="Labelled conversations to evaluate the tagger on.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other parameter, e.g. order=3. Repeatable."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed.")] = None,
    jobs: Jobs = None,
    executor: ExecutorName = "threads",
    workers: Workers = None,
    address: Address = None,
    where: Where = None,
    anonymize: Anonymize = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Train a tagger on the labelled messages of FILE and save it in a folder.

    Unless --tagger names one, all taggers are compared by a quick cross-validation over the
    conversations of FILE, and the best is trained.

    If training is interrupted (Ctrl-C, kill), run the same command again to continue.

    Example: `palaver train-tagger meetings.jsonl --labels act --out run/`

    Example: `palaver train-tagger meetings.jsonl --tagger crf --out run/`

    Example: `palaver train-tagger talk.jsonl --filled labels.csv --acts --out run/`

    Example: `palaver train-tagger train.jsonl --labels act --states 2 --test test.jsonl --out run/`

    Example: `palaver train-tagger meetings.jsonl --tagger maxent --set context=true --out run/`
    """
    from palaver import store
    from palaver.cli import runs
    from palaver.cli.label import with_filled
    from palaver.cli.options import read_corpus
    from palaver.errors import ParameterError
    from palaver.fit import Interrupted
    from palaver.models.registry import tagger_class

    changes: dict[str, Any] = {"random_state": seed, "n_jobs": n_threads(jobs)}
    if states is not None:
        changes["n_states"] = int(states) if states.isdigit() else states
    changes = {name: value for name, value in changes.items() if value is not None}
    changes |= dict(parse_setting(pair) for pair in set_ or [])
    begun = runs.settings_of(out) if tagger == "auto" else {}  # what an interrupted run chose
    name = begun.get("model", tagger)
    if name != "auto":
        model = tagger_class(name)(**begun.get("params", {})).set_params(**changes)
        model.check_params()
        if acts and not model.takes_classes:
            raise ParameterError(f"--acts: {name} cannot take acts as features")
    _check_folder(out)
    corpus = read_corpus(file, format, column, where=where, anonymize=anonymize)
    corpus = with_filled(corpus, filled, labels, json)
    judged = read_corpus(test, format, column) if test is not None else None
    if judged is not None:
        if labels not in judged.table.columns:
            raise ParameterError(f"{test}: has no column {labels!r} of labels to evaluate on")
        _warn_of_known(corpus, judged)
    chosen, found = None, _acts(corpus, labels, changes, acts, json)
    if name == "auto":
        chosen = _choose(corpus, labels, changes, json, found)
        model = chosen.tagger
    reading = {"format": format, "column": column, "chain": False, "where": where,
               "anonymize": anonymize}  # fmt: skip
    if not store.is_stored(out / "settings"):  # else interrupted; the checkpoint checks the rest
        runs.write_settings(out, model, str(file.absolute()), reading, label=labels)
    try:
        with executor_of(executor, workers, address, out) as place:
            more: dict[str, Any] = {} if found is None else {"classes": found}
            model.fit(corpus, labels=labels, folder=out, executor=place, **more)
    except Interrupted as error:
        typer.echo(f"palaver: {error}: run the same command again", err=True)
        raise typer.Exit(130) from error
    if judged is not None:
        model.judge(judged)
        model.save(out)
    _report(model, out, test or file, json, chosen)


def _acts(
    corpus: Corpus, labels: str, changes: dict[str, Any], asked: bool, json: bool
) -> Model | None:
    """Fit the model of acts to all messages without their labels, if that was asked for."""
    from palaver.cli.output import console, errors, working
    from palaver.models.acts import Acts

    if not asked:
        known = corpus.table[labels].count() if labels in corpus.table.columns else 0
        if 0 < known < _FEW and known < corpus.n_messages / 2 and not json:
            errors.print(
                f"{known:,} of {corpus.n_messages:,} messages are labelled; --acts also learns "
                "from the others.",
                soft_wrap=True,
            )
        return None
    settings = {name: changes[name] for name in ("random_state", "n_jobs") if name in changes}
    kept = [name for name in corpus.table.columns if name != labels]
    with working("finding acts"):
        model = Acts(**settings).fit(
            type(corpus).from_polars(corpus.table.select(kept)), show_progress=False
        )
    if not json:
        names = ", ".join(model._class_names().values())
        console.print(f"{len(model.class_shares_)} acts, found without labels: {names}.\n",
                      soft_wrap=True)  # fmt: skip
    return model


def _choose(
    corpus: Corpus, labels: str, changes: dict[str, Any], json: bool, classes: Model | None
) -> TaggerChoice:
    """Compare the taggers, and say which is taken and why."""
    from palaver.cli.output import console, print_table, working
    from palaver.trials.taggers import choose_tagger

    with working("comparing taggers"):
        chosen = choose_tagger(corpus, labels, params=changes, classes=classes)
    if json:
        return chosen
    if chosen.table.height:
        shown = chosen.table.with_columns(
            (100 * chosen.table["accuracy"]).round(1).alias("% right"),
            chosen.table["p_value"].round(3),
            chosen.table["seconds"].round(1),
        ).select("tagger", "% right", "p_value", "seconds")
        print_table(shown)
    console.print(f"{chosen.why}.\n", soft_wrap=True)
    return chosen


def _warn_of_known(train: Corpus, test: Corpus) -> None:
    """Warn of test conversations that are, word for word, also training conversations."""
    import polars as pl

    from palaver.cli.output import errors

    texts = [
        corpus.table.group_by("conversation").agg(pl.col("text").str.join("\n"))
        for corpus in (train, test)
    ]
    known = texts[1].join(texts[0], on=["conversation", "text"], how="semi").height
    if known:
        errors.print(
            f"{known:,} of {test.n_conversations:,} test conversations are also in the training "
            "file, where the tagger has seen the labels: the scores will be too good.",
            style="yellow",
        )


def _check_folder(folder: Path) -> None:
    """Refuse a folder that contains anything but an interrupted run, before a file is read."""
    from palaver import store
    from palaver.cli import runs
    from palaver.errors import StoreError

    if store.is_stored(folder):
        raise StoreError(f"{folder}: already holds a model; choose another --out")
    if not store.is_stored(folder / "settings"):
        runs.check_new(folder)


def _report(
    model: Tagger, folder: Path, file: Path, json: bool, chosen: TaggerChoice | None
) -> None:
    """Print what was learned and what to do next."""
    import polars as pl

    from palaver.cli.output import console, print_json, print_table
    from palaver.cli.tag import in_words, show_scores
    from palaver.models.taggers.contract import tag_scores

    summary = model.summary()
    if json:
        print_json(
            {
                "run": str(folder),
                "model": summary.name,
                **summary.facts,
                "why": None if chosen is None else chosen.why,
                "compared": None if chosen is None else chosen.table.to_dicts(),
                "tags": model.tags_,
                "accuracy": model.accuracy_,
                "scores": None
                if model.confusion_ is None
                else tag_scores(model.confusion_).to_dicts(),
                "confusion": None if model.confusion_ is None else model.confusion_.to_dicts(),
            }
        )
        return
    words = summary.classes(8).drop("class").rows(named=True)
    order = summary.classes(1)["class"].to_list()
    console.print(f"{summary.name}: {len(model.tags_)} tags, {len(model.vocabulary_):,} words")
    print_table(
        pl.DataFrame(
            {
                "tag": [model.tags_[number] for number in order],
                "% of messages": [f"{100 * row['share']:.1f}" for row in words],
                "characteristic words": [row["words"] for row in words],
            }
        ),
        right=["% of messages"],
    )
    if model.confusion_ is not None:
        console.print("\n" + in_words(model.confusion_))
        show_scores(model.confusion_)
    console.print(f"\nThe tagger is saved in {folder}. Next:", soft_wrap=True)
    console.print(f"  {command('tag', folder, file, '--out', 'tagged.jsonl')}", soft_wrap=True)
    console.print(f"  {command('report', folder)}", soft_wrap=True)
