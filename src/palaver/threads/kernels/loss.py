"""A softmax over candidates: probabilities, loss and gradient.

With features ``x[p]`` of pair ``p``, where the pairs of message b are a slice::

    s[p]     =  w x[p] + sum over h of v[h] tanh(u[h] x[p] + c[h])                              (0)
    P(candidate p of message b)  =  exp(s[p]) / sum over q of exp(s[q])                         (1)
    loss     =  - sum over b of log sum over p of t[p] P(p)                                     (2)

where the targets ``t`` are one for the true parent and zero for the others, or evidence for the
parent that is independent of ``x``. The derivative of (2) by ``s[p]`` is ``P(p) - Q(p)`` with ``Q``
proportional to ``t P``. The sum over h, the hidden units, may be empty.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import kernel

_ROWS = 256  # summed in single precision before being added up in double


@kernel(fastmath={"contract", "reassoc", "nsz"})
def score_pairs(features, weights, scores):  # type: ignore[no-untyped-def]
    """Set ``w x`` of each pair; also used for hidden units, with their outer weights.

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


@kernel
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


@kernel(fastmath={"contract", "reassoc", "nsz"})
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
