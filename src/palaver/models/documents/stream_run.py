"""A stream in a run folder: judged as it goes, and continued after a kill with the same bytes.

::

    run/stream/       the model after the last checkpoint
    run/curve.csv     perplexity of documents set aside, by documents seen
    run/              the model at the end
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from palaver import rng
from palaver.encoding.document_stream import Batch, DocumentSource, planned, set_aside
from palaver.encoding.documents import Documents
from palaver.errors import StoreError
from palaver.fit.loop import Interrupted, stop_request
from palaver.fit.stream import Rates
from palaver.models.documents.heldout import hold_out_words
from palaver.models.documents.stream import check_stream, start_stream, take_steps
from palaver.parallel import Executor
from palaver.store.atomic import replace_file

if TYPE_CHECKING:
    from palaver.models.documents.model import DocumentModel

#: Where the model after the last checkpoint is, in a run's folder, and the judgements so far.
STATE, CURVE = "stream", "curve.csv"
#: The model is judged after 1, 2, 4, 8 ... steps, and after each multiple of this number.
JUDGED_STEPS = 64
_SCHEMA = {"documents": pl.Int64, "perplexity": pl.Float64, "seconds": pl.Float64}


@dataclass(frozen=True)
class StreamPlan:
    """How a stream is gone through.

    Attributes
    ----------
    batch_size, passes : int
    judged : int
        Documents to set aside, by which the model is judged as it learns; 0 for none.
    learning_offset, learning_decay : float
    """

    batch_size: int = 500
    passes: int = 1
    judged: int = 200
    learning_offset: float = 10.0
    learning_decay: float = 0.75


class Report(NamedTuple):
    """What a stream says as it goes; None where the total is unknown or nothing was judged."""

    documents: int
    total: int | None
    per_second: float
    perplexity: float | None


@dataclass
class _Watch:
    """Decides when to pause between steps: to judge, to save, to stop."""

    model: DocumentModel
    total: int | None
    is_asked_to_stop: Callable[[], bool]
    checkpoint_seconds: float
    tell: Callable[[Report], None]
    begun: float = field(default_factory=time.monotonic)
    saved: float = field(default_factory=time.monotonic)
    aside: float = 0.0  # seconds that were not learning
    new: int = 0  # documents since the start of this process
    has_paused: bool = False

    @property
    def seconds(self) -> float:
        """Seconds of learning since the start of this process."""
        return time.monotonic() - self.begun - self.aside

    @property
    def is_out_of_time(self) -> bool:
        limit = self.model.get_params()["max_seconds"]
        return limit is not None and time.monotonic() - self.begun > limit

    def __call__(self, step: int, info: dict[str, float], shared: Any) -> bool:
        seen = self.model.n_seen_ + int(info["documents"])
        self.tell(self.report(seen, self.new + int(info["documents"])))
        due = time.monotonic() - self.saved > self.checkpoint_seconds
        self.has_paused = due or is_judged(step) or self.is_asked_to_stop() or self.is_out_of_time
        return self.has_paused

    def report(self, seen: int, new: int, perplexity: float | None = None) -> Report:
        """Return where the stream is."""
        return Report(seen, self.total, new / max(self.seconds, 1e-9), perplexity)


def is_judged(step: int) -> bool:
    """Whether the model is judged after a step."""
    return step & (step - 1) == 0 or step % JUDGED_STEPS == 0


def learn_stream(
    model: DocumentModel,
    source: DocumentSource,
    folder: Path,
    plan: StreamPlan,
    *,
    executor: Executor | None = None,
    checkpoint_seconds: float = 60.0,
    tell: Callable[[Report], None] = lambda report: None,
) -> None:
    """Learn from a stream in a folder.

    Parameters
    ----------
    model : DocumentModel
        New, or loaded from the folder to continue it: batches that it has seen are skipped.
    source : DocumentSource
    folder : Path
    plan : StreamPlan
    executor : Executor, optional
    checkpoint_seconds : float
    tell : callable
        Called with a :class:`Report` after each step and each judgement.
    """
    check_stream(
        model, batch_size=plan.batch_size, passes=plan.passes,
        learning_offset=plan.learning_offset, learning_decay=plan.learning_decay,
    )  # fmt: skip
    source, aside = set_aside(planned(source, executor), plan.judged)
    judged = None if aside is None else hold_out_words(aside)
    batches = _batches(model, source, plan, executor)
    rate = Rates(plan.learning_offset, plan.learning_decay).at
    curve = _Curve(folder / CURVE, model.n_seen_)
    with stop_request() as stop:
        total = None if source.n_documents is None else plan.passes * source.n_documents
        watch = _Watch(model, total, stop.is_set, checkpoint_seconds, tell)
        is_open = True
        while is_open:
            before, watch.has_paused = model.n_seen_, False
            take_steps(model, batches, rate, source.n_documents, [watch], executor)
            watch.new += model.n_seen_ - before
            is_open = watch.has_paused and not stop.is_set() and not watch.is_out_of_time
            _look(model, judged, curve, watch, is_last=not watch.has_paused)
            if watch.has_paused and (not is_open or _is_due(watch)):
                model.save(folder / STATE)
                watch.saved = time.monotonic()
        if stop.is_set() and watch.has_paused:
            raise Interrupted(f"stopped after {model.n_seen_:,} documents; all are kept")
    model.save(folder)
    if not watch.has_paused:
        shutil.rmtree(folder / STATE, ignore_errors=True)


def _is_due(watch: _Watch) -> bool:
    return time.monotonic() - watch.saved > watch.checkpoint_seconds


def _batches(
    model: DocumentModel, source: DocumentSource, plan: StreamPlan, executor: Executor | None
) -> Iterator[Batch]:
    """Return the batches that are still to come; a new model gets its first topics."""
    if hasattr(model, "chains_"):
        if model.vocabulary_.words != source.vocabulary.words:
            raise StoreError("the documents have other words than when the run began; fit again")
        return _rest(source.batches(plan.batch_size, plan.passes, model.seed_), model.n_sweeps_)
    if model.get_params()["random_state"] is None:  # or a run could not be continued
        model.set_params(random_state=rng.resolve_seed(None))
    return start_stream(
        model, source, lambda: source.batches(plan.batch_size, plan.passes, model.seed_), None,
        executor,
    )  # fmt: skip


def _rest(batches: Iterator[Batch], steps: int) -> Iterator[Batch]:
    """Skip the batches of steps that were taken; those without words never count."""
    for batch in batches:
        if steps <= 0:
            yield batch
        steps -= batch.n_tokens > 0


class _Curve:
    """Judgements, kept in a file; those after the last checkpoint are made again."""

    def __init__(self, path: Path, seen: int) -> None:
        self.path, self.before = path, 0.0
        self.rows = pl.DataFrame(schema=_SCHEMA)
        if seen and path.is_file():
            kept = pl.read_csv(path, schema=_SCHEMA)
            self.rows = kept.filter(pl.col("documents") <= seen)
            self.before = float(self.rows["seconds"].max() or 0.0)  # type: ignore[arg-type]

    def add(self, documents: int, perplexity: float, seconds: float) -> None:
        row = (documents, perplexity, round(self.before + seconds, 3))
        self.rows = pl.concat((self.rows, pl.DataFrame([row], schema=_SCHEMA, orient="row")))
        with replace_file(self.path) as path:
            self.rows.write_csv(path)


def _look(
    model: DocumentModel,
    judged: tuple[Documents, Documents] | None,
    curve: _Curve,
    watch: _Watch,
    *,
    is_last: bool,
) -> None:
    """Judge the model by the documents set aside, if it is time; that is not time of learning."""
    if judged is None or not judged[1].n_tokens or not (is_last or is_judged(model.n_sweeps_)):
        return
    if curve.rows.height and curve.rows["documents"][-1] == model.n_seen_:
        return
    seconds, now = watch.seconds, time.monotonic()
    found = model.perplexity(*judged)
    watch.aside += time.monotonic() - now
    curve.add(model.n_seen_, found, seconds)
    watch.tell(watch.report(model.n_seen_, watch.new, found))
