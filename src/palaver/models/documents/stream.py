"""Learning topics from documents that come and go: mini-batches, one step each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.encoding import Vocabulary
from palaver.encoding.documents import Documents, cut_documents
from palaver.errors import CorpusError, ParameterError
from palaver.fit.stream import run_stream
from palaver.fit.trace import trace_table
from palaver.parallel import Executor, Globals, LocalExecutor
from palaver.params import check, either, nothing, real, whole

if TYPE_CHECKING:
    from palaver.models.documents.model import DocumentModel

#: Counts of a mini-batch that a thread takes at a time.
STREAM_SHARD = 16_000
_LIMITS = {
    "batch_size": whole(1),
    "passes": whole(1),
    "learning_offset": real(0),
    "learning_decay": real(above=0.5, high=1.0),
    "total_documents": either(whole(1), nothing()),
    "rate": either(real(above=0, high=1), nothing()),
}


def check_stream(model: DocumentModel, **given: Any) -> None:
    """Compare the arguments of a stream, and the model's parameters, with their limits."""
    model.check_params()
    check(type(model).__name__, _LIMITS, given)


def begin_stream(
    model: DocumentModel, vocabulary: Vocabulary, topics: NDArray[np.float64] | None
) -> None:
    """Set what a model has before its first step."""
    model.vocabulary_ = vocabulary
    model.seed_ = rng.resolve_seed(model.get_params()["random_state"])
    engine = model._make_engine(len(vocabulary))
    if topics is None:
        shared = engine.start(rng.generator(model.seed_, "start", 0))
    else:
        shape = (len(vocabulary), engine.n_topics)
        given = np.array(topics, np.float64, order="C")
        if given.shape != shape or not (given > 0).all():
            raise ParameterError(f"topics must be positive, of shape {shape}")
        shared = engine.start_from(given)
    model._keep_globals([shared])
    model.n_sweeps_ = model.burn_in_ = model.n_seen_ = 0
    model._steps = []


def take_steps(
    model: DocumentModel,
    batches: Iterable[Documents],
    rate: Callable[[int], float],
    total: int | None,
    callbacks: Sequence[Any] = (),
    executor: Executor | None = None,
) -> None:
    """Take one step per batch and set what is learned.

    Parameters
    ----------
    model : DocumentModel
        After :func:`begin_stream`, or fitted.
    batches : iterable of Documents
    rate : callable
        From the number of a step to its learning rate.
    total : int, optional
        Documents of the whole stream; those seen so far by default.
    callbacks : sequence of callable
        Called after each step as ``callback(step, info, globals)``; True stops.
    executor : Executor, optional
    """
    engine = model._make_engine(len(model.vocabulary_))
    model.sampler_, model.fingerprint_ = "stochastic", ""  # of no data that could be named
    before = model.n_seen_
    shared, trace = run_stream(
        engine,
        Globals("fresh", model.chains_[model.best_chain_]),
        batches,
        lambda batch: cut_documents(batch, STREAM_SHARD),
        executor or LocalExecutor(model.get_params()["n_jobs"]),
        seed=model.seed_,
        rate=rate,
        total=lambda seen: float(total or before + seen),
        callbacks=callbacks,
    )
    if not trace and not model._steps:
        raise CorpusError(f"{type(model).__name__}: the documents hold no words")
    model.n_seen_ = before + int(trace[-1]["documents"]) if trace else before
    model._steps += [{**info, "documents": before + info["documents"]} for info in trace]
    model.n_sweeps_ = len(model._steps)
    model.trace_ = trace_table([model._steps])
    model._keep_globals([shared])
