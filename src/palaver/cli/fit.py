"""``palaver fit``: learn a model from a file; resume a run."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import (
    Address,
    Chain,
    Column,
    ExecutorName,
    Format,
    Jobs,
    Json,
    Workers,
    command,
    executor_of,
    n_threads,
)
from palaver.names import commands

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.encode import Encoded
    from palaver.errors import StoreError
    from palaver.models import Model

NAME = "fit"
#: Messages below which `palaver fit` warns.
FEW_MESSAGES = 300


def run(
    model: Annotated[
        str | None,
        typer.Argument(
            help=f"One of {', '.join(commands('model'))}.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Argument(help="Conversations to learn from.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run, new or empty; needed without --resume.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Folder of a run to go on with, instead of a new one.")
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            help="Number of classes; each model has its own default, m4: 15. gaussian-hmm, "
            "gaussian-mixture: of states, of which the default joins 42 to 12 acts "
            "(--set n_acts=12)."
        ),
    ] = None,
    topics: Annotated[
        int | None,
        typer.Option(
            help="m4: topics of conversations beside the classes, which are left to be acts; "
            "lda, online-lda, markov-m3: the same as --classes."
        ),
    ] = None,
    sweeps: Annotated[
        int | None, typer.Option(help="Sweeps in all; each model has its own default, m4: 1000.")
    ] = None,
    chains: Annotated[int | None, typer.Option(help="Chains side by side.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all randomness.")] = None,
    jobs: Jobs = None,
    sampler: Annotated[
        str | None, typer.Option(help="auto, collapsed, parallel, blocked ...")
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Stop after so long.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other parameter, e.g. alpha=0.1; may be repeated."),
    ] = None,
    min_count: Annotated[
        int | None, typer.Option(help="Drop words seen less often; chosen by size otherwise.")
    ] = None,
    max_share: Annotated[
        float, typer.Option(help="Drop words in more than this share of messages.")
    ] = 1.0,
    checkpoint_seconds: Annotated[float, typer.Option(help="Time between checkpoints.")] = 60.0,
    chain: Chain = False,
    executor: ExecutorName = "threads",
    workers: Workers = None,
    address: Address = None,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Fit MODEL to FILE and keep everything in a folder.

    Ctrl-C stops after the current sweep and keeps it; so does a kill, up to the last
    checkpoint. `--resume` goes on, also with more sweeps than a finished run had.

    Example: `palaver fit m4 threads.jsonl --classes 15 --sweeps 1000 --out run/`

    Example: `palaver fit m4 threads.csv --classes 8 --topics 20 --column text=body --out run/`

    Example: `palaver fit --resume run/ --sweeps 2000`

    Example: `palaver fit lda big.jsonl --executor ray --workers 8 --address auto --out run/`
    """
    from palaver.cli import runs
    from palaver.errors import StoreError
    from palaver.fit import Interrupted

    changes = {"n_sweeps": sweeps, "n_chains": chains,
               "random_state": seed, "n_jobs": n_threads(jobs), "sampler": sampler,
               "max_seconds": max_seconds}  # fmt: skip
    changes = {name: value for name, value in changes.items() if value is not None}
    changes |= dict(parse_setting(pair) for pair in set_ or [])
    if resume is not None:
        if model or file or out:
            raise typer.BadParameter("--resume takes the model and its data from the folder")
        folder = resume
        kind = runs.kind_of(folder)
        fitted, encoded = runs.reopen(folder, {**changes, **sizes(kind, classes, topics)})
        _tell_done(folder, fitted)
    else:
        if not model or not file or not out:
            raise typer.BadParameter("give MODEL, FILE and --out, or --resume FOLDER")
        folder = out
        fitted = new_model(model, changes, classes, topics)
        reading = {"format": format, "column": column, "chain": chain}
        encoded = _new_run(folder, fitted, file, reading, min_count, max_share)
    try:
        with executor_of(executor, workers, address, folder) as where:
            fitted.fit(
                encoded, folder=folder, checkpoint_seconds=checkpoint_seconds, executor=where
            )
    except Interrupted as error:
        typer.echo(f"palaver: {error}: {command('fit', '--resume', folder)}", err=True)
        raise typer.Exit(130) from error
    except StoreError as error:
        folder = rescue(fitted, folder, error)
    report(fitted, folder, json)


def new_model(name: str, changes: dict[str, Any], classes: int | None, topics: int | None) -> Model:
    """Return a model that is not yet fitted, its parameters checked."""
    from palaver.models import model_class

    kind = model_class(name)
    model = kind().set_params(**changes, **sizes(kind, classes, topics))
    model.check_params()
    return model


def sizes(kind: type[Model], classes: int | None, topics: int | None) -> dict[str, int]:
    """Return the parameters that --classes and --topics stand for.

    Models of topics call their classes so; M4 has topics beside its classes.
    """
    if topics is None:
        return kind.sized(classes)
    if "topics" in kind.limits:
        return {**kind.sized(classes), "topics": topics}
    if not kind.finds_topics:
        raise typer.BadParameter(f"{kind.name} has no topics; give --classes alone")
    if classes is not None:
        raise typer.BadParameter(
            f"the classes of {kind.name} are its topics; give one of --classes and --topics"
        )
    return kind.sized(topics)


def _new_run(
    folder: Path,
    model: Model,
    file: Path,
    reading: dict[str, Any],
    min_count: int | None,
    max_share: float,
) -> Encoded:
    """Read a file, say what is odd about it, and begin a run with what a model needs of it."""
    from palaver.cli import runs
    from palaver.cli.options import read_corpus
    from palaver.cli.output import tell_repairs, working
    from palaver.encode import encode

    runs.check_new(folder)
    corpus = read_corpus(file, reading["format"], reading["column"], chain=reading["chain"])
    tell_repairs(corpus, file)
    with working("counting words"):
        encoded = encode(
            corpus,
            min_count=min_count or model.default_min_count,
            max_share=max_share,
            sentences=model.needs_sentences,
        )
    model.check_data(encoded)
    warn_of_missing_replies(model, corpus)
    warn_of_few_messages(model, corpus)
    words = {"min_count": min_count, "max_share": None if max_share == 1 else max_share}
    words = {name: value for name, value in words.items() if value is not None}
    return runs.begin(folder, model, encoded, str(file.absolute()), reading, words)


def warn_of_missing_replies(model: Model, corpus: Corpus) -> None:
    """Say that a model of replies has none to learn from, and what to do about it."""
    if not hasattr(model, "reconstruct") or corpus.n_messages < 2 or (corpus.parents >= 0).any():
        return
    from palaver.cli.check import no_replies
    from palaver.cli.output import errors

    advice = "" if corpus.notes.advice else f" {no_replies(corpus)}"
    errors.print(f"{model.name} cannot learn here what follows what.{advice}", style="yellow")


def warn_of_few_messages(model: Model, corpus: Corpus) -> None:
    """Say that there is little to learn from, or that there are more classes than messages."""
    from palaver.cli.output import counted, errors

    n_classes = model.get_params().get(model.size_parameter)
    many = isinstance(n_classes, int) and n_classes > corpus.n_messages
    if not many and corpus.n_messages >= FEW_MESSAGES:
        return
    messages = counted(corpus.n_messages, "message")
    if many:
        said = f"{n_classes:,} classes are more than there are messages ({messages})"
    else:
        said = f"There is little to learn from in {messages}: other seeds may find other classes"
    fewer = "" if n_classes is None else ", or fewer --classes"
    errors.print(f"{said}. Give more texts{fewer}.", style="yellow")


def _tell_done(folder: Path, model: Model) -> None:
    """Say so where a run has no sweeps to do that were asked for."""
    from palaver.cli.output import errors
    from palaver.models.registry import sweeps_done

    done, asked = sweeps_done(folder), model.get_params()["n_sweeps"]
    if done > asked:
        errors.print(
            f"The run has done {done:,} sweeps already, more than {asked:,}; they are kept.",
            style="yellow",
        )


def rescue(model: Model, folder: Path, error: StoreError) -> Path:
    """Save a fitted model elsewhere when its folder cannot be written; return where."""
    if not hasattr(model, "chains_"):
        raise error
    place = Path(mkdtemp(prefix="palaver-rescued-"))
    model.save(place)
    typer.echo(f"palaver: {folder}: cannot be written; the model is in {place} instead", err=True)
    return place


def parse_setting(pair: str) -> tuple[str, Any]:
    """Return the name and value of NAME=VALUE."""
    name, equals, text = pair.partition("=")
    if not equals:
        raise typer.BadParameter(f"--set takes NAME=VALUE, got {pair!r}")
    try:
        return name.strip(), json_module.loads(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return name.strip(), text


def report(model: Model, folder: Path, json: bool, *, next_steps: bool = True) -> None:
    """Print what a fit found and what to do next."""
    from palaver.cli.classes import as_rows, show
    from palaver.cli.output import print_json

    summary = model.summary()
    if json:
        print_json(
            {
                "run": str(folder),
                "model": summary.name,
                **summary.facts,
                "convergence": summary.convergence,
                "classes": as_rows(summary),
            }
        )
        return
    show(summary, folder)
    if next_steps:
        _show_next(model, folder)


def _show_next(model: Model, folder: Path) -> None:
    """Print what can be done with a run, as it can be typed."""
    from palaver.cli import runs
    from palaver.cli.output import console

    file = runs.settings_of(folder).get("source", "FILE")
    steps = [
        command("report", folder),
        command("classes", folder, "--words", 20),
        command("annotate", folder, "tagged.jsonl"),
    ]
    if getattr(model, "unit", None) == "word":
        steps.append(command("tag", folder, file, "--out", "states.conll"))
    console.print(f"\nThe run is in {folder}. Next:", soft_wrap=True)
    for step in steps:
        console.print(f"  {step}", soft_wrap=True)
