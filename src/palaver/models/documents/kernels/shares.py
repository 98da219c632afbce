"""LDA's variational inference for documents (Hoffman, Blei & Bach 2010, algorithm 2).

The posterior of a document's shares is a Dirichlet with concentrations ``gamma``; given these, the
topics of its words follow. One iteration is ::

    phi_wk ~ exp(E[ln theta_k] + E[ln beta_kw]),    gamma_k = alpha_k + sum_w c_w phi_wk

All inner products run eight lanes at a time; a document's numbers depend on nothing but it.
"""

from __future__ import annotations

import math

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import longest_stretch
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import aligned
from palaver.kernels.simd.vectors import digammas, dot, exponentials, weighted_rows
from palaver.kernels.special import digamma


@inner
def log_shares_of(gamma, n_topics, mask, logs, weights):  # type: ignore[no-untyped-def]
    """Set ``E[ln theta]`` of a Dirichlet distribution, and its exponential.

    gamma: (width,) IN, padded with anything positive; mask: 1 for topics, 0 for padding, IN; logs,
    weights: (width,) OUT, weights padded with zeros.
    """
    blocks = len(mask) // LANES
    total = 0.0
    for k in range(n_topics):
        total += gamma[k]
    digammas(gamma, digamma(total), blocks, logs)
    exponentials(logs, 0.0, 1.0, mask, blocks, weights)


@inner
def infer_shares(  # type: ignore[no-untyped-def]
    counts, n_words, likelihoods, alpha, n_iterations, tolerance, gamma, mask, logs, weights,
    ratios, moved,
):  # fmt: skip
    """Iterate a document's ``gamma`` (IN-OUT) until it changes by less than ``tolerance``.

    Parameters
    ----------
    counts : array of float64, shape (>= n_words,). IN
    likelihoods : array of float64, shape (n_words * width,). IN
        exp(E[ln beta]), each row up to a factor, padded to whole blocks.
    alpha : array of float64, shape (n_topics,). IN
    n_iterations : int. IN
    tolerance : float. IN
        On the mean change of a concentration.
    gamma : array of float64, shape (width,). IN-OUT
        Padded with ones.
    mask : array of float64, shape (width,). IN
        1 for topics, 0 for padding.
    logs, weights : array of float64, shape (width,). OUT
        E[ln theta] of the gamma that is returned, and its exponential.
    ratios, moved : array of float64, shape (>= n_words,), (width,). OUT
        ``c_w / sum_k weights_k likelihoods_wk`` for these weights; workspace.

    O(n_iterations n_words n_topics).
    """
    n_topics, width = len(alpha), len(mask)
    blocks = width // LANES
    for iteration in range(n_iterations + 1):
        log_shares_of(gamma, n_topics, mask, logs, weights)
        for w in range(n_words):
            row = likelihoods[w * width : (w + 1) * width]
            ratios[w] = counts[w] / max(dot(weights, row, blocks), 1e-300)
        if iteration == n_iterations:
            break
        weighted_rows(ratios, likelihoods, n_words, blocks, moved)
        change = 0.0
        for k in range(n_topics):
            value = alpha[k] + weights[k] * moved[k]
            change += abs(value - gamma[k])
            gamma[k] = value
        if change < tolerance * n_topics:
            n_iterations = iteration + 1  # one more round, for the weights only


@kernel
def sweep_shares(  # type: ignore[no-untyped-def]
    offsets, words, counts, weights_of_words, peaks, alpha, fresh, n_iterations, tolerance, gammas,
    bounds, word_topics, log_shares, terms,
):  # fmt: skip
    """Infer all documents of a shard and add up their expected counts.

    Parameters
    ----------
    offsets, words, counts : arrays, shape (n_documents + 1,), (n_counts,), (n_counts,). IN
    weights_of_words : array of float64, shape (n_words, width). IN
        exp(E[ln beta] - peak), padded to whole blocks with zeros.
    peaks : array of float64, shape (n_words,). IN
    alpha : array of float64, shape (n_topics,). IN
    fresh : bool. IN
        Start from even shares instead of ``gammas``.
    n_iterations, tolerance
        As in :func:`infer_shares`.
    gammas : array of float64, shape (n_documents, n_topics). IN-OUT
    bounds : array of float64, shape (n_documents,). OUT
    word_topics : array of float64, shape (n_words, n_topics). IN-OUT
        Expected counts, added to.
    log_shares : array of float64, shape (n_topics,). IN-OUT
        Sums of E[ln theta], added to.
    terms : array of float64, shape (2,). IN-OUT
        Sums of the bound's terms, words and shares, added to.

    Documents without words are passed over.
    """
    n_documents, n_topics = gammas.shape
    longest = longest_stretch(offsets)
    width = weights_of_words.shape[1]
    likelihoods, ratios = aligned(longest * width), aligned(longest)
    mask, logs, weights, moved = aligned(width), aligned(width), aligned(width), aligned(width)
    gamma = aligned(width)
    gamma[:] = 1.0
    mask[:n_topics] = 1.0
    prior = math.lgamma(alpha.sum())
    for k in range(n_topics):
        prior -= math.lgamma(alpha[k])
    for d in range(n_documents):
        own_words, n_words = words[offsets[d] : offsets[d + 1]], offsets[d + 1] - offsets[d]
        if n_words == 0:
            continue
        own_counts = counts[offsets[d] : offsets[d + 1]]
        for w in range(n_words):
            likelihoods[w * width : (w + 1) * width] = weights_of_words[own_words[w]]
        if fresh:
            gamma[:n_topics] = alpha + own_counts.sum() / n_topics
        else:
            gamma[:n_topics] = gammas[d]
        infer_shares(own_counts, n_words, likelihoods, alpha, n_iterations, tolerance, gamma, mask,
                     logs, weights, ratios, moved)  # fmt: skip
        gammas[d] = gamma[:n_topics]
        of_words, of_shares = 0.0, prior - math.lgamma(gammas[d].sum())
        for w in range(n_words):
            of_words += own_counts[w] * (peaks[own_words[w]] + math.log(own_counts[w] / ratios[w]))
            target = word_topics[own_words[w]]
            row = likelihoods[w * width : (w + 1) * width]
            for k in range(n_topics):
                target[k] += ratios[w] * weights[k] * row[k]
        for k in range(n_topics):
            log_shares[k] += logs[k]
            of_shares += (alpha[k] - gamma[k]) * logs[k] + math.lgamma(gamma[k])
        bounds[d] = of_words + of_shares
        terms[0] += of_words
        terms[1] += of_shares
