"""LDA with each message as a document: topics without any reply structure.

Blei, Ng & Jordan (2003), smoothed by a prior of the words as in their section 5.4, and sampled as
by Griffiths & Steyvers (2004); equations in ``docs/models/lda.md``. ::

    theta_b ~ Dirichlet(share_prior)      class shares of a message
    z_bn    ~ theta_b,   w_bn ~ phi of z_bn, or the background
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.models.lda.engine import LDAEngine
from palaver.models.views.simulate import Layout
from palaver.models.words.engine import ThreadSettings
from palaver.models.words.model import COMMON_LIMITS, ThreadModel
from palaver.params import Limit, either, one_of, real, unless_learned


class LDA(ThreadModel):
    """Latent Dirichlet allocation on messages.

    Parameters
    ----------
    n_classes : int
        Number of topics, K.
    background : bool, "message" or "auto"
        Let words come from a background that all messages share, with one switch probability
        for the corpus (True) or one per message ("message"). "auto" has one if messages have 50
        words or more on average.
    share_prior : float or "learn"
        Dirichlet prior of a message's shares; "learn" finds an asymmetric one by Minka's
        fixed point.
    word_prior : float or "learn"
        Dirichlet prior of the words of a topic.
    switch_prior : float
        Both weights of the Beta prior of the switch.
    n_sweeps, burn_in, n_samples : int
        Sweeps in total, sweeps before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the one with the best log joint is the model.
    sampler : {"auto", "collapsed", "parallel"}
        Word distributions integrated out, on one core; or drawn, for any number of workers.
        "auto" is "parallel" above a million tokens, else "collapsed".
    max_seconds : float, optional
        Stop after this many seconds; results then depend on the machine's speed.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    share_prior_ : array of float64, shape (n_classes,)

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.LDA(n_classes=20, n_sweeps=50).fit(pv.sample())  # doctest: +SKIP
    """

    name = "lda"
    finds_topics = True
    limits: ClassVar[dict[str, Limit]] = {
        **COMMON_LIMITS,
        "share_prior": either(real(above=0), one_of("learn")),
    }

    def __init__(
        self,
        n_classes: int = 50,
        background: bool | str = False,
        share_prior: float | str = "learn",
        word_prior: float | str = "learn",
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
        self.share_prior = share_prior
        self.word_prior = word_prior
        self.switch_prior = switch_prior
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.n_chains = n_chains
        self.sampler = sampler
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _make_engine(self, settings: ThreadSettings) -> LDAEngine:
        return LDAEngine(settings, share_prior=unless_learned(self.share_prior))

    def _set_estimates(self) -> None:
        super()._set_estimates()
        self.share_prior_ = self.chains_[self.best_chain_]["share_prior"]

    def draw_classes(
        self, layout: Layout, n_classed: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw each message's shares, then its classes."""
        shares = generator.dirichlet(self.share_prior_, len(n_classed))
        counts = generator.multinomial(n_classed, shares)
        return np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), counts.ravel())
