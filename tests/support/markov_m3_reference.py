"""Markov M3 in plain Python: enumeration, the updates of the paper, every term of the bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import betaln, gammaln, logsumexp, psi


def log_expectation(concentrations):
    """E[ln p] of Dirichlet distributions in rows."""
    c = np.asarray(concentrations, float)
    return psi(c) - psi(c.sum(axis=-1, keepdims=True))


def walks(scores, log_start, log_transitions):
    """All walks and their unnormalized log weights."""
    n_positions, n_states = scores.shape
    paths = list(itertools.product(range(n_states), repeat=n_positions))
    weights = [
        log_start[z[0]]
        + sum(scores[i, k] for i, k in enumerate(z))
        + sum(log_transitions[j, k] for j, k in itertools.pairwise(z))
        for z in paths
    ]
    return paths, np.array(weights)


def marginals(scores, log_start, log_transitions):
    """Log normalizer, q(z_i = k), sum_i q(z_i = j, z_{i+1} = k), best path, entropy of q(z)."""
    n_positions, n_states = scores.shape
    paths, weights = walks(scores, log_start, log_transitions)
    log_normalizer = logsumexp(weights)
    q = np.exp(weights - log_normalizer)
    single, pairs = np.zeros((n_positions, n_states)), np.zeros((n_states, n_states))
    for z, p in zip(paths, q, strict=True):
        for i, k in enumerate(z):
            single[i, k] += p
        for j, k in itertools.pairwise(z):
            pairs[j, k] += p
    entropy = -np.sum(q * (weights - log_normalizer))
    return log_normalizer, single, pairs, paths[int(np.argmax(weights))], entropy


class Document:
    """One document's q, updated as the paper says; every step is written out."""

    def __init__(self, words, counts, log_beta, log_start, log_transitions, gamma, truncation):
        self.words, self.counts = list(words), list(counts)
        self.log_beta = log_beta  # (n_states, n_words)
        self.log_start, self.log_transitions = log_start, log_transitions
        self.gamma, self.truncation = gamma, truncation

    def iterate(self, single, log_weights):
        """One round of (11), (13), (8) from q(z) marginals and E[ln nu], of positions in use.

        Those after them are left to the prior, so that they add nothing to the bound.
        """
        n_positions, n_states = single.shape
        n_sticks = min(n_positions, self.truncation - 1)
        self.phi = np.zeros((len(self.words), n_positions))
        for n, w in enumerate(self.words):
            logits = [
                log_weights[i] + sum(single[i, k] * self.log_beta[k, w] for k in range(n_states))
                for i in range(n_positions)
            ]
            self.phi[n] = np.exp(np.array(logits) - logsumexp(logits))
        used = [
            sum(c * self.phi[n, i] for n, c in enumerate(self.counts)) for i in range(n_positions)
        ]
        self.position_counts = np.array(used)
        self.a = [1 + used[i] for i in range(n_sticks)]
        self.b = [self.gamma + sum(used[i + 1 :]) for i in range(n_sticks)]
        self.log_broken = [psi(a) - psi(a + b) for a, b in zip(self.a, self.b, strict=True)]
        self.log_left = [psi(b) - psi(a + b) for a, b in zip(self.a, self.b, strict=True)]
        self.log_weights = np.array(
            [
                (self.log_broken[i] if i < n_sticks else 0.0) + sum(self.log_left[:i])
                for i in range(n_positions)
            ]
        )
        self.scores = np.array(
            [
                [
                    sum(
                        c * self.phi[n, i] * self.log_beta[k, w]
                        for n, (w, c) in enumerate(zip(self.words, self.counts, strict=True))
                    )
                    for k in range(n_states)
                ]
                for i in range(n_positions)
            ]
        )
        _, self.single, self.pairs, self.path, self.entropy = marginals(
            self.scores, self.log_start, self.log_transitions
        )

    def terms(self):
        """Terms of the bound by their definitions: words, walk, allocation, sticks."""
        words = sum(
            c * self.phi[n, i] * self.single[i, k] * self.log_beta[k, w]
            for n, (w, c) in enumerate(zip(self.words, self.counts, strict=True))
            for i in range(len(self.single))
            for k in range(len(self.log_start))
        )
        walk = self.single[0] @ self.log_start + np.sum(self.pairs * self.log_transitions)
        walk += self.entropy
        allocation = sum(
            c * p * (self.log_weights[i] - math.log(p))
            for n, c in enumerate(self.counts)
            for i, p in enumerate(self.phi[n])
            if p > 0
        )
        sticks = sum(
            math.log(self.gamma) + (self.gamma - 1) * left
            - (-betaln(a, b) + (a - 1) * broken + (b - 1) * left)
            for a, b, broken, left in zip(
                self.a, self.b, self.log_broken, self.log_left, strict=True
            )
        )  # fmt: skip
        return np.array([words, walk, allocation, sticks])

    def word_topics(self, n_words):
        """Expected counts (16), (n_words, n_states)."""
        counts = np.zeros((n_words, len(self.log_start)))
        for n, (w, c) in enumerate(zip(self.words, self.counts, strict=True)):
            for i in range(len(self.single)):
                counts[w] += c * self.phi[n, i] * self.single[i]
        return counts


def dirichlet_bound(concentrations, prior):
    """E[ln p] - E[ln q] of Dirichlet distributions in rows under a symmetric prior."""
    total = 0.0
    for c in np.atleast_2d(concentrations):
        expected = log_expectation(c)
        total += gammaln(len(c) * prior) - len(c) * gammaln(prior) + np.sum((prior - 1) * expected)
        total -= gammaln(c.sum()) - gammaln(c).sum() + np.sum((c - 1) * expected)
    return total


def log_evidence(documents, n_topics, n_positions, n_words, alpha, beta, gamma):
    """ln p(words), all else summed and integrated out; documents are lists of tokens."""

    def dirichlet_multinomial(counts, prior):
        n = len(counts)
        return (
            gammaln(n * prior) - gammaln(n * prior + counts.sum())
            + np.sum(gammaln(prior + counts) - gammaln(prior))
        )  # fmt: skip

    n_tokens = sum(map(len, documents))
    logs = []
    for flat in itertools.product(range(n_topics), repeat=len(documents) * n_positions):
        z = np.reshape(flat, (len(documents), n_positions))
        starts, steps = np.zeros(n_topics), np.zeros((n_topics, n_topics))
        for row in z:
            starts[row[0]] += 1
            for j, k in itertools.pairwise(row):
                steps[j, k] += 1
        log_z = dirichlet_multinomial(starts, alpha / n_topics)
        log_z += sum(dirichlet_multinomial(row, alpha / n_topics) for row in steps)
        for places in itertools.product(range(n_positions), repeat=n_tokens):
            used = np.zeros((len(documents), n_positions))
            words = np.zeros((n_topics, n_words))
            place = iter(places)
            for d, document in enumerate(documents):
                for w in document:
                    i = next(place)
                    used[d, i] += 1
                    words[z[d, i], w] += 1
            log_l = sum(
                betaln(1 + n[i], gamma + n[i + 1 :].sum()) - betaln(1, gamma)
                for n in used
                for i in range(n_positions - 1)
            )
            logs.append(log_z + log_l + sum(dirichlet_multinomial(row, beta) for row in words))
    return logsumexp(logs)
