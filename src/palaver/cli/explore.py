"""``palaver explore``: a local web application about a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import Anonymize, Chain, Column, FileOfRun, Format, Run, Where
from palaver.cli.talks import NamesFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from palaver.corpus.table import Corpus
    from palaver.explore.stored import Origin
    from palaver.explore.workbench import Workbench

NAME = "explore"


def run(
    folder: Run,
    file: FileOfRun = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port; the next free one if it is in use (default: 8465)."
        ),
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Only print the address, open no browser.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="For showing: nothing can be changed.")
    ] = False,
    names: NamesFile = None,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
) -> None:
    """Search, read, compare and curate RUN in a browser; Ctrl-C ends it.

    The first start makes an index of the texts in RUN/explore, later ones take a moment. Only this
    machine can reach the application, with a token that is in the address; nothing leaves it.

    Example: `palaver explore run/`

    Example: `palaver explore run/ threads.jsonl --port 9000 --no-open`
    """
    _check_extra()
    from palaver.cli import runs
    from palaver.cli.output import console, errors
    from palaver.explore.serve import serve

    if names is not None:
        from palaver.models import load

        runs.keep_names(folder, names, load(folder))
    reading = (format, column, chain, where)
    workbench = _opened(folder, file, reading, anonymize, read_only)

    def tell(address: str, own: int) -> None:
        if port and own != port:
            errors.print(f"Port {port} is in use; taking {own}.", style="yellow")
        console.print(f"Open in a browser: {address}", soft_wrap=True)
        console.print("Ctrl-C ends it.")

    try:
        serve(workbench, port=port, open_browser=not no_open, tell=tell)
    finally:
        workbench.close()


def _check_extra() -> None:
    """Say what to install if something is missing."""
    from palaver.errors import MissingExtraError

    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"palaver explore needs {error.name}: pip install 'palaver[explore]' "
            "(from a clone: pip install '.[explore]')"
        ) from error
    from palaver.explore.texts import check_fts

    check_fts()


def _opened(
    folder: Path,
    file: Path | None,
    reading: tuple[str | None, list[str] | None, bool, list[str] | None],
    anonymize: bool,
    read_only: bool,
) -> Workbench:
    """Open the index of a run; make it first if there is none, or an old or damaged one."""
    from palaver import store
    from palaver.cli import runs
    from palaver.cli.output import errors
    from palaver.curation.versions import finish
    from palaver.errors import DamagedStoreError, StoreError
    from palaver.explore.stored import is_current, origin_of, place_of
    from palaver.explore.workbench import Workbench

    finish(folder)
    if not store.is_stored(folder):
        raise StoreError(
            f"{folder}: holds no fitted model; `palaver fit FILE --out {folder}` makes one"
        )
    source = str(file.absolute()) if file else runs.settings_of(folder).get("source", "")
    part = reading[-1] or []
    origin = origin_of(folder, source, part)
    place = place_of(folder, anonymize=anonymize)

    def read() -> Corpus:
        return runs.corpus_of(folder, file, *reading)

    def rebuild() -> None:
        _build(folder, read(), origin_of(folder, source, part), anonymize, quiet=True)

    def page() -> bytes:
        return _page(folder, read(), anonymize)

    def start() -> Workbench:
        who = runs.who()
        return Workbench(
            folder, place, read_only=read_only, who=who, corpus=read, rebuild=rebuild, page=page,
            refit=_refit_of(folder, file, *reading[:3]),
        )  # fmt: skip

    if is_current(folder, origin, anonymize=anonymize):
        try:
            return start()
        except DamagedStoreError as error:
            errors.print(f"The index is damaged and made again: {error}", style="yellow")
    corpus = read()
    if file is None:
        _check_unchanged(folder, corpus, source)
    _build(folder, corpus, origin, anonymize)
    return start()


def _refit_of(
    folder: Path, file: Path | None, format: str | None, column: list[str] | None, chain: bool
) -> Callable[[int | None], None] | None:
    """Return what fits a run again in another process; None if it cannot be fitted again."""
    from functools import partial

    from palaver.cli import fit_stream, runs
    from palaver.cli.refit import in_background

    settings = runs.settings_of(folder)
    if not settings or "label" in settings or fit_stream.plan_of(folder) is not None:
        return None
    return partial(in_background, folder, file, format, column, chain)


def _check_unchanged(folder: Path, corpus: Corpus, source: str) -> None:
    """Refuse a file that was changed since the run was fitted on it."""
    from palaver.cli import runs
    from palaver.cli.options import command
    from palaver.errors import InputError

    n_new = runs.count_new(folder, corpus)
    if n_new:
        raise InputError(
            f"{source}: has changed since {folder} was fitted on it: {n_new:,} of its "
            f"{corpus.n_messages:,} messages are new to the run. Give the original file, or this "
            f"one to explore it as it is now: {command('explore', folder, source)}"
        )


def _build(
    folder: Path, corpus: Corpus, origin: Origin, anonymize: bool, *, quiet: bool = False
) -> None:
    """Make the index, with a bar unless ``quiet``."""
    from contextlib import nullcontext

    from palaver.cli import runs
    from palaver.cli.commands import fit_command
    from palaver.cli.output import sharing
    from palaver.explore.build import build
    from palaver.models import load

    model = load(folder)
    bar = nullcontext(lambda share: None) if quiet else sharing("making the index, once")
    with bar as advance:
        build(
            folder, model, corpus, origin, anonymize=anonymize, advance=advance,
            fit_command=fit_command(folder, model.get_params(), anonymize=anonymize),
            n_new=runs.count_new(folder, corpus),
        )  # fmt: skip


def _page(folder: Path, corpus: Corpus, anonymize: bool) -> bytes:
    """Return the static page of a run."""
    from tempfile import TemporaryDirectory

    from palaver.cli import runs
    from palaver.models import load
    from palaver.page import report

    told = runs.settings_of(folder).get("reading", {})
    options = {name: told[name] for name in ("title", "by") if told.get(name)}
    with TemporaryDirectory() as place:
        path = report(load(folder), corpus, Path(place) / "page.html", anonymize=anonymize,
                      **options)  # fmt: skip
        return Path(path).read_bytes()
