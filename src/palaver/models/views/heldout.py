"""How well a model predicts conversations it has not seen: log likelihoods and perplexity.

There are two protocols. The one of Paul (2012, section 5.5.1) samples the classes of the test
messages, and scores each word given the class shares that follow from the sampled classes of the
parent or, in LDA, of the message itself. That is optimistic: the parent's classes were sampled
having seen the reply, LDA's having seen the very words. The sequential protocol estimates the
likelihood of the words without looking ahead; use it to compare models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Shard
from palaver.errors import CorpusError
from palaver.fit.fold import fold_in, map_shards_with_progress
from palaver.params import check, one_of, whole

if TYPE_CHECKING:
    from palaver.models.words.model import ThreadModel
    from palaver.parallel import Arrays

#: The paper's protocol: sweeps of the fold-in, and how many of the last are averaged.
PAPER_SWEEPS, PAPER_SAMPLES = 500, 10
PARTICLES = 500


def log_likelihoods(
    model: ThreadModel, corpus: Corpus | Encoded, method: str, *, n_sweeps: int, n_particles: int
) -> NDArray[np.float64]:
    """Return the log likelihood of each conversation; see :meth:`ThreadModel.log_likelihoods`."""
    limits = {
        "method": one_of(*model.heldout_methods),
        "n_sweeps": whole(1),
        "n_particles": whole(1),
    }
    given = {"method": method, "n_sweeps": n_sweeps, "n_particles": n_particles}
    check("log_likelihoods", limits, given)
    encoded = model._encode(corpus)
    if method == "sequential":
        return _sequential(model, encoded, n_particles)
    return _sampled(model, encoded, n_sweeps, method)


def perplexity(
    model: ThreadModel, corpus: Corpus | Encoded, method: str, *, n_sweeps: int, n_particles: int
) -> float:
    """Return the perplexity per word; see :meth:`ThreadModel.perplexity`."""
    encoded = model._encode(corpus)
    if not encoded.n_tokens:
        raise CorpusError("perplexity: the corpus holds no word that the model knows")
    logs = model.log_likelihoods(encoded, method, n_sweeps=n_sweeps, n_particles=n_particles)
    return float(np.exp(-logs.sum() / encoded.n_tokens))


def _sequential(model: ThreadModel, encoded: Encoded, n_particles: int) -> NDArray[np.float64]:
    """Estimate the likelihood of each conversation, shard by shard."""
    engine, frozen = model._frozen()
    key = rng.key(model.seed_, "sequential")

    def work(shard: Shard) -> NDArray[np.float64]:
        return engine.log_likelihoods(frozen, shard, key, n_particles)

    return np.concatenate(map_shards_with_progress(work, model.cut(encoded), model.n_jobs))


def _sampled(
    model: ThreadModel, encoded: Encoded, n_sweeps: int, method: str
) -> NDArray[np.float64]:
    """Average the scores of the last sweeps of a fold-in, as the paper does."""
    engine, frozen = model._frozen()
    n_samples = min(PAPER_SAMPLES, n_sweeps)
    scores = np.zeros(encoded.n_messages)

    def visit(shard: Shard, state: Arrays) -> None:
        rows = slice(shard.first_message, shard.first_message + shard.n_messages)
        engine.add_scores(method, frozen, shard, state, scores[rows])

    fold_in(
        engine, frozen, model.cut(encoded), visit, seed=model.seed_, n_sweeps=n_sweeps,
        burn_in=n_sweeps - n_samples, n_jobs=model.n_jobs, purpose="perplexity",
    )  # fmt: skip
    ends = np.concatenate(([0.0], np.cumsum(scores / n_samples)))
    return np.diff(ends[encoded.conversation_offsets])
