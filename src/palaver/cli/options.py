"""Arguments and options that several verbs share."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from palaver.corpus.table import Corpus, OnBad
    from palaver.parallel import Executor

Run = Annotated[Path, typer.Argument(help="Folder that `palaver fit` wrote.", show_default=False)]
File = Annotated[
    Path, typer.Argument(help="File, folder or archive of conversations.", show_default=False)
]
FileOfRun = Annotated[
    Path | None,
    typer.Argument(
        help="File, folder or archive of conversations; that of the run if not given.",
        show_default=False,
    ),
]
CorpusOut = Annotated[
    Path, typer.Argument(help="x.jsonl, x.jsonl.gz, x.parquet, x.csv, or a folder for ConvoKit.")
]
TableOut = Annotated[
    Path | None, typer.Option(help="Also write the whole table: x.csv or x.parquet.")
]
Anonymize = Annotated[
    bool,
    typer.Option(
        "--anonymize", help="Replace speakers, mail addresses, phone numbers and handles."
    ),
]
Chain = Annotated[
    bool, typer.Option("--chain", help="Let each message without a parent answer the one before.")
]
Format = Annotated[
    str | None, typer.Option("--format", help="Format of the file; detected if not given.")
]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", help="Our column = the file's, e.g. text=body; may be repeated."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Only messages with this, e.g. bot=false, channel!=random, time>=2002-03; may be "
        "repeated.",
        show_default=False,
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse a file that needs repairs, with the places.")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        help="Threads; all cores if not given. Results are the same for any number.",
        show_default=False,
    ),
]
ExecutorName = Annotated[
    str, typer.Option("--executor", help="Where sweeps run: threads, or ray (a cluster).")
]
Workers = Annotated[
    int | None, typer.Option(help="Workers of --executor ray; default: cores of this machine.")
]
Address = Annotated[
    str | None,
    typer.Option(help="Ray cluster to join, e.g. auto; without, one is started here."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def n_threads(jobs: int | None) -> int:
    """Return how many threads --jobs asks for: as many as this process has cores, if not given."""
    import os

    if jobs is not None:
        return jobs
    allowed = getattr(os, "sched_getaffinity", None)  # fewer than there are, in a container
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def command(*arguments: str | int | Path) -> str:
    """Return a command of ours as it can be typed."""
    return shlex.join(["palaver", *map(str, arguments)])


def read_corpus(
    path: Path,
    format: str | None = None,
    column: list[str] | None = None,
    *,
    chain: bool = False,
    strict: bool = False,
) -> Corpus:
    """Read a corpus as the shared options say."""
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
    return corpus.chained() if chain else corpus


def check_out(out: Path, file: Path) -> None:
    """Refuse an output that cannot be written or is what is read, before the work is done."""
    from palaver.corpus.write import check_name
    from palaver.errors import InputError

    check_name(out)
    if out.exists() and file.exists() and out.samefile(file):
        raise InputError(f"{out}: is the file that is read; choose another name for the output")


@contextmanager
def executor_of(
    name: str, workers: int | None, address: str | None, folder: Path
) -> Iterator[Executor | None]:
    """Give what the options of a cluster stand for; None for threads of this process.

    Workers read their data in the run's ``folder``.
    """
    if name == "ray":
        from palaver.parallel.ray import RayExecutor

        with RayExecutor(n_threads(workers), address, folder / "shards") as executor:
            yield executor
    elif name != "threads":
        raise typer.BadParameter(f"--executor is threads or ray, got {name!r}")
    elif workers is not None or address is not None:
        raise typer.BadParameter("--workers and --address belong to --executor ray")
    else:
        yield None
