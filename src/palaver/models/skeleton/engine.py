"""The mixture of unigrams as the loop sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Shard
from palaver.kernels import dirichlet
from palaver.kernels.word_weights import draw_word_weights, mean_word_weights, word_key
from palaver.models.skeleton.kernels.sweep import draw_classes, open_classes
from palaver.parallel import Arrays, Globals


@dataclass
class SkeletonEngine:
    """Five functions for the loop, and ``sample``; see :class:`palaver.parallel.Engine`.

    Classes are drawn given the shares and words, on any number of workers; then shares and words
    given the counts of classes.

    Attributes
    ----------
    n_words, n_classes : int
    share_prior, word_prior : float
    """

    n_words: int
    n_classes: int
    share_prior: float
    word_prior: float
    run: Any = field(init=False, default=map)
    exact: ClassVar[tuple[str, ...]] = ("word_counts", "class_counts")

    def start(self, generator: np.random.Generator) -> Globals:
        """Return even shares and words: the first sweep then draws classes evenly."""
        return Globals(
            "sweep",
            {
                "log_shares": np.zeros(self.n_classes),
                "log_words": np.zeros((self.n_words, self.n_classes)),
            },
        )

    def open(self, shared: Globals, shard: Shard, key: NDArray[np.uint64]) -> Arrays:
        """Draw the class of each message evenly."""
        classes = np.empty(shard.n_messages, np.int16)
        open_classes(
            shard.conversation_offsets, shard.first_conversation, self.n_classes, key, classes
        )
        return {"classes": classes}

    def sweep(
        self, shared: Globals, shard: Shard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Draw the class of each message; return the counts."""
        word_counts = np.zeros((self.n_words, self.n_classes), np.int32)
        class_counts = np.zeros(self.n_classes, np.int64)
        draw_classes(
            shard.tokens, shard.message_offsets, shard.conversation_offsets,
            shard.first_conversation, shared.arrays["log_words"], shared.arrays["log_shares"], key,
            state["classes"], word_counts, class_counts,
        )  # fmt: skip
        return {"word_counts": word_counts, "class_counts": class_counts}

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up counts; those of the left are used up."""
        for name, value in right.items():
            left[name] += value
        return left

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Draw shares and words given the counts; the trace has the log joint of the classes."""
        counts, classes = statistics["word_counts"], statistics["class_counts"]
        shares = dirichlet.draw_rows(classes[None], self.share_prior, generator)[0]
        words = draw_word_weights(counts, self.word_prior, word_key(generator), self.run)
        prior = np.full(self.n_classes, self.share_prior)
        log_joint = float(dirichlet.log_counts(classes[None], prior).sum())
        log_joint += float(dirichlet.log_dirichlet_multinomial(counts, self.word_prior).sum())
        arrays = {"log_shares": np.log(shares), "log_words": np.log(words)}
        return Globals("sweep", arrays), {"log_joint": log_joint}

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the posterior means given this sweep's counts."""
        weights = statistics["class_counts"] + self.share_prior
        return {
            "class_words": mean_word_weights(statistics["word_counts"], self.word_prior),
            "class_shares": weights / weights.sum(),
        }
