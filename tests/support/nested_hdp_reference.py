"""The nested HDP in plain Python: a document's updates, every term of the bound, enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import betaln, gammaln, logsumexp, psi


def kl_of_beta(a, b, prior_a, prior_b):
    """KL(Beta(a, b) || Beta(prior_a, prior_b))."""
    log_own, log_left = psi(a) - psi(a + b), psi(b) - psi(a + b)
    return (
        betaln(prior_a, prior_b) - betaln(a, b)
        + (a - prior_a) * log_own + (b - prior_b) * log_left
    )  # fmt: skip


def above(parents, node):
    """A topic and all above it, upwards."""
    found = []
    while node >= 0:
        found.append(node)
        node = int(parents[node])
    return found


def descending(members, weight):
    """Members by falling weight, the first one first among equals."""
    return sorted(members, key=lambda one: (-weight[one], members.index(one)))


def stick_logs(order, weight, prior):
    """E[ln p] of ordered siblings, and (a, b) of their sticks."""
    logs, betas, left = {}, {}, 0.0
    for place, one in enumerate(order):
        a, b = 1 + weight[one], prior + sum(weight[other] for other in order[place + 1 :])
        logs[one] = left + psi(a) - psi(a + b)
        left += psi(b) - psi(a + b)
        betas[one] = (a, b)
    return logs, betas


class Document:
    """One document's q given its topics and the words at each, as the paper says."""

    def __init__(self, nodes, counts, parents, log_choices, priors):
        self.nodes, self.parents, self.log_choices = list(nodes), parents, log_choices
        self.beta, self.stop, self.descend = priors
        self.n = dict(zip(self.nodes, counts, strict=True))
        self.m = {k: sum(self.n[i] for i in self.nodes if k in above(parents, i))
                  for k in self.nodes}  # fmt: skip
        self.inner = {k for k in self.nodes if k in set(parents)}
        self.sticks, self.betas = {}, {}
        for parent in {-1, *self.nodes}:
            own = [k for k in self.nodes if parents[k] == parent]
            logs, betas = stick_logs(descending(own, self.m), self.m, self.beta)
            self.sticks |= logs
            self.betas |= betas
        self.switches = {k: (self.stop + self.n[k], self.descend + self.m[k] - self.n[k])
                         for k in self.inner}  # fmt: skip

    def log_weight(self, node):
        """E[ln pi] of a topic."""
        path = above(self.parents, node)
        total = sum(self.sticks[k] for k in path)
        for k in path:
            if k in self.inner:
                a, b = self.switches[k]
                total += psi(a if k == node else b) - psi(a + b)
        return total

    def allocate(self, words, counts, log_beta):
        """q(c) of each word, (n_words, n_nodes); log_beta is (n_topics, n_words)."""
        logits = np.array([[self.log_weight(k) + log_beta[k, w] for k in self.nodes]
                           for w in words])  # fmt: skip
        self.q = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
        self.logits, self.words, self.counts = logits, list(words), np.asarray(counts)
        return self.counts @ self.q

    def terms(self):
        """Terms of the bound by their definitions: words with choices of topics, z, V, U."""
        words = np.sum(self.counts[:, None] * self.q * (self.logits - np.log(self.q)))
        choices = sum(self.log_choices[k] for k in self.nodes)
        sticks = -sum(kl_of_beta(a, b, 1, self.beta) for a, b in self.betas.values())
        switches = -sum(kl_of_beta(a, b, self.stop, self.descend)
                        for a, b in self.switches.values())  # fmt: skip
        return np.array([words, choices, sticks, switches])

    def shares(self, choices):
        """E[pi] of all topics; what is left of sticks goes by ``choices``."""

        def chance(k):
            own = [i for i in self.nodes if self.parents[i] == self.parents[k]]
            rest, found = 1.0, 0.0
            for i in descending(own, self.m):
                a, b = self.betas[i]
                found += rest * a / (a + b) if i == k else 0.0
                rest *= b / (a + b)
            return found + rest * choices[k]

        def stays(k):
            if k not in set(self.parents):
                return 1.0
            a, b = self.switches.get(k, (self.stop, self.descend))
            return a / (a + b)

        found = []
        for k in range(len(self.parents)):
            path = above(self.parents, k)
            reached = math.prod(chance(i) for i in path)
            found.append(reached * stays(k) * math.prod(1 - stays(i) for i in path[1:]))
        return np.array(found)


def chosen(words, counts, beta_rows, parents, log_choices, priors, most, floor):
    """Greedy choice of topics, in which everything is looked at in every round.

    beta_rows: exp(E[ln theta]) up to a factor for each word, (n_topics, n_words).
    """
    beta, stop, descend = priors
    stick, left = psi(1) - psi(1 + beta), psi(beta) - psi(1 + beta)
    stays, goes = psi(stop) - psi(stop + descend), psi(descend) - psi(stop + descend)
    taken, reached, children = [], {}, {}
    inner, sums = set(parents), np.full(len(words), floor)

    def weigh(chain):
        """ln e of a chain from above, each as the next child; and how what goes on is reached."""
        found, going = [], {}
        for k in chain:
            parent = int(parents[k])
            base = going.get(parent, reached.get(parent, 0.0)) + stick
            base += left * (children.get(parent, 0) if parent not in going else 0)
            found.append(base + stays if k in inner else base)
            going[k] = base + goes
        return np.array(found), going

    while len(taken) < most:
        best, best_worth = None, -math.inf
        for k in range(len(parents)):
            chain = [i for i in above(parents, k) if i not in taken][::-1]
            if k in taken or len(chain) > most - len(taken):
                continue
            logs, _ = weigh(chain)
            more = np.exp(logs) @ beta_rows[np.ix_(chain, words)]
            worth = np.dot(counts, np.log1p(more / sums)) + sum(log_choices[i] for i in chain)
            if worth > best_worth:
                best, best_worth = chain, worth
        if best is None or (taken and best_worth <= 0):
            break
        logs, going = weigh(best)
        for k, log in zip(best, logs, strict=True):
            taken.append(k)
            children[int(parents[k])] = children.get(int(parents[k]), 0) + 1
            sums = sums + np.exp(log) * beta_rows[k, words]
        reached |= going
    return taken


def log_evidence(documents, n_words, word_prior, alpha, beta, stop, descend):
    """ln p(words) of a topic with two children, all else summed and integrated out.

    Only of topics in the tree, and of the first two sticks that a document has below the first
    topic: all that q can give words to.
    """

    def dirichlet_multinomial(counts):
        return (
            gammaln(n_words * word_prior) - gammaln(n_words * word_prior + counts.sum())
            + np.sum(gammaln(word_prior + counts) - gammaln(word_prior))
        )  # fmt: skip

    def sticks(counts, prior):
        return sum(betaln(1 + n, prior + sum(counts[i + 1 :])) - betaln(1, prior)
                   for i, n in enumerate(counts))  # fmt: skip

    tokens = [(d, w) for d, document in enumerate(documents) for w in document]
    n_documents, logs = len(documents), []
    top = sticks([n_documents], alpha) + sum(sticks([len(one)], beta) for one in documents)
    for places in itertools.product(range(3), repeat=len(tokens)):  # stay, first or second stick
        used = np.zeros((n_documents, 3))
        for (d, _), place in zip(tokens, places, strict=True):
            used[d, place] += 1
        log_places = top + sum(
            betaln(stop + one[0], descend + one[1:].sum()) - betaln(stop, descend)
            + sticks(one[1:].tolist(), beta)
            for one in used
        )  # fmt: skip
        slots = [(d, j) for d in range(n_documents) for j in (1, 2) if used[d, j]]
        for leads in itertools.product((1, 2), repeat=len(slots)):
            lead = dict(zip(slots, leads, strict=True))
            counts = np.zeros((3, n_words))
            for (d, w), place in zip(tokens, places, strict=True):
                counts[lead.get((d, place), 0), w] += 1
            log_z = sticks([leads.count(1), leads.count(2)], alpha)
            logs.append(log_places + log_z + sum(dirichlet_multinomial(one) for one in counts))
    return logsumexp(logs)
