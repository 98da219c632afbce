"""Learning topics from documents that come and go: mini-batches, one step each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.encoding import Vocabulary
from palaver.encoding.document_stream import Batch, DocumentSource, joined
from palaver.encoding.documents import Documents, cut_documents
from palaver.encoding.planned import PlannedBatch, loaded
from palaver.errors import CorpusError, ParameterError
from palaver.fit.stream import run_stream
from palaver.fit.trace import trace_table
from palaver.parallel import Executor, Globals, LocalExecutor
from palaver.params import check, either, nothing, real, whole

if TYPE_CHECKING:
    from palaver.models.documents.engine import DocumentEngine
    from palaver.models.documents.model import DocumentModel

#: Counts of a mini-batch that a thread takes at a time.
STREAM_SHARD = 16_000
#: First documents of a stream, from which a Gibbs sampler finds the topics to begin with: at most
#: so many, and no more once they have so many tokens, because it looks at every token.
START_DOCUMENTS, START_TOKENS = 4000, 1_000_000
#: It makes as many sweeps as `fit` would, but draws no more topics than these, which takes a second
#: or two: a million words get 30 sweeps (benchmarks/markov_m3_streams.py).
START_DRAWS = 30_000_000
#: What every word of a topic gets in addition, so that topics can still take up words that these
#: documents lack.
START_SMOOTHING = 0.1
#: Parts of these documents, for threads: small ones cost more in merging than they gain.
START_SHARDS = 4
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
    model.is_informed_ = False
    model._steps = []


def start_stream(
    model: DocumentModel,
    stream: DocumentSource,
    batches: Callable[[], Iterator[Batch]],
    topics: NDArray[np.float64] | None,
    executor: Executor | None,
    total: int | None = None,
) -> Iterator[Batch]:
    """Set what a model begins a stream with: given topics, or those of its first documents.

    ``total`` is how many documents there are, if the stream does not say. Returns all batches.
    """
    model.seed_ = rng.resolve_seed(model.get_params()["random_state"])
    if topics is not None:
        begin_stream(model, stream.vocabulary, topics)
        return batches()
    found, again = first_topics(model, batches(), executor, total or stream.n_documents)
    begin_stream(model, stream.vocabulary, found)
    model.is_informed_ = found is not None
    return again


def n_start_documents(documents: Documents) -> int:
    """Return how many of the first documents of a stream find the topics to begin with."""
    before = np.concatenate(([0.0], np.cumsum(documents.counts)))[documents.offsets[:-1]]
    return min(int((before < START_TOKENS).sum()), START_DOCUMENTS)


def _cut(batch: Batch) -> Sequence[Any]:
    """Cut a batch into shards, as far as it has been read."""
    if isinstance(batch, PlannedBatch):
        return batch.shards(STREAM_SHARD)
    return cut_documents(batch, STREAM_SHARD)


def _first_batches(batches: Iterator[Batch], most: int) -> Iterator[Documents]:
    """Take batches until they hold what topics begin with."""
    n_documents, n_tokens = 0, 0.0
    for batch in map(loaded, batches):
        yield batch
        n_documents, n_tokens = n_documents + batch.n_documents, n_tokens + batch.n_tokens
        if n_documents >= most or n_tokens >= START_TOKENS:
            return


def first_topics(
    model: DocumentModel,
    batches: Iterator[Batch],
    executor: Executor | None,
    total: int | None = None,
) -> tuple[NDArray[np.float64] | None, Iterator[Batch]]:
    """Find topics in the first documents of a stream; return them and all batches again.

    Mini-batches stay near the topics that they begin with, so random ones cost a stream more than
    everything else. None if the model asks for no start or there is too little to learn from.
    """
    if not model._n_start_sweeps:
        return None, batches
    most = min(START_DOCUMENTS, total or START_DOCUMENTS)  # a second pass would repeat them
    kept = list(_first_batches(batches, most))
    again = chain(kept, batches)
    if not any(part.n_tokens for part in kept):
        return None, again
    documents = joined(kept)
    documents = documents.part(0, min(n_start_documents(documents), most))
    n_sweeps = min(model._n_start_sweeps, max(1, int(START_DRAWS / documents.n_tokens)))
    shards = cut_documents(documents, max(STREAM_SHARD, len(documents.words) // START_SHARDS))
    engine = model._make_engine(len(documents.vocabulary))
    engine.start_sweeps = n_sweeps
    seed = rng.resolve_seed(model.get_params()["random_state"])
    shared = engine.start_from(np.ones((engine.n_words, engine.n_topics)))
    where = executor or LocalExecutor(model.get_params()["n_jobs"])
    where.begin(engine, shards)
    ahead = Thread(target=_compile_sweep, args=(engine, shared, documents.part(0, 1)), daemon=True)
    try:
        where.open({0: shared}, {0: rng.key(seed, "first topics")})
        for sweep in range(n_sweeps):
            counted = where.round({0: shared}, {0: rng.key(seed, "first topics", 1, sweep)})[0]
            shared = engine.expect_words(shared, counted)
            if sweep == 1 and executor is None:  # by now the sampler itself is compiled
                ahead.start()
    finally:
        where.end()
    if ahead.ident is not None:
        ahead.join()
    return engine.settled(shared.arrays["topics"]) + START_SMOOTHING, again


def _compile_sweep(engine: DocumentEngine, shared: Globals, document: Documents) -> None:
    """Let a document be swept, so that what the first step runs is compiled, or loaded, by then.

    Compiling takes seconds the first time on a machine; the Gibbs sampler runs meanwhile on another
    core.
    """
    (shard,) = cut_documents(document)
    fresh, key = Globals("fresh", shared.arrays), rng.key(0, "compile")
    with suppress(Exception):  # the first step itself will raise it
        engine.sweep(fresh, shard, engine.open(fresh, shard, key), key)


def take_steps(
    model: DocumentModel,
    batches: Iterable[Batch],
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
    batches : iterable of Documents or PlannedBatch
    rate : callable
        From the number of a step to its learning rate.
    total : int, optional
        Documents of the whole stream; those seen so far by default.
    callbacks : sequence of callable
        Called after each step as ``callback(step, info, globals)``; True stops.
    executor : Executor, optional
    """
    engine = model._make_engine(len(model.vocabulary_), informed=model.is_informed_)
    model.sampler_, model.fingerprint_ = "stochastic", ""  # of no data that could be named
    before = model.n_seen_
    shared, trace = run_stream(
        engine,
        Globals("fresh", model.chains_[model.best_chain_]),
        batches,
        _cut,
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
