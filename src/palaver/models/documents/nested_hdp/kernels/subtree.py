"""A document's part of the tree (Paisley, Wang, Blei & Jordan 2015, section 4; ``docs/models``).

A document has a subtree of topics, each with its parent. ``n_i`` are the words at a topic, ``m_i``
those at it or below. Siblings are ordered by ``m``, the largest first, which of all orders has the
highest bound. Given these counts ::

    q(V_i) = Beta(1 + m_i, beta + sum of m_j over later siblings j)      which child to go to
    q(U_i) = Beta(stop + n_i, descend + m_i - n_i)                       whether to stay there
    E[ln pi_i]  adds E[ln V] of a topic and E[ln (1 - V)] of the siblings before it, for the topic
                and all above it; E[ln U_i]; and E[ln (1 - U)] of all above it
    q(c_w = i)  ~ exp(E[ln pi_i] + E[ln theta_iw])

Topics without children in the whole tree have ``U = 1``. Arrays of a subtree are as long as the
most topics that one may have; parents come before their children.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from palaver.kernels.special import digamma

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Priors(NamedTuple):
    """Priors of a document's subtree: of the sticks ``V``, and of the switches ``U``."""

    beta: float
    stop: float
    descend: float


class Subtree(NamedTuple):
    """Room for a document's subtree and its words."""

    nodes: IntArray  # topic at each place
    up: IntArray  # place of the parent, -1 for topics of the first level
    places: IntArray  # of each topic, -1 if it is not in the subtree
    order: IntArray  # places by parent, and then in the order of siblings
    counts: FloatArray  # n
    totals: FloatArray  # m
    later: FloatArray  # sum of m over later siblings
    moved: FloatArray  # n, by the latest allocation of the words
    log_sticks: FloatArray  # E[ln V]
    log_left: FloatArray  # E[ln (1 - V)]
    log_descents: FloatArray  # of what reaches the topic and goes on
    log_weights: FloatArray  # E[ln pi]
    weights: FloatArray
    likelihoods: FloatArray  # exp(E[ln theta] - peak), flat: a stretch of words for each place
    peaks: FloatArray
    norms: FloatArray  # sum_i weights_i likelihoods_iw


@njit(cache=True, nogil=True)
def make_subtree(n_topics, most, longest):  # type: ignore[no-untyped-def]
    """Return room for subtrees of at most ``most`` topics, and ``longest`` words."""
    return Subtree(
        np.zeros(most, np.int64), np.zeros(most, np.int64), np.full(n_topics, -1),
        np.zeros(most, np.int64), np.zeros(most), np.zeros(most), np.zeros(most), np.zeros(most),
        np.zeros(most), np.zeros(most), np.zeros(most), np.zeros(most), np.zeros(most),
        np.zeros(most * longest), np.zeros(longest), np.zeros(longest),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def add_node(tree, n_nodes, node, parents):  # type: ignore[no-untyped-def]
    """Put a topic, whose parent is in the subtree, at place ``n_nodes``."""
    tree.nodes[n_nodes] = node
    tree.up[n_nodes] = tree.places[parents[node]] if parents[node] >= 0 else -1
    tree.places[node] = n_nodes
    tree.order[n_nodes] = n_nodes


@njit(cache=True, nogil=True)
def clear(tree, n_nodes):  # type: ignore[no-untyped-def]
    """Forget a subtree."""
    for i in range(n_nodes):
        tree.places[tree.nodes[i]] = -1


@njit(cache=True, nogil=True)
def is_before(tree, i, j):  # type: ignore[no-untyped-def]
    """Whether place ``i`` is before ``j``: by parent, then by words, then as they were chosen."""
    if tree.up[i] != tree.up[j]:
        return tree.up[i] < tree.up[j]
    return tree.totals[i] > tree.totals[j] or (tree.totals[i] == tree.totals[j] and i < j)


@njit(cache=True, nogil=True)
def add_up(tree, n_nodes):  # type: ignore[no-untyped-def]
    """Set ``totals``, ``order`` and ``later`` from ``counts``.

    O(n_nodes) where the order is nearly that of before, at most O(n_nodes**2).
    """
    for i in range(n_nodes):
        tree.totals[i] = tree.counts[i]
    for i in range(n_nodes - 1, -1, -1):
        if tree.up[i] >= 0:
            tree.totals[tree.up[i]] += tree.totals[i]
    for at in range(1, n_nodes):
        i, to = tree.order[at], at
        while to > 0 and is_before(tree, i, tree.order[to - 1]):
            tree.order[to] = tree.order[to - 1]
            to -= 1
        tree.order[to] = i
    for at in range(n_nodes - 1, -1, -1):
        i = tree.order[at]
        tree.later[i] = 0.0
        if at + 1 < n_nodes and tree.up[tree.order[at + 1]] == tree.up[i]:
            after = tree.order[at + 1]
            tree.later[i] = tree.later[after] + tree.totals[after]


@njit(cache=True, nogil=True)
def log_expected_weights(tree, n_nodes, is_inner, priors):  # type: ignore[no-untyped-def]
    """Set ``E[ln pi]`` and all that it is made of, from ``counts``.

    Parameters
    ----------
    tree : Subtree. IN-OUT
    n_nodes : int. IN
    is_inner : array of bool, shape (n_topics,). IN
        Topics that have children in the whole tree.
    priors : Priors. IN

    O(n_nodes) besides :func:`add_up`.
    """
    add_up(tree, n_nodes)
    parent, left = -2, 0.0
    for at in range(n_nodes):
        i = tree.order[at]
        if tree.up[i] != parent:  # its own place in the order is before this one
            parent = tree.up[i]
            left = tree.log_descents[parent] if parent >= 0 else 0.0
        a, b = 1.0 + tree.totals[i], priors.beta + tree.later[i]
        of_sum = digamma(a + b)
        tree.log_sticks[i], tree.log_left[i] = digamma(a) - of_sum, digamma(b) - of_sum
        tree.log_weights[i] = tree.log_descents[i] = left + tree.log_sticks[i]
        left += tree.log_left[i]
        if is_inner[tree.nodes[i]]:
            a, b = priors.stop + tree.counts[i], priors.descend + below(tree, i)
            of_sum = digamma(a + b)
            tree.log_weights[i] += digamma(a) - of_sum
            tree.log_descents[i] += digamma(b) - of_sum


@njit(cache=True, nogil=True)
def below(tree, i):  # type: ignore[no-untyped-def]
    """Return the words below place ``i``."""
    return max(tree.totals[i] - tree.counts[i], 0.0)


@njit(cache=True, nogil=True)
def log_beta(a, b):  # type: ignore[no-untyped-def]
    """Return the logarithm of the beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@njit(cache=True, nogil=True)
def stick_term(tree, n_nodes, priors):  # type: ignore[no-untyped-def]
    """Return the sticks' term of the bound, ``-sum_i KL(q(V_i) || p(V_i))``."""
    term = 0.0
    for i in range(n_nodes):
        term += log_beta(1.0 + tree.totals[i], priors.beta + tree.later[i]) + math.log(priors.beta)
        term -= tree.totals[i] * tree.log_sticks[i] + tree.later[i] * tree.log_left[i]
    return term


@njit(cache=True, nogil=True)
def switch_term(tree, n_nodes, is_inner, priors):  # type: ignore[no-untyped-def]
    """Return the switches' term of the bound, ``-sum_i KL(q(U_i) || p(U_i))``."""
    term, prior = 0.0, log_beta(priors.stop, priors.descend)
    for i in range(n_nodes):
        if not is_inner[tree.nodes[i]]:
            continue
        a, b = priors.stop + tree.counts[i], priors.descend + below(tree, i)
        of_sum = digamma(a + b)
        term += log_beta(a, b) - prior
        term -= tree.counts[i] * (digamma(a) - of_sum) + below(tree, i) * (digamma(b) - of_sum)
    return term


@njit(cache=True, nogil=True)
def take_words(tree, n_nodes, log_words, words):  # type: ignore[no-untyped-def]
    """Set ``likelihoods`` and ``peaks`` to those of a document's words, (n_words,) IN."""
    n_words = len(words)
    for w in range(n_words):
        row = log_words[words[w]]
        peak = -math.inf
        for i in range(n_nodes):
            peak = max(peak, row[tree.nodes[i]])
        tree.peaks[w] = peak
        for i in range(n_nodes):
            tree.likelihoods[i * n_words + w] = math.exp(row[tree.nodes[i]] - peak)


@njit(cache=True, nogil=True)
def allocate(tree, n_nodes, counts):  # type: ignore[no-untyped-def]
    """Set ``norms``, and ``moved`` to the words at each topic, by ``log_weights``.

    counts: (n_words,) IN. O(n_words n_nodes).
    """
    n_words = len(counts)
    for w in range(n_words):
        tree.norms[w] = 0.0
    for i in range(n_nodes):
        tree.weights[i] = math.exp(tree.log_weights[i])
        for w in range(n_words):
            tree.norms[w] += tree.weights[i] * tree.likelihoods[i * n_words + w]
    for i in range(n_nodes):
        total = 0.0
        for w in range(n_words):
            total += counts[w] * tree.likelihoods[i * n_words + w] / tree.norms[w]
        tree.moved[i] = tree.weights[i] * total


@njit(cache=True, nogil=True)
def iterate(  # type: ignore[no-untyped-def]
    tree, n_nodes, counts, is_inner, priors, n_iterations, tolerance
):
    """Update ``q(V) q(U)`` and ``q(c)`` in turn, until few words move.

    Parameters
    ----------
    tree : Subtree. IN-OUT
        With ``counts`` and ``likelihoods``. In the end ``moved`` are the words by the last
        ``q(c)``, which belongs to the ``q(V) q(U)`` of ``counts``.
    n_nodes, n_iterations : int. IN
    counts : array of float64, shape (n_words,). IN
    is_inner, priors
        As in :func:`log_expected_weights`.
    tolerance : float. IN
        Stop when a smaller share of the words moves from topic to topic.
    """
    n_tokens = 0.0
    for w in range(len(counts)):
        n_tokens += counts[w]
    for iteration in range(n_iterations):
        log_expected_weights(tree, n_nodes, is_inner, priors)
        allocate(tree, n_nodes, counts)
        change = 0.0
        for i in range(n_nodes):
            change += abs(tree.moved[i] - tree.counts[i])
        if change <= tolerance * n_tokens or iteration == n_iterations - 1:
            break
        for i in range(n_nodes):
            tree.counts[i] = tree.moved[i]


@njit(cache=True, nogil=True)
def prune(tree, n_nodes, parents, least_words):  # type: ignore[no-untyped-def]
    """Drop topics with fewer words at or below them than ``least_words``; one stays.

    Uses ``moved`` as the words. Returns how many are left; they have these words as ``counts``.
    """
    for i in range(n_nodes):
        tree.counts[i] = tree.moved[i]
    add_up(tree, n_nodes)
    most = 0
    for i in range(n_nodes):
        if tree.up[i] < 0 and tree.totals[i] > tree.totals[most]:
            most = i
    clear(tree, n_nodes)
    n_left = 0
    for i in range(n_nodes):
        if tree.totals[i] >= least_words or i == most:
            tree.counts[n_left] = tree.counts[i]
            add_node(tree, n_left, tree.nodes[i], parents)
            n_left += 1
    return n_left
