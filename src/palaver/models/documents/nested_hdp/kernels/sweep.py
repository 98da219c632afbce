"""A pass of the nested HDP over documents, and the shares of its topics in them."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from palaver.kernels.plain import copy_to, longest_stretch
from palaver.models.documents.nested_hdp.kernels.choose import choose_subtree
from palaver.models.documents.nested_hdp.kernels.subtree import (
    add_node,
    add_up,
    allocate,
    below,
    clear,
    iterate,
    make_subtree,
    prune,
    stick_term,
    switch_term,
    take_words,
)

N_TERMS = 4
"""Terms of a document's bound: words, choices (of children), sticks, switches."""
N_SUMS = 6
"""These, and what beta is learned from: the sum of E[ln (1 - V)], over how many sticks."""
WORDS, CHOICES, STICKS, SWITCHES, LOG_LEFT, N_STICKS = range(N_SUMS)

KEEP, FRESH, BETTER, WHOLE = range(4)
"""How a pass begins a document: from what it has; from scratch; or both, keeping the better. Or it
gives each document the whole tree."""


@njit(cache=True, nogil=True)
def find_terms(  # type: ignore[no-untyped-def]
    tree, n_nodes, counts, is_inner, log_choices, priors, terms
):
    """Set the terms of a document's bound (N_SUMS,) OUT; return the bound."""
    terms[:] = 0.0
    for w in range(len(counts)):
        terms[WORDS] += counts[w] * (tree.peaks[w] + math.log(tree.norms[w]))
    for i in range(n_nodes):
        terms[CHOICES] += log_choices[tree.nodes[i]]
        terms[LOG_LEFT] += tree.log_left[i]
    terms[STICKS] = stick_term(tree, n_nodes, priors)
    terms[SWITCHES] = switch_term(tree, n_nodes, is_inner, priors)
    terms[N_STICKS] = n_nodes
    return terms[WORDS] + terms[CHOICES] + terms[STICKS] + terms[SWITCHES]


@njit(cache=True, nogil=True)
def _start_fresh(  # type: ignore[no-untyped-def]
    tree, rows, log_words, words, counts, by_topic, parents, is_inner, log_choices, priors,
    n_iterations, tolerance, least_words,
):  # fmt: skip
    """Choose a document's topics and infer it; return how many it has."""
    n_words = len(words)
    for w in range(n_words):
        row = rows[words[w]]
        for k in range(len(parents)):
            by_topic[k * n_words + w] = row[k]
    n_nodes = choose_subtree(tree, by_topic, counts, parents, is_inner, log_choices, priors)
    take_words(tree, n_nodes, log_words, words)
    allocate(tree, n_nodes, counts)
    copy_to(tree.moved, n_nodes, tree.counts, 0)
    iterate(tree, n_nodes, counts, is_inner, priors, n_iterations, tolerance)
    n_left = prune(tree, n_nodes, parents, least_words)
    take_words(tree, n_left, log_words, words)
    iterate(tree, n_left, counts, is_inner, priors, n_iterations, tolerance)
    return n_left


@njit(cache=True, nogil=True)
def _take_whole(  # type: ignore[no-untyped-def]
    tree, log_words, words, counts, parents, is_inner, priors, n_iterations, tolerance
):
    """Infer a document that has all topics, from even weights; return how many these are."""
    n_nodes = len(parents)
    for i in range(n_nodes):
        add_node(tree, i, i, parents)
        tree.log_weights[i] = 0.0
    take_words(tree, n_nodes, log_words, words)
    allocate(tree, n_nodes, counts)
    copy_to(tree.moved, n_nodes, tree.counts, 0)
    iterate(tree, n_nodes, counts, is_inner, priors, n_iterations, tolerance)
    return n_nodes


@njit(cache=True, nogil=True)
def _take_kept(tree, nodes, kept, n_nodes, parents, log_words, words):  # type: ignore[no-untyped-def]
    """Put topics and their words ``kept`` (n_nodes,) IN into the subtree."""
    for i in range(n_nodes):
        add_node(tree, i, nodes[i], parents)
        tree.counts[i] = kept[i]
    take_words(tree, n_nodes, log_words, words)


@njit(cache=True, nogil=True)
def add_statistics(tree, n_nodes, words, counts, word_topics, uses):  # type: ignore[no-untyped-def]
    """Add a document's expected counts of words, and its topics, to the statistics."""
    n_words = len(words)
    for i in range(n_nodes):
        uses[tree.nodes[i]] += 1.0
    for w in range(n_words):
        target, ratio = word_topics[words[w]], counts[w] / tree.norms[w]
        for i in range(n_nodes):
            target[tree.nodes[i]] += ratio * tree.weights[i] * tree.likelihoods[i * n_words + w]


@njit(cache=True, nogil=True)
def sweep_documents(  # type: ignore[no-untyped-def]
    offsets, words, counts, log_words, weights_of_words, parents, is_inner, log_choices, priors,
    mode, n_iterations, tolerance, least_words, nodes, lengths, node_counts, bounds, word_topics,
    uses, terms,
):  # fmt: skip
    """Infer all documents of a shard and add up their expected counts.

    Parameters
    ----------
    offsets : array of int64, shape (n_documents + 1,). IN
    words : array of int32, shape (n_counts,). IN
        Rows of ``log_words``; a word occurs once in a document.
    counts : array of float64, shape (n_counts,). IN
    log_words, weights_of_words : array of float64, shape (n_words, width). IN
        E[ln theta]; its exponential, each row up to a factor.
    parents, is_inner, log_choices : array, shape (n_topics,). IN
        As in :func:`choose_subtree`.
    priors : Priors. IN
    mode : int. IN
        KEEP, FRESH, BETTER or WHOLE.
    n_iterations, tolerance
        As in :func:`iterate`.
    least_words : float. IN
        A fresh start drops topics with fewer words at or below them.
    nodes : array of int32, shape (n_documents, most). IN-OUT
    lengths : array of int32, shape (n_documents,). IN-OUT
    node_counts : array of float64, shape (n_documents, most). IN-OUT
        Words at each topic.
    bounds : array of float64, shape (n_documents,). OUT
    word_topics, uses : array of float64, shape (n_words, n_topics), (n_topics,). IN-OUT
        Expected counts, added to.
    terms : array of float64, shape (N_SUMS,). IN-OUT
        Added to.

    Documents without words are passed over.
    """
    n_documents, most = nodes.shape
    longest = longest_stretch(offsets)
    tree = make_subtree(len(parents), most, longest)
    by_topic = np.empty(longest * len(parents) if mode in (FRESH, BETTER) else 0)
    kept_nodes, kept_counts, own_terms = np.empty(most, np.int64), np.empty(most), np.empty(N_SUMS)
    once = np.int64(1)  # as a variable: numba compiles `iterate` again for a literal
    for d in range(n_documents):
        own = slice(offsets[d], offsets[d + 1])
        own_words, own_counts = words[own], counts[own]
        if len(own_words) == 0 or (mode == KEEP and lengths[d] == 0):
            continue
        bound, n_nodes = -math.inf, np.int64(lengths[d])
        if mode == WHOLE:
            n_nodes = _take_whole(tree, log_words, own_words, own_counts, parents, is_inner, priors,
                                  n_iterations, tolerance)  # fmt: skip
            bound = find_terms(tree, n_nodes, own_counts, is_inner, log_choices, priors, own_terms)
        if mode in (KEEP, BETTER):
            _take_kept(tree, nodes[d], node_counts[d], n_nodes, parents, log_words, own_words)
            iterate(tree, n_nodes, own_counts, is_inner, priors, n_iterations, tolerance)
            bound = find_terms(tree, n_nodes, own_counts, is_inner, log_choices, priors, own_terms)
        if mode in (FRESH, BETTER):
            copy_to(tree.nodes, n_nodes, kept_nodes, 0)
            copy_to(tree.counts, n_nodes, kept_counts, 0)
            clear(tree, n_nodes if mode != FRESH else 0)
            n_fresh = _start_fresh(tree, weights_of_words, log_words, own_words, own_counts,
                                   by_topic, parents, is_inner, log_choices, priors, n_iterations,
                                   tolerance, least_words)  # fmt: skip
            fresh = find_terms(tree, n_fresh, own_counts, is_inner, log_choices, priors, own_terms)
            if fresh > bound:
                bound, n_nodes = fresh, n_fresh
            else:  # as it was: the allocation follows from its counts
                clear(tree, n_fresh)
                _take_kept(tree, kept_nodes, kept_counts, n_nodes, parents, log_words, own_words)
                iterate(tree, n_nodes, own_counts, is_inner, priors, once, 0.0)
                find_terms(tree, n_nodes, own_counts, is_inner, log_choices, priors, own_terms)
        lengths[d], bounds[d] = n_nodes, bound
        node_counts[d] = 0.0
        for i in range(n_nodes):
            nodes[d, i], node_counts[d, i] = tree.nodes[i], tree.moved[i]
        for i in range(N_SUMS):
            terms[i] += own_terms[i]
        add_statistics(tree, n_nodes, own_words, own_counts, word_topics, uses)
        clear(tree, n_nodes)


@njit(cache=True, nogil=True)
def find_shares(  # type: ignore[no-untyped-def]
    parents, is_inner, choices, priors, nodes, lengths, node_counts, shares
):
    """Set ``shares`` (n_documents, n_topics) OUT to ``E[pi]``; rows sum to one.

    Parameters
    ----------
    parents, is_inner : array, shape (n_topics,). IN
    choices : array of float64, shape (n_topics,). IN
        Probabilities of the children of a topic, which sum to one: for what is left of a document's
        sticks, and below topics that it does not have.
    priors : Priors. IN
    nodes, lengths, node_counts
        As in :func:`sweep_documents`. IN
    """
    n_topics = len(parents)
    tree = make_subtree(n_topics, nodes.shape[1], 0)
    taken, left = np.zeros(n_topics), np.zeros(n_topics + 1)  # of sticks; the last of the top
    stays, reached = np.zeros(n_topics), np.zeros(n_topics + 1)
    for d in range(len(nodes)):
        n_nodes = lengths[d]
        for i in range(n_nodes):
            add_node(tree, i, np.int64(nodes[d, i]), parents)
            tree.counts[i] = node_counts[d, i]
        add_up(tree, n_nodes)
        taken[:] = 0.0
        left[:] = 1.0
        for k in range(n_topics):
            stays[k] = priors.stop / (priors.stop + priors.descend) if is_inner[k] else 1.0
        for at in range(n_nodes):
            i = tree.order[at]
            node = tree.nodes[i]
            if is_inner[node]:
                a, b = priors.stop + tree.counts[i], priors.descend + below(tree, i)
                stays[node] = a / (a + b)
            a, b = 1.0 + tree.totals[i], priors.beta + tree.later[i]
            parent = parents[node]  # -1: the last one
            taken[node] = left[parent] * a / (a + b)
            left[parent] *= b / (a + b)
        reached[n_topics] = 1.0
        for k in range(n_topics):
            arrived = reached[parents[k]] * (taken[k] + left[parents[k]] * choices[k])
            shares[d, k] = arrived * stays[k]
            reached[k] = arrived - shares[d, k]
        clear(tree, n_nodes)
