"""A few documents as walks over topics, for models that have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.draw.walk import walk_chart
from palaver.encoding import Encoded
from palaver.encoding.documents import documents_of
from palaver.page.text import excerpt

if TYPE_CHECKING:
    from palaver.models.base.model import Model

_WALKS = 6  # documents that are shown
_EXCERPT = 280
_SMALLEST = 0.02  # steps with a smaller share of the document are left out


@runtime_checkable
class FindsPaths(Protocol):
    """A model whose documents are walks over topics."""

    def path(self, documents: Any, /) -> pl.DataFrame:
        """Return the most probable walk of each document."""
        ...


@dataclass(frozen=True)
class Walk:
    """The most probable walk of one document.

    Attributes
    ----------
    row : int
        The message of the document that is shown.
    ranks : list of int
    weights : list of float
    """

    row: int
    ranks: list[int]
    weights: list[float]


def find_walks(
    model: Model,
    corpus: Corpus,
    encoded: Encoded,
    order: NDArray[np.int64],
    rows: list[int],
    groups: list[int] | None = None,
) -> list[Walk]:
    """Return the walks of some messages' documents, preferably those with several topics.

    ``groups`` are the classes that the model's topics were merged into.
    """
    if not isinstance(model, FindsPaths) or not rows:
        return []
    unit = model.get_params()["unit"]
    places = np.array(rows)
    if unit == "conversation":
        places = np.searchsorted(corpus.conversation_offsets, places, side="right") - 1
    places, first = np.unique(places, return_index=True)
    table = model.path(documents_of(encoded, unit=unit).take(places))
    rank_of = np.argsort(order) if groups is None else np.argsort(order)[groups]
    walks = []
    for number, row in enumerate(np.array(rows)[first].tolist()):
        own = table.filter((pl.col("document") == number) & (pl.col("weight") >= _SMALLEST))
        walks.append(Walk(row, rank_of[own["topic"].to_numpy()].tolist(), own["weight"].to_list()))
    longest = sorted(walks, key=lambda walk: (-min(len(walk.ranks), 4), walk.row))
    return sorted(longest[:_WALKS], key=lambda walk: walk.row)


def make_walks(walks: list[Walk], corpus: Corpus, names: list[str]) -> list[dict[str, Any]]:
    """Return texts and pictures of walks."""
    texts = corpus.table["text"]
    return [
        {
            "text": excerpt(texts[walk.row], _EXCERPT),
            "picture": walk_chart(walk.ranks, walk.weights, names),
            "ranks": list(dict.fromkeys(walk.ranks)),
        }
        for walk in walks
        if walk.ranks
    ]
