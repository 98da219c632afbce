"""Rebuilding reply structure from words alone (Paul 2012, section 5.5.2).

Parents are latent variables of the fold-in: sweeps alternate between classes given parents and
parents given classes, whose distribution is annealed. What a restart ends with is scored by how
well each message is foretold by its parent; for each conversation the best restart counts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.replies import ids_at
from palaver.corpus.table import Corpus
from palaver.encode import Encoded, Shard
from palaver.errors import ParameterError
from palaver.fit.fold import fold_in
from palaver.fit.progress import Show, fold_progress
from palaver.kernels.forests import open_parents
from palaver.parallel import Arrays, Globals
from palaver.params import check, either, nothing, one_of, real, whole

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
    """Rank the messages of each conversation by time, or as they stand.

    Messages of one time keep the corpus' order, and so does a conversation in which a time
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


@dataclass
class Rebuilding:
    """An engine with latent parents, as the fold-in sees it.

    Attributes
    ----------
    engine : engine of M4 or of the block HMM
    order : Order
    cooling : float
        Factor of the temperature after each sweep.
    temperature : float
        Where it starts.
    """

    engine: Any
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


def reconstructions(
    model: Any,
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
        As in :meth:`Reconstructs.reconstruct`.

    Returns
    -------
    parents : array of int32, shape (n_restarts, n_messages)
        Row of each message's parent in the corpus, -1 for a start.
    scores : array of float64, shape (n_restarts, n_conversations)
        Log probability of the words given the parents' classes.
    """
    encoded = model._encode(corpus)
    engine = model._make_engine(len(model.vocabulary_), "parallel")
    frozen = engine.frozen(model.chains_[model.best_chain_])
    parents = np.full((n_restarts, encoded.n_messages), -1, np.int32)
    scores = np.zeros((n_restarts, encoded.n_messages))
    n_jobs = model.get_params()["n_jobs"]
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
            burn_in=max(n_sweeps - _SCORED, 0), n_jobs=-(-n_jobs // n_restarts),
            purpose="reconstruct", restart=restart,
        )  # fmt: skip

    # side by side: a small corpus is one shard, so threads within a restart would not help
    with ThreadPoolExecutor(min(n_jobs, n_restarts)) as pool:
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


class Reconstructs:
    """A model whose classes follow each other, so that it can say who answers whom."""

    def _unlinked(self: Any, data: Encoded) -> list[Shard]:
        """Cut data whose parents are to be found."""
        found: list[Shard] = self.cut(data)
        return found

    def reconstruct(
        self: Any,
        corpus: Corpus,
        order: str | None = None,
        *,
        n_sweeps: int = SWEEPS,
        n_restarts: int = RESTARTS,
        cooling: float = COOLING,
        temperature: float = 1.0,
        show_progress: Show = "auto",
    ) -> pl.DataFrame:
        """Return the most likely reply structure, whatever the corpus says of it.

        Parameters
        ----------
        corpus : Corpus
            Its conversations are taken as given, its replies are not looked at.
        order : {None, "time", "corpus"}
            Any message of the conversation may be the parent (None, as in the paper), or only
            an earlier one: by the column ``time``, or as messages stand in the corpus.
        n_sweeps, n_restarts : int
            Sweeps of one run, and runs from new random states; for each conversation the run
            counts whose parents foretell the words best.
        cooling, temperature : float
            Factor of the temperature after each sweep, and where it starts. The defaults are
            the paper's; M4 finds better trees if it starts hot, such as 20 with cooling 0.985.
        show_progress : bool or "auto"
            "auto" shows a bar on terminals and in notebooks.

        Returns
        -------
        polars.DataFrame
            Columns conversation, id, parent (null for a start), parent_row (of the corpus, -1
            for a start; ids may be the same in different conversations), one row a message, in
            the corpus' order. There is never a cycle. The same for any number of threads.

        Notes
        -----
        In each sweep M4 weighs all pairs of messages of a conversation, the block HMM all
        messages with all classes. In conversations of more than 512 messages M4 weighs 512
        candidates that are drawn anew each time, so time grows with the number of messages.
        """
        given = {"order": order, "n_sweeps": n_sweeps, "n_restarts": n_restarts,
                 "cooling": cooling, "temperature": temperature}  # fmt: skip
        check("reconstruct", _LIMITS, given)
        if not isinstance(corpus, Corpus):
            raise ParameterError(
                f"reconstruct: takes a Corpus, which has ids and times, got {type(corpus).__name__}"
            )
        self._check_fitted()
        with fold_progress("rebuilding replies", n_restarts, show_progress):
            parents, scores = reconstructions(
                self, corpus, order_of(corpus, order), n_sweeps=n_sweeps, n_restarts=n_restarts,
                cooling=cooling, temperature=temperature,
            )  # fmt: skip
        found = best_parents(parents, scores, corpus.conversation_offsets)
        return link_table(corpus, found)
