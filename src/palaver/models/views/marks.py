"""Messages whose class a person has judged: their word counts, not the model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.curation.marks import correct, places_of
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
