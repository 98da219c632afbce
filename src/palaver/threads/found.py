"""The parents that were found, as arrays, tables and corpora."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.replies import components, ids_at, moved_parents
from palaver.corpus.table import Corpus
from palaver.kernels.trees import break_cycles
from palaver.models.views.reconstruct import link_table
from palaver.threads.kernels.links import best_candidates, link_greedily
from palaver.threads.links import relinked
from palaver.threads.pairs import CandidatePairs, joined


@dataclass(frozen=True, eq=False)
class Found:
    """Parents, runners-up and their probabilities; messages are in order.

    Attributes
    ----------
    rows : array of int64, shape (n_messages,)
        Message of the corpus at each place in the order.
    parents, runners_up : array of int64, shape (n_messages,)
        Places; -1 is a start, and -2 in runners_up means that there was no other candidate.
    probabilities, runner_up_probabilities : array of float64, shape (n_messages,)
    asked : array of bool, shape (n_messages,)
        Whether a language model chose the parent.
    """

    rows: NDArray[np.int64]
    parents: NDArray[np.int64]
    runners_up: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    runner_up_probabilities: NDArray[np.float64]
    asked: NDArray[np.bool_]

    @classmethod
    def nothing(cls, rows: NDArray[np.int64]) -> Self:
        """Return a result in which every message is a start, to be filled in."""
        n = len(rows)
        return cls(rows, np.full(n, -1), np.full(n, -2), np.ones(n), np.zeros(n),
                   np.zeros(n, bool))  # fmt: skip

    def choose(self, pairs: CandidatePairs, chances: NDArray[np.float64]) -> None:
        """Give each message its most likely candidate."""
        best, second = (np.empty(len(pairs.messages), np.int64) for _ in range(2))
        best_candidates(chances, pairs.offsets, best, second)
        self._keep(pairs, chances, best, second)

    def choose_without_order(self, parts: list[tuple[CandidatePairs, NDArray[np.float64]]]) -> None:
        """Link all messages, the most certain first, without creating a cycle."""
        pairs = joined([part for part, _ in parts])
        chances = np.concatenate([chance for _, chance in parts])
        order = np.argsort(-chances, kind="stable")
        owners = pairs.owners.astype(np.int32)
        best, second = (np.empty(len(pairs.messages), np.int64) for _ in range(2))
        parents, chosen = (np.empty(len(pairs.messages), np.int64) for _ in range(2))
        best_candidates(chances, pairs.offsets, best, second)
        link_greedily(order, owners, pairs.candidates, parents, chosen)
        self._keep(pairs, chances, chosen, np.where(chosen == best, second, best))

    def _keep(
        self,
        pairs: CandidatePairs,
        chances: NDArray[np.float64],
        best: NDArray[np.int64],
        second: NDArray[np.int64],
    ) -> None:
        """Write the chosen pairs of some messages to the result."""
        at = pairs.messages
        self.parents[at] = pairs.candidates[best]
        self.probabilities[at] = chances[best]
        other = second >= 0
        self.runners_up[at[other]] = pairs.candidates[second[other]]
        self.runner_up_probabilities[at[other]] = chances[second[other]]

    def keep_given(self, corpus: Corpus) -> None:
        """Replace found replies by those that a corpus already has.

        If clocks differ, a message may have been found to reply to its own reply; such
        messages become starts.
        """
        given = moved_parents(corpus.parents, self.rows)
        known = given >= 0
        self.parents[known] = given[known]
        self.probabilities[known], self.runner_up_probabilities[known] = 1.0, 0.0
        self.runners_up[known] = -2
        whole = self.parents.astype(np.int32)
        cut = break_cycles(whole)
        in_cycle = np.isin(components(whole), cut)
        self.parents[in_cycle & ~known] = -1

    def table(self, corpus: Corpus) -> pl.DataFrame:
        """Return who replies to whom, one row per message, in the order of the corpus."""
        links = link_table(corpus, self._parent_rows())
        return links.hstack(self._how_sure(corpus))

    def rebuilt(self, corpus: Corpus, *, split: bool) -> Corpus:
        """Return the corpus with these replies; with ``split``, every tree is a conversation."""
        sure = self._how_sure(corpus)
        described = corpus.with_columns(
            reply_probability=sure["probability"],
            **{name: sure[name] for name in ("runner_up", "runner_up_probability")},
        )
        if self.asked.any():
            described = described.with_columns(asked=pl.Series(self.asked[np.argsort(self.rows)]))
        return relinked(described, self.rows, self.parents, split=split)

    def _parent_rows(self) -> NDArray[np.int64]:
        """Return the parents as rows of the corpus, in the order of the corpus."""
        return self._as_rows(self.parents)[np.argsort(self.rows)]

    def _as_rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert places to rows of the corpus; negative numbers stay."""
        if not len(places):
            return places
        return np.where(places < 0, places, self.rows[np.maximum(places, 0)])

    def _how_sure(self, corpus: Corpus) -> pl.DataFrame:
        """Return probability, runner_up and runner_up_probability, in the order of the corpus."""
        back = np.argsort(self.rows)
        second = pl.Series(self.runner_up_probabilities[back])
        return pl.DataFrame(
            {
                "probability": self.probabilities[back],
                "runner_up": ids_at(corpus.table["id"], self._as_rows(self.runners_up)[back]),
                "runner_up_probability": second.set(pl.Series(self.runners_up[back] == -2), None),
            }
        )
