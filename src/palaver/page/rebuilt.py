"""Rebuilt replies beside those that the corpus has, for the page's reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus

if TYPE_CHECKING:
    from palaver.threads import ThreadRebuilder


def rebuilt_parents(rebuilder: ThreadRebuilder, corpus: Corpus) -> NDArray[np.int64]:
    """Return the row that each message answers as rebuilt, -1 for a start."""
    return rebuilder.predict(corpus)["parent_row"].to_numpy()
