"""``palaver name``: name, describe, merge, divide and hide the classes of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli.options import Json, Run

if TYPE_CHECKING:
    from palaver.models import ModelSummary

NAME = "name"
_ASKING = "Asking a language model"


def run(
    folder: Run,
    which: Annotated[
        str | None,
        typer.Argument(metavar="[CLASS]", help="Letter, number or name.", show_default=False),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="What to call it; '' for none.", show_default=False),
    ] = None,
    describe: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Describe CLASS.", show_default=False)
    ] = None,
    merge: Annotated[
        str | None,
        typer.Option(metavar="CLASSES", help="Merge classes, as in A,C.", show_default=False),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Divide a class into --parts.", show_default=False),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(min=2, help="How many parts (default: 2).", show_default=False),
    ] = None,
    hide: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Do not list a class.", show_default=False)
    ] = None,
    show: Annotated[
        str | None, typer.Option(metavar="CLASS", help="List it again.", show_default=False)
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last change.")] = False,
    redo: Annotated[bool, typer.Option("--redo", help="Do it again.")] = False,
    ask: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Let a language model suggest names: the address of an OpenAI-compatible "
            "endpoint. A key is read from PALAVER_API_KEY.",
            show_default=False,
            rich_help_panel=_ASKING,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What the endpoint calls the model.",
            show_default=False,
            rich_help_panel=_ASKING,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="Take examples from this file (default: the run's).",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(min=1, help="How long one answer may take.", rich_help_panel=_ASKING),
    ] = 120,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before sending, or keeping parts.")
    ] = False,
    json: Json = False,
) -> None:
    """Name, describe, merge, divide or hide classes of a run; without anything else, list them.

    What you decide is kept in RUN/curation.json and applied by every verb and by the page.
    Letters go by size, so they change when classes are merged; the list that is printed has the
    new ones.

    Example: `palaver name run/ A "asks for help"`

    Example: `palaver name run/ --merge A,C`

    --split fits a model inside a class, shows the parts, and asks you whether to keep them.

    Example: `palaver name run/ --split A --parts 3`

    With --ask, it shows what would be sent (words, and examples without names of people), asks you
    once, and keeps the names as suggestions. They never replace a name that a person gave.

    Example: `palaver name run/ --undo`

    Example: `palaver name run/ --ask http://localhost:11434/v1 --model llama3.2`
    """
    from palaver import curation
    from palaver.cli.runs import who
    from palaver.errors import ParameterError
    from palaver.models import load
    from palaver.models.curated import apply_curation, curation_of

    if ask is not None:
        if any((which, name, describe, merge, split, hide, show, undo, redo)):
            raise ParameterError("--ask goes alone")
        from palaver.cli.ask_names import suggest

        suggest(folder, ask, model or "", file=file, seconds=seconds, yes=yes, json=json)
        return
    if model is not None:
        raise ParameterError("--model needs --ask URL")
    if parts is not None and split is None:
        raise ParameterError("--parts needs --split CLASS")
    fitted = load(folder)
    state, summary = curation_of(fitted), fitted.summary()

    def id_of(given: str) -> int:
        return state.classes[_number(given, summary)].ids[0]

    actions: list[dict[str, Any]] = []
    if which is not None and name is None and describe is None:
        raise ParameterError("say what to call the class, or --describe it")
    if which is None and describe is not None:
        raise ParameterError("--describe needs a CLASS")
    if which is not None and name is not None:
        actions.append({"do": "name", "class": id_of(which), "name": name})
    if which is not None and describe is not None:
        actions.append({"do": "describe", "class": id_of(which), "text": describe})
    if merge is not None:
        ids = [id_of(one.strip()) for one in merge.split(",")]
        actions.append({"do": "merge", "classes": ids})
    if split is not None:
        if actions:
            raise ParameterError("--split goes alone")
        from palaver.cli.dividing import tried

        actions += tried(folder, fitted, id_of(split), parts or 2, file, yes=yes)
    switches = (("hide", hide), ("show", show))
    actions += [{"do": what, "class": id_of(one)} for what, one in switches if one is not None]
    if bool(actions) + undo + redo > 1:
        raise ParameterError("--undo and --redo go alone")
    if actions:
        after = state.after(curation.Step(tuple(actions)))
        apply_curation(
            fitted, after, folder
        )  # refuse what the model cannot do before it is written
        state = curation.change(folder, state, *actions, by=who())
    elif undo:
        state = curation.undo(folder, state)
    elif redo:
        state = curation.redo(folder, state)
    summary = apply_curation(fitted, state, folder).summary()
    show_names(folder, summary, json=json)


def show_names(folder: Path, summary: ModelSummary, *, json: bool) -> None:
    """Print the classes with their names."""
    from palaver.cli import classes
    from palaver.cli.output import print_json
    from palaver.cli.runs import names_of

    names = names_of(folder, summary)
    if json:
        rows = classes.as_rows(summary, 10, names)
        print_json([{**row, "hidden": row["class"] in summary.hidden} for row in rows])
    else:
        classes.show(summary, folder, 6, names)


def _number(given: str, summary: ModelSummary) -> int:
    """Return the number of a class, given its letter, number or name."""
    from palaver.draw.palette import letters
    from palaver.errors import ParameterError

    by_letter = {letters(rank): int(number) for rank, number in enumerate(summary.order)}
    if given.upper() in by_letter and given not in summary.class_names.values():
        return by_letter[given.upper()]
    if given.isdecimal() and int(given) < len(by_letter):
        return int(given)
    found = [k for k, name in summary.class_names.items() if name.lower() == given.lower()]
    if len(found) != 1:
        last = letters(len(by_letter) - 1)
        why = "several classes are called" if found else "there is no class"
        raise ParameterError(f"{why} {given!r}; take a letter from A to {last}, or a number")
    return found[0]
