"""GRASSHOPPER as the paper writes it: a fresh inversion for every item."""

from __future__ import annotations

import numpy as np

TIE = 1e-10


def transitions(W, prior, weight):
    """Equation 1, with jumps from items without edges."""
    W = np.asarray(W, float)
    n = len(W)
    P = np.empty((n, n))
    for i in range(n):
        total = W[i].sum()
        P[i] = weight * W[i] / total + (1 - weight) * prior if total > 0 else prior
    return P


def stationary(P):
    """Solve pi P = pi, sum pi = 1, by least squares."""
    n = len(P)
    system = np.vstack((P.T - np.eye(n), np.ones(n)))
    return np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]


def lowest_of_the_best(scores, items):
    best = max(scores[i] for i in items)
    return min(i for i in items if scores[i] >= best - TIE * abs(best))


def visits(P, ranked):
    """Equations 3 and 4: expected visits to the unranked items, as a dictionary."""
    items = [i for i in range(len(P)) if i not in ranked]
    Q = P[np.ix_(items, items)]
    N = np.linalg.inv(np.eye(len(items)) - Q)
    return dict(zip(items, N.T @ np.ones(len(items)) / len(items), strict=True))


def visits_with_escape(P, ranked, escape):
    """Visits when ranked items let a walk continue with a given probability."""
    items = [i for i in range(len(P)) if i not in ranked]
    D = np.eye(len(P))
    D[ranked, ranked] = escape
    start = np.zeros(len(P))
    start[items] = 1 / len(items)
    v = np.linalg.solve((np.eye(len(P)) - D @ P).T, start)
    return {i: v[i] for i in items}


def rank(W, prior=None, weight=0.5, top=None, escape=0.0):
    """Figure 2 of the paper."""
    n = len(W)
    prior = np.full(n, 1 / n) if prior is None else np.asarray(prior, float) / np.sum(prior)
    P = transitions(W, prior, weight)
    pi = stationary(P)
    order = [lowest_of_the_best(pi, range(n))]
    scores = [pi[order[0]]]
    while len(order) < (top or n):
        v = visits_with_escape(P, order, escape) if escape else visits(P, order)
        order.append(lowest_of_the_best(v, list(v)))
        scores.append(v[order[-1]])
    return np.array(order), np.array(scores)


def absorption(W, chosen, prior=None, weight=0.5):
    """Probability that a walk from each item ends in each chosen one, B = N R."""
    n = len(W)
    prior = np.full(n, 1 / n) if prior is None else np.asarray(prior, float) / np.sum(prior)
    P = transitions(W, prior, weight)
    items = [i for i in range(n) if i not in chosen]
    N = np.linalg.inv(np.eye(len(items)) - P[np.ix_(items, items)])
    return items, N @ P[np.ix_(items, chosen)]
