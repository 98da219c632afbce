"""The command line: one verb per file; each imports what it needs only when it runs."""

from __future__ import annotations

import sys
import warnings
from typing import TextIO

import typer

from palaver.cli import (
    annotate,
    balance,
    check,
    classes,
    compare,
    compare_groups,
    convert,
    demo,
    effects,
    evaluate,
    examples,
    explore,
    fit,
    helpers,
    label,
    name,
    paths,
    people,
    perplexity,
    profile,
    rank,
    reconstruct,
    refit,
    report,
    run,
    shares,
    summarize,
    tag,
    train_tagger,
    transitions,
    unanswered,
)
from palaver.cli.dispatch import Verb, Verbs
from palaver.cli.options import with_short_values
from palaver.cli.terminal import give_up_output, is_broken_pipe, prepare_streams, visible

app = typer.Typer(
    name="palaver",
    cls=Verbs,
    help="Find out what people do in conversations.\n\n"
    "Start with `palaver demo`. For a file of your own: `palaver FILE`, which does all that "
    "`palaver check`, `palaver fit` and `palaver report` do one by one.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    run,
    demo,
    check,
    convert,
    fit,
    report,
    classes,
    name,
    refit,
    examples,
    transitions,
    paths,
    shares,
    effects,
    compare_groups,
    helpers,
    unanswered,
    profile,
    balance,
    evaluate,
    perplexity,
    compare,
    annotate,
    summarize,
    rank,
    reconstruct,
    people,
    explore,
    label,
    train_tagger,
    tag,
):
    app.command(name=verb.NAME, cls=Verb)(with_short_values(verb.run))


@app.callback(invoke_without_command=True)
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from palaver import __version__

        typer.echo(f"palaver {__version__}")
        raise typer.Exit


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print our own warnings as we print errors; others as Python does."""
    from palaver.errors import PalaverWarning

    if issubclass(category, PalaverWarning):
        typer.echo(visible(f"palaver: {message}"), err=True)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def main() -> None:
    """Run the command line; a user's mistake ends in one message, never in a traceback."""
    from palaver.errors import PalaverError

    warnings.showwarning = _show_warning
    prepare_streams()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except PalaverError as error:
        typer.echo(visible(f"palaver: {error}"), err=True)
        sys.exit(1)
    except SystemExit as error:  # typer ends with 1 where nobody reads on
        if not is_broken_pipe(error.__context__):
            raise
        give_up_output()
        sys.exit(0)
    except OSError as error:
        give_up_output()
        if is_broken_pipe(error):
            sys.exit(0)  # the reader of our output, such as `head`, has seen enough
        place = error.filename or "the output"
        why = error.strerror or str(error)
        typer.echo(visible(f"palaver: {place}: cannot be read or written ({why})"), err=True)
        sys.exit(1)
    except MemoryError as error:
        typer.echo(f"palaver: the memory is not enough ({error})".replace(" ()", ""), err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
