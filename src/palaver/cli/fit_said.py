"""What ``palaver fit`` says of what it reads, and of what it found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from palaver.cli.options import command

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.encoding import Encoded
    from palaver.models import Model

#: Fewer messages than this are warned of.
FEW_MESSAGES = 300
#: Columns that people put labels of acts in.
GOLD = ("act", "acts", "dialogue_act", "dialog_act", "label", "tag")


def warn_of_missing_replies(model: Model, corpus: Corpus) -> None:
    """Warn that a model of replies has none to learn from, and say what to do about it."""
    if not hasattr(model, "reconstruct") or corpus.n_messages < 2 or (corpus.parents >= 0).any():
        return
    from palaver.cli.check import no_replies
    from palaver.cli.output import errors

    advice = "" if corpus.notes.advice else f" {no_replies(corpus)}"
    errors.print(f"{model.name} cannot learn what follows what.{advice}", style="yellow")


def warn_of_few_messages(model: Model, corpus: Corpus) -> None:
    """Warn of few messages, or of more classes than messages."""
    from palaver.cli.output import counted, errors

    n_classes = model.get_params().get(model.size_parameter)
    many = isinstance(n_classes, int) and n_classes > corpus.n_messages
    if not many and corpus.n_messages >= FEW_MESSAGES:
        return
    messages = counted(corpus.n_messages, "message")
    if many:
        said = f"There are more classes ({n_classes:,}) than messages ({corpus.n_messages:,})"
    else:
        said = f"There is little to learn from {messages}: other seeds may find other classes"
    fewer = "" if n_classes is None else " or fewer --classes"
    errors.print(f"{said}. Use more texts{fewer}.", style="yellow")


def tell_of_bots(corpus: Corpus) -> None:
    """Say how many messages bots wrote, and how to leave them out."""
    from palaver.cli.commands import NO_BOTS
    from palaver.cli.output import counted, errors
    from palaver.corpus.describe import bots

    robots = bots(corpus)
    if robots:
        n_messages = int(corpus.table["speaker"].is_in(robots).sum())
        errors.print(
            f"Bots wrote {counted(n_messages, 'message')}; --where {NO_BOTS!r} leaves them out.",
            style="dim", markup=False,
        )  # fmt: skip


def tell_done(folder: Path, model: Model) -> None:
    """Say so if a run has already done more sweeps than were asked for."""
    from palaver.cli.output import errors
    from palaver.models.registry import sweeps_done

    done, asked = sweeps_done(folder), model.get_params()["n_sweeps"]
    if asked is not None and done > asked:
        errors.print(
            f"The run has already done {done:,} sweeps, more than {asked:,}; all are kept.",
            style="yellow",
        )


def gold_of(data: Encoded | None) -> str | None:
    """Return the column of labels that a fit can be judged by, if the data have one."""
    known = {} if data is None else data.labels
    return next((name for name in GOLD if name in known), None)


def report(
    model: Model, folder: Path, json: bool, *, next_steps: bool = True, gold: str | None = None
) -> None:
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
        _show_next(model, folder, gold)


def _show_next(model: Model, folder: Path, gold: str | None) -> None:
    """Print commands to try next."""
    from palaver.cli import runs
    from palaver.cli.output import console

    file = runs.settings_of(folder).get("source", "FILE")
    steps = [
        command("report", folder),
        command("explore", folder),
        command("classes", folder, "--words", 20),
        command("annotate", folder, "tagged.jsonl"),
    ]
    if gold is not None:
        steps.append(command("evaluate", folder, "--gold", gold))
    if hasattr(model, "tag_words") and getattr(model, "unit", None) == "word":
        steps.append(command("tag", folder, file, "--out", "states.conll"))
    console.print(f"\nThe run is saved in {folder}. Next:", soft_wrap=True)
    for step in steps:
        console.print(f"  {step}", soft_wrap=True)
