"""``palaver fit MODEL FILE --stream``: learn topics from documents that may not fit into memory."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.errors import ParameterError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from palaver.encoding.document_stream import DocumentSource
    from palaver.models import Model
    from palaver.models.documents.stream_run import Report
    from palaver.parallel import Executor


def check_streams(model: Model) -> None:
    """Refuse a model that learns only from data in memory."""
    if not hasattr(model, "fit_stream"):
        raise ParameterError(f"{model.name} does not learn from streams; markov-m3, "
                             "nested-hdp and online-lda do")  # fmt: skip


def is_bag_of_words(file: Path) -> bool:
    """Whether a file is read as it streams by; others are read once and mapped from disk."""
    return file.name.startswith("docword.")


def begin(folder: Path, model: Model, file: Path, reading: dict[str, Any]) -> None:
    """Create the folder of a run on a bag of words, which stays where it is."""
    from palaver import store
    from palaver.cli import runs
    from palaver.encoding.document_stream import document_source

    runs.check_new(folder)
    document_source(file)  # refuse what is wrong before anything is written
    with store.locked(folder):
        runs.check_new(folder)
        runs.write_settings(folder, model, str(file.absolute()), reading, words={})


def plan_of(folder: Path) -> dict[str, Any] | None:
    """Return how the stream of a run is gone through; None if the run is no stream."""
    from palaver.cli import runs

    plan: dict[str, Any] | None = runs.settings_of(folder).get("reading", {}).get("stream")
    return plan


def reopened(folder: Path) -> Model:
    """Return the model of a stream: as it was after the last checkpoint, or new."""
    from palaver import store
    from palaver.cli import runs
    from palaver.models import load, model_class
    from palaver.models.documents.stream_run import STATE

    for place in (folder / STATE, folder):
        if store.is_stored(place):
            return load(place).origin
    settings = runs.settings_of(folder)
    return model_class(settings["model"])(**settings["params"])


def keep_plan(folder: Path, **changes: Any) -> None:
    """Write another plan of a stream to the settings of its run."""
    from palaver import store
    from palaver.cli import runs

    settings = runs.settings_of(folder)
    settings["reading"]["stream"] |= changes
    store.save(folder / "settings", "run settings", settings, {})


def _source(folder: Path, model: Model) -> DocumentSource:
    from palaver import store
    from palaver.cli import runs
    from palaver.encoding.document_stream import document_source

    unit = model.get_params()["unit"]
    if store.is_stored(folder / "data"):
        return document_source(folder / "data", unit=unit)
    file = Path(runs.settings_of(folder)["source"])
    if not file.exists():
        raise StoreError(f"{file}: no longer exists, and the run was learning from it")
    return document_source(file, unit=unit)


def learn(folder: Path, model: Any, checkpoint_seconds: float, executor: Executor | None) -> None:
    """Learn from the stream of a run, or continue it."""
    from palaver import store
    from palaver.models.documents.stream_run import StreamPlan, learn_stream

    plan = StreamPlan(**(plan_of(folder) or {}))
    source = _source(folder, model)
    with store.locked(folder), _telling() as tell:
        learn_stream(model, source, folder, plan, executor=executor,
                     checkpoint_seconds=checkpoint_seconds, tell=tell)  # fmt: skip


@contextmanager
def _telling() -> Iterator[Callable[[Report], None]]:
    """Yield a function that shows where a stream is, and prints judgements on lines of their own.

    The first topics take a while before the first step.
    """
    from palaver.cli.output import errors

    with errors.status("finding topics to begin with …") as status:

        def tell(report: Report) -> None:
            total = "" if report.total is None else f" of {report.total:,}"
            where = f"{report.documents:,}{total} documents, {report.per_second:,.0f} a second"
            status.update(where)
            if report.perplexity is not None:
                errors.print(f"{where}: perplexity {report.perplexity:,.0f}", highlight=False)

        yield tell
