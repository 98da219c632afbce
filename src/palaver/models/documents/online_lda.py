"""LDA by variational inference, in passes or online (Hoffman, Blei & Bach 2010).

What Markov M3 is compared with: the same words, topics, prior and steps, with independent shares
instead of a walk. Equations in ``docs/models/online_lda.md``. ::

    theta_d ~ Dirichlet(alpha),   z_dn ~ theta_d,   w_dn ~ beta of z_dn,   beta_k ~ Dirichlet(beta)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.documents import DocumentShard
from palaver.models.documents.engine import DocumentEngine, learn_prior
from palaver.models.documents.kernels.shares import log_prior_of, share_space, sweep_shares
from palaver.models.documents.model import DOCUMENT_LIMITS, DocumentModel
from palaver.parallel import Arrays, Globals
from palaver.parallel.restored import POSITIVE, Expected, check_arrays
from palaver.params import Limit, either, one_of, real, unless_learned

#: Most iterations of a document, and the mean change of a concentration that ends them.
ITERATIONS, ITERATION_TOLERANCE = 100, 1e-3
_SMALLEST_ALPHA = 1e-3


class OnlineLDA(DocumentModel):
    """Latent Dirichlet allocation by variational inference.

    Parameters
    ----------
    n_topics : int
        Number of topics, K.
    share_prior : float or "learn"
        Dirichlet prior of each topic's share in a document.
    word_prior : float or "learn"
        Dirichlet prior of the words of a topic.
    unit : {"message", "conversation"}
        What a document of a corpus is.
    start_sweeps : int or "auto"
        Sweeps of a Gibbs sampler before the first pass, for topics to begin with; a stream makes
        them over its first documents, 30 or more of a million words. "auto" is 100, or two per
        topic if that is more; 0 begins with random topics.
    n_sweeps : int
        Maximum number of passes over the documents after these.
    tolerance : float
        Stop when the bound rises by less than this share of itself in a pass.
    n_chains : int
        Runs from different random topics; the one with the highest bound is the model.
    max_seconds : float, optional
        Stop after this many seconds; results then depend on the machine's speed.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    elbo_ : float
        The evidence bound; after a stream, of the last batch's documents, per token.
    share_prior_, word_prior_ : float

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.OnlineLDA(n_topics=20).fit(pv.sample())  # doctest: +SKIP
    """

    name = "online-lda"
    limits: ClassVar[dict[str, Limit]] = {
        **DOCUMENT_LIMITS,
        "share_prior": either(real(above=0), one_of("learn")),
    }

    def __init__(
        self,
        n_topics: int = 100,
        share_prior: float | str = "learn",
        word_prior: float | str = "learn",
        unit: str = "message",
        start_sweeps: int | str = "auto",
        n_sweeps: int = 100,
        tolerance: float = 1e-5,
        n_chains: int = 1,
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_topics = n_topics
        self.share_prior = share_prior
        self.word_prior = word_prior
        self.unit = unit
        self.start_sweeps = start_sweeps
        self.n_sweeps = n_sweeps
        self.tolerance = tolerance
        self.n_chains = n_chains
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _make_engine(self, n_words: int, **changes: Any) -> OnlineLDAEngine:
        n_iterations = changes.get("n_iterations", ITERATIONS)
        return OnlineLDAEngine(
            n_words,
            self.n_topics,
            unless_learned(self.word_prior),
            self._n_start_sweeps,
            unless_learned(self.share_prior),
            n_iterations,
        )

    def _set_estimates(self) -> None:
        super()._set_estimates()
        self.share_prior_ = float(self.chains_[self.best_chain_]["alpha"])


@dataclass
class OnlineLDAEngine(DocumentEngine):
    """LDA on documents as the loop sees it; every sweep starts documents from even shares.

    Attributes
    ----------
    alpha : float or None
        Prior of the shares; None learns it.
    n_iterations : int
    """

    bound_terms: ClassVar[tuple[str, ...]] = ("words", "shares")
    n_document_terms: ClassVar[int] = 2

    alpha: float | None
    n_iterations: int

    def start_structure(self) -> Arrays:
        """Return the first prior of the shares."""
        return {"alpha": np.array(1.0 / self.n_topics if self.alpha is None else self.alpha)}

    def open(self, shared: Globals, shard: DocumentShard, key: NDArray[np.uint64]) -> Arrays:
        """Return room for the concentrations of a shard's documents."""
        tokens = self.open_tokens(shard, key) if shared.phase == "tokens" else {}
        return tokens | {
            "gammas": np.ones((shard.n_documents, self.n_topics)),
            "bounds": np.zeros(shard.n_documents),
        }

    def check(self, shared: Globals, shard: DocumentShard, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        super().check(shared, shard, state)
        check_arrays(shared.arrays, {"alpha": Expected((), least=POSITIVE, most=1e100)})
        n = shard.n_documents
        check_arrays(
            state,
            {
                "gammas": Expected((n, self.n_topics), least=POSITIVE, most=1e100),
                "bounds": Expected((n,)),
            },
        )

    def sweep(
        self, shared: Globals, shard: DocumentShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Infer the shares of a shard's documents; return expected counts."""
        if shared.phase == "tokens":
            return self.sweep_tokens(shared, shard, state, key)
        state.pop("classes", None)
        word_topics = np.zeros((len(shard.word_ids), self.n_topics))
        log_shares, terms = np.zeros(self.n_topics), np.zeros(2)
        weights = self.log_words(shared, shard)
        peaks = self.weigh_words(weights, weights)
        alpha = np.full(self.n_topics, float(shared.arrays["alpha"]))
        sweep_shares(
            shard.offsets, shard.words, shard.counts, weights, peaks, log_prior_of(alpha), True,
            self.n_iterations, ITERATION_TOLERANCE, *share_space(alpha, shard.longest),
            state["gammas"], state["bounds"], word_topics, log_shares, terms,
        )  # fmt: skip
        return {
            "word_ids": shard.word_ids,
            "word_topics": word_topics,
            "terms": terms,
            "log_shares": log_shares,
            "n_documents": np.array(np.count_nonzero(np.diff(shard.offsets))),
        }

    def bound_structure(self, shared: Globals, statistics: Arrays) -> dict[str, float]:
        """Return the documents' terms."""
        words, shares = statistics["terms"].tolist()
        return {"words": words, "shares": shares}

    def step_structure(
        self, shared: Globals, statistics: Arrays, rate: float, scale: float
    ) -> Arrays:
        """Learn the prior of the shares."""
        alpha, n = float(shared.arrays["alpha"]), int(statistics["n_documents"])
        if self.alpha is None and n:
            each = np.full(n, statistics["log_shares"].sum() / n)
            best = learn_prior(alpha, self.n_topics, each, _SMALLEST_ALPHA)
            alpha = (1.0 - rate) * alpha + rate * best
        return {"alpha": np.array(alpha)}

    def shares(self, shared: Globals, state: Arrays) -> NDArray[np.float64]:
        """Return the expected shares."""
        gammas = state["gammas"]
        return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))
