"""The block HMM: one class a message, which depends on the class of the message it answers.

Ritter, Cherry & Dolan (2010), the baseline of Paul (2012); spec and equations in
``docs/models/block_hmm.md``. ::

    row_a ~ Dirichlet(alpha)                    a = 0..K-1 and start
    z_b   ~ row of the parent's class           start for messages without a parent
    w_bn  ~ phi of z_b, or the background
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encode import Encoded, Shard
from palaver.models.block_hmm.engine import BlockHMMEngine
from palaver.models.views.reconstruct import Reconstructs
from palaver.models.views.simulate import Layout
from palaver.models.words.guided import (
    GUIDED_LIMITS,
    GuidedModel,
    LabelledShard,
    fixed_classes,
)
from palaver.models.words.model import COMMON_LIMITS
from palaver.params import Limit, either, one_of, real, unless_learned


class BlockHMM(Reconstructs, GuidedModel):
    """Hidden Markov model on reply trees, one class a message.

    Parameters
    ----------
    n_classes : int
        Number of classes, K.
    background : bool or "message"
        Let words come from a background that all messages share; one switch probability
        for the corpus (True), or one for each message ("message").
    alpha : float or "learn"
        Dirichlet prior of the transition rows; "learn" finds an asymmetric one by Minka's
        fixed point.
    seed_words : dict of str to list of str, optional
        Words that a class of that name should have; the other classes are free. For topics or
        features use ``M4(segment="message", ...)``.
    seed_weight : float
        How often a seed word counts for its class, as a multiple of its occurrences.
    labels : str, optional
        A column with the names of classes of some messages; the other messages are free.
    omega : float or "sample"
        Dirichlet prior of the words of a class.
    switch_prior : float
        Both weights of the Beta prior of the switch.
    n_sweeps, burn_in, n_samples : int
        Sweeps in all, before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the best by log joint is the model.
    sampler : {"auto", "collapsed", "parallel"}
        One message at a time with all parameters integrated out; or whole trees at once
        given drawn parameters, for any number of workers.
    max_seconds : float, optional
        Stop after so long; results then depend on the machine.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    transitions_ : array of float64, shape (n_classes + 1, n_classes)
        Probabilities; rows are the source, the last one is the start.
    alpha_ : array of float64, shape (n_classes,)
    class_names_ : list of str
        Names of the first classes, from seed words and labels.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.BlockHMM(n_classes=8, n_sweeps=50).fit(pv.sample())  # doctest: +SKIP
    """

    name = "block-hmm"
    transition_rows: ClassVar = ["start"]
    transition_kind: ClassVar = "probabilities"
    heldout_methods: ClassVar = ("sequential", "paper", "blocks")
    limits: ClassVar[dict[str, Limit]] = {
        **COMMON_LIMITS,
        **GUIDED_LIMITS,
        "alpha": either(real(above=0), one_of("learn")),
    }

    def __init__(
        self,
        n_classes: int = 15,
        background: bool | str = True,
        alpha: float | str = "learn",
        seed_words: Mapping[str, Sequence[str]] | None = None,
        seed_weight: float = 1.0,
        labels: str | None = None,
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
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.labels = labels
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

    def _make_engine(self, n_words: int, sampler: str) -> BlockHMMEngine:
        return BlockHMMEngine(*self._engine_arguments(n_words, sampler), unless_learned(self.alpha))

    def _shards(self, data: Encoded, engine: Any) -> list[Shard]:
        shards = super()._shards(data, engine)
        if self.labels is None:
            return shards
        fixed = fixed_classes(self.labels, self.class_names_, data)
        return [
            LabelledShard(**vars(shard), fixed_classes=fixed[first : first + shard.n_messages])
            for shard in shards
            for first in (shard.first_message,)
        ]

    def _set_estimates(self) -> None:
        super()._set_estimates()
        self.transitions_ = self.chains_[self.best_chain_]["transitions"]
        self.alpha_ = self.chains_[self.best_chain_]["alpha"]

    def draw_classes(
        self, layout: Layout, n_classed: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw each message's class given its parent's."""
        n_classes = self.transitions_.shape[1]
        limits = np.cumsum(self.transitions_, axis=1)
        draws = generator.random(len(n_classed))
        classes = np.empty(len(n_classed), np.int64)
        for b, parent in enumerate(layout.parents):
            row = n_classes if parent < 0 else classes[parent]
            classes[b] = min(np.searchsorted(limits[row], draws[b]), n_classes - 1)
        return np.repeat(classes, n_classed)
