"""Arguments and options that several verbs share."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from palaver.corpus.table import Corpus, OnBad
    from palaver.parallel import Executor

#: Panels of a verb's help, below its own options.
READING, RUNNING = "Reading the file", "Running"

Run = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Folder written by `palaver fit`.", show_default=False),
]
File = Annotated[
    Path, typer.Argument(help="File, folder or archive with conversations.", show_default=False)
]
FileOfRun = Annotated[
    Path | None,
    typer.Argument(
        help="Conversations (default: the file that the run was fitted on).",
        show_default=False,
    ),
]
CorpusOut = Annotated[
    Path, typer.Argument(help="x.jsonl, x.jsonl.gz, x.parquet, x.csv, or a folder (ConvoKit).")
]
TableOut = Annotated[
    Path | None, typer.Option(help="Also save the full table as x.csv or x.parquet.")
]
PictureOrTableOut = Annotated[
    Path | None,
    typer.Option(
        help="Also save the full table (x.csv, x.parquet) or a chart (x.svg, x.png, x.pdf).",
        show_default=False,
    ),
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help="In CSV, put ' before texts that a spreadsheet would treat as formulas.",
    ),
]
Formulas = Annotated[
    bool,
    typer.Option(
        "--formulas",
        help="In CSV, do not escape texts such as =1+1 (default: put ' before them).",
    ),
]
Anonymize = Annotated[
    bool,
    typer.Option(
        "--anonymize", help="Replace speakers, email addresses, phone numbers and handles."
    ),
]
Chain = Annotated[
    bool,
    typer.Option(
        "--chain",
        help="Treat each message without a parent as a reply to the previous one.",
        rich_help_panel=READING,
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="File format (default: detected).", rich_help_panel=READING),
]
Column = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Map a column as OURS=THEIRS, e.g. text=body. Repeatable.",
        rich_help_panel=READING,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Keep only matching messages, e.g. bot=false, channel!=random, time>=2002-03. "
        "Repeatable.",
        show_default=False,
    ),
]
Seeds = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help='Words that classes you look for begin with: thanks = ["thanks", "cheers"].',
        show_default=False,
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="A column, or year, quarter, month, week, day, weekday or hour (UTC); two are "
        "crossed: role,quarter.",
        show_default=False,
    ),
]
Title = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Page title.", show_default=False),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Fail if the file needs repairs, and say where.",
        rich_help_panel=READING,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        help="Threads (default: all cores); results do not depend on it.",
        show_default=False,
        rich_help_panel=RUNNING,
    ),
]
ExecutorName = Annotated[
    str,
    typer.Option(
        "--executor",
        help="Where sweeps run: threads, or ray for a cluster.",
        rich_help_panel=RUNNING,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Ray workers (default: one per core of this machine).", rich_help_panel=RUNNING
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Ray cluster to join, e.g. auto (default: start one here).", rich_help_panel=RUNNING
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

Verb = TypeVar("Verb", bound="Callable[..., None]")
#: What helps call the value of an option, by its type: long names leave little room for words.
_VALUES: dict[Any, str] = {int: "N", float: "X", str: "NAME", Path: "PATH", bool: "", list: "A=B"}


def with_short_values(run: Verb) -> Verb:
    """Name arguments in capitals, as texts do, and values of options in a letter or a word."""
    hints = get_type_hints(run, include_extras=True)
    for name, hint in hints.items():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, ArgumentInfo) and mark.metavar is None:
                mark.metavar = name.upper()
            elif isinstance(mark, OptionInfo) and mark.metavar is None:
                plain = [get_origin(kind) or kind for kind in _alternatives(hint.__origin__)]
                mark.metavar = next(_VALUES[kind] for kind in plain if kind in _VALUES)
    run.__annotations__ = hints
    return run


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself."""
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def n_threads(jobs: int | None) -> int:
    """Return how many threads --jobs asks for; by default one per core of this process."""
    import os

    if jobs is not None and jobs < 1:
        raise typer.BadParameter(f"--jobs must be at least 1, got {jobs}")
    if jobs is not None:
        return jobs
    allowed = getattr(os, "sched_getaffinity", None)  # fewer than there are, in a container
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def command(*arguments: str | int | Path) -> str:
    """Return a command as the user would type it."""
    return shlex.join(["palaver", *map(str, arguments)])


def read_corpus(
    path: Path,
    format: str | None = None,
    column: list[str] | None = None,
    *,
    chain: bool = False,
    strict: bool = False,
    where: list[str] | None = None,
    anonymize: bool = False,
) -> Corpus:
    """Read a corpus with the options that verbs share."""
    from palaver.cli.output import reading
    from palaver.corpus.table import read

    columns = {}
    for pair in column or []:
        ours, equals, theirs = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"--column takes OURS=THEIRS, got {pair!r}")
        columns[ours.strip()] = theirs.strip()
    on_bad: OnBad = "error" if strict else "repair"
    with reading(path) as on_read:
        corpus = read(path, format, columns or None, on_bad=on_bad, on_read=on_read)
    return prepared(corpus, chain=chain, where=where, anonymize=anonymize)


def prepared(
    corpus: Corpus,
    *,
    chain: bool = False,
    where: list[str] | None = None,
    anonymize: bool = False,
    documents: bool = False,
) -> Corpus:
    """Return a corpus as --where, --chain and --anonymize ask for it, or as documents."""
    if where:
        corpus = matching(corpus, where)
    if documents:
        corpus = corpus.separated()
    elif chain:
        corpus = corpus.chained()
    return corpus.anonymized() if anonymize else corpus


def matching(corpus: Corpus, where: list[str]) -> Corpus:
    """Return the matching messages; if there are none, say which values there are."""
    from palaver.corpus.filter import examples
    from palaver.errors import ParameterError

    part = corpus.filter(*where)
    if not len(part):
        told = "; ".join(dict.fromkeys(examples(text, corpus.table) for text in where))
        raise ParameterError(f"no message matches --where {' --where '.join(where)}: {told}")
    return part


def check_out(out: Path, file: Path) -> None:
    """Before the work starts, refuse an output that cannot be written or is also the input."""
    from palaver.corpus.write import check_name
    from palaver.errors import InputError

    check_name(out)
    if out.exists() and file.exists() and out.samefile(file):
        raise InputError(f"{out}: is also the input file; choose another name for the output")


@contextmanager
def executor_of(
    name: str, workers: int | None, address: str | None, folder: Path
) -> Iterator[Executor | None]:
    """Yield the executor that the options ask for; None means threads of this process.

    Workers read their data from the run's ``folder``.
    """
    if name == "ray":
        from palaver.parallel.ray import RayExecutor

        with RayExecutor(n_threads(workers), address, folder / "shards") as executor:
            yield executor
    elif name != "threads":
        raise typer.BadParameter(f"--executor must be threads or ray, got {name!r}")
    elif workers is not None or address is not None:
        raise typer.BadParameter("--workers and --address need --executor ray")
    else:
        yield None
