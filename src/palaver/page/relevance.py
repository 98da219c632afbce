"""Topics next to each other: a map by similarity, and words by relevance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from palaver.page.text import MAX_WORD, name

if TYPE_CHECKING:
    from palaver.models.base.model import Model

#: Words per topic that any position of the slider shows, and positions that are looked at.
N_WORDS, _STEPS = 12, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_MOST_TOPICS = 100
_RARE = 5  # expected occurrences, below which a word stands for no topic


@dataclass(frozen=True)
class TopicView:
    """What topics are next to each other.

    Attributes
    ----------
    places : array of float64, shape (n_topics, 2)
        Similar topics are close: the first two axes of multidimensional scaling of the
        Jensen-Shannon distances between their words, as in pyLDAvis.
    words : list of list of (str, float, float)
        For each topic its relevant words, ``log p(w|k)`` and ``log p(w|k) / p(w)``: the relevance
        of Sievert & Shirley (2014) is a mixture of the two.
    """

    places: NDArray[np.float64]
    words: list[list[tuple[str, float, float]]]


def topic_view(
    model: Model, order: NDArray[np.int64], n_tokens: int, hidden: frozenset[str]
) -> TopicView | None:
    """Look at the topics of a model in their order; None if there are fewer than three, or many.

    Parameters
    ----------
    model : Model
    order : array of int64, shape (n_topics,)
    n_tokens : int
        Words that the model learned from.
    hidden : frozenset of str
        Words that are not to be shown.
    """
    if not 3 <= len(order) <= _MOST_TOPICS:
        return None
    own = np.maximum(np.asarray(model.class_words_)[order], 1e-300)
    overall = np.maximum(np.asarray(model._all_words()), 1e-300)
    shares = np.asarray(model.class_shares_)[order]
    spelled = model.vocabulary_.words
    shown = np.array([word not in hidden for word in spelled])
    words = []
    for k, row in enumerate(own):
        likely, lift = np.log(row), np.log(row / overall)
        kept = np.flatnonzero(shown & (row * shares[k] * n_tokens >= _RARE))
        found: set[int] = set()
        for step in _STEPS:
            relevance = step * likely[kept] + (1 - step) * lift[kept]
            found |= set(kept[np.argsort(-relevance, kind="stable")[:N_WORDS]].tolist())
        words.append([(name(spelled[w], MAX_WORD), round(float(likely[w]), 3),
                       round(float(lift[w]), 3)) for w in sorted(found)])  # fmt: skip
    return TopicView(scaled(distances(own)), words)


def distances(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Jensen-Shannon distances between distributions, (n, n)."""
    rows = rows / rows.sum(axis=1, keepdims=True)
    entropy = -(rows * np.log(rows)).sum(axis=1)
    found = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        mixed = (row + rows[i:]) / 2
        between = -(mixed * np.log(mixed)).sum(axis=1) - (entropy[i] + entropy[i:]) / 2
        found[i, i:] = found[i:, i] = np.sqrt(np.maximum(between, 0))
    return found


def scaled(apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points whose distances are as given as far as two dimensions allow, (n, 2)."""
    n = len(apart)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centring @ (apart**2) @ centring / 2)
    points = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0))
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    return np.asarray(points * np.where(signs == 0, 1, signs))


def packed(view: TopicView | None) -> list[Any]:
    """Return words for the script."""
    return [] if view is None else [[list(word) for word in own] for own in view.words]
