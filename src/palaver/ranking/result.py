"""What a ranking gives back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.params import check, whole
from palaver.ranking.walk import Walk

#: Items whose scores differ by less than this share of the larger are tied: lowest number first.
TIE = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Items in order, the best first.

    Attributes
    ----------
    order : array of int64, shape (top,)
        Numbers of the chosen items.
    scores : array of float64, shape (top,)
        What each was chosen by. GRASSHOPPER: the stationary probability for the first, the
        expected number of visits when it was chosen for the others.
    tied : array of bool, shape (top,)
        True where another item had the same score to within 1e-10 of it, so that the lowest
        number decided.
    errors : array of float64, shape (top,)
        Bounds on the errors of the scores; zero for direct methods. The order does not suffer
        from them: an item is only chosen when its lead is larger, or else marked as tied.
    method : str
    """

    order: NDArray[np.int64]
    scores: NDArray[np.float64]
    tied: NDArray[np.bool_]
    errors: NDArray[np.float64]
    method: str
    walk: Walk
    escape: float = 0.0

    @cached_property
    def absorbed_by(self) -> NDArray[np.int64]:
        """The chosen item in which a walk from each item most probably ends, (n_items,)."""
        return self.absorption(len(self.order))

    def absorption(self, top: int) -> NDArray[np.int64]:
        """Return where walks end when only the first ``top`` items absorb them.

        Returns
        -------
        array of int64, shape (n_items,)
            Number of an item; a chosen one is its own end.
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
    scores: NDArray[np.float64], top: int, method: str, walk: Walk, escape: float = 0.0
) -> Ranking:
    """Rank by fixed scores, the largest first; ties, to within 1e-10, by number."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    is_new = np.diff(ranked, prepend=np.inf) < -TIE * np.abs(ranked)
    if not is_new.all():
        order = order[np.lexsort((order, np.cumsum(is_new)))]
    follows = ~np.append(is_new[1:], True)  # level with the next
    tied = (follows | ~is_new)[:top]
    chosen = order[:top]
    return Ranking(chosen, scores[chosen], tied, np.zeros(len(chosen)), method, walk, escape)
