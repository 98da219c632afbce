"""``palaver run FILE``, or just ``palaver FILE``: from a file to a page in one command."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from palaver.cli.options import (
    Anonymize,
    By,
    Chain,
    Column,
    File,
    Format,
    Jobs,
    Json,
    Seeds,
    Title,
    Where,
)

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.models import Model
    from palaver.questions.talk import Talk

NAME = "run"
#: Words of a typical text, from which on texts that nobody wrote to anybody are documents.
_DOCUMENT = 60
#: Documents from which on it shows which words say little about a subject.
_MANY = 50
#: Formats in which columns have names.
_TABLES = ("csv", "jsonl", "parquet")
_THREADS, _PAGE = "threads.parquet", "report.html"
#: Part of the time limit that goes into the search; reading and the page take the rest.
_SEARCH = 0.6


def run(
    file: File,
    out: Annotated[
        Path | None,
        typer.Option(help="Run folder to create (default: named after FILE).", show_default=False),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            min=0.05,
            help="Finish in about this time, with a shorter search.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    jobs: Jobs = None,
    keep_bots: Annotated[
        bool, typer.Option("--keep-bots", help="Do not leave out messages of bots.")
    ] = False,
    seeds: Seeds = None,
    where: Where = None,
    anonymize: Anonymize = False,
    by: By = None,
    title: Title = None,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Find out what people do in FILE and write a page about it, in one command.

    It checks FILE, leaves out bots, infers who answers whom if FILE does not say so and several
    people talk at once, splits a busy channel into its conversations, fits the model of acts
    (documents, in which nobody answers anybody, get topics instead), and writes a run folder with a
    page. `palaver FILE` does the same. If it is stopped, or killed, the same command continues.

    Example: `palaver run export.zip`

    Example: `palaver run export.zip --seeds seeds.toml`

    Example: `palaver run threads.csv --column text=body --minutes 2 --out run/`
    """
    from palaver.cli import runs
    from palaver.cli.options import n_threads
    from palaver.cli.seeds import tell_strayed
    from palaver.fit import Interrupted

    began = time.monotonic()
    if out is not None and not runs.settings_of(out):
        runs.check_new(out)
    reading = {"format": format, "column": column, "chain": chain, "labels": None,
               "where": list(where or []), "anonymize": anonymize, "by": by,
               "title": title, "minutes": minutes}  # fmt: skip
    found = _read(file, reading, keep_bots=keep_bots, json=json)
    params: dict[str, Any] = {"random_state": seed, "n_jobs": n_threads(jobs)}
    if minutes is not None:
        left = 60 * minutes - (time.monotonic() - began)
        params["max_seconds"] = max(_SEARCH * left, 1.0)
    model = _model(found, params, seeds)
    try:
        model, folder = _fit(model, found, [out] if out else _folders(file), file, reading)
    except Interrupted as error:
        typer.echo(f"palaver: {error}: give the same command again", err=True)
        raise typer.Exit(130) from error
    tell_strayed(model, folder)
    talk = _page(model, found.corpus, folder, reading, quick=minutes is not None)
    _tell(model, talk, found, folder, json)


def _folders(file: Path) -> Iterator[Path]:
    """Yield names for the run that nothing has yet, or a run that was stopped before its page."""
    stem = re.sub(r"(\.(jsonl|csv|json|txt|zip|tar|gz|bz2|xz|zst|parquet|mbox|vtt))+$", "",
                  file.absolute().name, flags=re.IGNORECASE)  # fmt: skip
    name = f"{stem or 'palaver'}-run"
    for number in itertools.count(1):
        folder = Path(name if number == 1 else f"{name}-{number}")
        if not folder.exists() or _was_stopped(folder):
            yield folder


def _was_stopped(folder: Path) -> bool:
    """Whether a folder holds a run without a page, or its start, and nobody is writing to it."""
    from palaver import store
    from palaver.cli import runs
    from palaver.errors import StoreError

    if not (folder / "lock").is_file() or (folder / _PAGE).exists():
        return False
    try:
        with store.locked(folder):
            return store.is_stored(folder / "settings") or runs.is_unfinished_start(folder)
    except StoreError:
        return False


class _Found(NamedTuple):
    """What a file became, and what was done about it."""

    corpus: Corpus
    is_documents: bool
    said: list[str]
    is_rebuilt: bool
    words: dict[str, Any]


def _read(file: Path, reading: dict[str, Any], *, keep_bots: bool, json: bool) -> _Found:
    """Read and check a file; leave out bots, and find out who answers whom."""
    from palaver.cli.commands import NO_BOTS
    from palaver.cli.inferred import with_replies
    from palaver.cli.output import console, counted, tell_repairs
    from palaver.corpus.describe import bots
    from palaver.errors import CorpusError

    corpus, mapped = _mapped(file, reading)
    if not corpus.n_messages:
        raise CorpusError(f"{file}: contains no messages")
    said = [
        f"{file.name}: {counted(corpus.n_messages, 'message')} in "
        f"{counted(corpus.n_conversations, 'conversation')} ({corpus.format})",
        *mapped,
    ]
    machines = [] if keep_bots else bots(corpus)
    if machines and len(machines) < corpus.table["speaker"].drop_nulls().n_unique():
        before = corpus.n_messages
        corpus = corpus.filter(NO_BOTS)
        reading["where"].append(NO_BOTS)
        said.append(
            f"left out {counted(before - corpus.n_messages, 'message')} by "
            f"{counted(len(machines), 'bot')} (--keep-bots keeps them)"
        )
    documents = is_documents(corpus)
    rebuilt = False
    words: dict[str, Any] = {}
    if documents:
        corpus, reading["documents"] = corpus.separated(), True
        corpus.notes.advice.clear()  # about conversations, of which there are none
        said[0] = f"{file.name}: {counted(corpus.n_messages, 'document')} ({corpus.format})"
        if corpus.n_messages >= _MANY:
            words["words"] = "topics"
            said.append("left out words that say little about a subject, such as “the”")
    elif corpus.n_messages > 1:
        corpus, how, rebuilt = with_replies(corpus, reading)
        said += how
    if not json:
        console.print(said[0] + ".")
        for line in said[1:]:
            console.print(f"{line[0].upper()}{line[1:]}.")
        tell_repairs(corpus, file)
    return _Found(corpus, documents, said, rebuilt, words)


def _mapped(file: Path, reading: dict[str, Any]) -> tuple[Corpus, list[str]]:
    """Read a file, with a column for the conversations that is called so; say which."""
    from palaver.cli.options import read_corpus

    def corpus() -> Corpus:
        return read_corpus(
            file, reading["format"], reading["column"], where=reading["where"],
            anonymize=reading["anonymize"],
        )  # fmt: skip

    first = corpus()
    name = first.notes.guesses.get("conversation")
    if name is None:
        return first, []
    reading["column"] = [*(reading["column"] or []), f"conversation={name}"]
    return corpus(), [f"“{name}” says which conversation a message belongs to "
                      "(--column conversation=NAME names another column)"]  # fmt: skip


def is_documents(corpus: Corpus) -> bool:
    """Whether texts are documents: nobody answers anybody, and they are long or have no authors.

    Texts of a table that says neither who wrote them nor when nor in which conversation are not
    talk either, although they are read as one conversation.
    """
    if corpus.format == "bagofwords":
        return True
    if (corpus.parents >= 0).any() or corpus.n_messages < 2:
        return False
    told = {"conversation", "reply_to", "time"} & set(corpus.columns)
    loose = corpus.n_conversations == 1 and corpus.format in _TABLES and not told
    if not loose and corpus.n_conversations < corpus.n_messages:
        return False
    words = corpus.table["text"].str.count_matches(r"\w+").median()
    nobody = corpus.table["speaker"].null_count() > corpus.n_messages / 2
    return nobody or float(words or 0) >= _DOCUMENT  # type: ignore[arg-type]


def _model(found: _Found, params: dict[str, Any], seeds: Path | None) -> Model:
    """Return the model for what was found: acts of talk, topics of documents."""
    from palaver.cli.seeds import seed_words
    from palaver.models.acts import Acts
    from palaver.models.lda import LDA

    if seeds is not None:
        params = {**params, "seed_words": seed_words(LDA if found.is_documents else Acts, seeds)}
    if not found.is_documents:
        return Acts().set_params(**params)
    n_texts = found.corpus.n_messages
    n_topics = 8 if n_texts < 500 else 20 if n_texts < 20_000 else 50
    return LDA(n_classes=n_topics, n_sweeps=300).set_params(**params)


def _fit(
    model: Model, found: _Found, folders: Iterable[Path], file: Path, reading: dict[str, Any]
) -> tuple[Model, Path]:
    """Fit the model in the first folder that takes it; return the fitted model and the folder.

    A run that the same command began is continued there. One that the model refuses leaves nothing
    behind.
    """
    from palaver import store
    from palaver.cli import runs
    from palaver.cli.fit_said import warn_of_few_messages
    from palaver.cli.output import working
    from palaver.encoding import encode
    from palaver.errors import InputError
    from palaver.models import load

    with working("counting words"):
        encoded = encode(
            found.corpus,
            min_count=model.default_min_count,
            sentences=model.needs_sentences,
            view="topics" if found.words else model.view,
            keep_unknown=model.keeps_unknown,
        )
    model.check_data(encoded)
    warn_of_few_messages(model, found.corpus)
    for folder in folders:
        source, told = _told(found, folder, file, reading)
        data = runs.begun(folder, model, encoded, source, told, found.words)
        if data is not None or not runs.settings_of(folder):
            break
    is_new = data is None
    if data is None:
        data = runs.begin(folder, model, encoded, source, told, found.words, None, found.corpus)
    if found.is_rebuilt and not (folder / _THREADS).exists():
        found.corpus.write(folder / _THREADS)
    if store.is_stored(folder):  # only its page was missing, or the end of the command
        return load(folder), folder
    try:
        return model.fit(data, folder=folder), folder
    except InputError:
        if is_new:
            (folder / _THREADS).unlink(missing_ok=True)
            runs.withdraw(folder)
        raise


def _told(
    found: _Found, folder: Path, file: Path, reading: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the file that the run is about, and how it is read.

    Where replies were inferred, the run keeps what it learned from: they are in no other file.
    """
    if not found.is_rebuilt:
        return str(file.absolute()), reading
    original = {name: reading[name] for name in ("where", "column", "format")}
    return str((folder / _THREADS).absolute()), {
        **reading, "where": None, "column": None, "format": "parquet",
        "file": str(file.absolute()), "original": original,
    }  # fmt: skip


def _page(
    model: Model, corpus: Corpus, folder: Path, reading: dict[str, Any], *, quick: bool
) -> Talk:
    """Write the page; return what it is about."""
    from palaver.cli.commands import fit_command
    from palaver.cli.options import command
    from palaver.cli.output import folding
    from palaver.cli.runs import names_of
    from palaver.page.build import make_page
    from palaver.page.findings import talk_of_findings

    summary = model.summary()
    hidden = reading["anonymize"]
    with folding("classifying messages and writing the page (slower the first time)"):
        findings = make_page(
            model, corpus, folder / _PAGE, summary=summary, names=names_of(folder, summary),
            anonymize=hidden,
            title=reading["title"], predict_heldout=not quick,
            command=command("report", "RUN" if hidden else folder),
            fit_command=fit_command(folder, summary.params, anonymize=hidden), n_new=0,
            by=reading["by"],
        )  # fmt: skip
    return talk_of_findings(findings)


def _tell(model: Model, talk: Talk, found: _Found, folder: Path, json: bool) -> None:
    """Print what people do, in five sentences, and what to do next."""
    from palaver.cli.options import command
    from palaver.cli.output import console, print_json
    from palaver.corpus.describe import are_roles
    from palaver.questions.story import five

    noun = "topic" if found.is_documents else "act"
    units = "words" if found.is_documents else "messages"
    sentences = five(talk, units, model.transition_steps, noun, learned=True)
    page = folder / _PAGE
    steps = [command("examples", folder)]
    if found.is_documents:
        steps.append(command("classes", folder, "--words", 20))
    elif are_roles(found.corpus):  # somebody always answers
        steps.append(command("transitions", folder))
    else:
        steps.append(command("unanswered", folder))
    if json:
        print_json({"run": str(folder), "page": str(page), "model": model.name,
                    "reading": found.said, "sentences": sentences, "next": steps})  # fmt: skip
        return
    console.print()
    for sentence in sentences:
        console.print(sentence)
    console.print(f"\nOpen in a browser: {page}", soft_wrap=True)
    console.print("Next:", soft_wrap=True)
    for step in steps:
        console.print(f"  {step}", soft_wrap=True)
