"""A mixture of word distributions, fitted to the messages of one class to find its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import logsumexp

from palaver import rng
from palaver.encoding import Encoded

Floats = NDArray[np.float64]
#: Starts, steps of each, counts that every word of a part begins with.
_STARTS, _STEPS, _PRIOR = 10, 40, 0.1


@dataclass(frozen=True, eq=False)
class Mixture:
    """Parts of a class: each message is of one of them, and says what words it has.

    A word counts once per message, so that long messages do not decide alone.

    Attributes
    ----------
    log_shares : array of float64, shape (n_parts,)
    log_words : array of float64, shape (n_words, n_parts)
        Zero for words that are not looked at.
    """

    log_shares: Floats
    log_words: Floats

    def posteriors(self, part: Encoded) -> Floats:
        """Return how probable each part is for each message, (n_messages, n_parts)."""
        return _softmax(presence(part) @ self.log_words + self.log_shares)[0]


def presence(part: Encoded) -> csr_matrix:
    """Return which words each message has, (n_messages, n_words)."""
    known = part.tokens >= 0
    before = np.concatenate(([0], np.cumsum(known)))[part.message_offsets]
    shape = part.n_messages, len(part.vocabulary)
    found = csr_matrix((np.ones(int(known.sum())), part.tokens[known], before), shape)
    found.sum_duplicates()
    found.data[:] = 1.0
    return found


def fit_mixture(part: Encoded, n_parts: int, seed: int, telling: NDArray[np.bool_]) -> Mixture:
    """Return the likeliest of several mixtures, each found by expectation and maximization.

    Parameters
    ----------
    part : Encoded
        Messages of a class.
    n_parts, seed : int
    telling : array of bool, shape (n_words,)
        Words to look at; those that only one message has are never looked at.
    """
    words = presence(part)
    used = np.flatnonzero(telling & (np.asarray(words.sum(axis=0)).ravel() >= 2))
    own = words[:, used]
    found = [_searched(own, n_parts, rng.generator(seed, "split", i)) for i in range(_STARTS)]
    _, log_shares, log_own = max(found, key=lambda one: one[0])
    log_words = np.zeros((words.shape[1], n_parts))
    log_words[used] = log_own
    return Mixture(log_shares, log_words)


def _searched(
    words: csr_matrix, n_parts: int, generator: np.random.Generator
) -> tuple[float, Floats, Floats]:
    """Return the log likelihood, the log shares and the log words of one search."""
    posteriors = _start(words, n_parts, generator)
    score = -np.inf
    for _ in range(_STEPS):
        shares = posteriors.sum(axis=0) + 1.0
        counts = np.asarray(words.T @ posteriors) + _PRIOR
        log_shares = np.log(shares / shares.sum())
        log_words = np.log(counts / counts.sum(axis=0))
        posteriors, likelihood = _softmax(words @ log_words + log_shares)
        if likelihood - score < 1e-6 * abs(likelihood):
            break
        score = likelihood
    return likelihood, log_shares, log_words


def _start(words: csr_matrix, n_parts: int, generator: np.random.Generator) -> Floats:
    """Return which part each message begins in: that of the most similar of far-off messages."""
    rarity = np.log((1 + words.shape[0]) / (1 + np.asarray(words.sum(axis=0)).ravel()))
    rows = words.multiply(rarity).tocsr()
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = rows.multiply((1 / np.where(lengths > 0, lengths, 1))[:, None]).tocsr()
    speaking = lengths > 0
    chosen = [int(generator.choice(np.flatnonzero(speaking)))]
    near = np.zeros((words.shape[0], n_parts))
    for k in range(n_parts):
        near[:, k] = np.asarray((rows @ rows[chosen[k]].T).todense()).ravel()
        far = np.where(speaking, np.maximum(1 - near[:, : k + 1].max(axis=1), 0), 0) ** 2
        chance = far / far.sum() if far.sum() > 0 else speaking / speaking.sum()
        chosen.append(int(generator.choice(len(chance), p=chance)))
    begun = np.full((words.shape[0], n_parts), 0.1 / n_parts)
    begun[np.arange(words.shape[0]), near.argmax(axis=1)] += 0.9
    return begun


def _softmax(scores: Floats) -> tuple[Floats, float]:
    """Return probabilities of columns, and the sum of the logarithms of their totals."""
    totals = logsumexp(scores, axis=1, keepdims=True)
    return np.exp(scores - totals), float(totals.sum())
