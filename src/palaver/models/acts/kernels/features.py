"""Weighted features of units: densities under every act, and counts given acts.

A unit ``u`` has features ``f`` with weights ``w_uf``; its tempered log density under act ``k`` is

    (a)  l_uk = sum_f w_uf log phi_kf
"""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import kernel


@kernel
def log_densities(ids, weights, offsets, log_features, densities):  # type: ignore[no-untyped-def]
    """Fill the tempered log densities (a) of all units.

    Parameters
    ----------
    ids : array of int32, shape (n_features_used,). IN
    weights : array of float64, same shape. IN
    offsets : array of int64, shape (n_units + 1,). IN
    log_features : array of float64, shape (F, K). IN
    densities : array of float64, shape (n_units, K). OUT
    """
    n_acts = log_features.shape[1]
    for unit in range(len(offsets) - 1):
        for k in range(n_acts):
            densities[unit, k] = 0.0
        for i in range(offsets[unit], offsets[unit + 1]):
            feature, weight = ids[i], weights[i]
            for k in range(n_acts):
                densities[unit, k] += weight * log_features[feature, k]


@kernel
def count_features(ids, weights, offsets, states, counts):  # type: ignore[no-untyped-def]
    """Add the weights of all features to the acts of their units.

    ids, weights, offsets: IN, as above; states: (n_units,) int16 IN; counts: (F, K) IN-OUT.
    """
    for unit in range(len(offsets) - 1):
        act = states[unit]
        for i in range(offsets[unit], offsets[unit + 1]):
            counts[ids[i], act] += weights[i]


@kernel
def expect_features(ids, weights, offsets, posteriors, counts):  # type: ignore[no-untyped-def]
    """Add the weights of all features to all acts, in parts: ``posteriors`` (n_units, K) IN."""
    n_acts = posteriors.shape[1]
    for unit in range(len(offsets) - 1):
        for i in range(offsets[unit], offsets[unit + 1]):
            feature, weight = ids[i], weights[i]
            for k in range(n_acts):
                counts[feature, k] += weight * posteriors[unit, k]


@kernel
def count_places(tokens, offsets, places, n_words):  # type: ignore[no-untyped-def]
    """Return in how many places each word is used, (n_words,) int64.

    Parameters
    ----------
    tokens : array of int32, shape (n_tokens,)
        Words of all units; -1 for unknown ones.
    offsets : array of int64, shape (n_units + 1,)
    places : array of int64, shape (n_units,)
        Place of each unit; they ascend.
    n_words : int
    """
    found = np.zeros(n_words, np.int64)
    latest = np.full(n_words, -1)
    for unit in range(len(offsets) - 1):
        for i in range(offsets[unit], offsets[unit + 1]):
            word = tokens[i]
            if word >= 0 and latest[word] != places[unit]:
                latest[word] = places[unit]
                found[word] += 1
    return found
