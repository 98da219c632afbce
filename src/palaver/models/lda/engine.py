"""LDA as the loop sees it: the Gibbs sampler of Griffiths & Steyvers (2004).

The shares have one asymmetric Dirichlet prior, moved by Minka's fixed point as in Paul (2012),
section 5.2; equations in ``docs/models/lda.md``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.shards import Shard
from palaver.kernels import dirichlet
from palaver.kernels import lda as kernels
from palaver.kernels.states import add_message_counts, count_classes
from palaver.models.lda.kernels.heldout import lda_log_likelihoods
from palaver.models.words.engine import ThreadSettings, TokenEngine, merge_histograms
from palaver.parallel import Arrays, Globals
from palaver.parallel.restored import POSITIVE, Expected, check_arrays

_HISTOGRAMS = ("class_histograms", "length_histogram")
_NO_RECORD = np.empty((0, 0))  # the kernel can record its distributions for tests


class LDAEngine(TokenEngine):
    """LDA as the loop sees it.

    Parameters
    ----------
    settings : ThreadSettings
    share_prior : float or None
        Dirichlet prior of the class shares of a message; None if it is learned.
    """

    exact = (*TokenEngine.exact, *_HISTOGRAMS)

    def __init__(self, settings: ThreadSettings, *, share_prior: float | None) -> None:
        super().__init__(settings)
        self.share_prior = share_prior

    def start_transitions(self) -> Arrays:
        """Return the first prior of the shares."""
        first = 5.0 / self.n_classes if self.share_prior is None else self.share_prior
        return {"share_prior": np.full(self.n_classes, first)}

    def check(self, shared: Globals, shard: Shard, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        super().check(shared, shard, state)
        check_arrays(
            shared.arrays, {"share_prior": Expected((self.n_classes,), least=POSITIVE, most=1e100)}
        )

    def sweep(
        self, shared: Globals, shard: Shard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Resample all tokens of a shard."""
        arrays, classes = shared.arrays, state["classes"]
        if self.collapsed:
            counts = state["word_class_counts"]
            kernels.sweep_collapsed(
                shard.tokens, shard.message_offsets, classes, counts, state["class_totals"],
                arrays["share_prior"], float(arrays["omega"]), self.switch_flag,
                self.switch_prior, key, _NO_RECORD,
            )  # fmt: skip
        else:
            counts = self.empty_counts()
            if shared.phase == "count":
                count_classes(shard.tokens, classes, counts)
            else:
                kernels.sweep_parallel(
                    shard.tokens, shard.message_offsets, shard.conversation_offsets,
                    shard.first_conversation, classes, arrays["word_weights"],
                    arrays["share_prior"], self.switch_flag, self.switch_prior,
                    float(arrays["class_probability"]), key, counts, _NO_RECORD,
                )  # fmt: skip
        return {"word_class_counts": counts, **self._message_statistics(shard, classes)}

    def _message_statistics(self, shard: Shard, classes: NDArray[np.int16]) -> Arrays:
        """Return the histograms of class counts and lengths over messages."""
        longest = int(np.diff(shard.message_offsets).max(initial=0))
        histograms = np.zeros((self.n_classes, longest + 1), np.int64)
        lengths = np.zeros(longest + 1, np.int64)
        largest = kernels.message_histograms(shard.message_offsets, classes, 0, histograms, lengths)
        return {
            "class_histograms": histograms[:, : largest + 1],
            "length_histogram": lengths,
            **self.switch_statistics(shard, classes),
        }

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up statistics; histograms into the wider one."""
        left, right, histograms = merge_histograms(left, right, _HISTOGRAMS)
        return {**super().merge(left, right), **histograms}

    def update_transitions(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Arrays, dict[str, Any]]:
        """Move the prior of the shares by Minka's fixed point."""
        histograms, lengths = statistics["class_histograms"], statistics["length_histogram"]
        prior = shared.arrays["share_prior"]
        if self.share_prior is None:
            prior = dirichlet.update_alpha(histograms, lengths, prior, 1)
        log_classes = partial(dirichlet.log_classes, histograms, lengths, prior)
        return {"share_prior": prior}, {"log_transitions": log_classes}

    def sample_transitions(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the prior of the shares."""
        return {"share_prior": shared.arrays["share_prior"]}

    def frozen_transitions(self, mean: Arrays) -> Arrays:
        """Return the prior of the shares for fold-in."""
        return {"share_prior": np.ascontiguousarray(mean["share_prior"])}

    def expected_shares(self, shared: Globals, shard: Shard, state: Arrays) -> NDArray[np.float64]:
        """Return the shares of each message given its own classes."""
        shares = np.tile(shared.arrays["share_prior"], (shard.n_messages, 1))
        add_message_counts(shard.message_offsets, state["classes"], shares)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def log_likelihoods(
        self, shared: Globals, shard: Shard, key: NDArray[np.uint64], n_particles: int
    ) -> NDArray[np.float64]:
        """Estimate them by a particle filter over the words of each message."""
        arrays = shared.arrays
        result = np.empty(len(shard.conversation_offsets) - 1)
        lda_log_likelihoods(
            shard.tokens, shard.message_offsets, shard.conversation_offsets,
            shard.first_conversation, arrays["word_weights"], arrays["share_prior"],
            self.switch_flag, self.switch_prior, float(arrays["class_probability"]),
            n_particles, key, result,
        )  # fmt: skip
        return result
