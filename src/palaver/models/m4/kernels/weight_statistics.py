"""Objective, gradient and curvature of M4's transition weights.

``weights`` is float64 (K + F, K), rows are the source: each class, then start, bias and further
features. With the scores ``s = x . weights`` of a message
(:mod:`palaver.models.m4.kernels.replies`), ``a = exp(s)``, ``A = sum(a)``, class counts ``m`` and
``M = sum(m)``::

    softmax    objective  m . s - M log A
               d/ds_j     m_j - M a_j / A
               curvature  sum M x x'
    dirichlet  objective  sum_j log a_j^(m_j) - log A^(M)     (rising factorials)
               d/ds_j     c_j - B a_j,   c_j = a_j (psi(a_j + m_j) - psi(a_j)),
                                         B   = psi(A + M) - psi(A)
               curvature  sum B a_j x x', one for each target class j

The gradient is the sum of ``x`` times ``d/ds``; for softmax it is Paul (2012), equation (3),
without the term of the prior. The Dirichlet lines are ours, and their curvature is that of a bound:
``log a^(m)`` lies above its tangent in ``log a`` and ``-log A^(M)`` above its tangent in ``A``
(Minka 2003), so the objective lies above a Poisson regression ``sum_j c_j s_j - B exp(s_j)``,
touches it at the weights at hand, and has its gradient there.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import highest_of
from palaver.kernels.special import digamma
from palaver.models.m4.kernels.replies import link_replies, log_rising

_SHORT, _LARGE, _HUGE = 32, 1e20, 1e100  # factors that are multiplied out, and how large they grow


@kernel(error_model="numpy")
def rises(start, n):  # type: ignore[no-untyped-def]
    """Return ``log_rising(start, n)`` and its slope, ``digamma(start + n) - digamma(start)``."""
    if n > _SHORT:
        return log_rising(start, n), digamma(start + n) - digamma(start)
    result = slope = 0.0
    product = 1.0
    if start > _LARGE:  # a product would overflow
        for m in range(n):
            slope += 1.0 / (start + m)
        return log_rising(start, n), slope
    odd = n & 1
    if odd:
        product, slope = start, 1.0 / start
    for m in range(odd, n, 2):  # divisions are dear: one for two factors
        factor = start + m
        pair = factor * (factor + 1.0)
        slope += (factor + factor + 1.0) / pair
        product *= pair
        if product > _HUGE:
            result += math.log(product)
            product = 1.0
    return result + math.log(product), slope


@inner
def _count_units(message, unit_offsets, unit_classes, tally, counts):  # type: ignore[no-untyped-def]
    """Set ``counts`` (K,) to the class-bearing units of a message; return how many there are.

    tally : (2, K + 1), scratch. Two take turns, since one place that is written again and again
    would have to wait for itself.
    """
    n_classes = counts.shape[0]
    tally[:] = 0
    for u in range(unit_offsets[message], unit_offsets[message + 1]):
        tally[u & 1, min(np.int64(unit_classes[u]), n_classes)] += 1
    n_units = 0
    for k in range(n_classes):
        count = tally[0, k] + tally[1, k]
        counts[k] = count
        n_units += count
    return n_units


@inner(error_model="numpy")
def _open_scores(is_dirichlet, features, weights, scores, masses):  # type: ignore[no-untyped-def]
    """Set ``scores`` (K,) of these features and ``masses`` (K,), their ``exp``; return its sum.

    Softmax: the highest score is taken off first. O(K^2).
    """
    n_features, n_classes = weights.shape
    scores[:] = 0.0
    for f in range(n_features):
        if features[f] != 0.0:
            for j in range(n_classes):
                scores[j] += features[f] * weights[f, j]
    if not is_dirichlet:
        scores -= highest_of(scores)
    total = 0.0
    for j in range(n_classes):
        masses[j] = math.exp(scores[j])
        total += masses[j]
    return total


@inner(error_model="numpy")
def _add_message(  # type: ignore[no-untyped-def]
    is_dirichlet, counts, n_units, scores, masses, total, slopes, curves
):
    """Add the derivatives and curvatures of a message to ``slopes`` (K,), ``curves`` (K or 1,).

    Returns its objective. scores, masses: (K,), total: IN, of :func:`_open_scores`. O(K).
    """
    n_classes = counts.shape[0]
    if not is_dirichlet:
        result = -n_units * math.log(total)
        share = n_units / total
        for j in range(n_classes):
            result += counts[j] * scores[j]
            slopes[j] += counts[j] - share * masses[j]
        curves[0] += n_units
        return result
    below, growth = rises(total, n_units)
    result = -below
    for j in range(n_classes):
        slopes[j] -= growth * masses[j]
        curves[j] += growth * masses[j]
        if counts[j] > 0.0:
            above, slope = rises(masses[j], int(counts[j]))
            slopes[j] += masses[j] * slope
            result += above
    return result


@inner
def _add_outer(features, slopes, curves, used, gradient, curvature):  # type: ignore[no-untyped-def]
    """Add ``features`` times slopes and curves to gradient and curvature; empty these two.

    used : (K + F,), scratch: features other than zero, of which most messages have few.
    """
    n_used = 0
    for f in range(features.shape[0]):
        if features[f] != 0.0:
            used[n_used] = f
            n_used += 1
    for i in range(n_used):
        f = used[i]
        for j in range(slopes.shape[0]):
            gradient[f, j] += features[f] * slopes[j]
        if curves.shape[0] == 1:  # a loop that runs by vectors
            for g in range(f + 1):
                curvature[f, g, 0] += features[f] * features[g] * curves[0]
            continue
        for h in range(i + 1):
            g = used[h]
            product = features[f] * features[g]
            for j in range(curves.shape[0]):
                curvature[f, g, j] += product * curves[j]
    slopes[:] = 0.0
    curves[:] = 0.0


@kernel(error_model="numpy")
def weight_statistics(is_dirichlet, threads, unit_classes, weights):  # type: ignore[no-untyped-def]
    """Return objective, gradient and curvature of a shard.

    Parameters
    ----------
    is_dirichlet : bool; threads : Threads. IN
    unit_classes : array of int16, shape (n_units,). IN
    weights : array of float64, shape (K + F, K). IN

    Returns
    -------
    objective : float
    gradient : array of float64, shape (K + F, K)
    curvature : array of float64, shape (K + F, K + F, K) with Dirichlet transitions, else
        (K + F, K + F, 1)

    Messages of one base without parents, or with one and the same, share their features:
    O(n_units), O(K) for each message and O(K^2) or O(K^3) for each message with replies.
    """
    n_features, n_classes = weights.shape
    unit_offsets, base_index = threads.unit_offsets, threads.base_index
    parent_offsets, parent_list = threads.parent_offsets, threads.parent_list
    n_messages = base_index.shape[0]
    gradient = np.zeros((n_features, n_classes))
    curvature = np.zeros((n_features, n_features, n_classes if is_dirichlet else 1))
    slopes, curves = np.zeros(n_classes), np.zeros(curvature.shape[2])
    features, used = np.zeros(n_features), np.empty(n_features, np.int64)
    scores, masses, total = np.empty(n_classes), np.empty(n_classes), 0.0
    counts, histogram = np.empty(n_classes), np.empty(n_classes)
    tally = np.empty((2, n_classes + 1), np.int32)
    child_offsets, child_list = link_replies(parent_offsets, parent_list)
    objective = 0.0
    for parent in range(-1, n_messages):  # first those with no parent or several
        if parent < 0:
            first, last = 0, n_messages
        else:
            first, last = child_offsets[parent], child_offsets[parent + 1]
            if first == last:
                continue
            n_units = _count_units(parent, unit_offsets, unit_classes, tally, histogram)
            for k in range(n_classes):
                features[k] = histogram[k] / max(n_units, 1)
        open_base = -1
        for i in range(first, last):
            message = i if parent < 0 else child_list[i]
            n_parents = parent_offsets[message + 1] - parent_offsets[message]
            if (n_parents == 1) != (parent >= 0):
                continue
            n_units = _count_units(message, unit_offsets, unit_classes, tally, counts)
            if n_units == 0:
                continue
            if n_parents > 1 or base_index[message] != open_base:
                _add_outer(features, slopes, curves, used, gradient, curvature)
                features[n_classes:] = threads.designs[base_index[message]]
                if parent < 0:
                    features[:n_classes] = 0.0
                    for p in range(parent_offsets[message], parent_offsets[message + 1]):
                        n_own = _count_units(
                            parent_list[p], unit_offsets, unit_classes, tally, histogram
                        )
                        for k in range(n_classes):
                            features[k] += histogram[k] / (max(n_own, 1) * n_parents)
                total = _open_scores(is_dirichlet, features, weights, scores, masses)
                # a message with several parents shares its features with no other
                open_base = base_index[message] if n_parents < 2 else -1
            objective += _add_message(
                is_dirichlet, counts, n_units, scores, masses, total, slopes, curves
            )
        _add_outer(features, slopes, curves, used, gradient, curvature)
    for f in range(n_features):
        for g in range(f):
            curvature[g, f] = curvature[f, g]
    return objective, gradient, curvature
