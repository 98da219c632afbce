"""A softmax over candidates: probabilities, loss and gradient.

With features ``x[p]`` of pair ``p``, the pairs of message b being a slice::

    s[p]     =  w x[p] + sum over h of v[h] tanh(u[h] x[p] + c[h])                              (0)
    P(candidate p of message b)  =  exp(s[p]) / sum over q of exp(s[q])                         (1)
    loss     =  - sum over b of log sum over p of t[p] P(p)                                     (2)

where the targets ``t`` are one for the true parent and zero for the others, or evidence of the
parent that is independent of ``x``. The derivative of (2) by ``s[p]`` is ``P(p) - Q(p)`` with ``Q``
proportional to ``t P``. The sum over h, the hidden units, may be empty.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_ROWS = 256  # summed in single precision before they are added up in double


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def score_pairs(features, weights, scores):  # type: ignore[no-untyped-def]
    """Set ``w x`` of each pair; of hidden units too, with their outer weights.

    features : array of float32, shape (n_pairs, F). IN
    weights : array of float64, shape (F,). IN
    scores : array of float64, shape (n_pairs,). OUT
    """
    single = weights.astype(np.float32)
    for p in range(len(features)):
        total = np.float32(0.0)
        for f in range(len(single)):
            total += single[f] * features[p, f]
        scores[p] = total


@njit(cache=True, nogil=True)
def normalize_pairs(scores, pair_offsets, probabilities):  # type: ignore[no-untyped-def]
    """Set (1) from (0); scores and pair_offsets IN, probabilities (n_pairs,) OUT.

    Returns the sum over messages of the log of the sums.
    """
    total = 0.0
    for b in range(len(pair_offsets) - 1):
        begin, end = pair_offsets[b], pair_offsets[b + 1]
        highest = -np.inf
        for p in range(begin, end):
            highest = max(highest, scores[p])
        mass = 0.0
        for p in range(begin, end):
            probabilities[p] = math.exp(scores[p] - highest)
            mass += probabilities[p]
        for p in range(begin, end):
            probabilities[p] /= mass
        total += highest + math.log(mass)
    return total


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def add_gradient(features, differences, gradient):  # type: ignore[no-untyped-def]
    """Add the sum of ``differences[p] x[p]``; features, differences IN, gradient (F,) IN-OUT."""
    part = np.zeros(len(gradient), np.float32)
    for begin in range(0, len(features), _ROWS):
        part[:] = 0.0
        for p in range(begin, min(begin + _ROWS, len(features))):
            difference = np.float32(differences[p])
            for f in range(len(part)):
                part[f] += difference * features[p, f]
        gradient += part


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def hidden_units(features, inner, units):  # type: ignore[no-untyped-def]
    """Set ``tanh(u[h] x[p] + c[h])`` of (0).

    features : array of float32, shape (n_pairs, F). IN
    inner : array of float32, shape (F + 1, H). IN
        Column h is ``u[h]``, then ``c[h]``.
    units : array of float32, shape (n_pairs, H). OUT

    Cost O(H) for each feature that is not zero, which most are.
    """
    n_features, n_units = features.shape[1], inner.shape[1]
    for p in range(len(features)):
        row = units[p]
        row[:] = inner[n_features]
        for f in range(n_features):
            value = features[p, f]
            if value != 0.0:
                for h in range(n_units):
                    row[h] += value * inner[f, h]
        for h in range(n_units):
            row[h] = math.tanh(row[h])


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def add_inner_gradient(features, differences, units, outer, gradient):  # type: ignore[no-untyped-def]
    """Add the derivative of (2) by the inner weights.

    features : array of float32, shape (n_pairs, F). IN
    differences : array of float64, shape (n_pairs,). IN
        Derivatives by the scores.
    units : array of float32, shape (n_pairs, H). IN
    outer : array of float32, shape (H,). IN
    gradient : array of float64, shape (F + 1, H). IN-OUT
    """
    n_features, n_units = features.shape[1], len(outer)
    part = np.zeros((n_features + 1, n_units), np.float32)
    back = np.empty(n_units, np.float32)
    for begin in range(0, len(features), _ROWS):
        part[:] = 0.0
        for p in range(begin, min(begin + _ROWS, len(features))):
            difference = np.float32(differences[p])
            for h in range(n_units):
                back[h] = difference * outer[h] * (np.float32(1.0) - units[p, h] * units[p, h])
                part[n_features, h] += back[h]
            for f in range(n_features):
                value = features[p, f]
                if value != 0.0:
                    for h in range(n_units):
                        part[f, h] += value * back[h]
        gradient += part
