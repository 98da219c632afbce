"""A complete tiny model, to copy: the mixture of unigrams, one class per message.

Nigam, McCallum, Thrun & Mitchell (2000). ::

    theta ~ Dirichlet(share_prior)      share of each class
    phi_k ~ Dirichlet(word_prior)       words of class k
    z_b   ~ theta,   w_bn ~ phi of z_b

``docs/adding_a_model.md`` walks through the copy.
"""

from __future__ import annotations

from typing import ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Shard, cut
from palaver.models.base.fitting import RUN_LIMITS, FitOptions
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.skeleton.engine import SkeletonEngine
from palaver.models.skeleton.kernels.sweep import class_posteriors
from palaver.params import Limit, real, whole


class Skeleton(Model):
    """Mixture of unigrams: every message has one class, whatever it answers.

    Parameters
    ----------
    n_classes : int
        Number of classes, K.
    share_prior : float
        Dirichlet prior of the classes' shares.
    word_prior : float
        Dirichlet prior of the words of a class.
    n_sweeps, burn_in, n_samples : int
        Sweeps in all, before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the best by log joint is the model.
    max_seconds : float, optional
        Stop after this many seconds; results then depend on the machine's speed.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Examples
    --------
    >>> import palaver as pv
    >>> from palaver.models.skeleton import Skeleton
    >>> model = Skeleton(n_classes=4, n_sweeps=20).fit(pv.sample(20))
    >>> model.transform(pv.sample(20)).shape[1]
    4
    """

    name = "skeleton"
    units = "messages"
    limits: ClassVar[dict[str, Limit]] = {
        **RUN_LIMITS,
        "n_classes": whole(1, 32_000),
        "share_prior": real(above=0),
        "word_prior": real(above=0),
    }

    def __init__(
        self,
        n_classes: int = 10,
        share_prior: float = 1.0,
        word_prior: float = 0.1,
        n_sweeps: int = 200,
        burn_in: int | None = None,
        n_samples: int = 10,
        n_chains: int = 1,
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_classes = n_classes
        self.share_prior = share_prior
        self.word_prior = word_prior
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.n_chains = n_chains
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, corpus: Corpus | Encoded, **options: Unpack[FitOptions]) -> Self:
        """Learn the classes of a corpus.

        Parameters
        ----------
        corpus : Corpus or Encoded
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        return self._fit(self._as_encoded(corpus), **options)

    def _engine(self, data: Encoded) -> SkeletonEngine:
        return SkeletonEngine(
            len(data.vocabulary), self.n_classes, float(self.share_prior), float(self.word_prior)
        )

    def _shards(self, data: Encoded, engine: SkeletonEngine) -> list[Shard]:
        return cut(data)

    def _sampler(self, data: Encoded) -> str:
        return "parallel"

    def _set_estimates(self) -> None:
        best = self.chains_[self.best_chain_]
        self.class_words_ = np.ascontiguousarray(best["class_words"].T)
        self.class_shares_ = best["class_shares"]

    def _all_words(self) -> NDArray[np.float64]:
        return np.asarray(self.class_shares_ @ self.class_words_)

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the probability of each class for each message, also of new conversations.

        Exact, because messages are independent: ``n_sweeps`` is not needed.

        Returns
        -------
        array of float64, shape (n_messages, n_classes)
        """
        encoded = self._encode(corpus)
        posteriors = np.empty((encoded.n_messages, len(self.class_shares_)))
        log_words = np.log(np.ascontiguousarray(self.class_words_.T))
        offsets, shares = np.asarray(encoded.message_offsets), np.log(self.class_shares_)
        class_posteriors(encoded.tokens, offsets, log_words, shares, posteriors)
        return posteriors
