"""The infinite hidden Markov model written plainly: exact posteriors, prior draws, a Gibbs twin.

Everything follows the equations literally and slowly: sums over all table counts, over all
partitions of a handful of words, one word at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product

import numpy as np
from scipy.special import gammaln, logsumexp


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """All set partitions of n things, as labels in order of first appearance."""

    def extend(labels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(labels) == n:
            yield labels
            return
        for label in range(max(labels, default=-1) + 2):
            yield from extend((*labels, label))

    yield from extend(())


def canonical(states) -> tuple[int, ...]:
    """Labels in order of first appearance."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(int(state), len(seen)) for state in states)


@cache
def stirling(n: int, m: int) -> int:
    """Unsigned Stirling number of the first kind."""
    if n == m:
        return 1
    if m == 0 or m > n:
        return 0
    return (n - 1) * stirling(n - 1, m) + stirling(n - 1, m - 1)


def rising(x: float, n: int) -> float:
    return float(gammaln(x + n) - gammaln(x))


def log_partition(tables, gamma: float, discount: float) -> float:
    """EPPF of a Pitman-Yor process, factor by factor."""
    result, total = 0.0, 0
    for k, size in enumerate(tables):
        for i in range(size):
            weight = gamma + k * discount if i == 0 else i - discount
            result += np.log(weight / (gamma + total)) if total else 0.0
            total += 1
    return result


def transitions(states, offsets) -> np.ndarray:
    """Counts with the start as the last row."""
    n_states = max(states) + 1
    counts = np.zeros((n_states + 1, n_states), int)
    for first, last in pairwise(offsets):
        source = n_states
        for t in range(first, last):
            counts[source, states[t]] += 1
            source = states[t]
    return counts


def log_prior(states, offsets, alpha: float, gamma: float, discount: float) -> float:
    """log p(s) with rows and weights integrated out: a sum over all numbers of tables."""
    counts = transitions(states, offsets)
    cells = [(j, k) for j, k in np.ndindex(counts.shape) if counts[j, k]]
    result = -sum(rising(alpha, n) for n in counts.sum(axis=1))
    terms = []
    for tables in product(*(range(1, counts[cell] + 1) for cell in cells)):
        dishes = np.zeros(counts.shape[1], int)
        term = 0.0
        for cell, m in zip(cells, tables, strict=True):
            term += np.log(stirling(int(counts[cell]), m)) + m * np.log(alpha)
            dishes[cell[1]] += m
        terms.append(term + log_partition(dishes, gamma, discount))
    return result + float(logsumexp(terms))


def log_words(words, states, eta: float, n_words: int) -> float:
    """log p(words | states), distributions integrated out, one level."""
    result = 0.0
    for k in set(states):
        counts = np.bincount([w for w, s in zip(words, states, strict=True) if s == k],
                             minlength=n_words)  # fmt: skip
        result += sum(rising(eta, n) for n in counts) - rising(n_words * eta, counts.sum())
    return result


def posterior(words, offsets, alpha, gamma, discount, eta, n_words) -> dict[tuple[int, ...], float]:
    """Every partition of the words with its posterior probability."""
    logs = {
        labels: log_prior(labels, offsets, alpha, gamma, discount)
        + log_words(words, labels, eta, n_words)
        for labels in partitions(len(words))
    }
    total = logsumexp(list(logs.values()))
    return {labels: float(np.exp(value - total)) for labels, value in logs.items()}


def chain_parents(offsets) -> np.ndarray:
    """The position before each in its sequence, -1 at starts."""
    parents = np.arange(-1, offsets[-1] - 1)
    parents[offsets[:-1]] = -1
    return parents


def draw_states(parents, alpha, gamma, discount, generator) -> np.ndarray:
    """States from the prior, by the Chinese restaurant franchise; parents come first."""
    states = np.empty(len(parents), np.int16)
    served: dict[int, list[tuple[int, int]]] = {}  # restaurant -> (dish, customers) of tables
    dishes: list[int] = []  # tables that serve each dish
    for t, parent in enumerate(parents):
        tables = served.setdefault(-1 if parent < 0 else int(states[parent]), [])
        weights = [n for _, n in tables] + [alpha]
        at = generator.choice(len(weights), p=np.array(weights) / sum(weights))
        if at == len(tables):
            sizes = np.array([m - discount for m in dishes] + [gamma + len(dishes) * discount])
            dish = int(generator.choice(len(sizes), p=sizes / sizes.sum()))
            if dish == len(dishes):
                dishes.append(0)
            dishes[dish] += 1
            tables.append((dish, 0))
        dish, customers = tables[at]
        tables[at] = (dish, customers + 1)
        states[t] = dish
    return states


class DirectAssignment:
    """One word at a time given the weights (Teh et al. 2006): the twin of the beam sampler.

    alpha, gamma and eta are fixed and there is no discount.
    """

    def __init__(self, words, offsets, alpha, gamma, eta, n_words, generator) -> None:
        self.words, self.offsets = words, offsets
        self.alpha, self.gamma, self.eta, self.n_words = alpha, gamma, eta, n_words
        self.generator = generator
        self.states = np.zeros(len(words), int)
        self.betas = np.array([0.5, 0.5])  # of each state, then the rest
        self.starts = set(offsets[:-1])
        self.ends = {last - 1 for last in offsets[1:]}

    def _row(self, t: int) -> int:
        return -1 if t in self.starts else int(self.states[t - 1])

    def _counts(self, skip: int) -> dict[tuple[int, int], int]:
        """All transitions but those into and out of one word."""
        counts: dict[tuple[int, int], int] = {}
        for t in range(len(self.words)):
            if t == skip or (t == skip + 1 and t not in self.starts):
                continue
            pair = (self._row(t), int(self.states[t]))
            counts[pair] = counts.get(pair, 0) + 1
        return counts

    def _weight(self, t: int, k: int, counts) -> float:
        """Of state k for word t; k = K is a new one."""
        a, row = self.alpha, self._row(t)
        weight = counts.get((row, k), 0) + a * self.betas[k]
        if t not in self.ends:
            after = int(self.states[t + 1])
            n = counts.get((k, after), 0) + (row == k == after)
            total = sum(v for (j, _), v in counts.items() if j == k) + (row == k)
            weight *= (n + a * self.betas[after]) / (total + a)
        mine = [w for i, w in enumerate(self.words) if i != t and self.states[i] == k]
        same = sum(w == self.words[t] for w in mine)
        return weight * (same + self.eta) / (len(mine) + self.n_words * self.eta)

    def sweep(self) -> np.ndarray:
        for t in range(len(self.words)):
            self.states[t] = -2
            counts = self._counts(t)
            n_states = len(self.betas) - 1
            weights = np.array([self._weight(t, k, counts) for k in range(n_states + 1)])
            k = int(self.generator.choice(n_states + 1, p=weights / weights.sum()))
            if k == n_states:
                share = self.generator.beta(1, self.gamma)
                rest = self.betas[-1]
                self.betas = np.append(self.betas[:-1], [share * rest, (1 - share) * rest])
            self.states[t] = k
        self._draw_betas()
        return self.states

    def _draw_betas(self) -> None:
        used = np.unique(self.states)
        self.states = np.searchsorted(used, self.states)
        counts = transitions(self.states, self.offsets)
        betas = self.betas[used]
        tables = np.zeros(len(used))
        for j, k in np.ndindex(counts.shape):
            a = self.alpha * betas[k]
            for i in range(counts[j, k]):
                tables[k] += self.generator.random() < a / (a + i)
        self.betas = self.generator.dirichlet(np.append(tables, self.gamma))
