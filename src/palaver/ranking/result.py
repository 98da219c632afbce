"""The result of a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.params import check, whole
from palaver.ranking.walk import RandomWalk

#: Items are tied, and the lowest number wins, if scores differ by less than this share.
TIE = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Items in order, the best first.

    Attributes
    ----------
    order : array of int64, shape (top,)
        Numbers of the chosen items.
    scores : array of float64, shape (top,)
        The score at which each was chosen. GRASSHOPPER: the stationary probability of the first,
        and the expected number of visits when chosen of the others.
    tied : array of bool, shape (top,)
        True if another item had the same score to within a relative 1e-10, so that the lowest
        number decided.
    errors : array of float64, shape (top,)
        Bounds on the errors of the scores; zero for direct methods. They do not affect the order:
        an item is only chosen if its lead is larger, or else marked as tied.
    method : str
    """

    order: NDArray[np.int64]
    scores: NDArray[np.float64]
    tied: NDArray[np.bool_]
    errors: NDArray[np.float64]
    method: str
    walk: RandomWalk
    escape: float = 0.0

    @cached_property
    def absorbed_by(self) -> NDArray[np.int64]:
        """The chosen item that most probably absorbs a walk from each item, (n_items,)."""
        return self.absorption(len(self.order))

    def absorption(self, top: int) -> NDArray[np.int64]:
        """Return where walks end if only the first ``top`` items absorb them.

        Returns
        -------
        array of int64, shape (n_items,)
            Number of the absorbing item; chosen items absorb themselves.
        """
        from palaver.ranking.absorption import likeliest_ends

        check("absorption", {"top": whole(1, len(self.order))}, {"top": top})
        return likeliest_ends(self.walk, self.order[:top], self.escape)

    def to_polars(self) -> pl.DataFrame:
        """Return a table with columns rank, item, score, tied."""
        return pl.DataFrame(
            {
                "rank": np.arange(1, len(self.order) + 1),
                "item": self.order,
                "score": self.scores,
                "tied": self.tied,
            }
        )

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        first = ", ".join(str(item) for item in self.order[:5])
        more = ", ..." if len(self.order) > 5 else ""
        return (
            f"Ranking({self.method}, {len(self.order):,} of {self.walk.n_items:,}: {first}{more})"
        )


def pick(scores: NDArray[np.float64], is_open: NDArray[np.bool_]) -> tuple[int, bool]:
    """Return the open item with the largest score, and whether others are tied with it."""
    best = scores[is_open].max()
    level = np.flatnonzero(is_open & (scores >= best - TIE * abs(best)))
    return int(level[0]), len(level) > 1


def sorted_ranking(
    scores: NDArray[np.float64], top: int, method: str, walk: RandomWalk, escape: float = 0.0
) -> Ranking:
    """Rank by fixed scores, the largest first; ties, to a relative 1e-10, by number."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    is_new = np.diff(ranked, prepend=np.inf) < -TIE * np.abs(ranked)
    if not is_new.all():
        order = order[np.lexsort((order, np.cumsum(is_new)))]
    follows = ~np.append(is_new[1:], True)  # tied with the next
    tied = (follows | ~is_new)[:top]
    chosen = order[:top]
    return Ranking(chosen, scores[chosen], tied, np.zeros(len(chosen)), method, walk, escape)
