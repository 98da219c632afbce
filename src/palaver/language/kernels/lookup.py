"""Lookups in the sorted table of a node of a backoff graph."""

from __future__ import annotations

from palaver.kernels.compiled import inner, kernel


@inner
def _place(table, first, last, key):  # type: ignore[no-untyped-def]
    """Return the first place from ``first`` to ``last`` whose value is at least ``key``."""
    while first < last:
        middle = (first + last) // 2
        if table[middle] < key:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def look_up(runs, contexts, weights, words, n_words, pairs, probability, lower, found):  # type: ignore[no-untyped-def]
    """Set the probability of each word: that of its pair, or else a weight times the one below.

    Parameters
    ----------
    runs : array of int64, shape (n_runs + 1,). IN
        Words with the same context.
    contexts : array of int64, shape (n_runs,). IN
        -1 for contexts that were never seen.
    weights : array of float64, shape (n_runs,). IN
    words : array of int64, shape (n,). IN
    n_words : int. IN
    pairs : array of int64, shape (n_pairs,). IN
        Context times ``n_words`` plus word, ascending.
    probability : array of float64, shape (n_pairs,). IN
    lower : array of float64, shape (n,). IN
    found : array of float64, shape (n,). OUT
    """
    for run in range(contexts.shape[0]):
        base = contexts[run] * n_words
        first = last = 0
        if base >= 0:
            first = _place(pairs, 0, pairs.shape[0], base)
            last = _place(pairs, first, pairs.shape[0], base + n_words)
        low, before = first, -1
        for i in range(runs[run], runs[run + 1]):
            if words[i] < before:
                low = first
            before = words[i]
            low = _place(pairs, low, last, base + before)
            if low < last and pairs[low] == base + before:
                found[i] = probability[low]
            else:
                found[i] = lower[i] * weights[run]
