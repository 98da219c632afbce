"""Seed words: what a message says for the acts that a person named, and against them.

A seed word speaks for its act, and every unit is held off it a little, so that an act keeps to its
words unless everything else speaks for it. Without the latter, the largest act would
take the name, as every act has some of the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Encoded
from palaver.models.words import guided

if TYPE_CHECKING:
    from palaver.models.acts import Acts

#: Nats by which a seed word speaks for its act, before the weight that words have in its unit; and
#: nats by which every unit speaks against an act with seed words.
FOR, AGAINST = 20.0, 3.0


@dataclass(frozen=True, eq=False)
class Seeds:
    """``s`` and ``r`` of (c), in :mod:`palaver.models.acts.engine`.

    Attributes
    ----------
    features : array of float64, shape (F, K)
        What a feature says for an act.
    units : array of float64, shape (K,)
        What every unit says against an act.
    """

    features: NDArray[np.float64]
    units: NDArray[np.float64]

    def log_weight(self, counts: NDArray[np.float64], moves: NDArray[np.float64]) -> float:
        """Return what seed words add to the log of (c), given counts (F, K) and moves (., K)."""
        return float((self.features * counts).sum() - moves.sum(axis=0) @ self.units)


def seeds_of(model: Acts, data: Encoded) -> Seeds | None:
    """Return what the seed words of a model say; None without any."""
    views = model._views
    counts = guided.seed_counts(model, data, model.n_classes)
    if counts is None or "words" not in views.tables:
        return None
    feature = views.tables["words"][: len(counts)]
    words = np.flatnonzero(counts.any(axis=1) & (feature >= 0))
    first = int(views.starts[views.names.index("words")])
    strength = float(model.seed_weight)
    features = np.zeros((views.n_features, model.n_classes))
    features[first + feature[words]] = FOR * strength * (counts[words] > 0)
    units = np.zeros(model.n_classes)
    units[: len(model.seed_words or {})] = AGAINST * strength
    return Seeds(features, units)
