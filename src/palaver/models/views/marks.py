"""Messages whose class a person has judged: their word counts, not the model's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.curation import Mark
from palaver.store.fingerprint import message_keys

if TYPE_CHECKING:
    from palaver.models.base.model import Model


def keys_of(corpus: Corpus) -> list[str]:
    """Return the key of each message, by which marks know it: of its id and text."""
    return [f"{key:016x}" for key in message_keys(corpus.table["id"], corpus.table["text"])]


def with_marks(model: Model, corpus: object, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of messages, (n_messages, n_classes), as people corrected them.

    A message that belongs to a class has that class alone; one that does not belong to a class has
    none of it. Nothing is changed where there are no marks, or no ids to know messages by.
    """
    curation = model.curation_
    if curation is None or not curation.marks or not isinstance(corpus, Corpus):
        return shares
    shares = shares.copy()
    keys = keys_of(corpus)
    for row, place in enumerate(zip(keys, corpus.table["id"], strict=True)):
        mark = curation.marks.get(place)
        if mark is not None:
            right, wrong = places_of(mark, curation.numbers_of)
            correct(shares[row], right, wrong)
    return shares


def places_of(mark: Mark, places: Callable[[int], list[int]]) -> tuple[list[int], list[int]]:
    """Return the places of the classes that a mark says are right, and wrong."""
    right = [] if mark.right is None else places(mark.right)
    return right, sorted({place for id in mark.wrong for place in places(id)})


def correct(own: NDArray[np.floating], right: list[int], wrong: list[int]) -> None:
    """Let a person's word count in the shares of one message, in place.

    Of several classes that are right, the parts of one that was divided later, each keeps its part.
    """
    if right:
        rest = own[right].sum()
        parts = own[right] / rest if rest > 0 else 1.0 / len(right)
        own[:] = 0.0
        own[right] = parts
        return
    rest = np.delete(own, wrong).sum()
    if rest > 0:
        own[wrong] = 0.0
        own /= rest
