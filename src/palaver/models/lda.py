"""LDA with each message as a document: topics without any reply structure.

Blei, Ng & Jordan (2003), collapsed as in Griffiths & Steyvers (2004); spec and equations in
``docs/models/lda.md``. ::

    theta_b ~ Dirichlet(alpha)            class shares of a message
    z_bn    ~ theta_b,   w_bn ~ phi of z_bn, or the background
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encode.shards import Shard
from palaver.kernels import dirichlet
from palaver.kernels import lda as kernels
from palaver.kernels.heldout import lda_log_likelihoods
from palaver.kernels.states import add_message_counts, count_classes
from palaver.models.parts import TokenEngine, merge_histograms
from palaver.models.simulate import Layout
from palaver.models.thread_model import COMMON_LIMITS, ThreadModel
from palaver.parallel import Arrays, Globals
from palaver.params import Limit, either, one_of, real, unless_learned

_HISTOGRAMS = ("class_histograms", "length_histogram")
_NO_RECORD = np.empty((0, 0))  # the kernel can record its distributions for tests


class LDA(ThreadModel):
    """Latent Dirichlet allocation on messages.

    Parameters
    ----------
    n_classes : int
        Number of topics, K.
    background : bool or "message"
        Let words come from a background that all messages share; one switch probability
        for the corpus (True), or one for each message ("message").
    alpha : float or "learn"
        Dirichlet prior of a message's shares; "learn" finds an asymmetric one by Minka's
        fixed point.
    omega : float or "sample"
        Dirichlet prior of the words of a topic.
    switch_prior : float
        Both weights of the Beta prior of the switch.
    n_sweeps, burn_in, n_samples : int
        Sweeps in all, before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the best by log joint is the model.
    sampler : {"auto", "collapsed", "parallel"}
        Word distributions integrated out, on one core; or drawn, for any number of workers.
    max_seconds : float, optional
        Stop after so long; results then depend on the machine.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    alpha_ : array of float64, shape (n_classes,)

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.LDA(n_classes=20, n_sweeps=50).fit(pv.sample())  # doctest: +SKIP
    """

    name = "lda"
    finds_topics = True
    limits: ClassVar[dict[str, Limit]] = {
        **COMMON_LIMITS,
        "alpha": either(real(above=0), one_of("learn")),
    }

    def __init__(
        self,
        n_classes: int = 50,
        background: bool | str = False,
        alpha: float | str = "learn",
        omega: float | str = "sample",
        switch_prior: float = 10.0,
        n_sweeps: int = 1000,
        burn_in: int | None = None,
        n_samples: int = 10,
        n_chains: int = 1,
        sampler: str = "auto",
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_classes = n_classes
        self.background = background
        self.alpha = alpha
        self.omega = omega
        self.switch_prior = switch_prior
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.n_chains = n_chains
        self.sampler = sampler
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _make_engine(self, n_words: int, sampler: str) -> LDAEngine:
        return LDAEngine(*self._engine_arguments(n_words, sampler), unless_learned(self.alpha))

    def _set_estimates(self) -> None:
        super()._set_estimates()
        self.alpha_ = self.chains_[self.best_chain_]["alpha"]

    def draw_classes(
        self, layout: Layout, n_classed: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw each message's shares, then its classes."""
        shares = generator.dirichlet(self.alpha_, len(n_classed))
        counts = generator.multinomial(n_classed, shares)
        return np.repeat(np.tile(np.arange(len(self.alpha_)), len(counts)), counts.ravel())


class LDAEngine(TokenEngine):
    """LDA as the loop sees it."""

    exact = (*TokenEngine.exact, *_HISTOGRAMS)

    def __init__(self, *common: Any) -> None:
        *shared, self.alpha = common
        super().__init__(*shared)

    def start_transitions(self) -> Arrays:
        """Return the first prior of the shares."""
        first = 5.0 / self.n_classes if self.alpha is None else self.alpha
        return {"alpha": np.full(self.n_classes, first)}

    def sweep(
        self, shared: Globals, shard: Shard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Resample all tokens of a shard."""
        arrays, classes = shared.arrays, state["classes"]
        if self.collapsed:
            counts = state["word_class_counts"]
            kernels.sweep_collapsed(
                shard.tokens, shard.message_offsets, classes, counts, state["class_totals"],
                arrays["alpha"], float(arrays["omega"]), self.switch_flag, self.switch_prior,
                key, _NO_RECORD,
            )  # fmt: skip
        else:
            counts = self.empty_counts()
            if shared.phase == "count":
                count_classes(shard.tokens, classes, counts)
            else:
                kernels.sweep_parallel(
                    shard.tokens, shard.message_offsets, shard.conversation_offsets,
                    shard.first_conversation, classes, arrays["word_weights"], arrays["alpha"],
                    self.switch_flag, self.switch_prior, float(arrays["class_probability"]),
                    key, counts, _NO_RECORD,
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
        """Move alpha by Minka's fixed point."""
        histograms, lengths = statistics["class_histograms"], statistics["length_histogram"]
        alpha = shared.arrays["alpha"]
        if self.alpha is None:
            alpha = dirichlet.update_alpha(histograms, lengths, alpha, 1)
        log_classes = partial(dirichlet.log_classes, histograms, lengths, alpha)
        return {"alpha": alpha}, {"log_transitions": log_classes}

    def sample_transitions(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return alpha."""
        return {"alpha": shared.arrays["alpha"]}

    def frozen_transitions(self, mean: Arrays) -> Arrays:
        """Return alpha for fold-in."""
        return {"alpha": np.ascontiguousarray(mean["alpha"])}

    def expected_shares(self, shared: Globals, shard: Shard, state: Arrays) -> NDArray[np.float64]:
        """Return the shares of each message given its own classes."""
        shares = np.tile(shared.arrays["alpha"], (shard.n_messages, 1))
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
            shard.first_conversation, arrays["word_weights"], arrays["alpha"], self.switch_flag,
            self.switch_prior, float(arrays["class_probability"]), n_particles, key, result,
        )  # fmt: skip
        return result
