"""What is counted while a corpus is folded in: shares of messages, classes of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Shard
from palaver.parallel import Arrays

if TYPE_CHECKING:
    from palaver.models.words.engine import ThreadEngine


class ShareTally:
    """The classes of messages, added up over the kept sweeps of a fold-in.

    Parameters
    ----------
    n_messages, n_classes : int
    """

    def __init__(self, n_messages: int, n_classes: int) -> None:
        self._sums = np.zeros((n_messages, n_classes))

    def visit(self, engine: ThreadEngine, shard: Shard, state: Arrays) -> None:
        """Add one sweep of a shard."""
        rows = slice(shard.first_message, shard.first_message + shard.n_messages)
        engine.add_shares(shard, state, self._sums[rows])

    def shares(self, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares, (n_messages, n_classes); ``otherwise`` where nothing was counted."""
        totals = self._sums.sum(axis=1, keepdims=True)
        return np.where(totals > 0, self._sums / np.maximum(totals, 1e-300), otherwise)


class TokenTally:
    """The most frequent outcome of each token over the kept sweeps of a fold-in.

    Outcomes are the columns of an engine: classes, then the background, then topics. Only shards
    that are being swept have their counts in memory.

    Parameters
    ----------
    n_tokens, n_sweeps : int
        ``n_sweeps`` are kept.

    Attributes
    ----------
    outcomes : array of int16, shape (n_tokens,)
        Among equally frequent ones the first.
    probability : array of float32, shape (n_tokens,)
        Share of the sweeps that have this outcome.
    """

    def __init__(self, n_tokens: int, n_sweeps: int) -> None:
        self.outcomes = np.empty(n_tokens, np.int16)
        self.probability = np.empty(n_tokens, np.float32)
        self._n_sweeps = n_sweeps
        self._open: dict[int, tuple[int, NDArray[np.uint16]]] = {}

    def visit(self, engine: ThreadEngine, shard: Shard, state: Arrays) -> None:
        """Count one sweep of a shard; after its last, keep what was most frequent."""
        first = shard.first_token
        done, counts = self._open.pop(first, (0, None))
        if counts is None:
            counts = np.zeros((shard.n_tokens, engine.n_columns), np.uint16)
        places = np.arange(0, counts.size, engine.n_columns)
        places += engine.token_outcomes(shard, state)
        counts.reshape(-1)[places] += 1  # by one number each, which is faster than by two
        if done + 1 < self._n_sweeps:
            self._open[first] = done + 1, counts
            return
        rows = slice(first, first + shard.n_tokens)
        self.outcomes[rows] = counts.argmax(axis=1)
        self.probability[rows] = counts.max(axis=1) / self._n_sweeps
