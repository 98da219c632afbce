"""States that emit all words of a message: the infinite block HMM."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.shards import Shard
from palaver.models.states.emissions import Run
from palaver.models.states.emissions.words import WordEmissions
from palaver.models.states.kernels import levels
from palaver.models.states.kernels.beam_trees import message_log_densities
from palaver.models.states.signs import signs
from palaver.parallel import Arrays


class MessageEmissions(WordEmissions):
    """All words of a message; a position is a message."""

    drawn: ClassVar[tuple[str, ...]] = ("log_words", "scales")

    def first(self, arrays: Arrays, shard: Shard) -> None:
        """Return None: the first state of a message is drawn evenly."""

    def count(self, shard: Shard, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Count words by the state of their message."""
        counts = np.zeros((self.n_words, n_states), np.int32)
        of_tokens = np.repeat(states, np.diff(shard.message_offsets))
        levels.count_words(shard.tokens, of_tokens, counts)
        return {"word_counts": counts}

    def _kept(
        self,
        weights: NDArray[np.float64],
        scales: NDArray[np.float64],
        emissions: NDArray[np.float32],
        run: Run,
    ) -> Arrays:
        return {"log_words": weights, "scales": scales}

    def log_densities(
        self, arrays: Arrays, shard: Shard, n_known: int, new: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the log probability of each message's words in each state, times the power."""
        words = arrays["log_words"]
        if len(new):
            words = np.hstack((words, self._new_words(arrays, n_known, new)))
        logs = np.empty((shard.n_messages, words.shape[1]))
        message_log_densities(
            shard.tokens, shard.message_offsets, words, float(arrays["power"]), logs
        )
        return logs

    def cut(
        self, arrays: Arrays, shard: Shard, states: NDArray[np.int16], key: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Put messages with similar words into the same part: each word has a random sign."""
        sums = np.append(0, np.cumsum(signs(shard.tokens, key), dtype=np.int64))
        return np.asarray(np.diff(sums[shard.message_offsets]) > 0)
