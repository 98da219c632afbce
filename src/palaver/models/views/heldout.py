"""How well a model foretells conversations it has not seen: log likelihoods and perplexity.

Two protocols. The paper's (Paul 2012, section 5.5.1) samples the classes of the test messages
and scores each word given the class shares that the sampled classes of the parent, or in LDA
of the message itself, stand for. That is optimistic: the parent's classes were sampled having
seen the reply, LDA's having seen the very words. The sequential protocol estimates the
likelihood of the words without looking ahead, so models can be compared by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encode import Encoded, Shard
from palaver.errors import CorpusError
from palaver.fit.fold import fold_in, map_shards_with_progress
from palaver.params import check, one_of, whole

if TYPE_CHECKING:
    from palaver.models.words.engine import ThreadEngine
    from palaver.parallel import Arrays, Globals

#: The paper's protocol: sweeps of the fold-in, and how many of the last are averaged.
PAPER_SWEEPS, PAPER_SAMPLES = 500, 10
PARTICLES = 500


class HeldOut:
    """What a fitted thread model says of how likely conversations are."""

    #: Protocols that the model offers.
    heldout_methods: ClassVar[tuple[str, ...]] = ("sequential", "paper")

    def log_likelihoods(
        self: Any,
        corpus: Corpus | Encoded,
        method: str = "sequential",
        *,
        n_sweeps: int = PAPER_SWEEPS,
        n_particles: int = PARTICLES,
    ) -> NDArray[np.float64]:
        """Return the log likelihood of the known words of each conversation.

        Parameters
        ----------
        corpus : Corpus or Encoded
        method : {"sequential", "paper"}
            Without looking ahead, or the paper's protocol; the block HMM also has "blocks",
            the paper's protocol with a message scored as a whole.
        n_sweeps : int
            Sweeps of the paper's protocol; the last ten are averaged.
        n_particles : int
            Samples side by side of the sequential protocol. The likelihood is unbiased for any
            number; its log rises a little with more. The block HMM is exact and needs none.

        Returns
        -------
        array of float64, shape (n_conversations,)
            Natural logarithms. The same for any number of threads.
        """
        limits = {
            "method": one_of(*self.heldout_methods),
            "n_sweeps": whole(1),
            "n_particles": whole(1),
        }
        given = {"method": method, "n_sweeps": n_sweeps, "n_particles": n_particles}
        check("log_likelihoods", limits, given)
        encoded = self._encode(corpus)
        engine = self._make_engine(len(self.vocabulary_), "parallel")
        frozen = engine.frozen(self.chains_[self.best_chain_])
        if method == "sequential":
            return _sequential(self, engine, frozen, encoded, n_particles)
        return _sampled(self, engine, frozen, encoded, n_sweeps, method)

    def perplexity(
        self: Any,
        corpus: Corpus | Encoded,
        method: str = "sequential",
        *,
        n_sweeps: int = PAPER_SWEEPS,
        n_particles: int = PARTICLES,
    ) -> float:
        """Return the perplexity of a word: ``exp(-log likelihood / words)``; lower is better.

        Words that the model's vocabulary lacks are left out. Compare models by "sequential";
        "paper" is the published protocol, which looks ahead.

        Parameters
        ----------
        corpus, method, n_sweeps, n_particles
            As in :meth:`log_likelihoods`.
        """
        encoded = self._encode(corpus)
        if not encoded.n_tokens:
            raise CorpusError("perplexity: the corpus holds no word that the model knows")
        logs = self.log_likelihoods(encoded, method, n_sweeps=n_sweeps, n_particles=n_particles)
        return float(np.exp(-logs.sum() / encoded.n_tokens))

    def score(self: Any, corpus: Corpus | Encoded) -> float:
        """Return the sequential log likelihood of a word, as scikit-learn's ``score``."""
        return -float(np.log(self.perplexity(corpus)))


def _sequential(
    model: Any, engine: ThreadEngine, frozen: Globals, encoded: Encoded, n_particles: int
) -> NDArray[np.float64]:
    """Estimate the likelihood of each conversation, shard by shard."""
    key = rng.key(model.seed_, "sequential")

    def work(shard: Shard) -> NDArray[np.float64]:
        return engine.log_likelihoods(frozen, shard, key, n_particles)

    parts = map_shards_with_progress(work, model.cut(encoded), model.get_params()["n_jobs"])
    return np.concatenate(parts)


def _sampled(
    model: Any,
    engine: ThreadEngine,
    frozen: Globals,
    encoded: Encoded,
    n_sweeps: int,
    method: str,
) -> NDArray[np.float64]:
    """Average the scores of the last sweeps of a fold-in, as the paper does."""
    n_samples = min(PAPER_SAMPLES, n_sweeps)
    scores = np.zeros(encoded.n_messages)

    def visit(shard: Shard, state: Arrays) -> None:
        rows = slice(shard.first_message, shard.first_message + shard.n_messages)
        if method == "paper":
            engine.add_paper_scores(frozen, shard, state, scores[rows])
        else:
            engine.add_block_scores(frozen, shard, state, scores[rows])

    fold_in(
        engine, frozen, model.cut(encoded), visit, seed=model.seed_, n_sweeps=n_sweeps,
        burn_in=n_sweeps - n_samples, n_jobs=model.get_params()["n_jobs"], purpose="perplexity",
    )  # fmt: skip
    ends = np.concatenate(([0.0], np.cumsum(scores / n_samples)))
    return np.diff(ends[encoded.conversation_offsets])
