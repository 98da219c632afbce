"""``palaver fit``: fit a model to a file, or continue a run."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from palaver.cli.options import (
    RUNNING,
    Address,
    Anonymize,
    By,
    Chain,
    Column,
    ExecutorName,
    Format,
    Jobs,
    Json,
    Seeds,
    Title,
    Where,
    Workers,
    command,
    executor_of,
    n_threads,
)
from palaver.names import commands

if TYPE_CHECKING:
    import polars as pl

    from palaver.encoding import Encoded
    from palaver.errors import StoreError
    from palaver.models import Model
    from palaver.parallel import Executor

NAME = "fit"
STREAM = "Streams"
#: The model that is fitted if none is named.
DEFAULT = "acts"


def run(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL] FILE",
            help=f"Conversations to learn from; before them a model (default: {DEFAULT}): one of "
            f"{', '.join(commands('model'))}.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder to create (new or empty).")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Run folder to continue, instead of a new run.")
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            help="Number of classes (acts: the data decide; m4: 15). gaussian-hmm, "
            "gaussian-mixture: hidden states (default: 42, merged into 12 acts; --set n_acts=12)."
        ),
    ] = None,
    topics: Annotated[
        int | None,
        typer.Option(
            help="m4: topics, which absorb subject words so that classes capture acts. lda, "
            "online-lda, markov-m3, nested-hdp: same as --classes."
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with known classes; they guide the model."),
    ] = None,
    seeds: Seeds = None,
    sweeps: Annotated[
        int | None,
        typer.Option(help="Total sweeps; defaults differ (acts: 100; m4: 1000)."),
    ] = None,
    chains: Annotated[
        int | None, typer.Option(help="Number of searches from different starts.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed.")] = None,
    jobs: Jobs = None,
    sampler: Annotated[
        str | None, typer.Option(help="auto, collapsed, parallel, blocked, ...")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Stop after this many seconds.", rich_help_panel=RUNNING)
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Any other parameter of the model, e.g. burn_in=100. Repeatable."
        ),
    ] = None,
    min_count: Annotated[
        int | None,
        typer.Option(help="Drop words seen less often (default: depends on corpus size)."),
    ] = None,
    max_share: Annotated[
        float, typer.Option(help="Drop words found in more than this fraction of messages.")
    ] = 1.0,
    words: Annotated[
        str,
        typer.Option(
            metavar="all|topics",
            help="topics: only words that say what a text is about, without common words, numbers "
            "and punctuation. Topics are easier to read.",
        ),
    ] = "all",
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="markov-m3, nested-hdp, online-lda: learn from a part of FILE at a time. A bag of "
            "words (docword.*) may be larger than memory.",
            rich_help_panel=STREAM,
        ),
    ] = False,
    passes: Annotated[
        int | None,
        typer.Option(min=1, help="Times to go through FILE (default: 1).", rich_help_panel=STREAM),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Documents per step (default: 500).", rich_help_panel=STREAM),
    ] = None,
    judge: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Documents to judge by, not learned from (default: 200, at most a tenth).",
            rich_help_panel=STREAM,
        ),
    ] = None,
    checkpoint_seconds: Annotated[
        float, typer.Option(help="Seconds between checkpoints.", rich_help_panel=RUNNING)
    ] = 60.0,
    where: Where = None,
    anonymize: Anonymize = False,
    by: By = None,
    title: Title = None,
    chain: Chain = False,
    executor: ExecutorName = "threads",
    workers: Workers = None,
    address: Address = None,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Fit a model to FILE and save everything in a folder.

    Without a model's name it is the model of acts, which finds out what people do and how many
    acts there are.

    The run remembers how FILE was read: --column, --format, --chain, --where and --anonymize hold
    for all verbs that use it, --by and --title for its page.

    Ctrl-C stops after the current sweep and saves it; if the process is killed, the last
    checkpoint remains. `--resume` continues from there, or adds sweeps to a finished run.

    With --stream, documents come and go in batches; how well words of other documents are
    predicted is printed on the way and kept in curve.csv of the run.

    Example: `palaver fit threads.jsonl --out run/`

    Example: `palaver fit m4 threads.jsonl --classes 15 --sweeps 1000 --out run/`

    Example: `palaver fit m4 threads.csv --classes 8 --topics 20 --column text=body --out run/`

    Example: `palaver fit --resume run/ --sweeps 2000`

    Example: `palaver fit infinite-hmm train.conll --labels pos --out run/`

    Example: `palaver fit threads.jsonl --seeds seeds.toml --out run/`

    Example: `palaver fit markov-m3 docword.news.txt.gz --stream --passes 3 --out run/`

    Example: `palaver fit lda big.jsonl --executor ray --workers 8 --address auto --out run/`
    """
    from palaver.errors import StoreError
    from palaver.fit import Interrupted

    changes: dict[str, Any] = {
        "n_sweeps": sweeps, "n_chains": chains, "random_state": seed, "n_jobs": n_threads(jobs),
        "sampler": sampler, "max_seconds": max_seconds,
    }  # fmt: skip
    changes = {name: value for name, value in changes.items() if value is not None}
    changes |= dict(parse_setting(pair) for pair in set_ or [])
    asked = {"passes": passes, "batch_size": batch_size, "judged": judge}
    asked = {name: value for name, value in asked.items() if value is not None}
    if resume is not None:
        if what or out or labels or seeds:
            raise typer.BadParameter(
                "--resume takes everything from the run; omit MODEL, FILE, --out, --labels and "
                "--seeds"
            )
        folder, before = resume, _curated(resume)
        start = _resumed(resume, changes, classes, topics, asked)
    else:
        model, file = _asked(what or [])
        if file is None or not out:
            raise typer.BadParameter("give FILE (MODEL FILE) and --out, or --resume FOLDER")
        reading: dict[str, Any] = {
            "format": format, "column": column, "chain": chain, "labels": labels, "where": where,
            "anonymize": anonymize, "by": by, "title": title,
        }  # fmt: skip
        if stream:
            reading["stream"] = asked
        elif asked:
            raise typer.BadParameter("--passes, --batch-size and --judge are for --stream")
        if seeds is not None:
            from palaver.cli.seeds import seed_words
            from palaver.models import model_class

            changes["seed_words"] = seed_words(model_class(model), seeds)
        fresh = new_model(model, changes, classes, topics)
        chosen = _WordChoice(min_count, max_share, words)
        chosen.check(fresh)
        folder, start = out, _new_run(out, fresh, file, reading, chosen)
    try:
        with executor_of(executor, workers, address, folder) as place:
            start.fit(folder, checkpoint_seconds, place, is_new=resume is None)
    except Interrupted as error:
        typer.echo(f"palaver: {error}: {command('fit', '--resume', folder)}", err=True)
        raise typer.Exit(130) from error
    except StoreError as error:
        folder = rescue(start.model, folder, error)
    from palaver.cli.fit_said import gold_of, report
    from palaver.cli.seeds import tell_strayed

    if resume is not None and before is not None and start.data is not None:
        _carry(folder, before, start.model, start.data)
    report(
        start.model, folder, json, gold=None if start.labels is not None else gold_of(start.data)
    )
    tell_strayed(start.model, folder)


def _curated(folder: Path) -> Model | None:
    """Return the model of a run that somebody curated; None if nobody did."""
    from palaver import curation, store
    from palaver.models import load

    if not store.is_stored(folder) or not (folder / curation.FILE).is_file():
        return None
    model = load(folder)
    return None if model.curation_ is None else model


def _carry(folder: Path, before: Model, model: Model, data: Encoded) -> None:
    """Let what was decided hold for the continued fit, as far as its classes are the same."""
    from palaver.cli.output import errors
    from palaver.curation import replace_curation
    from palaver.models.curated import curation_of
    from palaver.models.curated.refitting import carried, matched

    same = matched(before.message_shares(data), model.message_shares(data))
    state = curation_of(before)
    found, lost = carried(state, model.run_id, len(model.class_shares_), same)
    replace_curation(folder, found)
    if lost:
        names = before.summary().class_names
        errors.print(f"No class is the same as {', '.join(names.get(k, str(k)) for k in lost)}; "
                     "what was decided about them is in curation-*.json.", style="yellow",
                     markup=False)  # fmt: skip


def _asked(what: list[str]) -> tuple[str, Path | None]:
    """Return the name of the model and the file; a single argument is a file unless it is a name.

    A file that is called like a model is given as ./m4, or after a model's name.
    """
    if len(what) > 2:
        raise typer.BadParameter(f"takes [MODEL] FILE, got {len(what) - 2} more")
    if len(what) == 2:
        return what[0], Path(what[1])
    if not what or what[0] in commands("model", "example"):
        return DEFAULT, None
    return DEFAULT, Path(what[0])


class _Start(NamedTuple):
    """What a fit starts from: a model, its data and known classes, if there are any."""

    model: Model
    data: Encoded | None
    labels: pl.Series | None
    is_stream: bool = False

    def fit(
        self, folder: Path, checkpoint_seconds: float, executor: Executor | None, *, is_new: bool
    ) -> None:
        """Fit the model; a new run that it refuses leaves nothing behind."""
        from palaver.cli import fit_stream, runs
        from palaver.errors import InputError

        if self.is_stream:
            fit_stream.learn(folder, self.model, checkpoint_seconds, executor)
            return
        known = {} if self.labels is None else {"labels": self.labels}
        try:
            self.model.fit(
                self.data,
                **known,
                folder=folder,
                checkpoint_seconds=checkpoint_seconds,
                executor=executor,
            )
        except InputError:
            if is_new:
                runs.withdraw(folder)
            raise


def new_model(name: str, changes: dict[str, Any], classes: int | None, topics: int | None) -> Model:
    """Return a model that is not yet fitted, with its parameters checked."""
    from palaver.models import model_class

    kind = model_class(name)
    model = kind().set_params(**changes, **sizes(kind, classes, topics))
    model.check_params()  # before a large file is read
    return model


def sizes(kind: type[Model], classes: int | None, topics: int | None) -> dict[str, int]:
    """Return the parameters that --classes and --topics stand for.

    In topic models the classes are the topics; M4 has both.
    """
    if topics is None:
        return kind.sized(classes)
    if "n_topics" in kind.limits and kind.size_parameter != "n_topics":
        return {**kind.sized(classes), "n_topics": topics}
    if not kind.finds_topics:
        raise typer.BadParameter(f"{kind.name} has no topics; use --classes")
    if classes is not None:
        raise typer.BadParameter(
            f"the classes of {kind.name} are its topics; give --classes or --topics, not both"
        )
    return kind.sized(topics)


def _resumed(
    folder: Path,
    changes: dict[str, Any],
    classes: int | None,
    topics: int | None,
    asked: dict[str, Any],
) -> _Start:
    """Return what a run that is continued starts from; of a stream, only passes can be added."""
    from palaver.cli import fit_stream, runs
    from palaver.cli.fit_said import tell_done

    if fit_stream.plan_of(folder) is not None:
        if set(asked) - {"passes"} or classes or topics or set(changes) - {"n_jobs", "max_seconds"}:
            raise typer.BadParameter("a stream continues as it began; --resume takes --passes, "
                                     "--jobs and --max-seconds")  # fmt: skip
        model = fit_stream.reopened(folder).set_params(**{"max_seconds": None, **changes})
        fit_stream.keep_plan(folder, **asked)
        return _Start(model, None, None, is_stream=True)
    if asked:
        raise typer.BadParameter("the run is no stream; --passes, --batch-size and --judge are")
    start = _Start(*runs.reopen(folder))
    start.model.set_params(**changes, **sizes(type(start.model), classes, topics))
    tell_done(folder, start.model)
    return start


class _WordChoice(NamedTuple):
    """Which words of a file to keep: --min-count, --max-share and --words."""

    min_count: int | None
    max_share: float
    words: str

    def check(self, model: Model) -> None:
        """Refuse what is no choice, and one that the model's own would contradict."""
        if self.words not in ("all", "topics"):
            raise typer.BadParameter(f"--words is all or topics, not {self.words!r}")
        if self.words == "topics" and (model.view == "acts" or model.needs_texts):
            raise typer.BadParameter(
                f"--words topics is for topics, but {model.name} goes by how things are said here; "
                "leave it out, or fit lda"
            )

    def refuse(self) -> None:
        """Refuse to count the words of a bag that is to be read as it streams by."""
        if self != (None, 1.0, "all"):
            raise typer.BadParameter(
                "choices of words need all documents at once (--min-count, --max-share, --words); "
                "leave out --stream, or write the file without these words"
            )

    def told(self) -> dict[str, Any]:
        """Return what was asked for, as a run remembers it."""
        asked = {"min_count": self.min_count, "max_share": self.max_share, "words": self.words}
        usual = {"min_count": None, "max_share": 1.0, "words": "all"}
        return {name: value for name, value in asked.items() if value != usual[name]}


def _new_run(
    folder: Path,
    model: Model,
    file: Path,
    reading: dict[str, Any],
    chosen: _WordChoice,
) -> _Start:
    """Check and read what a run needs, then create its folder.

    Whatever can be refused is refused before the file is read, or else before anything is written.
    """
    from palaver.cli import fit_said, fit_stream, runs
    from palaver.cli.labels import check_takes_labels, label_column
    from palaver.cli.options import read_corpus
    from palaver.cli.output import tell_repairs, working
    from palaver.encoding import encode

    runs.check_new(folder)
    if "stream" in reading:
        fit_stream.check_streams(model)
        if fit_stream.is_bag_of_words(file):
            chosen.refuse()
            fit_stream.begin(folder, model, file, reading)
            return _Start(model, None, None, is_stream=True)
    if reading["labels"] is not None:
        check_takes_labels(type(model))
    corpus = read_corpus(
        file, reading["format"], reading["column"], chain=reading["chain"],
        where=reading["where"], anonymize=reading["anonymize"],
    )  # fmt: skip
    tell_repairs(corpus, file)
    labels = None if reading["labels"] is None else label_column(corpus, reading["labels"])
    with working("counting words"):
        encoded = encode(
            corpus,
            min_count=chosen.min_count or model.default_min_count,
            max_share=chosen.max_share,
            sentences=model.needs_sentences,
            view="topics" if chosen.words == "topics" else model.view,
            keep_unknown=model.keeps_unknown,
        )
    model.check_data(encoded)
    fit_said.warn_of_missing_replies(model, corpus)
    fit_said.warn_of_few_messages(model, corpus)
    fit_said.tell_of_bots(corpus)
    source = str(file.absolute())
    data = runs.begin(folder, model, encoded, source, reading, chosen.told(), labels, corpus)
    return _Start(model, data, labels, is_stream="stream" in reading)


def rescue(model: Model, folder: Path, error: StoreError) -> Path:
    """Save a fitted model elsewhere if its folder cannot be written; return where."""
    if not hasattr(model, "chains_"):
        raise error
    place = Path(mkdtemp(prefix="palaver-rescued-"))
    model.save(place)
    typer.echo(
        f"palaver: {folder}: cannot be written; the model was saved in {place} instead", err=True
    )
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
