"""Rebuilding reply structure from words alone (Paul 2012, section 5.5.2).

Parents are latent variables of the fold-in: sweeps alternate between classes given parents and
parents given classes (equation 5), whose distribution is annealed. The end of each restart is
scored by how well parents predict the words of their replies; for each conversation the best
restart counts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.replies import ids_at
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Shard
from palaver.errors import ParameterError
from palaver.fit.fold import fold_in
from palaver.fit.progress import Show, fold_progress
from palaver.kernels.forests import open_parents
from palaver.parallel import Arrays, Globals
from palaver.params import check, either, nothing, one_of, real, whole

if TYPE_CHECKING:
    from palaver.models.words.model import ThreadModel

#: The paper's sweeps of a restart, restarts, and factor of the temperature after each sweep.
SWEEPS, RESTARTS, COOLING = 500, 5, 0.99
_SCORED = 10  # sweeps at the end of a restart that are scored
_LIMITS = {
    "order": either(nothing(), one_of("time", "corpus")),
    "n_sweeps": whole(1),
    "n_restarts": whole(1),
    "cooling": real(above=0, high=1),
    "temperature": real(above=0),
}


@dataclass(frozen=True)
class Order:
    """Which messages may be parents: those of smaller rank in their conversation, or all.

    Attributes
    ----------
    is_given : bool
    ranks : array of int64, shape (n_messages,)
    """

    is_given: bool
    ranks: NDArray[np.int64]

    def of(self, shard: Shard) -> Order:
        """Return the part of a shard."""
        rows = slice(shard.first_message, shard.first_message + shard.n_messages)
        return Order(self.is_given, self.ranks[rows])


def order_of(corpus: Corpus, order: str | None) -> Order:
    """Rank the messages of each conversation by time, or as they stand in the corpus.

    Messages of the same time keep the corpus' order, and so does a conversation in which a time
    is missing.
    """
    offsets = corpus.conversation_offsets
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    ranks = np.arange(corpus.n_messages) - starts
    if order == "time":
        times = corpus.table["time"]
        known = times.is_not_null().to_numpy().astype(np.int64)
        counts = np.diff(np.concatenate(([0], np.cumsum(known)))[offsets])
        whole = np.repeat(counts == np.diff(offsets), np.diff(offsets))
        values = np.where(whole, times.cast(pl.Int64).fill_null(0).to_numpy(), 0)
        sorted_rows = np.lexsort((ranks, values, starts))
        ranks = np.empty(corpus.n_messages, np.int64)
        ranks[sorted_rows] = np.arange(corpus.n_messages) - starts
    return Order(order is not None, ranks)


class ReplyEngine(Protocol):
    """An engine that can draw parents given classes: M4's and the block HMM's."""

    def open(self, shared: Globals, shard: Any, key: NDArray[np.uint64]) -> Arrays:
        """Return the first state of a shard."""
        ...

    def rebuild(
        self,
        shared: Globals,
        shard: Any,
        state: Arrays,
        key: NDArray[np.uint64],
        temperature: float,
        order: Order,
    ) -> None:
        """Resample the classes given the shard's parents, then the parents."""
        ...

    def add_rebuilt_scores(
        self, shared: Globals, shard: Any, state: Arrays, scores: NDArray[np.float64]
    ) -> None:
        """Add each message's log probability given its parent's classes."""
        ...


@dataclass
class Rebuilding:
    """An engine with latent parents, as the fold-in sees it.

    Attributes
    ----------
    engine : ReplyEngine
    order : Order
    cooling : float
        Factor of the temperature after each sweep.
    temperature : float
        Where it starts.
    """

    engine: ReplyEngine
    order: Order
    cooling: float
    temperature: float = 1.0
    run: Any = map

    def open(self, shared: Globals, shard: Shard, key: NDArray[np.uint64]) -> Arrays:
        """Draw classes and a forest."""
        order = self.order.of(shard)
        state: Arrays = self.engine.open(shared, shard, key)
        state["parents"] = np.empty(shard.n_messages, np.int32)
        state["temperature"] = np.full(1, self.temperature)
        open_parents(
            shard.conversation_offsets, shard.first_conversation, order.is_given, order.ranks,
            key[::-1].copy(), state["parents"],
        )  # fmt: skip
        return state

    def sweep(
        self, shared: Globals, shard: Shard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Draw classes given parents, then parents given classes, and cool down."""
        self.engine.rebuild(
            shared, replace(shard, parents=state["parents"]), state, key,
            float(state["temperature"][0]), self.order.of(shard),
        )  # fmt: skip
        state["temperature"] *= self.cooling
        return {}


def reconstruct(
    model: ThreadModel,
    corpus: Corpus,
    order: str | None,
    *,
    n_sweeps: int,
    n_restarts: int,
    cooling: float,
    temperature: float,
    show_progress: Show,
) -> pl.DataFrame:
    """Return the most likely reply structure; see :meth:`M4.reconstruct`."""
    given = {"order": order, "n_sweeps": n_sweeps, "n_restarts": n_restarts,
             "cooling": cooling, "temperature": temperature}  # fmt: skip
    check("reconstruct", _LIMITS, given)
    if not isinstance(corpus, Corpus):
        raise ParameterError(
            f"reconstruct: takes a Corpus, which has ids and times, got {type(corpus).__name__}"
        )
    model._check_fitted()
    with fold_progress("rebuilding replies", n_restarts, show_progress):
        parents, scores = reconstructions(
            model, corpus, order_of(corpus, order), n_sweeps=n_sweeps, n_restarts=n_restarts,
            cooling=cooling, temperature=temperature,
        )  # fmt: skip
    return link_table(corpus, best_parents(parents, scores, corpus.conversation_offsets))


def reconstructions(
    model: ThreadModel,
    corpus: Corpus | Encoded,
    order: Order,
    *,
    n_sweeps: int = SWEEPS,
    n_restarts: int = RESTARTS,
    cooling: float = COOLING,
    temperature: float = 1.0,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Rebuild the replies several times.

    Parameters
    ----------
    model : M4 or BlockHMM
    corpus : Corpus or Encoded
        Its own parents are not used.
    order : Order
    n_sweeps, n_restarts, cooling, temperature
        As in :meth:`M4.reconstruct`.

    Returns
    -------
    parents : array of int32, shape (n_restarts, n_messages)
        Row of each message's parent in the corpus, -1 for a start.
    scores : array of float64, shape (n_restarts, n_conversations)
        Log probability of the words given the parents' classes.
    """
    encoded = model._encode(corpus)
    made, frozen = model._frozen()
    engine = cast("ReplyEngine", made)
    parents = np.full((n_restarts, encoded.n_messages), -1, np.int32)
    scores = np.zeros((n_restarts, encoded.n_messages))
    shards = model._unlinked(encoded)

    def rebuild(restart: int) -> None:
        def visit(shard: Shard, state: Arrays) -> None:
            rows = slice(shard.first_message, shard.first_message + shard.n_messages)
            found = state["parents"]
            parents[restart, rows] = np.where(found < 0, -1, found + shard.first_message)
            own = replace(shard, parents=found)
            engine.add_rebuilt_scores(frozen, own, state, scores[restart, rows])

        fold_in(
            Rebuilding(engine, order, cooling, temperature),  # type: ignore[arg-type]
            frozen, shards, visit, seed=model.seed_, n_sweeps=n_sweeps,
            burn_in=max(n_sweeps - _SCORED, 0), n_jobs=-(-model.n_jobs // n_restarts),
            purpose="reconstruct", restart=restart,
        )  # fmt: skip

    # restarts run side by side: a small corpus is one shard, so threads within one would not help
    with ThreadPoolExecutor(min(model.n_jobs, n_restarts)) as pool:
        runs = [pool.submit(copy_context().run, rebuild, restart) for restart in range(n_restarts)]
        for run in runs:
            run.result()
    ends = np.pad(np.cumsum(scores, axis=1), ((0, 0), (1, 0)))
    return parents, np.diff(ends[:, encoded.conversation_offsets], axis=1)


def best_parents(
    parents: NDArray[np.int32], scores: NDArray[np.float64], offsets: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return for each conversation the parents of its best restart, (n_messages,)."""
    best = np.repeat(scores.argmax(axis=0), np.diff(offsets))
    return np.asarray(parents[best, np.arange(parents.shape[1])])


def link_table(corpus: Corpus, parents: NDArray[Any]) -> pl.DataFrame:
    """Return conversation, id, parent and parent_row of each message, from parents by row."""
    return pl.DataFrame(
        {
            "conversation": corpus.table["conversation"],
            "id": corpus.table["id"],
            "parent": ids_at(corpus.table["id"], parents),
            "parent_row": parents,
        }
    )
