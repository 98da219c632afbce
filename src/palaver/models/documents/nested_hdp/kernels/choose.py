"""Which topics a document takes from the tree, one after the other (section 4.1 of the paper).

A topic is worth what the bound gains if the document may use it, with the switches and sticks as
they are before any words are seen, and its words allocated as well as possible::

    sum_w c_w ln(1 + sum_i e_i theta_iw / s_w) + sum_i E[ln p(z = i)],    s_w += e_i theta_iw

over the topic and those above it that the document does not have yet: a topic may be taken
together with them, because one that is worth much may be below one that is worth nothing by itself.
(The paper takes topics one level at a time.) As ``s`` only grows, what a topic is worth only falls,
until one above it is taken; so most topics need not be looked at again (Minoux 1978).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from palaver.kernels.special import digamma
from palaver.models.documents.nested_hdp.kernels.subtree import add_node

#: What a word is worth, relative to its most likely topic, before a document has any topic.
FLOOR = 1e-30
#: Most levels of a tree.
MOST_LEVELS = 20


@njit(cache=True, nogil=True)
def _first_logs(priors):  # type: ignore[no-untyped-def]
    """Return E[ln V], E[ln (1 - V)], E[ln U] and E[ln (1 - U)] before any words."""
    of_stick = digamma(1.0 + priors.beta)
    of_switch = digamma(priors.stop + priors.descend)
    return (digamma(1.0) - of_stick, digamma(priors.beta) - of_stick,
            digamma(priors.stop) - of_switch, digamma(priors.descend) - of_switch)  # fmt: skip


@njit(cache=True, nogil=True)
def _chain_of(places, parents, node, chain):  # type: ignore[no-untyped-def]
    """Set ``chain`` to a topic and those above it that are not taken; return how many."""
    length = 0
    while node >= 0 and places[node] < 0:
        chain[length] = node
        length += 1
        node = parents[node]
    return length


@njit(cache=True, nogil=True)
def _weigh_chain(  # type: ignore[no-untyped-def]
    tree, parents, is_inner, first_logs, n_children, chain, length, logs, weights
):
    """Set ``logs`` to ``ln e`` of a chain's topics, each as the next child of its parent.

    ``weights`` are its exponentials.

    n_children: how many children the topics in the subtree have, the last for the first level, IN.
    """
    stick, left, stays, descends = first_logs
    top = parents[chain[length - 1]]
    reached = tree.log_descents[tree.places[top]] if top >= 0 else 0.0
    reached += left * n_children[top]  # -1: the last one
    for i in range(length - 1, -1, -1):
        reached += stick
        logs[i] = reached
        if is_inner[chain[i]]:
            logs[i] += stays
            reached += descends
        weights[i] = math.exp(logs[i])


@njit(cache=True, nogil=True)
def _worth(  # type: ignore[no-untyped-def]
    by_topic, counts, sums, log_choices, chain, length, weights
):
    """Return what a chain of topics adds to the bound. O(n_words length)."""
    n_words = len(counts)
    worth = 0.0
    for i in range(length):
        worth += log_choices[chain[i]]
    for w in range(n_words):
        more = 0.0
        for i in range(length):
            more += weights[i] * by_topic[chain[i] * n_words + w]
        worth += counts[w] * math.log1p(more / sums[w])
    return worth


@njit(cache=True, nogil=True)
def _take_chain(  # type: ignore[no-untyped-def]
    tree,
    n_nodes,
    parents,
    is_inner,
    first_logs,
    n_children,
    by_topic,
    chain,
    length,
    logs,
    weights,
    sums,
):
    """Add a chain of topics to the subtree; return how many topics this has."""
    n_words = len(sums)
    for i in range(length - 1, -1, -1):
        node = chain[i]
        add_node(tree, n_nodes, node, parents)
        tree.log_weights[n_nodes] = logs[i]
        reached = logs[i] - first_logs[2] if is_inner[node] else logs[i]
        tree.log_descents[n_nodes] = reached + first_logs[3]
        n_children[parents[node]] += 1
        n_nodes += 1
        for w in range(n_words):
            sums[w] += weights[i] * by_topic[node * n_words + w]
    return n_nodes


@njit(cache=True, nogil=True)
def _look_again(tree, parents, chain, length, worths):  # type: ignore[no-untyped-def]
    """Forget what topics below a chain were worth."""
    top = chain[length - 1]
    for k in range(len(worths)):
        node = k
        while node >= 0 and node != top:
            node = parents[node]
        if node == top and tree.places[k] < 0:
            worths[k] = math.inf


@njit(cache=True, nogil=True)
def choose_subtree(  # type: ignore[no-untyped-def]
    tree, by_topic, counts, parents, is_inner, log_choices, priors
):
    """Choose a document's topics, as long as the bound gains by them; one at least.

    Parameters
    ----------
    tree : Subtree. IN-OUT
        Empty. In the end it has ``log_weights`` as before any words.
    by_topic : array of float64, shape (n_topics * n_words,). IN
        exp(E[ln theta]) of the document's words, each word up to a factor; topic by topic.
    counts : array of float64, shape (n_words,). IN
    parents : array of int64, shape (n_topics,). IN
        -1 for the first level; others come before their children.
    is_inner : array of bool, shape (n_topics,). IN
    log_choices : array of float64, shape (n_topics,). IN
        E[ln p(z = k)] of a topic among the children of its parent.
    priors : Priors. IN

    Returns
    -------
    int
        Topics chosen.
    """
    n_topics, n_words, most = len(parents), len(counts), len(tree.nodes)
    first_logs = _first_logs(priors)
    n_children = np.zeros(n_topics + 1, np.int64)
    chain = np.zeros(MOST_LEVELS, np.int64)
    logs, weights = np.zeros(MOST_LEVELS), np.zeros(MOST_LEVELS)
    worths, looked = np.full(n_topics, math.inf), np.full(n_topics, -1)
    sums = np.full(n_words, FLOOR)
    n_nodes = 0
    while n_nodes < most:
        best = 0
        for k in range(n_topics):
            if worths[k] > worths[best]:
                best = k
        if worths[best] == -math.inf or (worths[best] <= 0.0 and n_nodes > 0):
            break
        length = _chain_of(tree.places, parents, best, chain)
        if length > most - n_nodes:
            worths[best] = -math.inf
            continue
        _weigh_chain(tree, parents, is_inner, first_logs, n_children, chain, length, logs, weights)
        if looked[best] != n_nodes:
            looked[best] = n_nodes
            worths[best] = _worth(by_topic, counts, sums, log_choices, chain, length, weights)
            continue
        n_nodes = _take_chain(tree, n_nodes, parents, is_inner, first_logs, n_children, by_topic,
                              chain, length, logs, weights, sums)  # fmt: skip
        for i in range(length):
            worths[chain[i]] = -math.inf
        _look_again(tree, parents, chain, length, worths)
    return n_nodes
