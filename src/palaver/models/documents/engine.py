"""What variational models of documents share: topics of words, their prior, steps of any size.

An engine is a model as the loop sees it (:class:`palaver.parallel.Engine`). Topics are Dirichlet
distributions with concentrations ``lambda`` (n_words, n_topics). A step of rate 1 over all
documents is coordinate ascent; smaller rates over a part are stochastic variational inference
(Hoffman et al. 2013)::

    new = (1 - rate) old + rate (prior + scale * expected counts),   scale = all / seen documents

Variational inference stays near the topics it begins with. So the first sweeps over all documents
are those of a Gibbs sampler for LDA (phase "tokens"), in which every token has a topic and word
distributions are drawn; its last counts are the first topics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, polygamma, psi

from palaver.encoding.documents import DocumentShard
from palaver.kernels.dirichlet import log_dirichlet_multinomial
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.spaces import aligned_space, padded
from palaver.kernels.special import dirichlet_sums, log_expectations, scaled_exponentials
from palaver.kernels.word_weights import draw_word_weights, word_key
from palaver.models.documents.kernels.shares import log_prior_of, share_space, sweep_shares
from palaver.models.documents.kernels.tokens import draw_topics, slots_of_ranks
from palaver.parallel.executor import Arrays, Globals
from palaver.parallel.restored import POSITIVE, Expected, check_arrays, indices

#: First word prior where topics are random.
FIRST_BETA = 0.05
#: Mean concentration of a word in a random topic. A stream forgets its start slowly: at 1 it weighs
#: as much as many documents, at 0.1 the first documents choose topics by chance.
START_WEIGHT = 0.3
#: Bounds of a learned prior; below the first the words of a topic would be no more than those seen.
SMALLEST_PRIOR, LARGEST_PRIOR = 1e-3, 1e3
#: Priors of the Gibbs sampler: of all topics of a document together; and of a word, which is, where
#: topics are many, what gives a topic the third as a share of its tokens. Smooth topics at first
#: lead to better ones at the end (benchmarks/markov_m3_start.py).
TOKEN_ALPHA, TOKEN_BETA, TOKEN_SHARE = 5.0, 0.3, 0.25
#: More tokens of one word in one document than these do not change what the topics are.
MOST_TOKENS = 100
_ROWS = 2048  # of topics that a thread takes at a time
#: First steps of a stream that are plain LDA's, where documents are to choose a few topics: these
#: must mean something before they can. The prior of the shares, and when documents stop.
STREAM_START = 15
_LDA_PRIOR, _LDA_ITERATIONS, _LDA_TOLERANCE = 0.1, 30, 1e-3
#: A document that chose a few topics chooses again in every n-th sweep, and keeps the better.
RESTART_EVERY = 4
#: Mini-batches between two looks at the word prior, which cost as much as all words and topics;
#: the first ones do not count: until then the random start is what one would see.
BETA_STEPS, BETA_FIRST = 10, 50


def prior_term(prior: float, size: int, log_sums: NDArray[np.float64]) -> float:
    """Return ``E[ln p]`` under symmetric Dirichlet priors, without the distributions' own part.

    Parameters
    ----------
    prior : float
    size : int
        Values of a distribution.
    log_sums : array of float64
        Sums of ``E[ln p]`` over the values, one per distribution.
    """
    each = gammaln(size * prior) - size * gammaln(prior) + (prior - 1) * log_sums
    return float(np.sum(each))


def learn_prior(
    prior: float, size: int, log_sums: NDArray[np.float64], smallest: float = SMALLEST_PRIOR
) -> float:
    """Return the symmetric Dirichlet prior that maximizes :func:`prior_term`.

    Newton's method on its logarithm, in which steps are cut to a factor of e; the objective is
    concave in the prior, so that the result never lowers the bound.
    """
    total, n = float(np.sum(log_sums)), len(log_sums)
    low, high = np.log(smallest), np.log(LARGEST_PRIOR)
    place = float(np.clip(np.log(prior), low, high))
    for _ in range(100):
        value = np.exp(place)
        slope = value * (n * size * (psi(size * value) - psi(value)) + total)
        bend = slope + value**2 * n * size * (
            size * polygamma(1, size * value) - polygamma(1, value)
        )
        step = -slope / bend if bend < 0 else np.sign(slope)
        moved = float(np.clip(place + np.clip(step, -1, 1), low, high))
        if abs(moved - place) < 1e-12:
            break
        place = moved
    learned = float(np.exp(place))
    better = prior_term(learned, size, log_sums) >= prior_term(prior, size, log_sums)
    return learned if better or prior < smallest else prior


def _tokens_of(shard: DocumentShard) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return a shard's documents as tokens, and their offsets; parts of a count are rounded."""
    repeats = np.clip(np.rint(shard.counts), 1, MOST_TOKENS).astype(np.int64)
    ends = np.concatenate(([0], np.cumsum(repeats)))
    return np.repeat(shard.words, repeats), ends[shard.offsets]


@dataclass
class DocumentEngine(ABC):
    """The part of an engine that variational models of documents share.

    Attributes
    ----------
    n_words, n_topics : int
    beta : float or None
        Prior of the words of a topic; None learns it.
    start_sweeps : int
        First sweeps over all documents, of the Gibbs sampler.
    """

    n_words: int
    n_topics: int
    beta: float | None
    start_sweeps: int
    run: Any = field(init=False, default=map)
    exact: ClassVar[tuple[str, ...]] = ()
    #: Terms of the bound in addition to that of the topics.
    bound_terms: ClassVar[tuple[str, ...]]
    #: How many of the statistics' ``terms`` are of the documents' bound.
    n_document_terms: ClassVar[int]

    # topics

    def start(self, generator: np.random.Generator) -> Globals:
        """Return random topics."""
        topics = START_WEIGHT * generator.gamma(100.0, 0.01, (self.n_words, self.n_topics))
        return self.start_from(topics)

    def start_from(self, topics: NDArray[np.float64]) -> Globals:
        """Return the first globals for given topics, (n_words, n_topics)."""
        arrays: Arrays = {
            "topics": topics,
            "beta": np.array(FIRST_BETA if self.beta is None else self.beta),
            "steps": np.array(0),
            **self.start_structure(),
        }
        return Globals(self.phase(0), arrays | self.topic_sums(topics))

    def topic_sums(self, topics: NDArray[np.float64]) -> Arrays:
        """Return the totals of the topics and what the bound needs of them, (2, n_topics)."""
        totals = topics.sum(axis=0)
        starts = range(0, self.n_words, _ROWS)
        rows = (topics[first : first + _ROWS] for first in starts)
        parts = self.run(lambda part: dirichlet_sums(part, totals), rows)
        return {"topic_totals": totals, "topic_sums": sum(parts, np.zeros((2, self.n_topics)))}

    def log_words(self, shared: Globals, shard: DocumentShard) -> NDArray[np.float64]:
        """Return ``E[ln beta]`` of a shard's words, (n_own_words, n_topics padded to blocks)."""
        own = shared.arrays["topics"][shard.word_ids]
        logs = np.empty((len(own), padded(self.n_topics)))
        log_expectations(own, shared.arrays["topic_totals"], logs)
        return logs

    # the first sweeps

    def open_tokens(self, shard: DocumentShard, key: NDArray[np.uint64]) -> Arrays:
        """Draw the topic of every token uniformly."""
        classes = np.empty(len(_tokens_of(shard)[0]), np.int16)
        self._draw(shard, classes, np.zeros((0, self.n_topics + 1)), key)
        return {"classes": classes}

    def _draw(
        self,
        shard: DocumentShard,
        classes: NDArray[np.int16],
        weights: NDArray[np.float64],
        key: NDArray[np.uint64],
    ) -> NDArray[np.float64]:
        """Draw the topic of every token (IN-OUT); return their counts, (n_own_words, n_topics).

        ``weights`` (n_words, n_topics + 1) of the model's words; without rows, topics are drawn
        uniformly, and not counted.
        """
        tokens, offsets = _tokens_of(shard)
        counts = np.zeros((len(shard.word_ids), self.n_topics))
        own = np.zeros((0, weights.shape[1]))
        if len(weights):
            own = np.empty((len(shard.word_ids) + LANES, weights.shape[1]))
            np.take(weights, shard.word_ids, axis=0, out=own[:-LANES], mode="clip")
            own[-LANES:] = 0.0
        width = padded(self.n_topics)
        draw_topics(
            tokens, offsets, shard.first_document, classes, own.reshape(-1), own.shape[1],
            TOKEN_ALPHA / self.n_topics, slots_of_ranks(self.n_topics), key, np.empty(4, np.uint64),
            aligned_space(width), aligned_space(width), counts,
        )  # fmt: skip
        return counts

    def check(self, shared: Globals, shard: DocumentShard, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        shape = (self.n_words, self.n_topics)
        wanted = {
            "topics": Expected(shape, least=POSITIVE, most=1e100),
            "beta": Expected((), least=POSITIVE, most=1e100),
            "steps": Expected((), np.int64, 0),
            "topic_totals": Expected((self.n_topics,), least=POSITIVE, most=1e100),
            "topic_sums": Expected((2, self.n_topics)),
        }
        if "word_weights" in shared.arrays:
            wanted["word_weights"] = Expected((self.n_words, self.n_topics + 1), least=0)
        check_arrays(shared.arrays, wanted)
        if not np.allclose(shared.arrays["topic_totals"], shared.arrays["topics"].sum(axis=0)):
            raise ValueError("topic_totals are not those of the topics")
        if shared.phase == "tokens":
            n_tokens = len(_tokens_of(shard)[0])
            check_arrays(state, {"classes": indices(n_tokens, self.n_topics)})

    def sweep_tokens(
        self, shared: Globals, shard: DocumentShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Draw the topic of every token of a shard; the first sweep counts what was opened."""
        if "word_weights" in shared.arrays:
            counts = self._draw(shard, state["classes"], shared.arrays["word_weights"], key)
        else:
            counts = np.zeros((len(shard.word_ids), self.n_topics))
            np.add.at(counts, (_tokens_of(shard)[0], state["classes"]), 1.0)
        return {"word_ids": shard.word_ids, "word_topics": counts}

    def expect_words(self, shared: Globals, statistics: Arrays) -> Globals:
        """Return what the next sweep over tokens needs: expected word distributions, not drawn.

        Much less work than :meth:`update_tokens` where topics are only to begin with.
        """
        topics = self._spread(statistics)["word_topics"]
        topics += self._token_beta(topics)
        weights = np.ones((self.n_words, self.n_topics + 1))
        np.divide(topics, topics.sum(axis=0), out=weights[:, :-1])
        return Globals("tokens", {**shared.arrays, "topics": topics, "word_weights": weights})

    def settled(self, topics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the topics that a Gibbs sampler found as the model takes them."""
        return topics

    def _token_beta(self, counted: NDArray[np.float64]) -> float:
        """Return the word prior of the Gibbs sampler."""
        return self.beta or min(TOKEN_BETA, TOKEN_SHARE * counted.sum() / counted.size)

    def update_tokens(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Draw the word distributions given all tokens' topics, or leave topics behind."""
        counted = self._spread(statistics)["word_topics"]
        steps = int(shared.arrays["steps"]) + 1
        beta = self._token_beta(counted)
        phase = self.phase(steps)
        topics = counted + beta if phase == "tokens" else self.settled(counted + beta)
        arrays = {**shared.arrays, "topics": topics, "beta": np.array(beta),
                  "steps": np.array(steps), **self.topic_sums(topics)}  # fmt: skip
        arrays.pop("word_weights", None)
        counts = np.zeros((self.n_words, self.n_topics + 1), np.int32)
        counts[:, :-1] = counted
        if phase == "tokens":
            arrays["word_weights"] = draw_word_weights(counts, beta, word_key(generator), self.run)
        log_words = float(log_dirichlet_multinomial(counts, beta).sum())
        there_is_none = dict.fromkeys((*self.bound_terms, "topics"), np.nan)
        return Globals(phase, arrays), {"log_joint": log_words, **there_is_none, "beta": beta}

    def weigh_words(
        self, logs: NDArray[np.float64], out: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Set ``out = exp(logs - peak)`` for each word; return the peaks, (n_own_words,)."""
        peaks = np.empty(len(logs))
        scaled_exponentials(logs, self.n_topics, out, peaks)
        return peaks

    # statistics

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up statistics; the words of shards differ."""
        left, own = self._spread(left), right.pop("word_ids", None)
        for name, value in right.items():
            if name == "word_topics" and own is not None:
                left[name][own] += value
            else:
                left[name] += value
        return left

    def _spread(self, statistics: Arrays) -> Arrays:
        """Return statistics over all words instead of a shard's own."""
        own = statistics.pop("word_ids", None)
        if own is not None:
            whole = np.zeros((self.n_words, self.n_topics))
            whole[own] = statistics["word_topics"]
            statistics["word_topics"] = whole
        return statistics

    # steps

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Take a whole step: coordinate ascent, or a round of the Gibbs sampler."""
        if shared.phase == "tokens":
            return self.update_tokens(shared, statistics, generator)
        return self.step(shared, statistics)

    def step(
        self, shared: Globals, statistics: Arrays, rate: float = 1.0, scale: float = 1.0
    ) -> tuple[Globals, dict[str, float]]:
        """Move the globals; the trace records the bound before the move.

        Parameters
        ----------
        shared : Globals
        statistics : Arrays
            Expected counts of the documents seen.
        rate : float
            Share of the new in the mixture of old and new.
        scale : float
            All documents for each one seen.
        """
        statistics, old = self._spread(statistics), shared.arrays
        info = {}
        whole = rate == 1.0 and scale == 1.0
        if whole:
            info = self.bound(shared, statistics)
        beta, steps = float(old["beta"]), int(old["steps"]) + 1
        topics = statistics["word_topics"]  # a mixture in place: no third array of this size
        topics *= rate * scale
        topics += rate * beta
        if rate != 1.0:
            topics += (1.0 - rate) * old["topics"]
        late = steps >= BETA_FIRST and steps % BETA_STEPS == 0
        look = whole or (self.beta is None and late)
        sums = self.topic_sums(topics) if look else {"topic_totals": topics.sum(axis=0),
                                                     "topic_sums": old["topic_sums"]}  # fmt: skip
        if look and self.beta is None:
            beta = learn_prior(beta, self.n_words, sums["topic_sums"][0])
        arrays: Arrays = {
            "topics": topics,
            "beta": np.array(beta),
            "steps": np.array(steps),
            **sums,
            **self.step_structure(shared, statistics, rate, scale),
        }
        return Globals(self.phase(steps, whole), arrays), info

    def bound(self, shared: Globals, statistics: Arrays) -> dict[str, float]:
        """Return the evidence bound and its terms, of all documents, before a step."""
        arrays = shared.arrays
        log_sums, own = arrays["topic_sums"]
        topics = prior_term(float(arrays["beta"]), self.n_words, log_sums)
        topics += float(np.sum(own - gammaln(arrays["topic_totals"])))
        terms = {**self.bound_structure(shared, statistics), "topics": topics}
        return {"log_joint": sum(terms.values()), **terms, "beta": float(arrays["beta"])}

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return nothing: the last globals are the model, not a mean over sweeps."""
        return {}

    # What each model adds.

    def phase(self, steps: int, whole: bool = True) -> str:
        """Return how the sweep after this many steps begins its documents; not whole: a stream."""
        return "tokens" if whole and steps < self.start_sweeps else "fresh"

    def choosing_phase(self, steps: int, whole: bool, n_lda_steps: int) -> str:
        """Return the phase where documents choose a few topics.

        Topics are found first; then documents start from what they have, sometimes from scratch.
        """
        done = steps - (self.start_sweeps if whole else min(self.start_sweeps, n_lda_steps))
        if done < 0:
            return "tokens" if whole else "lda"
        if not whole or done == 0:
            return "fresh"
        return "better" if done % RESTART_EVERY == 0 else "keep"

    def sweep_lda(
        self, shared: Globals, shard: DocumentShard, word_topics: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Infer shares of all topics, for the first steps of a stream.

        ``word_topics`` (n_own_words, n_topics) are added to. Returns the terms of the bound: words,
        shares.
        """
        terms = np.zeros(2)
        weights = self.log_words(shared, shard)
        peaks = self.weigh_words(weights, weights)
        alpha = np.full(self.n_topics, _LDA_PRIOR)
        sweep_shares(
            shard.offsets, shard.words, shard.counts, weights, peaks, log_prior_of(alpha), True,
            _LDA_ITERATIONS, _LDA_TOLERANCE, *share_space(alpha, shard.longest),
            np.empty((shard.n_documents, self.n_topics)), np.empty(shard.n_documents),
            word_topics, np.zeros(self.n_topics), terms,
        )  # fmt: skip
        return terms

    @abstractmethod
    def start_structure(self) -> Arrays:
        """Return the first of what is not words."""

    @abstractmethod
    def bound_structure(self, shared: Globals, statistics: Arrays) -> dict[str, float]:
        """Return all terms of the bound but that of the topics."""

    @abstractmethod
    def step_structure(
        self, shared: Globals, statistics: Arrays, rate: float, scale: float
    ) -> Arrays:
        """Return what is not words after a step."""

    @abstractmethod
    def open(self, shared: Globals, shard: DocumentShard, key: NDArray[np.uint64]) -> Arrays:
        """Return the first state of a shard."""

    @abstractmethod
    def sweep(
        self, shared: Globals, shard: DocumentShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Infer the documents of a shard; return their expected counts."""

    @abstractmethod
    def shares(self, shared: Globals, state: Arrays) -> NDArray[np.float64]:
        """Return the expected share of each topic in each document of a swept shard."""
