"""``palaver fit``: learn a model from a file; resume a run."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
    executor_of,
    n_threads,
)

if TYPE_CHECKING:
    from palaver.errors import StoreError
    from palaver.models import Model

NAME = "fit"


def run(
    model: Annotated[
        str | None,
        typer.Argument(
            help="m4, block-hmm, lda, infinite-hmm, gaussian-hmm, gaussian-mixture, markov-m3 "
            "or online-lda.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Argument(help="Conversations to learn from.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; new or empty.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Folder of a run to go on with, instead of a new one.")
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            "--classes", "--topics", help="Number of classes; each model has its own default."
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
        typer.Option("--set", help="Any other parameter, e.g. topics=20; may be repeated."),
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

    Example: `palaver fit --resume run/ --sweeps 2000`

    Example: `palaver fit lda big.jsonl --executor ray --workers 8 --address auto --out run/`
    """
    from palaver.cli import runs
    from palaver.errors import StoreError
    from palaver.fit import Interrupted
    from palaver.models import model_class

    changes = {"n_sweeps": sweeps, "n_chains": chains,
               "random_state": seed, "n_jobs": n_threads(jobs), "sampler": sampler,
               "max_seconds": max_seconds}  # fmt: skip
    changes = {name: value for name, value in changes.items() if value is not None}
    changes |= dict(parse_setting(pair) for pair in set_ or [])
    if resume is not None:
        if model or file or out:
            raise typer.BadParameter("--resume takes the model and its data from the folder")
        folder = resume
        fitted, encoded = runs.reopen(folder, changes, classes)
    else:
        if not model or not file or not out:
            raise typer.BadParameter("give MODEL, FILE and --out, or --resume FOLDER")
        folder = out
        kind = model_class(model)
        fitted = kind().set_params(**changes, **kind.sized(classes))
        fitted.check_params()
        encoded = _encode(
            file,
            format,
            column,
            chain,
            min_count or kind.rarest_word,
            max_share,
            fitted.needs_sentences,
        )
        fitted.check_data(encoded)
        warn_of_missing_replies(fitted, encoded)
        reading = {"format": format, "column": column, "chain": chain}
        words = {"min_count": min_count, "max_share": None if max_share == 1 else max_share}
        words = {name: value for name, value in words.items() if value is not None}
        encoded = runs.begin(folder, fitted, encoded, str(file.absolute()), reading, words)
    try:
        with executor_of(executor, workers, address, folder) as where:
            fitted.fit(
                encoded, folder=folder, checkpoint_seconds=checkpoint_seconds, executor=where
            )
    except Interrupted as error:
        typer.echo(f"palaver: {error}: palaver fit --resume {folder}", err=True)
        raise typer.Exit(130) from error
    except StoreError as error:
        folder = rescue(fitted, folder, error)
    report(fitted, folder, json)


def warn_of_missing_replies(model: Model, encoded: Any) -> None:
    """Say that a model of replies has none to learn from, and what to do about it."""
    if not hasattr(model, "reconstruct") or not encoded.n_messages > encoded.n_conversations:
        return
    if (encoded.parents >= 0).any():
        return
    from palaver.cli.output import errors

    errors.print(
        f"[yellow]No message answers another here, so {model.name} cannot learn what follows what. "
        "If messages follow each other as in talk, add --chain; else `palaver reconstruct` "
        "finds out who answers whom.[/]"
    )


def rescue(model: Model, folder: Path, error: StoreError) -> Path:
    """Save a fitted model elsewhere when its folder cannot be written; return where."""
    if not hasattr(model, "chains_"):
        raise error
    place = Path(mkdtemp(prefix="palaver-rescued-"))
    model.save(place)
    typer.echo(f"palaver: {folder}: cannot be written; the model is in {place} instead", err=True)
    return place


def _encode(
    file: Path,
    format: str | None,
    column: list[str] | None,
    chain: bool,
    min_count: int | Literal["auto"],
    max_share: float,
    sentences: bool,
) -> Any:
    from palaver.cli.options import read_corpus
    from palaver.cli.output import working
    from palaver.encode import encode

    corpus = read_corpus(file, format, column, chain=chain)
    with working("counting words"):
        return encode(corpus, min_count=min_count, max_share=max_share, sentences=sentences)


def parse_setting(pair: str) -> tuple[str, Any]:
    """Return the name and value of NAME=VALUE."""
    name, equals, text = pair.partition("=")
    if not equals:
        raise typer.BadParameter(f"--set takes NAME=VALUE, got {pair!r}")
    try:
        return name.strip(), json_module.loads(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return name.strip(), text


def report(model: Model, folder: Path, json: bool) -> None:
    """Print what a fit found and what to do next."""
    from palaver.cli.output import console, print_json
    from palaver.cli.topics import as_rows, show

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
    show(summary)
    console.print(f"\nThe run is in {folder}. Next:")
    console.print(f"  palaver report {folder}", soft_wrap=True)
    console.print(f"  palaver topics {folder} --words 20", soft_wrap=True)
    console.print(f"  palaver annotate {folder} FILE tagged.jsonl", soft_wrap=True)
    if getattr(model, "unit", None) == "word":
        console.print(f"  palaver tag {folder} FILE --out states.conll", soft_wrap=True)
